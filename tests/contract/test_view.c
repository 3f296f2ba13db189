/*
 * test_view.c: the contract of every row of view.c, over many arrays: the size is known from metadata alone, every byte is
 * that of a naive reader, whatever the window, and what a row writes it can read back.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/str.h"
#include "hierarchy/hierarchy.h"
#include "view/facts.h"
#include "view/view_impl.h"

#define ZSTD FIXTURE_BYTES "," FIXTURE_ZSTD

static const struct fixture fixtures[] = {
	{.path = "scalar", .dtype = "float64", .fill = 1},
	{.path = "empty", .dtype = "int32", .ndim = 2, .shape = {3, 0}, .chunk = {2, 2}},
	{.path = "bool", .dtype = "bool", .ndim = 1, .shape = {2}, .chunk = {1}},
	{.path = "line", .dtype = "uint8", .ndim = 1, .shape = {1000}, .chunk = {77}, .skip = 3, .fill = 200},
	{.path = "raw", .dtype = "r24", .ndim = 1, .shape = {50}, .chunk = {7}, .codecs = "[" ZSTD "]"},
	{.path = "table", .dtype = "int16", .ndim = 2, .shape = {31, 17}, .chunk = {4, 5}, .codecs = "[" FIXTURE_BIG "]"},
	{.path = "cube",
	 .dtype = "complex64",
	 .ndim = 3,
	 .shape = {5, 6, 7},
	 .chunk = {2, 6, 3},
	 .codecs = "[" FIXTURE_TRANSPOSE("2,0,1") "," ZSTD "]",
	 .skip = 4,
	 .fill = 0x4142434445464748},
	{.path = "shards",
	 .dtype = "float32",
	 .ndim = 2,
	 .shape = {30, 30},
	 .chunk = {16, 12},
	 .codecs = "[" FIXTURE_SHARDING("4,4", ZSTD, FIXTURE_BYTES "," FIXTURE_CRC32C, "end") "]",
	 .skip = 5,
	 .skip_inner = 3,
	 .fill = 7},
	{.path = "described",
	 .dtype = "uint64",
	 .ndim = 1,
	 .shape = {4},
	 .chunk = {4},
	 .members = ",\"attributes\":{\"units\":\"K\",\"n\":[1,2.50,null]},\"dimension_names\":[\"time\"]"},
};

static struct fixture_env env;
static struct hierarchy *hierarchy;
static struct fixture made;

static void open_hierarchy(void)
{
	int rc = hierarchy_open(&env.env, &hierarchy);
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

static void open_all(const struct fixture *fixture)
{
	made = *fixture;
	fixture_env_open(&env, &(struct fixture_limits){.width = 0});
	fixture_put_group(env.env.store, "");
	fixture_put(env.env.store, &made);
	open_hierarchy();
}

static void close_all(void)
{
	fixture_env_settle(&env);
	hierarchy_close(hierarchy);
	fixture_env_close(&env);
}

static struct node *find(const char *path)
{
	struct node *node;
	int rc = hierarchy_find(hierarchy, path, &node);
	ck_assert_msg(rc == 0, "%s: %d %s", path, rc, err_message());
	return node;
}

static struct view *open_view(struct node *node, const struct view_ops *ops)
{
	struct view *view;
	ck_assert_int_eq(view_supports(ops, node), 0);
	int rc = view_open(hierarchy, node, ops, &view);
	ck_assert_msg(rc == 0, "%s.%s: %d %s", node->path, view_suffix(ops), rc, err_message());
	return view;
}

/* ------------------------------------------------ what every row must do ------------------------------------------------ */

