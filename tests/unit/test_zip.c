/*
 * test_zip.c: zips as programs write them, zips that lie, and zips that change while they are open. What every store must do is in
 * contract/test_store.c; random damage in fuzz/fuzz_zip.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/scratch.h"
#include "../lib/zips.h"

#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "store/store.h"

static char root[PATH_MAX], zip_path[PATH_MAX];
static struct zip_maker maker;
static struct store *store;
static char logged[1024];

static void keep_line(enum log_level level, const char *line, void *arg)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

static void set_up(void)
{
	scratch_make(scratch_disk(), root);
	snprintf(zip_path, sizeof(zip_path), "%s", scratch_path(root, "z.zip"));
	zip_maker_begin(&maker, 0, false);
	log_set_sink(keep_line, NULL);
	logged[0] = '\0';
	store = NULL;
}

static void tear_down(void)
{
	store_close(store);
	zip_maker_finish(&maker);
	scratch_remove(root);
}

static int try_open(void)
{
	zip_maker_write(&maker, zip_path);
	return store_open(zip_path, &store);
}

static void open_zip(void)
{
	int rc = try_open();
	ck_assert_msg(rc == 0, "%d, %s", rc, err_message());
}

/* The value as text, or "-errno message". */
static const char *get(const char *key)
{
	static char text[70000];
	struct buf *buf;
	int rc = store_get(store, key, STORE_WAIT, sizeof(text) - 1, &buf, NULL);
	if (rc) {
		snprintf(text, sizeof(text), "%d %s", rc, err_message());
		return text;
	}
	memcpy(text, buf->data, buf->size);
	text[buf->size] = '\0';
	buf_unref(buf);
	return text;
}

/* "a b/ c" of what is below a prefix, or "-errno". */
static const char *list(const char *prefix)
{
	static char text[4096];
	struct store_listing listing;
	int rc = store_list(store, prefix, &listing);
	snprintf(text, sizeof(text), "%d", rc);
	if (rc)
		return text;
	text[0] = '\0';
	for (size_t i = 0; i < listing.n; i++) {
		const char *slash = listing.entries[i].is_prefix ? "/" : "";
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%s%s", i ? " " : "", listing.entries[i].name, slash);
	}
	store_listing_finish(&listing);
	return text;
}

/* ---------------------------------------------------------------- as programs write them */

static const struct {
	const char *name;
	struct zip_entry how;
	bool zip64;
	size_t before;
	bool counted;
	size_t comment;
} shapes[] = {
	{"plain", {.method = 0}, false, 0, false, 0},
	{"deflated", {.method = 8}, false, 0, false, 0},
	{"zstd", {.method = 93}, false, 0, false, 0},
	{"zstd by its first number", {.method = 20}, false, 0, false, 0},
	{"a descriptor after stored data", {.method = 0, .flags = 8}, false, 0, false, 0},
	{"a descriptor after deflated data", {.method = 8, .flags = 8}, false, 0, false, 0},
	{"zip64 members", {.method = 0, .zip64 = true}, false, 0, false, 0},
	{"zip64 throughout", {.method = 8, .zip64 = true, .flags = 8}, true, 0, false, 0},
	{"a zip64 end alone", {.method = 0}, true, 0, false, 0},
	{"a longer local header", {.method = 0, .local_extra = 28}, false, 0, false, 0},
	{"data before, not counted", {.method = 8}, false, 1 << 20, false, 0},
	{"data before, counted", {.method = 8}, false, 1 << 20, true, 0},
	{"data before, zip64, not counted", {.method = 0, .zip64 = true}, true, 70000, false, 0},
	{"data before, zip64, counted", {.method = 0, .zip64 = true}, true, 70000, true, 0},
	{"a comment", {.method = 8}, false, 0, false, 100},
	{"the longest comment", {.method = 8}, false, 0, false, 65535},
	{"the longest comment, zip64, data before", {.method = 8}, true, 999, false, 65535},
};

