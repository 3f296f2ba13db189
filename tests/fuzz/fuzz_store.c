/*
 * fuzz_store.c: a whole store in memory, and what a mount does with it. Input: a byte of flags, then steps until it ends:
 *
 *     value       text under a key                                      made by the steps before the first that looks
 *     chunk       bytes under a key; an index in them is put right      at the store; from then on they change what is
 *     array       a document that is right, from a few numbers          mounted
 *     encode      a chunk of such an array, then a few bytes flipped
 *     remove, fault
 *     lookup, list, read, xattrs, forget
 *
 * Everything runs in this thread. Invariants: an errno of the contract; a read gives all that it should, and the same again;
 * memory stays within the cache's budget and one chunk (measured where a sanitizer counts it).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/documents.h"
#include "../lib/fuzz.h"
#include "../lib/input.h"
#include "../lib/live_bytes.h"

#include "array/array_impl.h"
#include "base/endian.h"
#include "base/log.h"
#include "base/str.h"
#include "codec/crc32c.h"
#include "fs/fs_impl.h"
#include "store/mem.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum step {
	STEP_VALUE,
	STEP_CHUNK,
	STEP_ARRAY,
	STEP_ENCODE,
	STEP_REMOVE,
	STEP_FAULT,
	STEP_LOOKUP,
	STEP_LIST,
	STEP_READ,
	STEP_XATTRS,
	STEP_FORGET,
	STEPS
};

#define FLAG_UNLISTED 1
#define FLAG_ONCE 2
#define CACHE_SHIFT(flags) (14 + 2 * ((flags) >> 2 & 3))

#define TEXT_END '\x1e'
#define KEY_BYTES 256
#define INODES 64
#define READ_BYTES 4096
#define MAX_CHUNK (UINT64_C(1) << 20)
#define STEPS_MOST 200

struct world {
	struct input in;
	unsigned flags;
	struct store *store;
	struct fs *fs; /* NULL: not looked at yet */
	bool refused;  /* it was, and is no store */
	bool changed;  /* while it was looked at */
	bool faulty;
	char arrays[8][KEY_BYTES]; /* keys of documents that STEP_ARRAY made */
	int n_arrays;
	uint64_t handles[INODES];
	int n_handles;
	uint64_t types;		   /* in documents whose elements may be large: each keeps a fill value */
	uint64_t chunk_memory; /* that one chunk may take beside the budget: of the largest that was looked at */
	int64_t kept;		   /* bytes that the steps that look have left behind */
};

static void set_up(void)
{
	static bool done;
	if (done)
		return;
	done = true;
	log_set_sink(discard_line, NULL);
	buf_set_recycled_limit(0);
	live_bytes_begin();
}

/* ---------------------------------------------------------------- the store */

static void take_key(struct input *in, char *key)
{
	const uint8_t *text;
	size_t n = take_until(in, '\n', &text);
	n = MIN(n, (size_t)KEY_BYTES - 1);
	memcpy(key, text, n);
	key[n] = '\0';
}

static void put(struct world *world, const char *key, const void *bytes, size_t size)
{
	check(mem_store_put(world->store, key, bytes, size) == 0);
	world->changed |= world->fs != NULL;
}

static void step_value(struct world *world)
{
	char key[KEY_BYTES];
	const uint8_t *text;
	take_key(&world->in, key);
	size_t n = take_until(&world->in, TEXT_END, &text);
	put(world, key, text, n);
	for (const uint8_t *p = text; (p = memmem(p, n - (size_t)(p - text), "type\"", 5)); p += 5)
		world->types++;
}

/* An index of so many entries, with a checksum, at the start or end: places that are inside, and the checksum of them. */
static void repair_index(uint8_t *shard, size_t size, unsigned entries, bool at_start)
{
	size_t n = 16 * (size_t)entries;
	if (!n || size < n + 4)
		return;
	uint8_t *index = at_start ? shard : shard + size - n - 4;
	for (uint8_t *entry = index; entry < index + n; entry += 16) {
		uint64_t offset = load_le64(entry) & 0xffff, length = load_le64(entry + 8) & 0xffff;
		if (load_le64(entry) == SHARD_ABSENT)
			continue;
		store_le64(entry, offset % size);
		store_le64(entry + 8, length % (size - offset % size + 1));
	}
	store_le32(index + n, crc32c(index, n));
}

