/*
 * test_store.c: what every store must do, run over every row; and how store_open reads a URL.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/scratch.h"
#include "../lib/seed.h"
#include "../lib/zips.h"

#include "base/base.h"
#include "base/base64.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/stats.h"
#include "base/str.h"
#include "store/mem.h"
#include "store/store.h"
#include "store/store_impl.h"

/* A row opens an empty store; `path` is its scratch directory, where it needs one. */
struct row {
	const char *name;
	const char *(*where)(void);
	int (*open)(const char *path, struct store **ret_store);
	bool always_tries;			 /* STORE_TRY never answers -EAGAIN */
	const struct writer *writer; /* [it is one file, read-only: each write is another one] */
};

static int open_mem(const char *path, struct store **ret_store)
{
	return mem_store_new("contract", true, ret_store);
}

static int open_mem_in_pieces(const char *path, struct store **ret_store)
{
	static const struct mem_fault fault = {.key_part = "", .short_read = 3};
	int rc = mem_store_new("pieces", true, ret_store);
	return rc ? rc : mem_store_set_faults(*ret_store, &fault, 1);
}

static int open_mem_unlisted(const char *path, struct store **ret_store)
{
	return mem_store_new("unlisted", false, ret_store);
}

/* How all values become one file. */
struct writer {
	void (*replace)(const struct writer *writer);
	const char *file;
	const struct zip_entry *members; /* of a zip */
	bool is_inline;					 /* of references */
};

static void replace_zip(const struct writer *writer);
static void replace_references(const struct writer *writer);
static int open_file(const char *path, struct store **ret_store);

static const struct zip_entry stored_members = {.method = 0},
							  deflated_members = {.method = 8, .zip64 = true, .local_extra = 40},
							  zstd_members = {.method = 93, .flags = 1 << 3};
static const struct writer stored = {replace_zip, "store.zip", &stored_members, false},
						   deflated = {replace_zip, "store.zip", &deflated_members, false},
						   zstd = {replace_zip, "store.zip", &zstd_members, false},
						   targets = {replace_references, "store.json", NULL, false},
						   texts = {replace_references, "store.json", NULL, true};

static const struct row rows[] = {
	{"directory on disk", scratch_disk, store_open, false, NULL},
	{"directory on tmpfs", scratch_tmpfs, store_open, false, NULL},
	{"memory", NULL, open_mem, true, NULL},
	{"memory, three bytes at a time", NULL, open_mem_in_pieces, true, NULL},
	{"memory that cannot list", NULL, open_mem_unlisted, true, NULL},
	{"zip, stored, on disk", scratch_disk, open_file, false, &stored},
	{"zip, stored, on tmpfs", scratch_tmpfs, open_file, false, &stored},
	{"zip, deflated", scratch_disk, open_file, false, &deflated},
	{"zip, zstd", scratch_disk, open_file, false, &zstd},
	{"references, to a file on disk", scratch_disk, open_file, false, &targets},
	{"references, to a file on tmpfs", scratch_tmpfs, open_file, false, &targets},
	{"references, to texts", scratch_disk, open_file, false, &texts},
};

static char path[PATH_MAX];
static struct store *_Atomic store;

/* ---------------------------------------------------------------- one file: what was written so far, and earlier openings */

#define KEYS_MOST 64
#define RETIRED_MOST 256

static struct {
	struct {
		char key[PATH_MAX];
		uint8_t *bytes;
		size_t size;
	} values[KEYS_MOST];
	size_t n;
	struct store *retired[RETIRED_MOST]; /* their values may be open */
	size_t n_retired;
} kept;
static int current;

/* In a top folder: one that stands alone on top is the store. */
static void replace_zip(const struct writer *writer)
{
	const struct zip_entry *how = writer->members;
	struct zip_maker maker;
	zip_maker_begin(&maker, how->method == 8 ? 1000 : 0, false);
	for (size_t i = 0; i < kept.n; i++) {
		char name[PATH_MAX];
		snprintf(name, sizeof(name), "top/%s", kept.values[i].key);
		struct zip_entry entry = *how;
		entry.name = name;
		entry.bytes = kept.values[i].bytes;
		entry.size = kept.values[i].size;
		entry.flags |= 1 << 11;
		zip_maker_add(&maker, &entry);
	}
	zip_maker_end(&maker, how->zip64, "comment", how->zip64 ? 7 : 0);
	zip_maker_replace(&maker, scratch_path(path, writer->file));
	zip_maker_finish(&maker);
}

static void replace_file(const char *name, const struct str *bytes)
{
	char next[PATH_MAX];
	strcpy(next, scratch_path(path, "next"));
	FILE *file = fopen(next, "w");
	ck_assert(file && fwrite(bytes->text, 1, bytes->size, file) == bytes->size && fclose(file) == 0);
	ck_assert_int_eq(rename(next, scratch_path(path, name)), 0);
}

static void append_name(struct str *json, const char *key)
{
	str_append(json, "\"");
	for (const char *p = key; *p; p++)
		if (*p == '"' || *p == '\\' || (unsigned char)*p < 0x20)
			str_appendf(json, "\\u%04x", *p);
		else
			str_append_bytes(json, p, 1);
	str_append(json, "\"");
}