START_TEST(every_shape_of_a_zip_gives_its_members)
{
	static char comment[65535];
	memset(comment, 'c', sizeof(comment));
	set_up();
	zip_maker_finish(&maker);
	zip_maker_begin(&maker, shapes[_i].before, shapes[_i].counted);
	static const char *const texts[] = {"", "x", "a text that is deflated, deflated, deflated, deflated"};
	static const char *const names[] = {"empty", "a/x", "a/b/text"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct zip_entry entry = shapes[_i].how;
		entry.name = names[i];
		entry.bytes = texts[i];
		entry.size = strlen(texts[i]);
		zip_maker_add(&maker, &entry);
	}
	zip_maker_end(&maker, shapes[_i].zip64, comment, shapes[_i].comment);
	open_zip();
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_msg(strcmp(get(names[i]), texts[i]) == 0, "%s: %s: %s", shapes[_i].name, names[i], get(names[i]));
	ck_assert_str_eq(list(""), "a/ empty");
	ck_assert_str_eq(list("a"), "b/ x");
	ck_assert_str_eq(logged, "");
	tear_down();
}
END_TEST

START_TEST(of_one_name_the_last_member_wins)
{
	set_up();
	zip_maker_text(&maker, "k", "old", 0);
	zip_maker_text(&maker, "j", "other", 0);
	zip_maker_text(&maker, "k", "newer", 8);
	zip_maker_text(&maker, "k", "newest", 0);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	ck_assert_str_eq(get("k"), "newest");
	ck_assert_str_eq(get("j"), "other");
	ck_assert_str_eq(list(""), "j k");
	tear_down();
}
END_TEST

START_TEST(a_directory_as_a_member_is_a_prefix_and_no_value)
{
	set_up();
	zip_maker_text(&maker, "x", "x", 0);
	zip_maker_text(&maker, "full/", "", 0);
	zip_maker_text(&maker, "full/k", "k", 0);
	zip_maker_text(&maker, "empty/", "", 0);
	zip_maker_text(&maker, "both", "value", 0);
	zip_maker_text(&maker, "both/k", "k", 0);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	ck_assert_str_eq(list(""), "both/ empty/ full/ x");
	ck_assert_str_eq(list("full"), "k");
	ck_assert_str_eq(list("empty"), "");
	ck_assert_str_eq(list("x"), "-2");
	ck_assert_str_eq(get("both"), "value");
	ck_assert_str_eq(get("both/k"), "k");
	ck_assert_int_eq(strncmp(get("empty"), "-2 ", 3), 0);
	tear_down();
}
END_TEST

#define UTF8 (1u << 11)

static const struct {
	struct zip_entry entry;
	const char *key; /* NULL: ignored */
} names[] = {
	{{.name = "plain"}, "plain"},
	{{.name = "t\xc3\xabmp", .flags = UTF8}, "t\xc3\xabmp"},
	{{.name = "t\x89mp"}, "t\xc3\xabmp"},						/* code page 437 */
	{{.name = "\xe1\xff\xb3"}, "\xc3\x9f\xc2\xa0\xe2\x94\x82"}, /* its sharp s, no-break space, box */
	{{.name = "t\xc3\xabmp"}, "t\xc3\xabmp"},					/* UTF-8 that does not say so */
	{{.name = "t\x89mp", .flags = UTF8}, "t\x89mp"},			/* says so and is not */
	{{.name = "t?mp", .unicode_path = "t\xc3\xabmp"}, "t\xc3\xabmp"},
	{{.name = "a\\b"}, "a\\b"},
	{{.name = "..a/...", .name_size = 7}, "..a/..."},
	{{.name = "../up"}, NULL},
	{{.name = "a/../b"}, NULL},
	{{.name = "a/.."}, NULL},
	{{.name = ".."}, NULL},
	{{.name = "./a"}, NULL},
	{{.name = "/etc/passwd"}, NULL},
	{{.name = "a//b"}, NULL},
	{{.name = "/"}, NULL},
	{{.name = "a\0b", .name_size = 3}, NULL},
	{{.name = "a\0", .name_size = 2}, NULL},
	{{.name = "t?mp", .unicode_path = "../up"}, NULL},
	{{.name = "up", .unicode_path = ""}, NULL},
};