START_TEST(opening_a_view_and_its_size_touch_no_chunk)
{
	const struct view_ops *ops;
	open_all(&fixtures[_i]);
	struct node *node = find(made.path);
	mem_store_reset_counts(env.env.store);
	for (int i = 0; (ops = view_row(i)); i++) {
		struct view *view = open_view(node, ops);
		uint64_t sum = 0;
		for (int e = 0; e < view->n; e++)
			sum += view->extents[e].size;
		ck_assert_uint_eq(view->size, sum);
		if (ops->needs_array)
			ck_assert_uint_ge(view->size, fixture_bytes(&made));
		view_close(view);
	}
	ck_assert_uint_eq(mem_store_counts(env.env.store, "").opens, 0);
	close_all();
}
END_TEST

/* The elements of the naive reader, in the order and byte order that the file says it has. */
static void expect_payload(const struct view_parsed *parsed, uint8_t *dst)
{
	uint64_t bytes = fixture_bytes(&made);
	ck_assert(!parsed->fortran_order && !parsed->big_endian);
	fixture_expect(&made, 0, (size_t)bytes, dst);
}

/* The whole file, as one read gives it. */
static uint8_t *read_whole(struct view *view)
{
	uint8_t *bytes = malloc((size_t)view->size + 1);
	memset(bytes, 0xa5, (size_t)view->size + 1);
	ck_assert_int_eq(view_read_wait(view, 0, (size_t)view->size, bytes), 0);
	ck_assert_uint_eq(bytes[view->size], 0xa5);
	return bytes;
}

START_TEST(every_byte_is_that_of_a_naive_reader)
{
	const struct view_ops *ops;
	open_all(&fixtures[_i]);
	autofree uint8_t *wanted = malloc((size_t)fixture_bytes(&made) + 1);
	for (int i = 0; (ops = view_row(i)); i++) {
		struct view *view = open_view(find(made.path), ops);
		autofree uint8_t *bytes = read_whole(view);
		struct view_parsed parsed = {0};
		if (ops->parse)
			ck_assert_int_eq(ops->parse(bytes, (size_t)view->size, &parsed), 0);
		if (ops->needs_array) {
			expect_payload(&parsed, wanted);
			ck_assert_uint_eq(view->size, parsed.payload_offset + fixture_bytes(&made));
			ck_assert_mem_eq(bytes + parsed.payload_offset, wanted, fixture_bytes(&made));
		}
		view_close(view);
	}
	close_all();
}
END_TEST

START_TEST(any_window_is_a_part_of_the_whole)
{
	uint64_t state = test_seed();
	const struct view_ops *ops;
	open_all(&fixtures[_i]);
	for (int i = 0; (ops = view_row(i)); i++) {
		struct view *view = open_view(find(made.path), ops);
		autofree uint8_t *bytes = read_whole(view), *window = malloc((size_t)view->size + 1);
		for (int round = 0; round < 50; round++) {
			uint64_t offset = test_random(&state) % (view->size + 1);
			size_t size = (size_t)(test_random(&state) % (view->size - offset + 1));
			window[size] = 0x5a;
			ck_assert_int_eq(view_read_wait(view, offset, size, window), 0);
			ck_assert_mem_eq(window, bytes + offset, size);
			ck_assert_uint_eq(window[size], 0x5a);
		}
		view_close(view);
	}
	close_all();
}
END_TEST

START_TEST(what_a_row_parses_is_the_array_that_it_was_made_of)
{
	const struct view_ops *ops;
	int parsers = 0;
	open_all(&fixtures[_i]);
	for (int i = 0; (ops = view_row(i)); i++) {
		if (!ops->parse)
			continue;
		parsers++;
		struct node *node = find(made.path);
		struct view *view = open_view(node, ops);
		autofree uint8_t *bytes = read_whole(view);
		struct view_parsed parsed;
		const struct dtype *dtype = &node->meta.array->dtype;
		ck_assert_int_eq(view_parse(ops, bytes, (size_t)view->size, &parsed), 0);
		ck_assert_int_eq(parsed.ndim, made.ndim);
		for (int a = 0; a < made.ndim; a++)
			ck_assert_uint_eq(parsed.shape[a], made.shape[a]);
		ck_assert_str_eq(parsed.dtype.descr, dtype->descr);
		ck_assert_uint_eq(parsed.dtype.size, dtype->size);
		ck_assert(!parsed.fortran_order && !parsed.big_endian);
		/* every head that is cut short is refused */
		for (size_t n = 0; n < parsed.payload_offset; n++)
			ck_assert_int_eq(view_parse(ops, bytes, n, &parsed), -EIO);
		view_close(view);
	}
	ck_assert_int_gt(parsers, 0);
	close_all();
}
END_TEST