static void replace_references(const struct writer *writer)
{
	autostr(json);
	autostr(target);
	str_append(&json, "{\"version\":1,\"templates\":{\"u\":\"all.bin\"},\"refs\":{");
	for (size_t i = 0; i < kept.n; i++) {
		str_append(&json, i ? "," : "");
		append_name(&json, kept.values[i].key);
		if (writer->is_inline) {
			str_append(&json, ":\"base64:");
			base64_print(&json, kept.values[i].bytes, kept.values[i].size);
			str_append(&json, "\"");
		} else {
			str_appendf(&json, ":[\"{{u}}\",%zu,%zu]", target.size, kept.values[i].size);
			str_append_bytes(&target, kept.values[i].bytes, kept.values[i].size);
			str_append(&target, "between");
		}
	}
	str_append(&json, "}}");
	replace_file("all.bin", &target);
	replace_file(writer->file, &json);
}

static int open_file(const char *path, struct store **ret_store)
{
	const struct writer *writer = rows[current].writer;
	if (kept.n == 0)
		writer->replace(writer);
	return store_open(scratch_path(path, writer->file), ret_store);
}

static int write_to_file(const char *key, const void *bytes, size_t size)
{
	struct store *opened;
	size_t i = 0;
	while (i < kept.n && strcmp(kept.values[i].key, key) != 0)
		i++;
	ck_assert_uint_lt(i, KEYS_MOST);
	kept.n = MAX(kept.n, i + 1);
	strcpy(kept.values[i].key, key);
	free(kept.values[i].bytes);
	kept.values[i].bytes = malloc(size + 1);
	memcpy(kept.values[i].bytes, bytes, size);
	kept.values[i].size = size;
	rows[current].writer->replace(rows[current].writer);
	int rc = open_file(path, &opened);
	if (rc)
		return rc;
	ck_assert_uint_lt(kept.n_retired, RETIRED_MOST);
	kept.retired[kept.n_retired++] = store;
	store = opened;
	return 0;
}

static void forget_kept(void)
{
	for (size_t i = 0; i < kept.n_retired; i++)
		store_close(kept.retired[i]);
	for (size_t i = 0; i < kept.n; i++)
		free(kept.values[i].bytes);
	memset(&kept, 0, sizeof(kept));
}

/* ---------------------------------------------------------------- any row */

static void begin(int row)
{
	struct store *opened;
	current = row;
	if (rows[row].where)
		scratch_make(rows[row].where(), path);
	int rc = rows[row].open(path, &opened);
	ck_assert_msg(rc == 0, "%s: %s", rows[row].name, err_message());
	store = opened;
}

static void end(int row)
{
	store_close(store);
	forget_kept();
	if (rows[row].where)
		scratch_remove(path);
}

static int write_value(const char *key, const void *bytes, size_t size)
{
	struct store_write *write;
	int rc = store_write_begin(store, key, &write);
	if (rc == -EROFS && rows[current].writer)
		return write_to_file(key, bytes, size);
	if (rc)
		return rc;
	rc = store_write_append(write, bytes, size);
	if (rc) {
		store_write_abort(write);
		return rc;
	}
	return store_write_commit(write);
}

/* A store that cannot be written says so; there is nothing more to be tested of it then. */
static bool is_read_only(void)
{
	struct store_write *write = NULL;
	if (!rows[current].writer)
		return false;
	ck_assert_int_eq(store_write_begin(store, "v", &write), -EROFS);
	ck_assert_ptr_null(write);
	return true;
}

static void put(const char *key, const char *text)
{
	ck_assert_msg(write_value(key, text, strlen(text)) == 0, "%s: %s", key, err_message());
}

/* The whole value as text, or "-errno" of the first call that failed. */
static const char *get(const char *key)
{
	static char text[256];
	struct buf *buf;
	int rc = store_get(store, key, STORE_WAIT, sizeof(text) - 1, &buf, NULL);
	if (rc) {
		snprintf(text, sizeof(text), "%d", rc);
		return text;
	}
	memcpy(text, buf->data, buf->size);
	text[buf->size] = '\0';
	buf_unref(buf);
	return text;
}

START_TEST(a_missing_key_is_ENOENT_however_it_is_missing)
{
	begin(_i);
	put("a/b", "x");
	static const char *const missing[] = {"no", "no/way", "a", "a/no", "a/b/c", "a/b/c/d"};
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		struct value *value = NULL;
		int rc = store_open_value(store, missing[i], STORE_WAIT, &value);
		ck_assert_msg(rc == -ENOENT, "%s: %s: %d", rows[_i].name, missing[i], rc);
		ck_assert_ptr_null(value);
		ck_assert_ptr_nonnull(strstr(err_message(), missing[i]));
	}
	end(_i);
}
END_TEST