START_TEST(a_name_is_a_key_or_ignored_with_a_line)
{
	struct zip_entry entry = names[_i].entry;
	set_up();
	zip_maker_text(&maker, "first", "1", 0);
	entry.bytes = "bytes";
	entry.size = 5;
	zip_maker_add(&maker, &entry);
	zip_maker_text(&maker, "last", "2", 0);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	if (names[_i].key) {
		ck_assert_str_eq(get(names[_i].key), "bytes");
		ck_assert_str_eq(logged, "");
	} else {
		ck_assert_str_eq(list(""), "first last");
		ck_assert_msg(strstr(logged, "1 members with names that no key can have"), "%s", logged);
	}
	ck_assert_str_eq(get("first"), "1");
	ck_assert_str_eq(get("last"), "2");
	tear_down();
}
END_TEST

START_TEST(a_name_that_is_too_long_is_ignored)
{
	static char long_name[65535], segment[LIMIT_NAME_BYTES + 2];
	set_up();
	for (size_t i = 0; i < sizeof(long_name); i++)
		long_name[i] = i % 2 ? '/' : 'k';
	memset(segment, 's', sizeof(segment) - 1);
	static const size_t sizes[] = {65535, LIMIT_KEY_BYTES + 1, LIMIT_KEY_BYTES - 1};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		zip_maker_add(&maker, &(struct zip_entry){.name = long_name, .name_size = sizes[i], .bytes = "l", .size = 1});
	zip_maker_text(&maker, segment, "s", 0);
	zip_maker_text(&maker, segment + 1, "s", 0);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	long_name[LIMIT_KEY_BYTES - 1] = '\0';
	ck_assert_str_eq(get(long_name), "l");
	ck_assert_str_eq(get(segment + 1), "s");
	ck_assert_msg(strstr(logged, "3 members with names that no key can have"), "%s", logged);
	tear_down();
}
END_TEST

static const struct {
	const char *members[5];
	const char *listing;
} tops[] = {
	{{"a.zarr/zarr.json", "a.zarr/c/0"}, "c/ zarr.json"},
	{{"a.zarr/", "a.zarr/zarr.json"}, "zarr.json"},
	{{"a.zarr/b/zarr.json"}, "b/"},
	{{"a.zarr/zarr.json", "__MACOSX/a.zarr/._zarr.json", ".DS_Store", "._a.zarr"}, "zarr.json"},
	{{"zarr.json", "a/zarr.json"}, "a/ zarr.json"},
	{{".zgroup", "a/.zgroup"}, ".zgroup a/"},
	{{"a/zarr.json", "b/zarr.json"}, "a/ b/"},
	{{"a/zarr.json", "a.b/zarr.json"}, "a/ a.b/"},
	{{"a/zarr.json", "README"}, "README a/"},
	{{"a/zarr.json", "../x"}, "zarr.json"},
	{{"a/"}, "a/"},
	{{"__MACOSX/a"}, "__MACOSX/"},
	{{"a/b/", "a/b/c/zarr.json"}, "b/"},
};

START_TEST(one_folder_that_is_alone_on_top_is_the_store)
{
	set_up();
	for (size_t i = 0; tops[_i].members[i]; i++)
		zip_maker_text(&maker, tops[_i].members[i], "", 0);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	ck_assert_str_eq(list(""), tops[_i].listing);
	tear_down();
}
END_TEST

/* Each reader that expects no comment takes the last end record; so do we, unless what it says is not there. */
START_TEST(a_comment_that_looks_like_an_end_record_is_a_comment)
{
	static const char fake[] = "PK\5\6\0\0\0\0\1\0\1\0\x40\0\0\0\x10\0\0\0\0"; /* 64 bytes at 16 */
	set_up();
	zip_maker_text(&maker, "a", "text", 0);
	zip_maker_end(&maker, false, fake, 22);
	open_zip();
	ck_assert_str_eq(get("a"), "text");
	tear_down();
}
END_TEST

/* ---------------------------------------------------------------- lies */

enum place { RECORD, HEADER, END };