START_TEST(a_read_that_fails_fails_whole_and_literal_bytes_need_no_chunk)
{
	const struct view_ops *ops;
	open_all(&fixtures[3]);
	ck_assert_str_eq(made.path, "line");
	const struct mem_fault fault = {.key_part = "line/c/5", .read_errnum = EIO};
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &fault, 1), 0);
	for (int i = 0; (ops = view_row(i)); i++) {
		struct view *view = open_view(find(made.path), ops);
		autofree uint8_t *bytes = malloc((size_t)view->size);
		ck_assert_int_eq(view_read_wait(view, 0, (size_t)view->size, bytes), ops->needs_array ? -EIO : 0);
		uint64_t head = view->extents[0].kind == EXTENT_LITERAL ? view->extents[0].size : 0;
		ck_assert_int_eq(view_read_wait(view, 0, (size_t)head, bytes), 0);
		view_close(view);
	}
	close_all();
}
END_TEST

START_TEST(no_row_shows_a_group)
{
	const struct view_ops *ops;
	open_all(&fixtures[0]);
	for (int i = 0; (ops = view_row(i)); i++)
		ck_assert_int_eq(view_supports(ops, find("")), -ENOENT);
	close_all();
}
END_TEST

START_TEST(a_file_name_is_a_node_and_a_suffix)
{
	static const struct {
		const char *name;
		int length; /* of the node's part; -1: no view */
	} names[] = {{".raw", -1}, {"a", -1}, {"a.", -1}, {"a.rawx", -1}, {"a.b", -1}, {"", -1}, {"a.RAW", -1}};
	const struct view_ops *ops;
	size_t length;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		ck_assert_ptr_null(view_of_name(names[i].name, &length));
	for (int i = 0; (ops = view_row(i)); i++) {
		static const char *const nodes[] = {"a", "a.b", "a.raw", "..", "a."};
		for (size_t n = 0; n < ARRAY_LEN(nodes); n++) {
			autostr(name);
			str_appendf(&name, "%s.%s", nodes[n], view_suffix(ops));
			ck_assert_ptr_eq(view_of_name(name.text, &length), ops);
			ck_assert_uint_eq(length, strlen(nodes[n]));
		}
	}
}
END_TEST

/* ------------------------------------------------ arrays that cannot be read ------------------------------------------------ */

static const struct {
	const char *document;
	int rc;
	const char *reason;
} unreadable[] = {
	{"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":"
	 "\"regular\","
	 "\"configuration\":{\"chunk_shape\":[2]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,"
	 "\"codecs\":["
	 "{\"name\":\"bytes\"},{\"name\":\"jpegxl\"}]}",
	 -ENOTSUP, "unknown codec \\\"jpegxl\\\""},
	{"{\"zarr_format\":3,\"node_type\":\"array\"}", -EIO, "a/zarr.json: "},
	{"{", -EIO, "a/zarr.json: "},
};

