/*
 * test_model.c: random operations on core/fs and on a plain model, compared.
 *
 *     model    a tree of nodes and the rules for names, in loops over arrays: what each directory lists and what each file holds
 *     held     what a kernel would remember: handle -> entry, with its count of look-ups
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "fs/fs_impl.h"

enum { MAX_NODES = 40, MAX_HELD = 400, MAX_ENTRIES = MAX_NODES * 4 + 8 };

enum model_kind { MODEL_GROUP, MODEL_IMPLICIT, MODEL_ARRAY, MODEL_BROKEN };

struct model {
	enum model_kind kind;
	int parent; /* -1: the root */
	char name[LIMIT_NAME_BYTES + 1];
	char *path;
	struct fixture fixture;
};

static struct model nodes[MAX_NODES];
static int n_nodes;
static unsigned listed; /* suffixes, as bits */
static struct fs *fs;
static uint64_t state;

/* view.c's rows, which the model has to know: the order of a listing */
static const char *const suffixes[] = {"npy", "raw", "json"};
#define SUFFIXES ((int)ARRAY_LEN(suffixes))

static uint64_t below(uint64_t n)
{
	return test_random(&state) % n;
}

/* ------------------------------------------------ the model ------------------------------------------------ */

static int find_child(int parent, const char *name)
{
	for (int i = 0; i < n_nodes; i++)
		if (nodes[i].parent == parent && !strcmp(nodes[i].name, name))
			return i;
	return -1;
}

static bool has_children(int node)
{
	for (int i = 0; i < n_nodes; i++)
		if (nodes[i].parent == node)
			return true;
	return false;
}

static bool has_documents_below(int node)
{
	for (int i = 0; i < n_nodes; i++)
		if (nodes[i].parent == node && nodes[i].kind != MODEL_IMPLICIT)
			return true;
	return false;
}

static bool is_directory(int node)
{
	return nodes[node].kind == MODEL_GROUP || nodes[node].kind == MODEL_IMPLICIT ||
		   (nodes[node].kind == MODEL_BROKEN && has_documents_below(node));
}

static bool is_file(int node)
{
	return nodes[node].kind == MODEL_ARRAY || nodes[node].kind == MODEL_BROKEN;
}

/* What a directory shows. */
struct entry {
	char name[2 * LIMIT_NAME_BYTES];
	int node;	/* -1: the control directory, -2: its statistics */
	int suffix; /* -1: a directory */
};

/* The entry that a name means; false when there is none. */
static bool model_lookup(int parent, const char *name, struct entry *ret_entry)
{
	int node = find_child(parent, name);
	const char *dot = strrchr(name, '.');
	*ret_entry = (struct entry){.node = node, .suffix = -1};
	if (parent == 0 && !strcmp(name, ".zarrfs")) {
		ret_entry->node = -1;
		return true;
	}
	if (node >= 0 && is_directory(node))
		return true;
	for (int s = 0; dot && s < SUFFIXES; s++) {
		char stem[LIMIT_NAME_BYTES + 1] = "";
		if (strcmp(dot + 1, suffixes[s]) || strlen(name) > LIMIT_NAME_BYTES)
			continue;
		memcpy(stem, name, (size_t)(dot - name));
		node = find_child(parent, stem);
		*ret_entry = (struct entry){.node = node, .suffix = s};
		return node >= 0 && is_file(node);
	}
	return false;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(nodes[*(const int *)a].name, nodes[*(const int *)b].name);
}

static int model_list(int parent, struct entry *ret_entries)
{
	int children[MAX_NODES], n = 0, entries = 0;
	for (int i = 0; i < n_nodes; i++)
		if (nodes[i].parent == parent)
			children[n++] = i;
	qsort(children, (size_t)n, sizeof(*children), compare_names);
	for (int i = 0; i < n; i++) {
		int node = children[i];
		struct entry *entry = &ret_entries[entries];
		if (is_directory(node) && (parent || strcmp(nodes[node].name, ".zarrfs"))) {
			*entry = (struct entry){.node = node, .suffix = -1};
			snprintf(entry->name, sizeof(entry->name), "%s", nodes[node].name);
			entry = &ret_entries[++entries];
		}
		for (int s = 0; is_file(node) && s < SUFFIXES; s++) {
			*entry = (struct entry){.node = node, .suffix = s};
			snprintf(entry->name, sizeof(entry->name), "%s.%s", nodes[node].name, suffixes[s]);
			int other = find_child(parent, entry->name);
			if (listed >> s & 1 && strlen(entry->name) <= LIMIT_NAME_BYTES && (other < 0 || !is_directory(other)))
				entry = &ret_entries[++entries];
		}
	}
	return entries;
}