/* Three members "a" "b" "c"; `size` bytes at `at` of what belongs to b become `value`. */
static const struct lie {
	unsigned method;
	enum place place;
	size_t at, size;
	uint64_t value;
	int open_rc, rc; /* of store_open, else of b */
	const char *message;
} lies[] = {
	/* the central directory */
	{0, RECORD, 0, 4, 0, -EIO, 0, "damaged after 1 records"},
	{0, RECORD, 8, 2, 1, 0, -ENOTSUP, "b: encrypted"},
	{0, RECORD, 10, 2, 12, 0, -ENOTSUP, "b: compression method 12 (bzip2) of the zip file is not read"},
	{0, RECORD, 10, 2, 77, 0, -ENOTSUP, "b: compression method 77 of the zip file is unknown"},
	{0, RECORD, 10, 2, 8, 0, -EIO, "b: its local header"},
	{0, RECORD, 16, 4, 1, 0, -EIO, "b: its local header"},
	{0, RECORD, 20, 4, 9, 0, -EIO, "b: 9 bytes in the zip file cannot be 10 bytes"},
	{0, RECORD, 24, 4, 11, 0, -EIO, "b: 10 bytes in the zip file cannot be 11 bytes"},
	{8, RECORD, 24, 4, 0x40000000, 0, -EIO, "cannot be 1073741824 bytes"}, /* a bomb */
	{93, RECORD, 24, 4, 0xfffffffe, 0, -EIO, "cannot be 4294967294 bytes"},
	{8, RECORD, 20, 4, 0x7fffffff, 0, -EIO, "2147483647 bytes in the zip file cannot be"},
	{8, RECORD, 24, 4, 11, 0, -EIO, "b: its local header"},
	{0, RECORD, 28, 2, 0xffff, -EIO, 0, "ends inside a record"},
	{0, RECORD, 30, 2, 0xffff, -EIO, 0, "ends inside a record"},
	{0, RECORD, 32, 2, 1, -EIO, 0, "damaged after 2 records"},
	{0, RECORD, 42, 4, 0, 0, -EIO, "b: its local header"},	/* a's */
	{0, RECORD, 42, 4, 3, 0, -EIO, "b: not where"},			/* in the middle of a */
	{0, RECORD, 42, 4, 0x7fffffff, 0, -EIO, "b: overlaps"}, /* past the end */
	{0, RECORD, 42, 4, 0xffffffff, 0, -EIO, "b: overlaps"}, /* the same, without a zip64 field */
	{0, RECORD, 46, 1, 'B', 0, -ENOENT, "b: no such key"},
	/* local headers */
	{0, HEADER, 0, 4, 0, 0, -EIO, "b: not where the zip file's directory says"},
	{0, HEADER, 6, 2, 1, 0, -EIO, "b: its local header"},
	{0, HEADER, 8, 2, 8, 0, -EIO, "b: its local header"},
	{0, HEADER, 14, 4, 7, 0, -EIO, "b: its local header"},
	{0, HEADER, 18, 4, 7, 0, -EIO, "b: its local header"},
	{0, HEADER, 22, 4, 7, 0, -EIO, "b: its local header"},
	{0, HEADER, 26, 2, 2, 0, -EIO, "b: its local header"},
	{0, HEADER, 28, 2, 1, 0, -EIO, "b: overlaps another member"},
	{0, HEADER, 28, 2, 0xffff, 0, -EIO, "b: overlaps another member"},
	{0, HEADER, 30, 1, 'B', 0, -EIO, "b: its local header"},
	{0, HEADER, 6, 2, 8, 0, 0, NULL}, /* it leaves sizes to the directory */
	/* data */
	{0, HEADER, 31, 1, '#', 0, -EIO, "b: its CRC-32 is"},
	{8, HEADER, 31, 1, 0xff, 0, -EIO, "b: its compressed data in the zip file are damaged"},
	{93, HEADER, 31, 1, 0xff, 0, -EIO, "b: its compressed data in the zip file are damaged"},
	/* the end record */
	{0, END, 0, 1, 'X', -ENOTDIR, 0, "Not a directory"},
	{0, END, 4, 2, 1, -ENOTSUP, 0, "a zip of several volumes"},
	{0, END, 6, 2, 1, -ENOTSUP, 0, "a zip of several volumes"},
	{0, END, 8, 2, 2, -ENOTSUP, 0, "a zip of several volumes"},
	{0, END, 8, 4, 0x00040004, -EIO, 0, "the central directory has 3 records, its end says 4"},
	{0, END, 8, 4, 0xffffffff, -EIO, 0, "the central directory has 3 records, its end says 65535"},
	{0, END, 12, 4, 0x7fffffff, -EIO, 0, "the central directory is not where the end record says"},
	{0, END, 12, 4, 46, -EIO, 0, "the central directory ends inside a record"},
	{0, END, 12, 4, 0, -EIO, 0, "the central directory has 0 records, its end says 3"},
	{0, END, 16, 4, 0x7fffffff, -EIO, 0, "the central directory is not where the end record says"},
	{0, END, 20, 2, 1, -ENOTDIR, 0, "Not a directory"},
};