START_TEST(an_array_that_cannot_be_read_has_no_bytes_but_a_reason)
{
	const struct view_ops *ops;
	fixture_env_open(&env, &(struct fixture_limits){.width = 0});
	fixture_put_group(env.env.store, "");
	fixture_put_text(env.env.store, "a/zarr.json", unreadable[_i].document);
	open_hierarchy();
	struct node *node = find("a");
	for (int i = 0; (ops = view_row(i)); i++) {
		struct view *view;
		ck_assert_int_eq(view_supports(ops, node), 0);
		if (ops->needs_array) {
			ck_assert_int_eq(view_open(hierarchy, node, ops, &view), unreadable[_i].rc);
			continue;
		}
		view = open_view(node, ops);
		autofree char *text = (char *)read_whole(view);
		text[view->size] = 0;
		ck_assert_msg(strstr(text, unreadable[_i].reason), "%s", text);
		view_close(view);
	}
	close_all();
}
END_TEST

/* ------------------------------------------------ NAME.json ------------------------------------------------ */

static struct json *read_json(const char *path)
{
	struct json *json;
	struct view *view = open_view(find(path), &json_view_ops);
	autofree char *text = (char *)read_whole(view);
	ck_assert_int_eq(text[view->size - 1], '\n');
	ck_assert_int_eq(json_parse(text, (size_t)view->size, LIMIT_JSON_BYTES, NULL, &json), 0);
	view_close(view);
	return json;
}

START_TEST(the_description_is_a_JSON_document_with_every_fact)
{
	open_all(&fixtures[_i]);
	struct json *json = read_json(made.path);
	for (int i = 0; facts_name(i); i++) {
		ck_assert_msg(json_get(json, facts_name(i)), "%s", facts_name(i));
		autostr(one);
		int rc = facts_append_one(hierarchy, find(made.path), facts_name(i), &one);
		autofree char *printed = json_print(json_get(json, facts_name(i)));
		if (!strcmp(facts_name(i), "error")) {
			ck_assert_int_eq(rc, -ENODATA);
			ck_assert_str_eq(printed, "null");
			continue;
		}
		ck_assert_int_eq(rc, 0);
		struct json *value;
		ck_assert_int_eq(json_parse(one.text, one.size, LIMIT_JSON_BYTES, NULL, &value), 0);
		autofree char *wanted = json_print(value);
		ck_assert_str_eq(printed, wanted);
		json_free(value);
	}
	json_free(json);
	close_all();
}
END_TEST

START_TEST(the_description_says_what_the_document_says)
{
	open_all(&fixtures[ARRAY_LEN(fixtures) - 1]);
	static const struct {
		const char *name, *text;
	} wanted[] = {{"shape", "[4]"},			 {"dtype", "\"<u8\""},
				  {"chunks", "[4]"},		 {"shards", "null"},
				  {"codecs", "[\"bytes\"]"}, {"dimension_names", "[\"time\"]"},
				  {"nbytes", "32"},			 {"attributes", "{\"units\":\"K\",\"n\":[1,2.50,null]}"}};
	struct json *json = read_json("described");
	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		struct json *value;
		ck_assert_int_eq(json_parse(wanted[i].text, strlen(wanted[i].text), LIMIT_JSON_BYTES, NULL, &value), 0);
		autofree char *got = json_print(json_get(json, wanted[i].name)), *text = json_print(value);
		ck_assert_str_eq(got, text);
		json_free(value);
	}
	json_free(json);
	close_all();
	open_all(&fixtures[7]);
	json = read_json("shards");
	autofree char *chunks = json_print(json_get(json, "chunks")), *shards = json_print(json_get(json, "shards"));
	ck_assert_str_eq(chunks, "[4,4]");
	ck_assert_str_eq(shards, "[16,12]");
	json_free(json);
	close_all();
}
END_TEST

/* ------------------------------------------------ numpy's headers ------------------------------------------------ */