/* ------------------------------------------------ random trees ------------------------------------------------ */

/* Names that collide with views of one another, names that need care, and names almost too long. */
static void choose_name(char *ret_name)
{
	static const char *const names[] = {"a",	 "a.raw",	"a.npy",   "a.json",   "a.raw.raw", "b",
										"b.raw", "c",		"x y",	   "\xc3\xbc", "\xff\xfe",	"\n",
										"%s",	 ".zarrfs", ".hidden", "raw",	   ".raw",		"stats.json"};
	if (below(8)) {
		strcpy(ret_name, names[below(ARRAY_LEN(names))]);
		return;
	}
	size_t n = 249 + below(7);
	memset(ret_name, 'n', n);
	ret_name[n] = 0;
}

static void add_node(int parent, const char *name, enum model_kind kind)
{
	struct model *model = &nodes[n_nodes++];
	*model = (struct model){.kind = kind, .parent = parent};
	snprintf(model->name, sizeof(model->name), "%s", name);
	model->path = parent < 0 ? strdup("") : str_join_key(nodes[parent].path, name);
	static const char *const dtypes[] = {"uint8", "int32", "float64"};
	model->fixture = (struct fixture){.path = model->path,
									  .dtype = dtypes[below(3)],
									  .ndim = (int)below(3),
									  .shape = {below(9), 1 + below(9)},
									  .chunk = {1 + below(5), 1 + below(5)},
									  .skip = (unsigned)below(3),
									  .fill = below(256)};
}

static void make_tree(int size)
{
	n_nodes = 0;
	add_node(-1, "", MODEL_GROUP);
	while (n_nodes < size) {
		char name[LIMIT_NAME_BYTES + 1];
		int parent = (int)below((uint64_t)n_nodes);
		choose_name(name);
		if (nodes[parent].kind == MODEL_ARRAY || find_child(parent, name) >= 0 ||
			(name[0] == '.' && nodes[parent].kind == MODEL_IMPLICIT))
			continue;
		enum model_kind kinds[] = {MODEL_GROUP, MODEL_ARRAY, MODEL_ARRAY, MODEL_ARRAY, MODEL_BROKEN};
		add_node(parent, name, kinds[below(ARRAY_LEN(kinds))]);
	}
	/* groups with children need no document; a hidden directory does */
	for (int i = 1; i < n_nodes; i++)
		if (nodes[i].kind == MODEL_GROUP && has_children(i) && nodes[i].name[0] != '.' && !below(3))
			nodes[i].kind = MODEL_IMPLICIT;
}

static void free_tree(void)
{
	for (int i = 0; i < n_nodes; i++)
		free(nodes[i].path);
}

static struct store *store_tree(void)
{
	struct store *store;
	ck_assert_int_eq(mem_store_new("model.zarr", true, &store), 0);
	for (int i = 0; i < n_nodes; i++) {
		autofree char *key = str_join_key(nodes[i].path, "zarr.json");
		if (nodes[i].kind == MODEL_GROUP)
			fixture_put_group(store, nodes[i].path);
		else if (nodes[i].kind == MODEL_ARRAY)
			fixture_put(store, &nodes[i].fixture);
		else if (nodes[i].kind == MODEL_BROKEN)
			fixture_put_text(store, key, "{");
	}
	return store;
}