START_TEST(a_key_that_could_leave_the_store_is_EINVAL)
{
	begin(_i);
	put("a/b", "x");
	char segment[LIMIT_NAME_BYTES + 2], whole[LIMIT_KEY_BYTES + 1];
	memset(segment, 's', sizeof(segment) - 1);
	segment[sizeof(segment) - 1] = '\0';
	for (size_t i = 0; i < sizeof(whole) - 1; i++)
		whole[i] = i % 2 && i < sizeof(whole) - 2 ? '/' : 'k';
	whole[sizeof(whole) - 1] = '\0';
	const char *const bad[] = {"",		   "/",	   "/a/b",	"a/",  "a//b", "//",	"..",	 "../a", "a/..",
							   "a/../a/b", "a/..", "./a/b", "a/.", ".",	   "a/./b", segment, whole};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct value *value = NULL;
		struct store_write *write = NULL;
		struct buf *buf = NULL;
		ck_assert_msg(store_open_value(store, bad[i], STORE_WAIT, &value) == -EINVAL, "open %s", bad[i]);
		ck_assert_msg(store_open_value(store, bad[i], STORE_TRY, &value) == -EINVAL, "try %s", bad[i]);
		ck_assert_msg(store_get(store, bad[i], STORE_WAIT, 9, &buf, NULL) == -EINVAL, "get %s", bad[i]);
		ck_assert_msg(store_write_begin(store, bad[i], &write) == -EINVAL, "write %s", bad[i]);
		struct store_listing listing = {0};
		if (bad[i][0])
			ck_assert_msg(store_list(store, bad[i], &listing) == -EINVAL, "list %s", bad[i]);
		ck_assert(!value && !write && !buf && !listing.entries);
	}
	end(_i);
}
END_TEST

START_TEST(the_longest_name_and_a_strange_one_are_keys)
{
	begin(_i);
	char longest[LIMIT_NAME_BYTES + 1];
	memset(longest, 'n', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	const char *const good[] = {longest, "...", "..a", "a\nb", "\xff\xfe", "c/0/1", "c.0.1", ".zarray", "a b/\\", "-"};
	/* The keys of references are JSON, and so UTF-8. */
	bool is_text = rows[_i].writer && !rows[_i].writer->members;
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!is_text || good[i][0] != '\xff')
			put(good[i], good[i]);
	for (size_t i = 0; i < ARRAY_LEN(good); i++)
		if (!is_text || good[i][0] != '\xff')
			ck_assert_str_eq(get(good[i]), good[i]);
	end(_i);
}
END_TEST

static const struct {
	struct range range;
	const char *bytes;
} ranges[] = {
	{{.offset = 0, .length = 10}, "0123456789"},
	{{.offset = 0, .length = 1}, "0"},
	{{.offset = 3, .length = 4}, "3456"},
	{{.offset = 9, .length = 1}, "9"},
	{{.offset = 9, .length = 2}, "9"},
	{{.offset = 7, .length = UINT64_MAX}, "789"},
	{{.offset = 10, .length = 1}, ""},
	{{.offset = 11, .length = 5}, ""},
	{{.offset = UINT64_MAX, .length = UINT64_MAX}, ""},
	{{.offset = INT64_MAX, .length = 2}, ""},
	{{.offset = 4, .length = 0}, ""},
	{{.length = 1, .suffix = true}, "9"},
	{{.length = 4, .suffix = true}, "6789"},
	{{.length = 10, .suffix = true}, "0123456789"},
	{{.length = 11, .suffix = true}, "0123456789"},
	{{.length = UINT64_MAX, .suffix = true}, "0123456789"},
	{{.length = 0, .suffix = true}, ""},
};

/* Past the end, at the end, a suffix longer than the value: what there is, and not a byte of dst more. */
START_TEST(a_range_gives_the_bytes_that_there_are)
{
	begin(_i);
	put("v", "0123456789");
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	ck_assert_uint_eq(value_info(value)->size, 10);
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		char dst[16];
		memset(dst, '#', sizeof(dst));
		size_t size = 99, expected = strlen(ranges[i].bytes);
		ck_assert_int_eq(value_read(value, ranges[i].range, STORE_WAIT, dst, &size), 0);
		ck_assert_msg(size == expected, "range %zu: %zu bytes, not %zu", i, size, expected);
		ck_assert_mem_eq(dst, ranges[i].bytes, expected);
		for (size_t j = expected; j < sizeof(dst); j++)
			ck_assert_msg(dst[j] == '#', "range %zu wrote byte %zu", i, j);
	}
	value_unref(value);
	end(_i);
}
END_TEST

START_TEST(random_ranges_equal_those_of_the_bytes)
{
	begin(_i);
	uint64_t state = test_seed();
	enum { SIZE = 70001 };
	static uint8_t bytes[SIZE], dst[SIZE];
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)test_random(&state);
	ck_assert_int_eq(write_value("v", bytes, SIZE), 0);
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	for (int i = 0; i < 200; i++) {
		struct range range = {
			.offset = test_random(&state) % (SIZE + 9),
			.length = test_random(&state) % (i % 2 ? SIZE + 9 : 64),
			.suffix = i % 3 == 0,
		};
		uint64_t from = range.suffix ? SIZE - MIN(range.length, SIZE) : MIN(range.offset, SIZE);
		size_t expected = (size_t)MIN(range.length, SIZE - from), size;
		static uint8_t room[SIZE + 9];
		ck_assert_int_eq(value_read(value, range, STORE_WAIT, room, &size), 0);
		ck_assert_uint_eq(size, expected);
		ck_assert(memcmp(room, bytes + from, expected) == 0);
	}
	size_t size;
	ck_assert_int_eq(value_read(value, (struct range){.length = SIZE}, STORE_WAIT, dst, &size), 0);
	ck_assert(size == SIZE && memcmp(dst, bytes, SIZE) == 0);
	value_unref(value);
	end(_i);
}
END_TEST