static void add_abc(unsigned method)
{
	zip_maker_text(&maker, "a", "aaaaaaaaaa", 0);
	zip_maker_text(&maker, "b", "bbbbbbbbbb", method);
	zip_maker_text(&maker, "c", "cccccccccc", 0);
}

START_TEST(a_lie_is_found_where_it_is_told_and_harms_no_other_member)
{
	const struct lie *lie = &lies[_i];
	uint8_t number[8];
	set_up();
	zip_path[strlen(zip_path) - strlen(".zip")] = '\0'; /* a zip by its end alone */
	add_abc(lie->method);
	zip_maker_end(&maker, false, NULL, 0);
	size_t at = lie->place == RECORD ? maker.records[1] : lie->place == HEADER ? maker.headers[1] : maker.end;
	store_le64(number, lie->value);
	memcpy(maker.bytes.text + at + lie->at, number, lie->size);
	int rc = try_open();
	ck_assert_msg(rc == lie->open_rc, "lie %d: %d %s", _i, rc, err_message());
	if (rc) {
		ck_assert_msg(strstr(err_message(), lie->message) != NULL, "lie %d: %s", _i, err_message());
		ck_assert_ptr_null(store);
		tear_down();
		return;
	}
	char code[16];
	snprintf(code, sizeof(code), "%d ", lie->rc);
	const char *text = get("b");
	if (lie->rc)
		ck_assert_msg(strncmp(text, code, strlen(code)) == 0 && strstr(text, lie->message), "lie %d: %s", _i, text);
	else
		ck_assert_str_eq(text, "bbbbbbbbbb");
	/* where b lies inside a, a is not to be trusted either */
	bool inside = lie->place == RECORD && lie->at == 42 && lie->value == 3;
	ck_assert_msg(inside || strcmp(get("a"), "aaaaaaaaaa") == 0, "lie %d: %s", _i, get("a"));
	ck_assert_str_eq(get("c"), "cccccccccc");
	tear_down();
}
END_TEST

static const struct lie64 {
	enum place place; /* END: the zip64 end record, 76 bytes before */
	size_t at, size;
	uint64_t value;
	int open_rc, rc;
	const char *message;
} lies64[] = {
	{RECORD, 47 + 4, 8, UINT64_MAX, 0, -EIO, "10 bytes in the zip file cannot be 18446744073709551615"},
	{RECORD, 47 + 12, 8, UINT64_MAX, 0, -EIO, "18446744073709551615 bytes in the zip file cannot be 10"},
	{RECORD, 47 + 20, 8, UINT64_MAX, 0, -EIO, "b: overlaps"},
	{RECORD, 47 + 20, 8, UINT64_MAX - 29, 0, -EIO, "b: overlaps"},
	{RECORD, 47, 2, 2, 0, -EIO, "b: overlaps"}, /* no zip64 field: sizes and place are 2^32 - 1 */
	{RECORD, 47 + 2, 2, 8, 0, -EIO, "10"},		/* cut short */
	{RECORD, 47 + 2, 2, 0xffff, 0, -EIO, "b: overlaps"},
	{END, 0, 1, 'X', -EIO, 0, "the zip64 end record is not where its locator says"},
	{END, 4, 8, 45, -EIO, 0, "the zip64 end record is not where its locator says"},
	{END, 4, 8, UINT64_MAX, -EIO, 0, "the zip64 end record is not where its locator says"},
	{END, 16, 4, 1, -ENOTSUP, 0, "several volumes"},
	{END, 24, 8, UINT64_MAX, -ENOTSUP, 0, "several volumes"},
	{END, 40, 8, UINT64_MAX, -EIO, 0, "the central directory is not where"},
	{END, 40, 8, 1, -EIO, 0, "the central directory is not where"},
	{END, 48, 8, UINT64_MAX, -EIO, 0, "the central directory is not where"},
	{END, 56 + 8, 8, UINT64_MAX, 0, 0, NULL}, /* the locator; the record is right before it */
	{END, 56 + 8, 8, UINT64_MAX - 55, 0, 0, NULL},
	{END, 56, 1, 'X', -EIO, 0, "the central directory is not where"},
};