static void step_chunk(struct world *world)
{
	char key[KEY_BYTES];
	take_key(&world->in, key);
	unsigned entries = take_below(&world->in, 64), at_start = take_below(&world->in, 2);
	size_t n = (size_t)take(&world->in, 2);
	n = MIN(n, (size_t)(world->in.end - world->in.p));
	autofree uint8_t *bytes = malloc(MAX(n, 1));
	memcpy(bytes, world->in.p, n);
	world->in.p += n;
	repair_index(bytes, n, entries, at_start);
	put(world, key, bytes, n);
}

/* ---------------------------------------------------------------- arrays that are right */

static void step_array(struct world *world)
{
	static const char *const keys[] = {"zarr.json", "a/zarr.json", "a/b/zarr.json", "t/zarr.json",
									   ".zarray",	"a/.zarray",   "a/b/.zarray",	"t/.zarray"};
	const char *key = keys[take_below(&world->in, ARRAY_LEN(keys))];
	autostr(text);
	append_array(&text, &world->in, strstr(key, "zarr.json") ? 3 : 2);
	put(world, key, text.text, text.size);
	strcpy(world->arrays[world->n_arrays++ % ARRAY_LEN(world->arrays)], key);
}

static struct array_meta *parse_array(struct world *world, const char *key)
{
	struct buf *bytes;
	struct array_meta *meta = NULL;
	struct node_meta node;
	if (store_get(world->store, key, STORE_WAIT, LIMIT_JSON_BYTES, &bytes, NULL))
		return NULL;
	const char *text = (const char *)bytes->data;
	if (strstr(key, ".zarray"))
		meta_parse_v2_array(text, bytes->size, NULL, 0, &meta);
	else if (!meta_parse_v3(text, bytes->size, &node)) {
		meta = node.array;
		node.array = NULL;
		node_meta_finish(&node);
	}
	buf_unref(bytes);
	return meta;
}

/* Elements count up; then bytes are flipped, and perhaps the end is cut off. */
static void encode(struct world *world, const struct array_meta *meta, struct buf **ret_buf)
{
	struct pipeline *pipeline;
	struct repr repr = {.ndim = meta->ndim, .item_size = meta->dtype.size, .swap_unit = meta->dtype.swap_unit};
	repr.fill_value = meta->fill_value;
	memcpy(repr.shape, meta->chunk_shape, sizeof(repr.shape));
	uint64_t bytes;
	if (!repr_bytes(&repr, &bytes) || bytes > MAX_CHUNK || pipeline_open(&meta->codecs, &repr, &pipeline))
		return;
	autofree uint8_t *elements = malloc(bytes);
	for (size_t i = 0; i < bytes; i++)
		elements[i] = (uint8_t)(i * 7 >> (i & 3));
	if (!pipeline_encode(pipeline, elements, ret_buf)) {
		struct buf *buf = *ret_buf;
		for (unsigned n = take_below(&world->in, 4); n > 0 && buf->size > 0; n--) {
			size_t at = (size_t)take(&world->in, 2) % buf->size;
			buf->data[at] ^= (uint8_t)take(&world->in, 1);
		}
		size_t cut = take_below(&world->in, 16) < 8 ? 0 : take_below(&world->in, 255);
		buf_shrink(buf, buf->size - MIN(buf->size, cut));
	}
	pipeline_close(pipeline);
}

static void step_encode(struct world *world)
{
	const char *name = world->arrays[take_below(&world->in, ARRAY_LEN(world->arrays))];
	uint64_t coords[LIMIT_DIMS] = {0};
	struct array_meta *meta = parse_array(world, name);
	autobuf buf = NULL;
	if (!meta)
		return;
	for (int i = 0; i < meta->ndim; i++)
		coords[i] = take(&world->in, 1);
	encode(world, meta, &buf);
	autofree char *path = strndup(name, strrchr(name, '/') ? (size_t)(strrchr(name, '/') - name) : 0);
	autofree char *key = key_of_chunk(&meta->keys, path, coords, meta->ndim);
	if (buf)
		put(world, key, buf->data, buf->size);
	array_meta_free(meta);
}