START_TEST(an_empty_value_is_not_a_missing_one)
{
	begin(_i);
	put("empty", "");
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "empty", STORE_WAIT, &value), 0);
	ck_assert_uint_eq(value_info(value)->size, 0);
	char dst = '#';
	size_t size = 9;
	ck_assert_int_eq(value_read(value, (struct range){.length = 1}, STORE_WAIT, &dst, &size), 0);
	ck_assert_uint_eq(size, 0);
	size = 9;
	ck_assert_int_eq(value_read(value, (struct range){.length = 1, .suffix = true}, STORE_WAIT, &dst, &size), 0);
	ck_assert_uint_eq(size, 0);
	ck_assert_int_eq(dst, '#');
	value_unref(value);
	ck_assert_str_eq(get("empty"), "");
	end(_i);
}
END_TEST

START_TEST(get_refuses_a_value_over_the_limit)
{
	begin(_i);
	put("v", "12345");
	struct buf *buf = NULL;
	struct value_info info = {.size = 77};
	ck_assert_int_eq(store_get(store, "v", STORE_WAIT, 4, &buf, &info), -EFBIG);
	ck_assert(!buf && info.size == 77);
	ck_assert_int_eq(store_get(store, "v", STORE_WAIT, 5, &buf, &info), 0);
	ck_assert_uint_eq(buf->size, 5);
	ck_assert_uint_eq(info.size, 5);
	ck_assert_mem_eq(buf->data, "12345", 5);
	buf_unref(buf);
	end(_i);
}
END_TEST

START_TEST(a_replaced_value_has_another_version)
{
	begin(_i);
	put("v", "one");
	struct value_info one, two, again;
	struct buf *buf;
	ck_assert_int_eq(store_get(store, "v", STORE_WAIT, 9, &buf, &one), 0);
	buf_unref(buf);
	ck_assert_int_eq(store_get(store, "v", STORE_WAIT, 9, &buf, &again), 0);
	buf_unref(buf);
	put("v", "two");
	ck_assert_int_eq(store_get(store, "v", STORE_WAIT, 9, &buf, &two), 0);
	ck_assert_mem_eq(buf->data, "two", 3);
	buf_unref(buf);
	ck_assert_uint_eq(one.version, again.version);
	ck_assert_uint_ne(one.version, two.version);
	ck_assert_int_ge(two.mtime_ns, one.mtime_ns);
	end(_i);
}
END_TEST

START_TEST(an_open_value_whose_key_moved_on_is_ESTALE)
{
	begin(_i);
	put("v", "one");
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	char dst[3] = "###";
	size_t size = 9;
	put("v", "two");
	ck_assert_int_eq(value_read(value, (struct range){.length = 3}, STORE_WAIT, dst, &size), -ESTALE);
	ck_assert_uint_eq(size, 9);
	ck_assert_str_eq(get("v"), "two");
	value_unref(value);
	end(_i);
}
END_TEST

START_TEST(a_value_lives_until_its_last_reference)
{
	begin(_i);
	put("v", "one");
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	ck_assert_ptr_eq(value_ref(value), value);
	value_unref(value);
	char dst[3];
	size_t size;
	ck_assert_int_eq(value_read(value, (struct range){.length = 3}, STORE_WAIT, dst, &size), 0);
	ck_assert_mem_eq(dst, "one", 3);
	value_unref(value);
	value_unref(NULL);
	end(_i);
}
END_TEST