START_TEST(a_lie_in_64_bits_does_not_wrap)
{
	const struct lie64 *lie = &lies64[_i];
	uint8_t number[8];
	set_up();
	for (const char *name = "abc"; *name; name++)
		zip_maker_add(&maker, &(struct zip_entry){
								  .name = name, .name_size = 1, .bytes = "bbbbbbbbbb", .size = 10, .zip64 = true});
	zip_maker_end(&maker, true, NULL, 0);
	store_le64(number, lie->value);
	memcpy(maker.bytes.text + (lie->place == RECORD ? maker.records[1] : maker.end - 76) + lie->at, number, lie->size);
	int rc = try_open();
	ck_assert_msg(rc == lie->open_rc, "lie %d: %d %s", _i, rc, err_message());
	if (rc) {
		ck_assert_msg(strstr(err_message(), lie->message) != NULL, "lie %d: %s", _i, err_message());
	} else {
		char code[16];
		snprintf(code, sizeof(code), "%d ", lie->rc);
		const char *text = get("b");
		ck_assert_msg(lie->rc ? strncmp(text, code, strlen(code)) == 0 && strstr(text, lie->message)
							  : strcmp(text, "bbbbbbbbbb") == 0,
					  "lie %d: %s", _i, text);
		ck_assert_str_eq(get("c"), "bbbbbbbbbb");
	}
	tear_down();
}
END_TEST

/* Two members of one place, as in a bomb whose files share their data: whose name is there may be read. */
START_TEST(members_that_share_data_are_read_by_the_name_that_is_there)
{
	set_up();
	add_abc(8);
	zip_maker_end(&maker, false, NULL, 0);
	store_le32(maker.bytes.text + maker.records[2] + 42, (uint32_t)maker.headers[1]);
	memcpy(maker.bytes.text + maker.records[2] + 10, maker.bytes.text + maker.records[1] + 10, 18);
	open_zip();
	ck_assert_str_eq(get("b"), "bbbbbbbbbb");
	ck_assert_int_eq(strncmp(get("c"), "-5 c: its local header", 22), 0);
	tear_down();
}
END_TEST

START_TEST(a_symbolic_link_as_a_member_is_refused)
{
	set_up();
	zip_maker_text(&maker, "a", "x", 0);
	zip_maker_add(&maker, &(struct zip_entry){.name = "link",
											  .bytes = "/etc/passwd",
											  .size = 11,
											  .made_by = 3,
											  .attributes = (uint32_t)(S_IFLNK | 0777) << 16});
	zip_maker_add(
		&maker,
		&(struct zip_entry){
			.name = "file", .bytes = "bytes", .size = 5, .made_by = 3, .attributes = (uint32_t)(S_IFREG | 0644) << 16});
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	ck_assert_str_eq(get("link"), "-5 link: a symbolic link in a zip file");
	ck_assert_str_eq(get("file"), "bytes");
	tear_down();
}
END_TEST