static void step_fault(struct world *world)
{
	static const int errnums[] = {0, EIO, EACCES, ETIMEDOUT, ESTALE};
	char key[KEY_BYTES];
	struct mem_fault fault = {.key_part = key};
	fault.open_errnum = errnums[take_below(&world->in, ARRAY_LEN(errnums))];
	fault.read_errnum = errnums[take_below(&world->in, ARRAY_LEN(errnums))];
	fault.short_read = (int)take_below(&world->in, 4);
	take_key(&world->in, key);
	check(mem_store_set_faults(world->store, &fault, 1) == 0);
	world->faulty = true;
	world->changed |= world->fs != NULL;
}

/* ---------------------------------------------------------------- the file system */

static void check_errno(const struct world *world, int rc)
{
	static const int expected[] = {0, EIO, ENOTSUP, EFBIG, ENOMEM, ESTALE, ETIMEDOUT};
	size_t i = 0;
	while (i < ARRAY_LEN(expected) && expected[i] != -rc)
		i++;
	check(i < ARRAY_LEN(expected) || (world->faulty && rc == -EACCES));
}

static bool open_fs(struct world *world)
{
	if (world->fs || world->refused)
		return world->fs;
	struct fs_options options = {
		.store = world->store,
		.cache_bytes = UINT64_C(1) << CACHE_SHIFT(world->flags),
		.decode_threads = FS_INLINE,
		.max_chunk = MAX_CHUNK,
	};
	int rc = fs_open(&options, &world->fs);
	if (rc) {
		if (rc != -ENOENT)
			check_errno(world, rc);
		world->refused = true;
		world->store = NULL;
	} else {
		world->handles[world->n_handles++] = FS_ROOT;
	}
	return world->fs;
}

static uint64_t take_handle(struct world *world)
{
	return world->handles[take_below(&world->in, INODES) % (unsigned)world->n_handles];
}

static void keep_handle(struct world *world, const struct fs_attr *attr)
{
	check(attr->handle && attr->ino > 1 && (S_ISDIR(attr->mode) || S_ISREG(attr->mode)));
	if (world->n_handles < INODES)
		world->handles[world->n_handles++] = attr->handle;
	else
		fs_forget(world->fs, attr->handle, 1);
}

static void step_lookup(struct world *world)
{
	char name[KEY_BYTES];
	struct fs_attr attr;
	uint64_t parent = take_handle(world);
	take_key(&world->in, name);
	int rc = fs_lookup(world->fs, parent, name, STORE_WAIT, &attr);
	if (!rc)
		keep_handle(world, &attr);
	else if (rc != -ENOENT)
		check_errno(world, rc);
}

static bool emit(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie)
{
	check(name[0] && !strchr(name, '/'));
	if (strcmp(name, ".") && strcmp(name, ".."))
		keep_handle(arg, attr);
	return true;
}

static void step_list(struct world *world)
{
	int rc = fs_readdir(world->fs, take_handle(world), 0, true, STORE_WAIT, emit, world);
	check_errno(world, rc);
}

static void step_forget(struct world *world)
{
	unsigned i = take_below(&world->in, INODES) % (unsigned)world->n_handles;
	if (i == 0)
		return;
	fs_forget(world->fs, world->handles[i], 1);
	world->handles[i] = world->handles[--world->n_handles];
}

static void step_xattrs(struct world *world)
{
	autofree char *names = NULL;
	autofree char *path = NULL;
	size_t size;
	uint64_t handle = take_handle(world);
	int rc = fs_listxattr(world->fs, handle, STORE_WAIT, &names, &size);
	check_errno(world, rc);
	for (size_t at = 0; !rc && at < size; at += strlen(names + at) + 1) {
		autofree char *value = NULL;
		check(fs_getxattr(world->fs, handle, names + at, STORE_WAIT, &value) == 0 && value);
	}
	path = fs_path(world->fs, handle);
	check(path);
}

/* What one chunk of the file's array takes while it is loaded. */
static void allow_chunk(struct world *world, uint64_t handle)
{
	struct inode inode;
	struct array *array;
	if (inode_table_copy(world->fs->inodes, handle, &inode) || !inode.node ||
		node_array(world->fs->hierarchy, inode.node, &array))
		return;
	uint64_t index = 0;
	for (int i = 0; i < array->n_levels; i++)
		index = MAX(index, sharding_entries(array->levels[i].sharding) * sizeof(struct shard_entry));
	world->chunk_memory = MAX(world->chunk_memory, array->chunk_bytes + pipeline_scratch_bytes(array->unit) + index);
}