START_TEST(a_listing_is_sorted_and_says_what_is_a_prefix)
{
	begin(_i);
	static const char *const keys[] = {"zarr.json", "b/zarr.json", "b.x", "b/c/0/0", "b/c/0/1", "b-", "a/c/0", "Z"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		put(keys[i], "x");
	struct store_listing listing = {0};
	int rc = store_list(store, "", &listing);
	if (!store_can_list(store)) {
		ck_assert_int_eq(rc, -ENOTSUP);
		ck_assert_ptr_null(listing.entries);
		end(_i);
		return;
	}
	static const struct store_entry root[] = {{"Z", false},	 {"a", true},	 {"b", true},
											  {"b-", false}, {"b.x", false}, {"zarr.json", false}};
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(listing.n, ARRAY_LEN(root));
	for (size_t i = 0; i < ARRAY_LEN(root); i++) {
		ck_assert_str_eq(listing.entries[i].name, root[i].name);
		ck_assert_int_eq(listing.entries[i].is_prefix, root[i].is_prefix);
	}
	store_listing_finish(&listing);
	ck_assert_int_eq(store_list(store, "b/c/0", &listing), 0);
	ck_assert_uint_eq(listing.n, 2);
	ck_assert_str_eq(listing.entries[0].name, "0");
	ck_assert_str_eq(listing.entries[1].name, "1");
	store_listing_finish(&listing);
	ck_assert(listing.n == 0 && !listing.entries);
	static const char *const missing[] = {"no", "b/no", "zarr.json", "zarr.json/x", "b/c/0/0", "b/"};
	for (size_t i = 0; i < ARRAY_LEN(missing); i++)
		ck_assert_msg(store_list(store, missing[i], &listing) ==
						  (missing[i][1] == '/' && !missing[i][2] ? -EINVAL : -ENOENT),
					  "%s", missing[i]);
	ck_assert_ptr_null(listing.entries);
	end(_i);
}
END_TEST

START_TEST(an_empty_store_lists_nothing)
{
	begin(_i);
	struct store_listing listing = {.n = 5};
	ck_assert_int_eq(store_list(store, "", &listing), store_can_list(store) ? 0 : -ENOTSUP);
	ck_assert_uint_eq(listing.n, store_can_list(store) ? 0 : 5);
	end(_i);
}
END_TEST

static size_t count_children(const char *prefix)
{
	struct store_listing listing = {0};
	int rc = store_list(store, prefix, &listing);
	size_t n = listing.n;
	store_listing_finish(&listing);
	return rc == -ENOENT ? 0 : n;
}

START_TEST(a_write_is_seen_at_commit_and_not_before)
{
	begin(_i);
	if (is_read_only()) {
		end(_i);
		return;
	}
	put("a/old", "old");
	struct store_write *write;
	static const char *const keys[] = {"a/new", "a/old"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ck_assert_int_eq(store_write_begin(store, keys[i], &write), 0);
		ck_assert_int_eq(store_write_append(write, "he", 2), 0);
		ck_assert_int_eq(store_write_append(write, "", 0), 0);
		ck_assert_int_eq(store_write_append(write, "llo", 3), 0);
		ck_assert_str_eq(get(keys[i]), i ? "old" : "-2");
		if (store_can_list(store))
			ck_assert_uint_eq(count_children("a"), 1 + i);
		ck_assert_int_eq(store_write_commit(write), 0);
		ck_assert_str_eq(get(keys[i]), "hello");
		if (store_can_list(store))
			ck_assert_uint_eq(count_children("a"), 2);
	}
	end(_i);
}
END_TEST

START_TEST(an_aborted_write_leaves_what_was_there)
{
	begin(_i);
	if (is_read_only()) {
		end(_i);
		return;
	}
	put("a/old", "old");
	static const char *const keys[] = {"a/new", "a/old", "b/c/new"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct store_write *write;
		ck_assert_int_eq(store_write_begin(store, keys[i], &write), 0);
		ck_assert_int_eq(store_write_append(write, "hello", 5), 0);
		store_write_abort(write);
		ck_assert_str_eq(get(keys[i]), i == 1 ? "old" : "-2");
	}
	if (store_can_list(store)) {
		ck_assert_uint_eq(count_children("a"), 1);
		ck_assert_uint_eq(count_children("b/c"), 0);
	}
	store_write_abort(NULL);
	end(_i);
}
END_TEST

START_TEST(two_writes_of_one_key_do_not_mix)
{
	begin(_i);
	if (is_read_only()) {
		end(_i);
		return;
	}
	struct store_write *one, *two;
	ck_assert_int_eq(store_write_begin(store, "v", &one), 0);
	ck_assert_int_eq(store_write_begin(store, "v", &two), 0);
	ck_assert_int_eq(store_write_append(one, "11", 2), 0);
	ck_assert_int_eq(store_write_append(two, "22", 2), 0);
	ck_assert_int_eq(store_write_append(one, "11", 2), 0);
	ck_assert_int_eq(store_write_commit(two), 0);
	ck_assert_str_eq(get("v"), "22");
	ck_assert_int_eq(store_write_commit(one), 0);
	ck_assert_str_eq(get("v"), "1111");
	end(_i);
}
END_TEST

/* A try may decline, but what it says is true; and after a waiting call of the same it need not decline for ever. */
START_TEST(a_try_is_right_or_EAGAIN)
{
	begin(_i);
	put("a/v", "0123456789");
	ck_assert_str_eq(get("a/v"), "0123456789");
	struct value *value = NULL;
	int rc = store_open_value(store, "a/v", STORE_TRY, &value);
	ck_assert_msg(rc == 0 || (rc == -EAGAIN && !rows[_i].always_tries && !value), "%d", rc);
	if (rc)
		ck_assert_int_eq(store_open_value(store, "a/v", STORE_WAIT, &value), 0);
	char dst[10];
	for (int i = 0; i < 3; i++) {
		size_t size = 99;
		memset(dst, '#', sizeof(dst));
		rc = value_read(value, (struct range){.offset = 2, .length = 9}, STORE_TRY, dst, &size);
		ck_assert_msg(rc == 0 || (rc == -EAGAIN && !rows[_i].always_tries), "%d", rc);
		ck_assert_uint_eq(size, rc ? 99 : 8);
		if (rc == 0)
			ck_assert_mem_eq(dst, "23456789#", 9);
	}
	value_unref(value);
	static const char *const missing[] = {"no", "a/no", "a", "a/v/x"};
	for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
		rc = store_open_value(store, missing[i], STORE_TRY, &value);
		ck_assert_msg(rc == -ENOENT || (rc == -EAGAIN && !rows[_i].always_tries), "%s: %d", missing[i], rc);
	}
	end(_i);
}
END_TEST