static void open_fs(void)
{
	static const char *const lists[] = {NULL, "npy,raw,json", "raw", "json,npy"};
	static const unsigned masks[] = {7, 7, 2, 5};
	size_t i = below(ARRAY_LEN(lists));
	struct fs_options options = {.store = store_tree(),
								 .cache_bytes = below(2) ? 1 << 20 : 1000,
								 .decode_threads = below(2) ? 2 : FS_INLINE,
								 .views = lists[i]};
	listed = masks[i];
	int rc = fs_open(&options, &fs);
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

/* ------------------------------------------------ what the kernel holds ------------------------------------------------ */

static struct held {
	uint64_t handle, lookups;
	struct entry entry;
} held[MAX_HELD];
static int n_held;
static uint64_t newest; /* handle */

/* st_ino by path and suffix, from the first time on. */
static uint64_t inos[MAX_NODES + 2][4];

static void check_ino(const struct entry *entry, uint64_t ino)
{
	uint64_t *known = &inos[entry->node + 2][entry->suffix + 1];
	ck_assert_uint_gt(ino, 1);
	if (*known)
		ck_assert_uint_eq(ino, *known);
	*known = ino;
}

static void check_inos_differ(void)
{
	const uint64_t *all = &inos[0][0];
	size_t n = sizeof(inos) / sizeof(*all);
	for (size_t i = 0; i < n; i++)
		for (size_t k = i + 1; k < n; k++)
			ck_assert(!all[i] || all[i] != all[k]);
}

static bool same_entry(const struct entry *a, const struct entry *b)
{
	return a->node == b->node && a->suffix == b->suffix;
}

/* A look-up has been counted. */
static void hold(const struct entry *entry, uint64_t handle)
{
	for (int i = 0; i < n_held; i++) {
		if (same_entry(&held[i].entry, entry)) {
			ck_assert_uint_eq(held[i].handle, handle);
			held[i].lookups++;
			return;
		}
		ck_assert_uint_ne(held[i].handle, handle);
	}
	/* never used before */
	ck_assert_uint_gt(handle, newest);
	newest = handle;
	ck_assert_int_lt(n_held, MAX_HELD);
	held[n_held++] = (struct held){.handle = handle, .lookups = 1, .entry = *entry};
}

static void check_attr(const struct entry *entry, const struct fs_attr *attr, bool sized)
{
	check_ino(entry, attr->ino);
	bool directory = entry->suffix < 0 && entry->node != -2;
	ck_assert_uint_eq(attr->mode, directory ? S_IFDIR | 0555 : S_IFREG | 0444);
	ck_assert_uint_eq(attr->nlink, directory ? 2 : 1);
	if (!sized || directory || entry->node < 0)
		return;
	const struct model *model = &nodes[entry->node];
	bool is_json = !strcmp(suffixes[entry->suffix], "json");
	if (is_json)
		ck_assert_uint_gt(attr->size, 0);
	else if (model->kind == MODEL_BROKEN)
		ck_assert_uint_eq(attr->size, 0);
	else if (!strcmp(suffixes[entry->suffix], "raw"))
		ck_assert_uint_eq(attr->size, fixture_bytes(&model->fixture));
	else
		ck_assert_uint_eq(attr->size, fixture_bytes(&model->fixture) + 128);
}

static struct held *choose_held(void)
{
	return &held[below((uint64_t)n_held)];
}

static bool is_held_directory(const struct held *one)
{
	return one->entry.suffix < 0 && one->entry.node >= -1;
}

static enum store_how choose_how(void)
{
	return below(2) ? STORE_WAIT : STORE_TRY;
}

/* ------------------------------------------------ operations ------------------------------------------------ */

static void choose_lookup_name(int parent, char *ret_name)
{
	static const char *const others[] = {".",	  "..",		 "",		   "a.",		  ".npy", "zarr.json", "a/c",
										 "..raw", ".zarrfs", "stats.json", "nothing.raw", "c",	  "__a"};
	struct entry entries[MAX_ENTRIES];
	int n = model_list(parent, entries);
	if (n && below(3))
		strcpy(ret_name, entries[below((uint64_t)n)].name);
	else if (below(2)) {
		choose_name(ret_name);
		if (below(2) && strlen(ret_name) < 200)
			sprintf(ret_name + strlen(ret_name), ".%s", suffixes[below(3)]);
	} else
		strcpy(ret_name, others[below(ARRAY_LEN(others))]);
}

static void do_lookup(void)
{
	const struct held *directory = choose_held();
	int parent = directory->entry.node;
	char name[2 * LIMIT_NAME_BYTES];
	struct entry wanted;
	struct fs_attr attr;
	bool exists = false;
	if (is_held_directory(directory) && parent >= 0) {
		choose_lookup_name(parent, name);
		exists = model_lookup(parent, name, &wanted);
	} else {
		strcpy(name, below(2) ? "stats.json" : "a.raw");
		exists = directory->entry.node == -1 && !strcmp(name, "stats.json");
		wanted = (struct entry){.node = -2, .suffix = -1};
	}
	int rc = fs_lookup(fs, directory->handle, name, choose_how(), &attr);
	if (rc == -EAGAIN)
		rc = fs_lookup(fs, directory->handle, name, STORE_WAIT, &attr);
	ck_assert_msg(rc == (exists ? 0 : -ENOENT), "\"%s\" in \"%s\": %d %s", name, parent >= 0 ? nodes[parent].path : "?",
				  rc, err_message());
	if (!exists)
		return;
	check_attr(&wanted, &attr, true);
	hold(&wanted, attr.handle);
}

struct seen {
	int room;
	int n;
	bool overflowed;
	struct {
		char name[2 * LIMIT_NAME_BYTES];
		struct fs_attr attr;
		uint64_t next;
	} entries[MAX_ENTRIES];
};

static bool note_entry(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie)
{
	struct seen *seen = arg;
	ck_assert(!seen->overflowed);
	if (seen->n == seen->room) {
		seen->overflowed = true;
		return false;
	}
	ck_assert_int_lt(seen->n, MAX_ENTRIES);
	snprintf(seen->entries[seen->n].name, sizeof(seen->entries[0].name), "%s", name);
	seen->entries[seen->n].attr = *attr;
	seen->entries[seen->n++].next = next_cookie;
	return true;
}

static void list(uint64_t handle, uint64_t cookie, bool plus, int room, struct seen *ret_seen)
{
	*ret_seen = (struct seen){.room = room};
	int rc = fs_readdir(fs, handle, cookie, plus, choose_how(), note_entry, ret_seen);
	if (rc == -EAGAIN) {
		ck_assert_int_eq(ret_seen->n, 0);
		rc = fs_readdir(fs, handle, cookie, plus, STORE_WAIT, note_entry, ret_seen);
	}
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

/* A listing in pieces of random size, some of them asked for twice, is the model's. */
static void do_readdir(void)
{
	static struct seen piece;
	struct entry wanted[MAX_ENTRIES];
	const struct held directory = *choose_held();
	bool plus = below(2);
	if (!is_held_directory(&directory))
		return;
	int n = directory.entry.node >= 0 ? model_list(directory.entry.node, wanted) : 1;
	if (directory.entry.node < 0) {
		wanted[0] = (struct entry){.node = -2, .suffix = -1};
		strcpy(wanted[0].name, "stats.json");
	}
	uint64_t cookies[MAX_ENTRIES + 3] = {0};
	int at = 0; /* in ".", "..", wanted */
	do {
		if (at && !below(4))
			at = (int)below((uint64_t)at);
		int room = below(3) ? (int)below(4) + 1 : MAX_ENTRIES;
		list(directory.handle, cookies[at], plus, room, &piece);
		ck_assert_int_eq(piece.n, MIN(room, n + 2 - at));
		for (int i = 0; i < piece.n; i++, at++) {
			const struct fs_attr *attr = &piece.entries[i].attr;
			cookies[at + 1] = piece.entries[i].next;
			ck_assert_uint_ne(cookies[at + 1], 0);
			if (at < 2) {
				ck_assert_str_eq(piece.entries[i].name, at ? ".." : ".");
				ck_assert_uint_eq(attr->handle, 0);
				int parent = directory.entry.node >= 0 ? MAX(nodes[directory.entry.node].parent, 0) : 0;
				check_ino(at ? &(struct entry){.node = parent, .suffix = -1} : &directory.entry, attr->ino);
				continue;
			}
			ck_assert_str_eq(piece.entries[i].name, wanted[at - 2].name);
			check_attr(&wanted[at - 2], attr, plus);
			if (plus)
				hold(&wanted[at - 2], attr->handle);
		}
	} while (at < n + 2);
	list(directory.handle, cookies[at], plus, MAX_ENTRIES, &piece);
	ck_assert_int_eq(piece.n, 0);
	/* a cookie that was never given: anything but an error or a count that nobody knows */
	list(directory.handle, test_random(&state) >> below(64), false, MAX_ENTRIES, &piece);
}

static void do_getattr(void)
{
	const struct held *one = choose_held();
	struct fs_attr attr;
	ck_assert_int_eq(fs_getattr(fs, one->handle, choose_how(), &attr), 0);
	ck_assert_uint_eq(attr.handle, one->handle);
	check_attr(&one->entry, &attr, true);
}

static int read_file(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst)
{
	struct waited_request *waited;
	ck_assert_int_eq(waited_request_new(NULL, &waited), 0);
	fs_read(file, offset, size, dst, &waited->request);
	request_finish_part(&waited->request, 0);
	return waited_request_wait(waited);
}

static void check_json(const char *text, size_t size, const char *member)
{
	struct json *json;
	ck_assert_msg(json_parse(text, size, LIMIT_JSON_BYTES, NULL, &json) == 0, "%s", text);
	ck_assert_ptr_nonnull(json_get(json, member));
	json_free(json);
}

static void check_content(const struct held *one, struct fs_file *file)
{
	static uint8_t got[1 << 16], wanted[1 << 16];
	size_t size = fs_read_size(file, 0, sizeof(got));
	ck_assert_uint_lt(size, sizeof(got));
	if (one->entry.node == -2 || !strcmp(suffixes[one->entry.suffix], "json")) {
		ck_assert_int_eq(read_file(file, 0, size, got), 0);
		check_json((const char *)got, size, one->entry.node == -2 ? "inodes" : "error");
		return;
	}
	const struct fixture *fixture = &nodes[one->entry.node].fixture;
	size_t head = strcmp(suffixes[one->entry.suffix], "npy") ? 0 : 128, bytes = (size_t)fixture_bytes(fixture);
	ck_assert_uint_eq(size, head + bytes);
	fixture_expect(fixture, 0, bytes, wanted + head);
	for (int i = 0; i < 3; i++) {
		uint64_t offset = below(size + 2);
		size_t part = fs_read_size(file, offset, below(size + 100));
		ck_assert_uint_le(part, offset < size ? size - offset : 0);
		if (!part)
			continue;
		ck_assert_int_eq(read_file(file, offset, part, got + offset), 0);
		uint64_t from = MAX(offset, head);
		if (offset + part > from)
			ck_assert_mem_eq(got + from, wanted + from, offset + part - from);
	}
}

static void do_open(void)
{
	const struct held *one = choose_held();
	struct fs_file *file;
	int rc = fs_file_open(fs, one->handle, below(2), choose_how(), &file);
	if (rc == -EAGAIN)
		rc = fs_file_open(fs, one->handle, below(2), STORE_WAIT, &file);
	bool is_json = one->entry.suffix >= 0 && !strcmp(suffixes[one->entry.suffix], "json");
	int wanted = is_held_directory(one)															   ? -EISDIR
				 : one->entry.node >= 0 && nodes[one->entry.node].kind == MODEL_BROKEN && !is_json ? -EIO
																								   : 0;
	ck_assert_msg(rc == wanted, "%d in place of %d: %s", rc, wanted, err_message());
	if (rc)
		return;
	ck_assert_int_eq(fs_file_is_volatile(file), one->entry.node == -2);
	check_content(one, file);
	ck_assert_ptr_eq(fs_file_ref(file), file);
	fs_file_unref(file);
	fs_file_unref(file);
}

static void forget(int i, uint64_t n)
{
	uint64_t handle = held[i].handle;
	fs_forget(fs, handle, n);
	held[i].lookups -= n;
	struct fs_attr attr;
	ck_assert_int_eq(fs_getattr(fs, handle, STORE_WAIT, &attr), held[i].lookups ? 0 : -ESTALE);
	if (!held[i].lookups)
		held[i] = held[--n_held];
}

static void do_forget(void)
{
	int i = (int)below((uint64_t)n_held);
	if (held[i].handle != FS_ROOT)
		forget(i, 1 + below(held[i].lookups));
}

static void do_path(void)
{
	const struct held *one = choose_held();
	autofree char *path = fs_path(fs, one->handle);
	autostr(wanted);
	if (one->entry.node < 0)
		str_append(&wanted, one->entry.node == -1 ? "/.zarrfs" : "/.zarrfs/stats.json");
	else
		str_appendf(&wanted, "/%s%s%s", nodes[one->entry.node].path, one->entry.suffix < 0 ? "" : ".",
					one->entry.suffix < 0 ? "" : suffixes[one->entry.suffix]);
	ck_assert_str_eq(path, wanted.text);
}

static void (*const operations[])(void) = {do_lookup, do_lookup, do_lookup, do_readdir, do_getattr,
										   do_open,	  do_open,	 do_forget, do_forget,	do_path};

static uint64_t inodes_alive(void)
{
	struct fs_attr control, stats;
	struct fs_file *file;
	uint8_t text[4096];
	struct json *json;
	int64_t inodes;
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, ".zarrfs", STORE_TRY, &control), 0);
	ck_assert_int_eq(fs_lookup(fs, control.handle, "stats.json", STORE_TRY, &stats), 0);
	ck_assert_int_eq(fs_file_open(fs, stats.handle, false, STORE_TRY, &file), 0);
	size_t size = fs_read_size(file, 0, sizeof(text));
	ck_assert_int_eq(read_file(file, 0, size, text), 0);
	ck_assert_int_eq(json_parse((const char *)text, size, LIMIT_JSON_BYTES, NULL, &json), 0);
	ck_assert_int_eq(json_int64(json_get(json, "inodes"), "inodes", &inodes), 0);
	json_free(json);
	fs_file_unref(file);
	fs_forget(fs, control.handle, 1);
	fs_forget(fs, stats.handle, 1);
	return (uint64_t)inodes;
}

