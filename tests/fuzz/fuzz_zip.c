/*
 * fuzz_zip.c: a zip, built right and then damaged at places that matter, as a store.
 *
 *     flags       bit 0: the rest is the file as it is; 1: a zip64 end; 2: offsets count what is before; 3, 4: bytes before
 *     comment     so many bytes of what follows are the comment
 *     members     NAME \n method flags size how; at most 8
 *     damages     place member offset width value; at most 16, and where the file is cut
 *
 * Invariants: an errno of the contract; a whole value read twice is the same, and its parts are parts of it; without damage each
 * member is what it was made of, the last of a name; memory is bounded by what the caller allows and the file's size.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../lib/fuzz.h"
#include "../lib/input.h"
#include "../lib/live_bytes.h"
#include "../lib/zips.h"

#include "base/buf.h"
#include "base/log.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MEMBERS_MOST 8
#define DAMAGES_MOST 16
#define NAME_BYTES 64
#define VALUE_MOST ((uint64_t)1 << 20)
/* a value, its compressed bytes, a window of the directory, the tail of the file, what libraries keep */
#define MEMORY_MOST ((int64_t)6 << 20)
#define DEPTH_MOST 8
#define VISITS_MOST 200

struct made {
	char name[NAME_BYTES];
	size_t name_size;
	uint8_t bytes[1 << 16];
	size_t size;
};