START_TEST(opens_and_bytes_are_counted)
{
	begin(_i);
	put("v", "0123456789");
	uint64_t opens = stats_get(store_opens), bytes = stats_get(store_bytes);
	struct value *value;
	char dst[10];
	size_t size;
	ck_assert_int_eq(store_open_value(store, "no", STORE_WAIT, &value), -ENOENT);
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	ck_assert_int_eq(value_read(value, (struct range){.offset = 6, .length = 10}, STORE_WAIT, dst, &size), 0);
	value_unref(value);
	ck_assert_str_eq(get("v"), "0123456789");
	ck_assert_uint_eq(stats_get(store_opens) - opens, 2);
	ck_assert_uint_eq(stats_get(store_bytes) - bytes, 14);
	end(_i);
}
END_TEST

enum { READERS = 8, KEYS = 8, ROUNDS = 150, VALUE_SIZE = 9000 };

static atomic_int wrong, stop;

/* Every value is one byte repeated: a mixture of versions shows. */
static void *read_many(void *arg)
{
	uint64_t state = (uint64_t)(uintptr_t)arg;
	for (int i = 0; i < ROUNDS; i++) {
		char key[16];
		snprintf(key, sizeof(key), "p/%d", (int)(test_random(&state) % KEYS));
		struct buf *buf;
		int rc = store_get(store, key, i % 2 ? STORE_TRY : STORE_WAIT, VALUE_SIZE, &buf, NULL);
		if (rc && rc != -EAGAIN && rc != -ESTALE)
			wrong++;
		if (rc)
			continue;
		if (buf->size != VALUE_SIZE || memcmp(buf->data, buf->data + 1, VALUE_SIZE - 1) != 0)
			wrong++;
		buf_unref(buf);
	}
	return NULL;
}

static void *replace_many(void *arg)
{
	static uint8_t bytes[VALUE_SIZE];
	for (int i = 0; !stop && (i < RETIRED_MOST / 2 || !rows[current].writer); i++) {
		char key[16];
		snprintf(key, sizeof(key), "p/%d", i % KEYS);
		memset(bytes, i, sizeof(bytes));
		if (write_value(key, bytes, sizeof(bytes)) != 0)
			wrong++;
	}
	return NULL;
}

START_TEST(eight_readers_get_whole_versions_while_values_are_replaced)
{
	begin(_i);
	static const uint8_t zeros[VALUE_SIZE];
	wrong = stop = 0;
	for (int i = 0; i < KEYS; i++) {
		char key[16];
		snprintf(key, sizeof(key), "p/%d", i);
		ck_assert_int_eq(write_value(key, zeros, sizeof(zeros)), 0);
	}
	pthread_t readers[READERS], writer;
	ck_assert_int_eq(pthread_create(&writer, NULL, replace_many, NULL), 0);
	for (uintptr_t i = 0; i < READERS; i++)
		ck_assert_int_eq(pthread_create(&readers[i], NULL, read_many, (void *)(i + 1)), 0);
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	stop = 1;
	pthread_join(writer, NULL);
	ck_assert_int_eq(wrong, 0);
	for (int i = 0; i < KEYS; i++) {
		char key[16];
		snprintf(key, sizeof(key), "p/%d", i);
		struct buf *buf;
		ck_assert_int_eq(store_get(store, key, STORE_WAIT, VALUE_SIZE, &buf, NULL), 0);
		ck_assert_uint_eq(buf->size, VALUE_SIZE);
		buf_unref(buf);
	}
	end(_i);
}
END_TEST

/* A store of which only the vtable is there: what store.c answers for slots that are not. */
static const struct store_ops read_only_ops = {.scheme = "none"};

START_TEST(slots_that_are_missing_have_an_answer)
{
	struct store none;
	ck_assert_int_eq(store_init(&none, &read_only_ops, "none://x"), 0);
	struct store_write *write;
	struct store_listing listing;
	ck_assert_int_eq(store_write_begin(&none, "v", &write), -EROFS);
	ck_assert_int_eq(store_list(&none, "", &listing), -ENOTSUP);
	ck_assert(!store_can_list(&none));
	ck_assert_int_eq(store_concurrency(&none), 16);
	ck_assert_str_eq(store_url(&none), "none://x");
	free(none.url);
	free(none.base_name);
}
END_TEST

/* A store whose reads do what `step` says, one after the other. */
static struct {
	int rc[4];
	size_t size[4];
	int step;
} script;

static int open_scripted(struct store *none, const char *key, enum store_how how, struct value **ret_value)
{
	struct value *value = calloc(1, sizeof(*value));
	ck_assert_ptr_nonnull(value);
	value->info.size = 4;
	*ret_value = value;
	return 0;
}

static int read_scripted(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how,
						 size_t *ret_size)
{
	int step = script.step++;
	ck_assert_int_lt(step, 4);
	memset(dst, '0' + step, script.size[step]);
	*ret_size = script.size[step];
	return script.rc[step];
}