static void drop_line(enum log_level level, const char *line, void *arg)
{
}

/* One mount of the tree's store, ended with every count given back. */
static void run_session(int steps)
{
	open_fs();
	n_held = 1;
	newest = FS_ROOT;
	held[0] = (struct held){.handle = FS_ROOT, .lookups = UINT64_MAX, .entry = {.node = 0, .suffix = -1}};
	for (int step = 0; step < steps; step++)
		operations[below(ARRAY_LEN(operations))]();
	/* the root, and what asks */
	ck_assert_uint_ge(inodes_alive(), (uint64_t)n_held);
	while (n_held > 1)
		forget(n_held - 1, held[n_held - 1].lookups);
	ck_assert_uint_eq(inodes_alive(), 1 + 2);
	/* the root outlives what a kernel takes back of it */
	struct fs_attr attr;
	fs_forget(fs, FS_ROOT, 1000000);
	ck_assert_int_eq(fs_getattr(fs, FS_ROOT, STORE_TRY, &attr), 0);
	fs_forget(fs, 12345678, 1);
	fs_close(fs);
}

START_TEST(random_operations_give_what_the_model_gives)
{
	state = test_seed();
	log_set_sink(drop_line, NULL);
	for (int round = 0; round < 12; round++) {
		make_tree(2 + (int)below(MAX_NODES - 2));
		memset(inos, 0, sizeof(inos));
		/* the same store twice: inode numbers are those of the first time */
		run_session(300);
		run_session(100);
		check_inos_differ();
		free_tree();
	}
	log_set_sink(NULL, NULL);
}
END_TEST