struct world {
	struct input in;
	struct zip_maker maker;
	struct made members[MEMBERS_MOST];
	size_t n;
	bool is_damaged;
	struct store *store;
	int visits;
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

static bool is_refusal(int rc)
{
	return rc == -EIO || rc == -ENOTSUP || rc == -EFBIG || rc == -ENOMEM;
}

/* ---------------------------------------------------------------- the file */

static void add_member(struct world *world)
{
	static const unsigned methods[] = {0, 8, 93, 20, 12};
	struct made *made = &world->members[world->n++];
	const uint8_t *text;
	size_t n = take_until(&world->in, '\n', &text);
	n = MIN(n, (size_t)NAME_BYTES - 1);
	memcpy(made->name, text, n);
	made->name[n] = '\0';
	made->name_size = n;
	struct zip_entry entry = {.name = made->name, .name_size = n, .bytes = made->bytes};
	entry.method = methods[take_below(&world->in, ARRAY_LEN(methods))];
	unsigned flags = (unsigned)take(&world->in, 1);
	entry.flags = (flags & 8) | (flags & 1 ? 1u << 11 : 0);
	entry.zip64 = flags & 2;
	entry.local_extra = flags & 4 ? 32 : 0;
	entry.size = made->size = (size_t)take(&world->in, 2);
	unsigned step = (unsigned)take(&world->in, 1);
	for (size_t i = 0; i < made->size; i++)
		made->bytes[i] = (uint8_t)(i * step >> (i & step & 7));
	if (n) /* zip_maker takes 0 for "up to its NUL", which is the same */
		zip_maker_add(&world->maker, &entry);
	else
		world->n--;
}

static void damage(struct world *world)
{
	struct str *bytes = &world->maker.bytes;
	size_t i = world->n ? take_below(&world->in, (unsigned)world->n) : (take(&world->in, 1), 0);
	unsigned kind = take_below(&world->in, 6);
	size_t at = (size_t)take(&world->in, 1), width = 1 + take_below(&world->in, 8);
	uint64_t value = take(&world->in, width);
	if (kind == 0 && world->n)
		at += world->maker.records[i];
	else if (kind == 1 && world->n)
		at += world->maker.headers[i];
	else if (kind == 2)
		at += world->maker.end;
	else if (kind == 3)
		at += world->maker.end - MIN(world->maker.end, (size_t)76);
	else
		at = (size_t)take(&world->in, 3) % (bytes->size + 1);
	for (; width > 0 && at < bytes->size; at++, width--, value >>= 8)
		bytes->text[at] = (char)value;
	world->is_damaged = true;
}

static void build(struct world *world, unsigned flags)
{
	static const size_t before[] = {0, 1, 100, 70000};
	uint8_t comment[256];
	zip_maker_begin(&world->maker, before[flags >> 3 & 3], flags & 4);
	size_t comment_size = (size_t)take(&world->in, 1);
	for (size_t i = 0; i < comment_size; i++)
		comment[i] = (uint8_t)take(&world->in, 1);
	for (unsigned n = take_below(&world->in, MEMBERS_MOST + 1); n > 0; n--)
		add_member(world);
	zip_maker_end(&world->maker, flags & 2, comment, comment_size);
	for (unsigned n = take_below(&world->in, DAMAGES_MOST + 1); n > 0; n--)
		damage(world);
	size_t cut = (size_t)take(&world->in, 2);
	world->is_damaged |= cut > 0 || memmem(comment, comment_size, "PK", 2);
	world->maker.bytes.size -= MIN(cut, world->maker.bytes.size);
}

static int open_bytes(const void *bytes, size_t size, struct store **ret_store)
{
	char url[64];
	int fd = memfd_create("zip", MFD_CLOEXEC);
	check(fd >= 0 && (size == 0 || write(fd, bytes, size) == (ssize_t)size));
	snprintf(url, sizeof(url), "zip:///proc/self/fd/%d", fd);
	int rc = store_open(url, ret_store);
	close(fd);
	return rc;
}

/* ---------------------------------------------------------------- the store */

static void check_value(struct world *world, const char *key)
{
	struct value *value;
	int rc = store_open_value(world->store, key, STORE_WAIT, &value);
	check(rc == 0 || rc == -ENOENT || is_refusal(rc));
	if (rc)
		return;
	struct buf *first = NULL, *second = NULL;
	int one = store_get(world->store, key, STORE_WAIT, VALUE_MOST, &first, NULL);
	int two = store_get(world->store, key, STORE_WAIT, VALUE_MOST, &second, NULL);
	check(one == two && (one == 0 || is_refusal(one)));
	if (one == 0) {
		check(first->size == value_info(value)->size && first->size == second->size);
		check(first->size == 0 || memcmp(first->data, second->data, first->size) == 0);
		check_parts(value, first);
	}
	buf_unref(first);
	buf_unref(second);
	value_unref(value);
}

static void visit(struct world *world, const char *prefix, int depth)
{
	struct store_listing listing;
	int rc = store_list(world->store, prefix, &listing);
	check(rc == 0 || rc == -ENOMEM || rc == -EINVAL);
	if (rc)
		return;
	for (size_t i = 0; i < listing.n && world->visits++ < VISITS_MOST; i++) {
		autofree char *key = str_join_key(prefix, listing.entries[i].name);
		check(key && (i == 0 || strcmp(listing.entries[i - 1].name, listing.entries[i].name) < 0));
		check_value(world, key);
		if (listing.entries[i].is_prefix && depth < DEPTH_MOST)
			visit(world, key, depth + 1);
	}
	store_listing_finish(&listing);
}

/* Names in code page 437 and in UTF-8 may be the same key; a name with a NUL in it is none. */
static bool is_plain(const char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if ((signed char)name[i] <= 0)
			return false;
	return true;
}

/* Whether the value is not what was made; a key that is not there, or not read, is none. */
static bool differs(struct world *world, const char *key, const struct made *made)
{
	struct buf *buf = NULL;
	int rc = store_get(world->store, key, STORE_WAIT, VALUE_MOST, &buf, NULL);
	check(rc == 0 || rc == -ENOENT || rc == -EINVAL || rc == -ENOTSUP);
	bool is_same =
		rc == 0 && buf->size == made->size && (made->size == 0 || memcmp(buf->data, made->bytes, made->size) == 0);
	buf_unref(buf);
	return rc == 0 && !is_same;
}

/* What was made is there, under its name or, when one folder has it all, under the rest of it. */
static void check_made(struct world *world)
{
	for (size_t i = 0; i < world->n; i++)
		if (!is_plain(world->members[i].name, world->members[i].name_size))
			return;
	for (size_t i = 0; i < world->n; i++) {
		const struct made *made = &world->members[i];
		const char *slash = strchr(made->name, '/');
		bool is_last = true;
		for (size_t j = i + 1; j < world->n; j++)
			is_last &= strcmp(world->members[j].name, made->name) != 0;
		check(!is_last || !differs(world, made->name, made) || (slash && !differs(world, slash + 1, made)));
	}
}

static void run(struct world *world, const void *bytes, size_t size)
{
	int64_t before = live_bytes_peak = live_bytes;
	int rc = open_bytes(bytes, size, &world->store);
	check(rc == 0 || is_refusal(rc));
	check(world->is_damaged || rc == 0);
	if (rc == 0) {
		visit(world, "", 0);
		if (!world->is_damaged)
			check_made(world);
		store_close(world->store);
	}
	check(live_bytes_peak - before <= MEMORY_MOST + 4 * (int64_t)size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct world world;
	set_up();
	world = (struct world){.in = {data, data + size}};
	unsigned flags = (unsigned)take(&world.in, 1);
	if (flags & 1) {
		world.is_damaged = true;
		run(&world, world.in.p, (size_t)(world.in.end - world.in.p));
		return 0;
	}
	build(&world, flags);
	run(&world, world.maker.bytes.text, world.maker.bytes.size);
	zip_maker_finish(&world.maker);
	return 0;
}