static int read_bytes(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst)
{
	struct waited_request *waited;
	check(waited_request_new(NULL, &waited) == 0);
	fs_read(file, offset, size, dst, &waited->request);
	check(!request_is_open(&waited->request)); /* nobody else could finish it */
	request_finish_part(&waited->request, 0);
	return waited_request_wait(waited);
}

/* Over different bytes, so that what was not written differs too. */
static void check_read(struct world *world, struct fs_file *file, uint64_t offset, size_t size)
{
	uint8_t first[READ_BYTES], second[READ_BYTES], one;
	memset(first, 0xa5, size);
	memset(second, 0x5a, size);
	int rc = read_bytes(file, offset, size, first), again = read_bytes(file, offset, size, second);
	check_errno(world, rc);
	check_errno(world, again);
	if (world->changed || fs_file_is_volatile(file))
		return;
	check(rc == again && (rc || memcmp(first, second, size) == 0));
	if (!rc && size)
		check(read_bytes(file, offset + size / 2, 1, &one) == 0 && one == first[size / 2]);
}

static void step_read(struct world *world)
{
	struct fs_file *file;
	uint64_t handle = take_handle(world);
	unsigned shift = take_below(&world->in, 48), reads = 1 + take_below(&world->in, 6);
	uint64_t offset = take(&world->in, 4) << shift;
	size_t wanted = (size_t)take(&world->in, 2) % (READ_BYTES + 1);
	struct fs_attr attr;
	check(fs_getattr(world->fs, handle, STORE_WAIT, &attr) == 0);
	int rc = fs_file_open(world->fs, handle, world->flags & FLAG_ONCE, STORE_WAIT, &file);
	if (rc) {
		check(S_ISDIR(attr.mode) ? rc == -EISDIR : (check_errno(world, rc), true));
		return;
	}
	allow_chunk(world, handle);
	for (offset %= attr.size + 16; reads > 0; reads--) {
		size_t n = fs_read_size(file, offset, wanted);
		check(n <= wanted && (n == wanted || offset + n >= attr.size || fs_file_is_volatile(file)));
		check_read(world, file, offset, n);
		offset += n;
	}
	fs_file_unref(file);
	check(cache_used(world->fs->env.cache) <= cache_budget(world->fs->env.cache) + world->chunk_memory);
}

/*
 * A step that looks. Documents take 40 times their size as trees, and may stand in each other; the mem store keeps each key that it
 * was asked for; then there are inodes, and scratch that threads keep.
 */
static void look(struct world *world, void (*step)(struct world *), size_t input_size)
{
	int64_t before = live_bytes_peak = live_bytes;
	step(world);
	uint64_t keys = mem_store_counts(world->store, "").opens;
	uint64_t most = cache_budget(world->fs->env.cache) + world->chunk_memory;
	most += 256 * (uint64_t)input_size + 512 * keys + world->types * LIMIT_ITEM_SIZE + (UINT64_C(4) << 20);
	check(world->kept + live_bytes_peak - before <= (int64_t)most);
	world->kept += live_bytes - before;
}

static void run(struct world *world, size_t input_size)
{
	static void (*const steps[STEPS])(struct world *) = {
		[STEP_VALUE] = step_value,	 [STEP_CHUNK] = step_chunk, [STEP_ARRAY] = step_array,
		[STEP_ENCODE] = step_encode, [STEP_FAULT] = step_fault, [STEP_LOOKUP] = step_lookup,
		[STEP_LIST] = step_list,	 [STEP_READ] = step_read,	[STEP_XATTRS] = step_xattrs,
		[STEP_FORGET] = step_forget,
	};
	for (int n = 0; world->in.p < world->in.end && n < STEPS_MOST; n++) {
		unsigned step = take_below(&world->in, STEPS);
		if (step >= STEP_LOOKUP && !open_fs(world))
			return;
		if (step == STEP_REMOVE) {
			char key[KEY_BYTES];
			take_key(&world->in, key);
			put(world, key, NULL, 0);
		} else if (step >= STEP_LOOKUP) {
			look(world, steps[step], input_size);
		} else {
			steps[step](world);
		}
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world world = {.in = {data, data + size}};
	set_up();
	world.flags = (unsigned)take(&world.in, 1);
	check(mem_store_new("fuzz", !(world.flags & FLAG_UNLISTED), &world.store) == 0);
	run(&world, size);
	if (world.fs)
		fs_close(world.fs);
	else if (world.store)
		store_close(world.store);
	return 0;
}