/* What numpy 2.4 writes (numpy.lib.format.write_array_header_1_0): the dict; then spaces to `size` bytes, the last a newline. */
static const struct {
	const char *dtype, *shape;
	size_t size;
	const char *dict;
} headers[] = {
	{"|u1", "", 128, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }"},
	{"<f8", "0", 128, "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }"},
	{"<i4", "5", 128, "{'descr': '<i4', 'fortran_order': False, 'shape': (5,), }"},
	{"<f4", "2,3", 128, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"},
	{"<c8", "7,1,9", 128, "{'descr': '<c8', 'fortran_order': False, 'shape': (7, 1, 9), }"},
	{"|b1", "1000000", 128, "{'descr': '|b1', 'fortran_order': False, 'shape': (1000000,), }"},
	{"|V3", "1,2", 128, "{'descr': '|V3', 'fortran_order': False, 'shape': (1, 2), }"},
	{"|S12", "4", 128, "{'descr': '|S12', 'fortran_order': False, 'shape': (4,), }"},
	{"<U5", "3,3", 128, "{'descr': '<U5', 'fortran_order': False, 'shape': (3, 3), }"},
	{"<M8[ns]", "9", 128, "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (9,), }"},
	{"<m8[25s]", "2", 128, "{'descr': '<m8[25s]', 'fortran_order': False, 'shape': (2,), }"},
	{"<f2", "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1", 192,
	 "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
	 "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), }"},
	{"<i8", "1,2,3,4,5,6,7,8,9,10,11,12,13", 128,
	 "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13), }"},
	{"|i1", "1048576,1048576,1048576", 128,
	 "{'descr': '|i1', 'fortran_order': False, 'shape': (1048576, 1048576, 1048576), }"},
	{"<u2", "2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2,2", 192,
	 "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, "
	 "2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2), }"},
	{"<u8", "123456789012345678,2", 128,
	 "{'descr': '<u8', 'fortran_order': False, 'shape': (123456789012345678, 2), }"},
	{"|u1", "1,1000000000000000000", 128,
	 "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1000000000000000000), }"},
	{"<c16", "0,1000000000,3", 128, "{'descr': '<c16', 'fortran_order': False, 'shape': (0, 1000000000, 3), }"},
	{"<u4", "1000000000000000000", 128, "{'descr': '<u4', 'fortran_order': False, 'shape': (1000000000000000000,), }"},
	{"|u1", "7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7,7", 192,
	 "{'descr': '|u1', 'fortran_order': False, 'shape': (7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, "
	 "7, 7), }"},
	{"<i2", "1", 128, "{'descr': '<i2', 'fortran_order': False, 'shape': (1,), }"},
	{"<i2", "1,1", 128, "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1), }"},
	{"<i2", "1,1,1,1,1", 128, "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1), }"},
	{"<i2", "1,1,1,1,1,1", 128, "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1), }"},
	{"<i2", "1,1,1,1,1,1,1,1,1,1,1,1,10000", 128,
	 "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 10000), }"},
	{"<i2", "1,1,1,1,1,1,1,1,1,1,1,1,100000", 192,
	 "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100000), }"},
	{"<i2", "1,1,1,1,1,1,1,1,1,1,1,1,1,100", 192,
	 "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 100), }"},
	{"<i2", "1,1,1,1,1,1,1,1,1,1,1,1,1,1000", 192,
	 "{'descr': '<i2', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1000), }"},
};

/* The header of a v2 array of that type and shape, in chunks of one element. */
static struct view *open_header(const char *dtype, const char *shape)
{
	autostr(document);
	autostr(ones);
	for (const char *c = shape; *c; c++)
		if (c == shape || *c == ',')
			str_append(&ones, c == shape ? "1" : ",1");
	str_appendf(&document,
				"{\"zarr_format\":2,\"shape\":[%s],\"chunks\":[%s],\"dtype\":\"%s\",\"compressor\":null,"
				"\"fill_value\":null,\"order\":\"C\",\"filters\":null}",
				shape, ones.text, dtype);
	fixture_env_open(&env, &(struct fixture_limits){.width = 0});
	fixture_put_text(env.env.store, ".zgroup", "{\"zarr_format\":2}");
	fixture_put_text(env.env.store, "a/.zarray", document.text);
	open_hierarchy();
	return open_view(find("a"), &npy_view_ops);
}

START_TEST(an_npy_header_is_what_numpy_writes)
{
	uint8_t wanted[512], got[512];
	struct view *view = open_header(headers[_i].dtype, headers[_i].shape);
	memset(wanted, ' ', headers[_i].size);
	memcpy(wanted, "\x93NUMPY\x01\x00", 8);
	store_le16(wanted + 8, (uint16_t)(headers[_i].size - 10));
	memcpy(wanted + 10, headers[_i].dict, strlen(headers[_i].dict));
	wanted[headers[_i].size - 1] = '\n';
	ck_assert_uint_eq(view->extents[0].size, headers[_i].size);
	ck_assert_int_eq(view_read_wait(view, 0, headers[_i].size, got), 0);
	ck_assert_mem_eq(got, wanted, headers[_i].size);
	struct view_parsed parsed;
	ck_assert_int_eq(view_parse(&npy_view_ops, got, headers[_i].size, &parsed), 0);
	ck_assert_uint_eq(parsed.payload_offset, headers[_i].size);
	ck_assert_str_eq(parsed.dtype.descr, headers[_i].dtype);
	view_close(view);
	close_all();
}
END_TEST

START_TEST(a_file_larger_than_files_can_be_is_refused)
{
	struct view *view;
	const char *document = "{\"zarr_format\":2,\"shape\":[9223372036854775807],\"chunks\":[1],\"dtype\":\"|u1\","
						   "\"compressor\":null,\"fill_value\":0,\"order\":\"C\",\"filters\":null}";
	fixture_env_open(&env, &(struct fixture_limits){.width = 0});
	fixture_put_text(env.env.store, ".zgroup", "{\"zarr_format\":2}");
	fixture_put_text(env.env.store, "a/.zarray", document);
	open_hierarchy();
	ck_assert_int_eq(view_open(hierarchy, find("a"), &npy_view_ops, &view), -EFBIG);
	view = open_view(find("a"), &raw_view_ops);
	uint8_t last = 1;
	ck_assert_uint_eq(view->size, INT64_MAX);
	ck_assert_int_eq(view_read_wait(view, INT64_MAX - 1, 1, &last), 0);
	ck_assert_uint_eq(last, 0);
	view_close(view);
	close_all();
}
END_TEST

static Suite *view_suite(void)
{
	Suite *suite = suite_create("view");
	TCase *tcase = tcase_create("contract");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, opening_a_view_and_its_size_touch_no_chunk, 0, ARRAY_LEN(fixtures));
	tcase_add_loop_test(tcase, every_byte_is_that_of_a_naive_reader, 0, ARRAY_LEN(fixtures));
	tcase_add_loop_test(tcase, any_window_is_a_part_of_the_whole, 0, ARRAY_LEN(fixtures));
	tcase_add_loop_test(tcase, what_a_row_parses_is_the_array_that_it_was_made_of, 0, ARRAY_LEN(fixtures));
	tcase_add_test(tcase, a_read_that_fails_fails_whole_and_literal_bytes_need_no_chunk);
	tcase_add_test(tcase, no_row_shows_a_group);
	tcase_add_test(tcase, a_file_name_is_a_node_and_a_suffix);
	tcase_add_loop_test(tcase, an_array_that_cannot_be_read_has_no_bytes_but_a_reason, 0, ARRAY_LEN(unreadable));
	tcase_add_loop_test(tcase, the_description_is_a_JSON_document_with_every_fact, 0, ARRAY_LEN(fixtures));
	tcase_add_test(tcase, the_description_says_what_the_document_says);
	tcase_add_loop_test(tcase, an_npy_header_is_what_numpy_writes, 0, ARRAY_LEN(headers));
	tcase_add_test(tcase, a_file_larger_than_files_can_be_is_refused);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(view_suite)