/* ------------------------------------------------ by hand ------------------------------------------------ */

static struct store *begin(void)
{
	struct store *store;
	ck_assert_int_eq(mem_store_new("hand.zarr", true, &store), 0);
	log_set_sink(drop_line, NULL);
	return store;
}

static void open_store(struct store *store)
{
	int rc = fs_open(&(struct fs_options){.store = store, .cache_bytes = 1 << 20, .decode_threads = FS_INLINE}, &fs);
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

static void end(void)
{
	fs_close(fs);
	log_set_sink(NULL, NULL);
}

START_TEST(a_group_of_exactly_that_name_wins_over_a_view)
{
	struct store *store = begin();
	struct fixture a = {.path = "a", .ndim = 1, .shape = {4}, .chunk = {4}};
	struct fs_attr attr;
	static struct seen seen;
	fixture_put_group(store, "");
	fixture_put(store, &a);
	fixture_put_group(store, "a.raw");
	open_store(store);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "a.raw", STORE_WAIT, &attr), 0);
	ck_assert(S_ISDIR(attr.mode));
	list(FS_ROOT, 0, false, MAX_ENTRIES, &seen);
	ck_assert_int_eq(seen.n, 5);
	ck_assert_str_eq(seen.entries[2].name, "a.npy");
	ck_assert_str_eq(seen.entries[3].name, "a.json");
	ck_assert_str_eq(seen.entries[4].name, "a.raw");
	ck_assert(S_ISDIR(seen.entries[4].attr.mode));
	end();
}
END_TEST