static void close_scripted(struct value *value)
{
	free(value);
}

static const struct store_ops scripted_ops = {
	.scheme = "none",
	.open_value = open_scripted,
	.read = read_scripted,
	.close_value = close_scripted,
};

static const struct {
	int rc[4];
	size_t size[4];
	int steps, result;
	const char *bytes;
} scripts[] = {
	{{0}, {4}, 1, 0, "0000"},
	{{0}, {1, 2, 1}, 3, 0, "0112"},
	{{-EIO}, {0}, 1, -EIO, NULL},
	{{0, -EAGAIN}, {3}, 2, -EAGAIN, NULL},
	{{-ESTALE}, {0, 4}, 2, 0, "1111"},			 /* replaced once: read again */
	{{-ESTALE, -ESTALE}, {0}, 2, -ESTALE, NULL}, /* and once more: not for ever */
	{{0}, {3, 0, 1, 3}, 4, 0, "2333"},			 /* ended early: that version is gone */
	{{0}, {0, 0}, 2, -ESTALE, NULL},
};

START_TEST(get_resumes_short_reads_and_reads_a_replaced_value_once_more)
{
	struct store none;
	ck_assert_int_eq(store_init(&none, &scripted_ops, "none://x"), 0);
	memset(&script, 0, sizeof(script));
	memcpy(script.rc, scripts[_i].rc, sizeof(script.rc));
	memcpy(script.size, scripts[_i].size, sizeof(script.size));
	struct buf *buf = NULL;
	int rc = store_get(&none, "v", STORE_WAIT, 4, &buf, NULL);
	ck_assert_msg(rc == scripts[_i].result, "script %d: %d", _i, rc);
	ck_assert_int_eq(script.step, scripts[_i].steps);
	if (rc == 0)
		ck_assert(buf->size == 4 && memcmp(buf->data, scripts[_i].bytes, 4) == 0);
	else
		ck_assert_ptr_null(buf);
	buf_unref(buf);
	free(none.url);
	free(none.base_name);
}
END_TEST

static const struct {
	const char *url, *name;
} base_names[] = {
	{"x://h/a.zarr", "a"},
	{"x://h/a.zarr///", "a"},
	{"x://h/a.ome.zarr", "a.ome"},
	{"x://h/a.zip", "a"},
	{"x://h/a.json", "a"},
	{"x://h/a.zarr.zip", "a"},
	{"x://h/a.zip.zarr", "a.zip"},
	{"x://h/a.zip.json", "a.zip"},
	{"x://h/.zip", ".zip"},
	{"x://h/.zarr.zip", ".zarr"},
	{"x://h/a.tar", "a.tar"},
	{"x://h", "h"},
	{"x://h/.zarr", ".zarr"},
	{"a.zarr", "a"},
	{"./a b.zarr/", "a b"},
	{"/", "root"},
	{"file:///", "root"},
	{"file:///d/a.zarr", "a"},
	{"x://", "root"},
	{"/no/such/..", "root"},
	{"/dev/shm/../../proc/.", "proc"},
};

START_TEST(the_base_name_is_the_last_name_without_one_suffix)
{
	struct store none;
	ck_assert_int_eq(store_init(&none, &read_only_ops, base_names[_i].url), 0);
	ck_assert_str_eq(store_base_name(&none), base_names[_i].name);
	free(none.url);
	free(none.base_name);
}
END_TEST

static const struct {
	const char *url; /* %s: the scratch directory */
	int rc;
	const char *message;
} urls[] = {
	{"%s/d.zarr", 0, NULL},
	{"%s/d.zarr/", 0, NULL},
	{"file://%s/d.zarr", 0, NULL},
	{"FILE://localhost%s/d.zarr", 0, NULL},
	{"file://host%s/d.zarr", -EINVAL, "file:///path"},
	{"file://", -EINVAL, "file:///path"},
	{"", -ENOENT, "No such file"},
	{"%s/no", -ENOENT, "No such file"},
	{"%s/f.txt", -ENOTDIR, "Not a directory"},
	{"%s/f.txt/x", -ENOTDIR, "Not a directory"},
	{"%s/f.zip", -EIO, "no zip file: no end record closes it"},
	{"file://%s/f.zip", -EIO, "no zip file: no end record closes it"},
	{"%s/d.zarr.zip", 0, NULL},
	{"file://%s/d.zarr.zip", 0, NULL},
	{"ZIP://%s/d.zarr.zip", 0, NULL},
	{"zip://%s/f.txt", -EIO, "no zip file: no end record closes it"},
	{"zip://%s/d.zarr", -EIO, "not a regular file"},
	{"zip://%s/no.zip", -ENOENT, "No such file"},
	{"%s/z/d", 0, NULL}, /* a zip by what is in it */
	{"%s/z/d.json", 0, NULL},
	{"%s/f.json", -EIO, "not an object"},
	{"%s/r/d", 0, NULL}, /* references by what is in it */
	{"%s/r/d.zip", 0, NULL},
	{"REFERENCE://%s/r/d", 0, NULL},
	{"reference://%s/f.txt", -EIO, "not an object"},
	{"reference://%s/d.zarr", -EIO, "not a regular file"},
	{"%s/r/zarr.json", -ENOENT, "not a Zarr store (a JSON file without"},
	{"%s/d.zip", 0, NULL},
	{"http://h/a.zarr", -ENOTSUP, "http: this kind of store is known, not built in"},
	{"https://h/a.zarr", -ENOTSUP, "https: this kind of store is known, not built in"},
	{"S3://b/a.zarr", -ENOTSUP, "s3: this kind of store is known, not built in"},
	{"gs://b/a.zarr", -ENOTSUP, "gs: this kind of store is known, not built in"},
	{"mem://x", -ENOTSUP, "mem: "},
	{"ftp://h/a.zarr", -ENOTSUP, "ftp: unknown kind of store"},
	{"://x", -ENOENT, "No such file"},
};