/* Every length of a zip that was cut off is refused, with or without its directory in sight. */
START_TEST(a_zip_that_was_cut_off_is_refused)
{
	set_up();
	add_abc(8);
	zip_maker_end(&maker, false, NULL, 0);
	size_t whole = maker.bytes.size;
	for (size_t size = 0; size < whole; size++) {
		maker.bytes.size = size;
		int rc = try_open();
		ck_assert_msg(rc == -EIO, "%zu bytes: %d", size, rc);
	}
	maker.bytes.size = whole;
	open_zip();
	tear_down();
}
END_TEST

START_TEST(a_range_of_a_damaged_stored_member_is_read_and_all_of_it_is_not)
{
	set_up();
	add_abc(0);
	zip_maker_end(&maker, false, NULL, 0);
	maker.bytes.text[maker.headers[1] + 31 + 9] = '#';
	open_zip();
	struct value *value;
	char dst[10];
	size_t size;
	ck_assert_int_eq(store_open_value(store, "b", STORE_WAIT, &value), 0);
	ck_assert(value_info(value)->ranges_cheap);
	ck_assert_int_eq(value_read(value, (struct range){.length = 9}, STORE_WAIT, dst, &size), 0);
	ck_assert_int_eq(value_read(value, (struct range){.length = 10}, STORE_WAIT, dst, &size), -EIO);
	value_unref(value);
	tear_down();
}
END_TEST

START_TEST(a_compressed_member_says_that_its_ranges_are_dear)
{
	static const unsigned methods[] = {0, 8, 20, 93};
	set_up();
	add_abc(methods[_i]);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "b", STORE_WAIT, &value), 0);
	ck_assert_int_eq(value_info(value)->ranges_cheap, _i == 0);
	ck_assert_int_eq(store_recodes(store), _i != 0);
	value_unref(value);
	tear_down();
}
END_TEST

/* ---------------------------------------------------------------- large ones */

/* More than 2^16 members, with and without zip64: a short number counts modulo 2^16. */
START_TEST(a_million_members_are_found)
{
	enum { N = 1000000 };
	set_up();
	char name[32];
	for (int i = 0; i < N; i++) {
		snprintf(name, sizeof(name), "%s/c/%d", i % 2 ? "odd" : "even", i);
		zip_maker_add(&maker, &(struct zip_entry){.name = name, .bytes = name, .size = 4, .method = 0});
	}
	zip_maker_end(&maker, _i, NULL, 0);
	open_zip();
	ck_assert_str_eq(list(""), "even/ odd/");
	ck_assert_str_eq(list("odd"), "c/");
	ck_assert_str_eq(get("odd/c/999999"), "odd/");
	ck_assert_str_eq(get("even/c/0"), "even");
	ck_assert_int_eq(strncmp(get("even/c/1"), "-2 ", 3), 0);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "odd/c", &listing), 0);
	ck_assert_uint_eq(listing.n, N / 2);
	store_listing_finish(&listing);
	tear_down();
}
END_TEST

/* 5 GiB of nothing before the second member. */
START_TEST(a_member_beyond_4_GiB_is_found)
{
	const uint64_t hole = UINT64_C(5) << 30;
	set_up();
	zip_maker_text(&maker, "near", "near text", 8);
	struct str near = maker.bytes;
	str_init(&maker.bytes);
	maker.hole = near.size + hole;
	zip_maker_text(&maker, "far", "far text", _i ? 8 : 0);
	zip_maker_end(&maker, true, NULL, 0);

	FILE *file = fopen(zip_path, "wb");
	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(near.text, 1, near.size, file), near.size);
	ck_assert_int_eq(fseeko(file, (off_t)maker.hole, SEEK_SET), 0);
	ck_assert_uint_eq(fwrite(maker.bytes.text, 1, maker.bytes.size, file), maker.bytes.size);
	ck_assert_int_eq(fclose(file), 0);
	str_finish(&near);
	ck_assert_int_eq(store_open(zip_path, &store), 0);
	ck_assert_str_eq(get("near"), "near text");
	ck_assert_str_eq(get("far"), "far text");
	tear_down();
}
END_TEST

/* ---------------------------------------------------------------- changes */

static void append_byte(void)
{
	FILE *file = fopen(zip_path, "ab");
	ck_assert(file && fputc('x', file) == 'x' && fclose(file) == 0);
}