START_TEST(a_root_that_is_an_array_is_shown_under_the_name_of_the_store)
{
	struct store *store = begin();
	struct fixture root = {.path = "", .ndim = 1, .shape = {4}, .chunk = {4}};
	struct fs_attr attr;
	static struct seen seen;
	fixture_put(store, &root);
	open_store(store);
	list(FS_ROOT, 0, false, MAX_ENTRIES, &seen);
	ck_assert_int_eq(seen.n, 5);
	ck_assert_str_eq(seen.entries[2].name, "hand.npy");
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "hand.raw", STORE_WAIT, &attr), 0);
	ck_assert_uint_eq(attr.size, 8);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "hand", STORE_WAIT, &attr), -ENOENT);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, ".raw", STORE_WAIT, &attr), -ENOENT);
	autofree char *path = fs_path(fs, attr.handle);
	ck_assert_str_eq(path, "/hand.raw");
	end();
}
END_TEST

/* The kernel keeps what a listing gave it, also when the store only failed for a moment. */
START_TEST(a_file_that_the_store_failed_to_give_is_looked_up_again_when_it_answers)
{
	struct store *store = begin();
	struct fixture a = {.path = "a", .ndim = 1, .shape = {4}, .chunk = {4}};
	struct fs_attr attr, again;
	struct fs_file *file;
	static struct seen seen;
	fixture_put_group(store, "");
	fixture_put(store, &a);
	open_store(store);
	const struct mem_fault fault = {.key_part = "a/", .open_errnum = EACCES};
	ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
	ck_assert(!fs_directory_is_settled(fs, FS_ROOT));
	list(FS_ROOT, 0, true, MAX_ENTRIES, &seen);
	ck_assert_int_eq(seen.n, 5);
	ck_assert(!fs_directory_is_settled(fs, FS_ROOT));
	attr = seen.entries[3].attr;
	ck_assert_str_eq(seen.entries[3].name, "a.raw");
	ck_assert_uint_eq(attr.size, 0);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_WAIT, &file), -EACCES);

	ck_assert_int_eq(mem_store_set_faults(store, NULL, 0), 0);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_TRY, &file), -EAGAIN);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_WAIT, &file), -ESTALE);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "a.raw", STORE_WAIT, &again), 0);
	ck_assert_uint_ne(again.handle, attr.handle);
	ck_assert_uint_eq(again.ino, attr.ino);
	ck_assert_uint_eq(again.size, 8);
	ck_assert_int_eq(fs_file_open(fs, again.handle, false, STORE_WAIT, &file), 0);
	fs_file_unref(file);
	end();
}
END_TEST