START_TEST(a_url_names_its_store_or_says_why_not)
{
	scratch_make(scratch_disk(), path);
	ck_assert_int_eq(mkdir(scratch_path(path, "d.zarr"), 0777), 0);
	ck_assert_int_eq(mkdir(scratch_path(path, "d.zip"), 0777), 0);
	ck_assert(scratch_write(path, "f.txt", "") && scratch_write(path, "f.zip", "") &&
			  scratch_write(path, "f.json", ""));
	static const char *const named[] = {"d.zarr.zip", "z/d", "z/d.json"};
	ck_assert_int_eq(mkdir(scratch_path(path, "z"), 0777), 0);
	for (size_t i = 0; i < ARRAY_LEN(named); i++) {
		struct zip_maker maker;
		zip_maker_begin(&maker, 0, false);
		zip_maker_end(&maker, false, "{}", 2);
		zip_maker_write(&maker, scratch_path(path, named[i]));
		zip_maker_finish(&maker);
	}
	ck_assert_int_eq(mkdir(scratch_path(path, "r"), 0777), 0);
	ck_assert(scratch_write(path, "r/d", "{\"refs\":{}}") && scratch_write(path, "r/d.zip", " \n{\".zgroup\":\"\"}") &&
			  scratch_write(path, "r/zarr.json", "{\"zarr_format\":3}"));
	const char *mark = strstr(urls[_i].url, "%s");
	char url[2 * PATH_MAX];
	if (mark)
		snprintf(url, sizeof(url), "%.*s%s%s", (int)(mark - urls[_i].url), urls[_i].url, path, mark + 2);
	else
		snprintf(url, sizeof(url), "%s", urls[_i].url);
	struct store *opened = NULL;
	int rc = store_open(url, &opened);
	ck_assert_msg(rc == urls[_i].rc, "%s: %d, %s", url, rc, err_message());
	if (rc) {
		ck_assert_msg(strstr(err_message(), urls[_i].message) != NULL, "%s: %s", url, err_message());
		ck_assert_ptr_null(opened);
	} else {
		ck_assert_str_eq(store_url(opened), url);
		ck_assert_str_eq(store_base_name(opened), "d");
	}
	store_close(opened);
	scratch_remove(path);
}
END_TEST

static Suite *store_suite(void)
{
	Suite *suite = suite_create("store");
	TCase *contract = tcase_create("every row");
	tcase_set_timeout(contract, 120);
	static const TTest *const *const tests[] = {
		&a_missing_key_is_ENOENT_however_it_is_missing,
		&a_key_that_could_leave_the_store_is_EINVAL,
		&the_longest_name_and_a_strange_one_are_keys,
		&a_range_gives_the_bytes_that_there_are,
		&random_ranges_equal_those_of_the_bytes,
		&an_empty_value_is_not_a_missing_one,
		&get_refuses_a_value_over_the_limit,
		&a_replaced_value_has_another_version,
		&an_open_value_whose_key_moved_on_is_ESTALE,
		&a_value_lives_until_its_last_reference,
		&a_listing_is_sorted_and_says_what_is_a_prefix,
		&an_empty_store_lists_nothing,
		&a_write_is_seen_at_commit_and_not_before,
		&an_aborted_write_leaves_what_was_there,
		&two_writes_of_one_key_do_not_mix,
		&a_try_is_right_or_EAGAIN,
		&opens_and_bytes_are_counted,
		&eight_readers_get_whole_versions_while_values_are_replaced,
	};
	for (size_t i = 0; i < ARRAY_LEN(tests); i++)
		tcase_add_loop_test(contract, *tests[i], 0, (int)ARRAY_LEN(rows));
	suite_add_tcase(suite, contract);
	TCase *shared = tcase_create("what store.c does");
	tcase_add_test(shared, slots_that_are_missing_have_an_answer);
	tcase_add_loop_test(shared, get_resumes_short_reads_and_reads_a_replaced_value_once_more, 0,
						(int)ARRAY_LEN(scripts));
	tcase_add_loop_test(shared, the_base_name_is_the_last_name_without_one_suffix, 0, (int)ARRAY_LEN(base_names));
	tcase_add_loop_test(shared, a_url_names_its_store_or_says_why_not, 0, (int)ARRAY_LEN(urls));
	suite_add_tcase(suite, shared);
	return suite;
}

CHECK_MAIN(store_suite)