static void cut_short(void)
{
	ck_assert_int_eq(truncate(zip_path, 40), 0);
}

static void rewrite(void)
{
	struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	zip_maker_write(&maker, zip_path);
	ck_assert_int_eq(utimensat(AT_FDCWD, zip_path, times, 0), 0);
}

static void replace(void)
{
	zip_maker_replace(&maker, zip_path);
}

static void remove_it(void)
{
	ck_assert_int_eq(unlink(zip_path), 0);
}

static void (*const changes[])(void) = {append_byte, cut_short, rewrite, replace, remove_it};

/* Reliability, row Z3: the directory of one file is never used with the bytes of another. */
START_TEST(a_zip_that_changed_is_ESTALE_whatever_is_asked)
{
	set_up();
	add_abc(8);
	zip_maker_end(&maker, false, NULL, 0);
	open_zip();
	struct value *stored, *deflated, *other = NULL;
	char dst[10];
	size_t size;
	ck_assert_int_eq(store_open_value(store, "a", STORE_WAIT, &stored), 0);
	ck_assert_int_eq(store_open_value(store, "b", STORE_WAIT, &deflated), 0);
	changes[_i]();
	ck_assert_int_eq(value_read(stored, (struct range){.length = 3}, STORE_WAIT, dst, &size), -ESTALE);
	ck_assert_int_eq(value_read(stored, (struct range){.length = 10}, STORE_WAIT, dst, &size), -ESTALE);
	ck_assert_int_eq(value_read(deflated, (struct range){.length = 10}, STORE_WAIT, dst, &size), -ESTALE);
	ck_assert_int_eq(store_open_value(store, "c", STORE_WAIT, &other), -ESTALE);
	ck_assert_int_eq(store_open_value(store, "none", STORE_WAIT, &other), -ESTALE);
	ck_assert_str_eq(list(""), "-116");
	int rc = store_open_value(store, "none", STORE_TRY, &other);
	ck_assert_msg(rc == -ESTALE || rc == -EAGAIN, "%d", rc);
	value_unref(stored);
	value_unref(deflated);
	tear_down();
}
END_TEST

static Suite *zip_suite(void)
{
	Suite *suite = suite_create("zip");
	TCase *tcase = tcase_create("zip");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_shape_of_a_zip_gives_its_members, 0, ARRAY_LEN(shapes));
	tcase_add_test(tcase, of_one_name_the_last_member_wins);
	tcase_add_test(tcase, a_directory_as_a_member_is_a_prefix_and_no_value);
	tcase_add_loop_test(tcase, a_name_is_a_key_or_ignored_with_a_line, 0, ARRAY_LEN(names));
	tcase_add_test(tcase, a_name_that_is_too_long_is_ignored);
	tcase_add_loop_test(tcase, one_folder_that_is_alone_on_top_is_the_store, 0, ARRAY_LEN(tops));
	tcase_add_test(tcase, a_comment_that_looks_like_an_end_record_is_a_comment);
	tcase_add_loop_test(tcase, a_lie_is_found_where_it_is_told_and_harms_no_other_member, 0, ARRAY_LEN(lies));
	tcase_add_loop_test(tcase, a_lie_in_64_bits_does_not_wrap, 0, ARRAY_LEN(lies64));
	tcase_add_test(tcase, members_that_share_data_are_read_by_the_name_that_is_there);
	tcase_add_test(tcase, a_symbolic_link_as_a_member_is_refused);
	tcase_add_test(tcase, a_zip_that_was_cut_off_is_refused);
	tcase_add_test(tcase, a_range_of_a_damaged_stored_member_is_read_and_all_of_it_is_not);
	tcase_add_loop_test(tcase, a_compressed_member_says_that_its_ranges_are_dear, 0, 4);
	tcase_add_loop_test(tcase, a_million_members_are_found, 0, 2);
	tcase_add_loop_test(tcase, a_member_beyond_4_GiB_is_found, 0, 2);
	tcase_add_loop_test(tcase, a_zip_that_changed_is_ESTALE_whatever_is_asked, 0, ARRAY_LEN(changes));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(zip_suite)