START_TEST(a_document_that_stays_broken_fails_at_open_with_its_reason)
{
	struct store *store = begin();
	struct fs_attr attr;
	struct fs_file *file;
	fixture_put_group(store, "");
	fixture_put_text(store, "a/zarr.json", "{");
	open_store(store);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "a.raw", STORE_WAIT, &attr), 0);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_TRY, &file), -EIO);
	ck_assert_int_eq(strncmp(err_message(), "a/zarr.json: ", 13), 0);
	autofree char *reason = NULL;
	ck_assert_int_eq(fs_getxattr(fs, attr.handle, "user.zarr.error", STORE_TRY, &reason), 0);
	ck_assert_str_eq(reason, err_message());
	end();
}
END_TEST

START_TEST(an_array_shows_its_facts_as_attributes_and_nothing_else)
{
	struct store *store = begin();
	struct fixture a = {.path = "a", .dtype = "int16", .ndim = 2, .shape = {4, 6}, .chunk = {2, 3}};
	static const struct {
		const char *name, *value;
	} wanted[] = {{"shape", "[4, 6]"},		 {"dtype", "<i2"},	  {"chunks", "[2, 3]"},		  {"shards", "null"},
				  {"codecs", "[\"bytes\"]"}, {"fill_value", "0"}, {"dimension_names", "null"}};
	struct fs_attr attr;
	fixture_put_group(store, "");
	fixture_put(store, &a);
	open_store(store);
	char *value;
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "a.npy", STORE_WAIT, &attr), 0);
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		autostr(name);
		str_appendf(&name, "user.zarr.%s", wanted[i].name);
		ck_assert_int_eq(fs_getxattr(fs, attr.handle, name.text, STORE_TRY, &value), 0);
		ck_assert_str_eq(value, wanted[i].value);
		free(value);
	}
	static const char *const absent[] = {"user.zarr.error",		"user.zarr.", "user.zarr",
										 "security.capability", "shape",	  ""};
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		ck_assert_int_eq(fs_getxattr(fs, attr.handle, absent[i], STORE_TRY, &value), -ENODATA);
	ck_assert_int_eq(fs_getxattr(fs, FS_ROOT, "user.zarr.shape", STORE_TRY, &value), -ENODATA);
	size_t size, n = 0;
	ck_assert_int_eq(fs_listxattr(fs, attr.handle, STORE_TRY, &value, &size), 0);
	for (size_t at = 0; at < size; at += strlen(value + at) + 1)
		n++;
	ck_assert_uint_eq(n, ARRAY_LEN(wanted));
	free(value);
	ck_assert_int_eq(fs_listxattr(fs, FS_ROOT, STORE_TRY, &value, &size), 0);
	ck_assert_uint_eq(size, 0);
	free(value);
	end();
}
END_TEST

START_TEST(what_is_no_store_and_options_that_make_no_sense_are_refused)
{
	struct store *store = begin();
	fixture_put_text(store, "readme.txt", "hello");
	ck_assert_int_eq(fs_open(&(struct fs_options){.store = store}, &fs), -ENOENT);
	store = begin();
	fixture_put_group(store, "");
	ck_assert_int_eq(fs_open(&(struct fs_options){.store = store, .views = "npy,xyz"}, &fs), -EINVAL);
	ck_assert_str_eq(err_message(), "unknown view \"xyz\"");
	ck_assert_int_lt(fs_open(&(struct fs_options){.url = "/nowhere/at/all.zarr"}, &fs), 0);
	log_set_sink(NULL, NULL);
}
END_TEST

static Suite *model_suite(void)
{
	Suite *suite = suite_create("model");
	TCase *tcase = tcase_create("model");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, random_operations_give_what_the_model_gives);
	tcase_add_test(tcase, a_group_of_exactly_that_name_wins_over_a_view);
	tcase_add_test(tcase, a_root_that_is_an_array_is_shown_under_the_name_of_the_store);
	tcase_add_test(tcase, a_file_that_the_store_failed_to_give_is_looked_up_again_when_it_answers);
	tcase_add_test(tcase, a_document_that_stays_broken_fails_at_open_with_its_reason);
	tcase_add_test(tcase, an_array_shows_its_facts_as_attributes_and_nothing_else);
	tcase_add_test(tcase, what_is_no_store_and_options_that_make_no_sense_are_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(model_suite)
