/*
 * test_v3.c: zarr.json, parsed, refused and printed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "meta/meta.h"

/* A good array, one text a member, so that a test can change or leave out one. */
static const struct {
	const char *name, *value;
} good_members[] = {
	{"zarr_format", "3"},
	{"node_type", "\"array\""},
	{"shape", "[10, 0, 7]"},
	{"data_type", "\"int16\""},
	{"chunk_grid", "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4, 2, 7]}}"},
	{"chunk_key_encoding", "{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}}"},
	{"fill_value", "-7"},
	{"codecs", "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"crc32c\"]"},
	{"attributes", "{ \"a\" : [1, 2.50] }"},
	{"dimension_names", "[\"z\", null, \"\"]"},
};

/* The good document with one member replaced; a NULL value leaves it out, an unknown name is added. */
static void make_document(struct str *text, const char *name, const char *value)
{
	bool found = false, first = true;
	str_append(text, "{");
	for (size_t i = 0; i < ARRAY_LEN(good_members); i++) {
		bool changed = name && strcmp(name, good_members[i].name) == 0;
		const char *shown = changed ? value : good_members[i].value;
		found |= changed;
		if (!shown)
			continue;
		str_appendf(text, "%s\"%s\": %s", first ? "" : ",\n ", good_members[i].name, shown);
		first = false;
	}
	if (name && !found)
		str_appendf(text, ",\"%s\":%s", name, value);
	str_append(text, "}");
}

static int parse_changed(const char *name, const char *value, struct node_meta *ret_node)
{
	autostr(text);
	make_document(&text, name, value);
	return meta_parse_v3(text.text, text.size, ret_node);
}

START_TEST(an_array_document_becomes_a_struct)
{
	struct node_meta node;
	int rc = parse_changed(NULL, NULL, &node);
	ck_assert_msg(rc == 0, "%s", err_message());
	ck_assert_ptr_null(node.group);
	ck_assert_ptr_null(node.consolidated);
	const struct array_meta *meta = node.array;
	ck_assert_int_eq(meta->zarr_format, 3);
	ck_assert_int_eq(meta->ndim, 3);
	ck_assert_uint_eq(meta->shape[0], 10);
	ck_assert_uint_eq(meta->shape[1], 0);
	ck_assert_uint_eq(meta->shape[2], 7);
	ck_assert_uint_eq(meta->chunk_shape[0], 4);
	ck_assert_uint_eq(meta->chunk_shape[2], 7);
	ck_assert_uint_eq(meta->elements, 0);
	ck_assert_str_eq(meta->dtype.descr, "<i2");
	ck_assert_mem_eq(meta->fill_value, "\xf9\xff", 2);
	ck_assert(!meta->fill_undefined);
	ck_assert_int_eq(meta->keys.kind, KEY_DEFAULT);
	ck_assert_int_eq(meta->keys.separator, '/');
	ck_assert(!meta->codecs.v2);
	ck_assert_int_eq(meta->codecs.n, 2);
	ck_assert_str_eq(meta->codecs.specs[0].name, "bytes");
	ck_assert_ptr_nonnull(json_get(meta->codecs.specs[0].config, "endian"));
	ck_assert_str_eq(meta->codecs.specs[1].name, "crc32c");
	ck_assert_str_eq(meta->codecs.specs[1].where, "codecs[1]");
	ck_assert_ptr_null(meta->codecs.specs[1].config);
	ck_assert_str_eq(meta->dimension_names[0], "z");
	ck_assert_ptr_null(meta->dimension_names[1]);
	ck_assert_str_eq(meta->dimension_names[2], "");
	ck_assert_str_eq(meta->attributes, "{ \"a\" : [1, 2.50] }");
	node_meta_finish(&node);
	ck_assert_ptr_null(node.array);
}
END_TEST

#define GRID(shape) "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":" shape "}}"

static const struct {
	const char *name, *value;
} accepted[] = {
	{"attributes", NULL},
	{"attributes", "null"},
	{"dimension_names", NULL},
	{"dimension_names", "null"},
	{"dimension_names", "[\"x\"]"},
	{"storage_transformers", "[]"},
	{"storage_transformers", "null"},
	{"chunk_key_encoding", "\"default\""},
	{"chunk_key_encoding", "{\"name\":\"v2\",\"separator\":\"/\"}"},
	{"codecs", "[]"},
	{"codecs", "[\"bytes\", {\"name\":\"jpegxl\",\"must_understand\":false}]"},
	{"fill_value", "null"},
	{"data_type", "{\"name\":\"int16\"}"},
	{"consolidated_metadata", "null"},
	{"zarr_consolidated_format", "1"},
	{"must_understand", "true"},
	{"extensions", "[]"},
	{"spam", "{\"must_understand\":false,\"x\":1}"},
	{"shape", "[10, 1e3, 461168601842738]"},
};

#define E_5 "\u00e9\u00e9\u00e9\u00e9\u00e9"
#define E_31 E_5 E_5 E_5 E_5 E_5 E_5 "\u00e9"

START_TEST(a_type_that_is_not_served_leaves_the_rest_of_the_document)
{
	static const struct {
		const char *type, *name, *reason;
	} types[] = {
		{"\"int128\"", "int128", "data_type: unknown data type \"int128\""},
		{"\"string\"", "string", "no fixed size"},
		{"{\"name\":\"zarrs.optional\",\"configuration\":{}}", "zarrs.optional", "no fixed size"},
		{"[[\"x\",\"<f4\"]]", "[[\"x\",\"<f4\"]]", "unknown data type"},
		/* a long name is cut at a whole character */
		{"\"" E_31 "\u00e9\"", E_31, "unknown data type"},
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct node_meta node;
		int rc = parse_changed("data_type", types[i].type, &node);
		ck_assert_msg(rc == 0, "%s: %s", types[i].type, err_message());
		const struct array_meta *meta = node.array;
		ck_assert_int_eq(meta->dtype.kind, DTYPE_UNSERVED);
		ck_assert_str_eq(meta->dtype.descr, types[i].name);
		ck_assert_msg(strstr(meta->refusal, types[i].reason) != NULL, "%s", meta->refusal);
		ck_assert_ptr_null(meta->fill_value);
		ck_assert_int_eq(meta->ndim, 3);
		ck_assert_uint_eq(meta->elements, meta->shape[0] * meta->shape[1] * meta->shape[2]);
		ck_assert_int_gt(meta->codecs.n, 0);
		node_meta_finish(&node);
	}
}
END_TEST

START_TEST(what_is_optional_or_harmless_is_accepted)
{
	struct node_meta node;
	int rc = parse_changed(accepted[_i].name, accepted[_i].value, &node);
	ck_assert_msg(rc == 0, "%s: %s: %s", accepted[_i].name, accepted[_i].value, err_message());
	node_meta_finish(&node);
}
END_TEST

#define ONES_33 "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]"

static const struct {
	const char *name, *value;
	int rc;
	const char *message;
} refused[] = {
	{"zarr_format", NULL, -EIO, "zarr_format: missing"},
	{"zarr_format", "2", -ENOTSUP, "zarr_format: 2"},
	{"zarr_format", "true", -EIO, "zarr_format"},
	{"zarr_format", "\"https://purl.org/zarr/spec/protocol/core/3.0\"", -ENOTSUP, "draft"},
	{"node_type", NULL, -EIO, "node_type: missing"},
	{"node_type", "\"table\"", -EIO, "node_type: \"table\""},
	{"node_type", "1", -EIO, "node_type"},
	{"shape", NULL, -EIO, "shape: missing"},
	{"shape", "null", -EIO, "shape"},
	{"shape", "[10, -1, 7]", -EIO, "shape[1]"},
	{"shape", "[10, \"5\", 7]", -EIO, "shape[1]"},
	{"shape", "[10, 2.5, 7]", -EIO, "shape[1]"},
	{"shape", "[10, 7]", -EIO, "chunk_shape: 3 lengths, but shape has 2"},
	{"shape", "[4611686018427387904, 1, 1]", -EFBIG, "2^63-1"},
	{"shape", "[4294967296, 4294967296, 1]", -EFBIG, "2^63-1"},
	{"shape", "[0, 4294967296, 4294967296]", -EFBIG, "2^63-1"},
	{"shape", ONES_33, -EFBIG, "shape"},
	{"data_type", NULL, -EIO, "data_type: missing"},
	{"chunk_grid", NULL, -EIO, "chunk_grid: missing"},
	{"chunk_grid", "{\"name\":\"rectilinear\"}", -ENOTSUP, "\"rectilinear\""},
	{"chunk_grid", "\"regular\"", -EIO, "chunk_shape: missing"},
	{"chunk_grid", GRID("[4, 0, 7]"), -EIO, "chunk_shape[1]"},
	{"chunk_grid", GRID("[4, 2]"), -EIO, "chunk_shape: 2 lengths"},
	{"chunk_grid", GRID("4"), -EIO, "chunk_shape"},
	{"chunk_key_encoding", NULL, -EIO, "chunk_key_encoding: missing"},
	{"chunk_key_encoding", "\"morton\"", -ENOTSUP, "\"morton\""},
	{"fill_value", NULL, -EIO, "fill_value: missing"},
	{"fill_value", "40000", -EIO, "fill_value: 40000"},
	{"codecs", NULL, -EIO, "codecs: missing"},
	{"codecs", "\"bytes\"", -EIO, "codecs"},
	{"codecs", "[{\"configuration\":{}}]", -EIO, "codecs[0]"},
	{"codecs", "[\"bytes\", {\"name\":\"gzip\",\"configuration\":5}]", -EIO, "codecs[1].configuration"},
	{"codecs",
	 "[\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\",\"a\"]", -EFBIG,
	 "codecs"},
	{"storage_transformers", "[{\"name\":\"indexed\"}]", -ENOTSUP, "\"indexed\""},
	{"storage_transformers", "{}", -EIO, "storage_transformers"},
	{"attributes", "[]", -EIO, "attributes"},
	{"dimension_names", "\"zyx\"", -EIO, "dimension_names"},
	{"dimension_names", "[\"z\", 1, \"x\"]", -EIO, "dimension_names[1]"},
	{"spam", "1", -EIO, "spam: an unknown member"},
	{"spam", "{\"must_understand\":true}", -EIO, "spam: an unknown member"},
	{"spam", "{\"must_understand\":0}", -EIO, "spam.must_understand"},
	{"spam", "{}", -EIO, "spam: an unknown member"},
	{"extensions", "[\"x\"]", -EIO, "extensions: an unknown member"},
};

START_TEST(a_malformed_or_unserved_document_is_refused_by_its_member)
{
	struct node_meta node = {.consolidated = (const void *)&node};
	int rc = parse_changed(refused[_i].name, refused[_i].value, &node);
	ck_assert_msg(rc == refused[_i].rc, "%s: %s: %d %s", refused[_i].name, refused[_i].value, rc, err_message());
	ck_assert_msg(strstr(err_message(), refused[_i].message) != NULL, "%s", err_message());
	ck_assert_ptr_eq(node.consolidated, &node);
}
END_TEST

static const struct {
	const char *text;
	int rc;
} documents[] = {
	{"", -EIO},
	{"not json", -EIO},
	{"[]", -EIO},
	{"null", -EIO},
	{"{}", -EIO},
	{"{\"zarr_format\":3}", -EIO},
	{"{\"zarr_format\":3,\"node_type\":\"group\"}", 0},
	{"{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":null,\"consolidated_metadata\":null}", 0},
	{"{\"zarr_format\":3,\"node_type\":\"group\",\"shape\":[]}", -EIO},
	{"{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":3}", -EIO},
	{"{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\"}}", -EIO},
};

START_TEST(a_document_that_is_no_node_is_refused)
{
	struct node_meta node;
	int rc = meta_parse_v3(documents[_i].text, strlen(documents[_i].text), &node);
	ck_assert_msg(rc == documents[_i].rc, "%s: %d %s", documents[_i].text, rc, err_message());
	if (rc)
		return;
	ck_assert_ptr_nonnull(node.group);
	ck_assert_ptr_null(node.consolidated_root);
	node_meta_finish(&node);
}
END_TEST

START_TEST(limits_hold_at_their_value)
{
	struct node_meta node;
	autostr(text);
	str_append(&text, "{\"zarr_format\":3,\"node_type\":\"array\",\"data_type\":\"int8\",\"fill_value\":0,"
					  "\"chunk_key_encoding\":\"v2\",\"shape\":[");
	for (int i = 0; i < LIMIT_DIMS; i++)
		str_append(&text, i ? ",1" : "9223372036854775807");
	str_append(&text, "],\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[");
	for (int i = 0; i < LIMIT_DIMS; i++)
		str_append(&text, i ? ",1" : "1");
	str_append(&text, "]}},\"codecs\":[");
	for (int i = 0; i < LIMIT_CODECS; i++)
		str_append(&text, i ? ",\"bytes\"" : "\"bytes\"");
	str_append(&text, "]}");
	ck_assert_msg(meta_parse_v3(text.text, text.size, &node) == 0, "%s", err_message());
	ck_assert_int_eq(node.array->ndim, LIMIT_DIMS);
	ck_assert_int_eq(node.array->codecs.n, LIMIT_CODECS);
	ck_assert_uint_eq(node.array->elements, INT64_MAX);
	node_meta_finish(&node);
}
END_TEST

START_TEST(an_array_without_dimensions_has_one_element)
{
	static const char text[] =
		"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[],\"data_type\":\"float64\","
		"\"fill_value\":null,\"chunk_grid\":" GRID(
			"[]") ","
				  "\"chunk_key_encoding\":\"default\",\"codecs\":[\"bytes\"],\"dimension_names\":[]}";
	struct node_meta node;
	ck_assert_msg(meta_parse_v3(text, strlen(text), &node) == 0, "%s", err_message());
	ck_assert_int_eq(node.array->ndim, 0);
	ck_assert_uint_eq(node.array->elements, 1);
	ck_assert(node.array->fill_undefined);
	ck_assert_mem_eq(node.array->fill_value, "\0\0\0\0\0\0\0\0", 8);
	ck_assert_ptr_null(node.array->dimension_names);
	node_meta_finish(&node);
}
END_TEST

START_TEST(a_group_gives_its_attributes_and_its_inline_block)
{
	autostr(text);
	str_append(&text,
			   "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"k\": NaN},"
			   "\"consolidated_metadata\":{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{\"a/x\":");
	make_document(&text, NULL, NULL);
	str_append(&text, ",\"a\":{\"zarr_format\":3,\"node_type\":\"group\"}}}}");
	struct node_meta group, array;
	ck_assert_msg(meta_parse_v3(text.text, text.size, &group) == 0, "%s", err_message());
	ck_assert_ptr_null(group.array);
	ck_assert_str_eq(group.group->attributes, "{\"k\": NaN}");
	ck_assert_ptr_nonnull(group.consolidated_root);
	ck_assert_uint_eq(json_count(group.consolidated), 2);
	ck_assert_int_eq(meta_parse_v3_json(json_get(group.consolidated, "a/x"), &array), 0);
	node_meta_finish(&group);

	/* The array outlives the block. */
	ck_assert_str_eq(array.array->attributes, "{\"a\":[1,2.50]}");
	const struct json *endian = json_get(array.array->codecs.specs[0].config, "endian");
	ck_assert_int_eq(json_type(endian), JSON_STRING);
	node_meta_finish(&array);
}
END_TEST

START_TEST(a_block_of_another_kind_is_ignored)
{
	static const char text[] = "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":"
							   "{\"kind\":\"elsewhere\",\"metadata\":{\"x\":{}}}}";
	struct node_meta node;
	ck_assert_int_eq(meta_parse_v3(text, strlen(text), &node), 0);
	ck_assert_ptr_null(node.consolidated);
	ck_assert_ptr_null(node.consolidated_root);
	node_meta_finish(&node);
}
END_TEST

START_TEST(an_array_is_printed_in_zarr_pythons_order)
{
	struct node_meta node;
	ck_assert_int_eq(parse_changed(NULL, NULL, &node), 0);
	autofree char *text = NULL;
	ck_assert_int_eq(meta_print_v3_array(node.array, &text), 0);
	ck_assert_str_eq(
		text, "{\"shape\":[10,0,7],\"data_type\":\"int16\","
			  "\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4,2,7]}},"
			  "\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}},"
			  "\"fill_value\":-7,"
			  "\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":\"crc32c\"}],"
			  "\"attributes\":{ \"a\" : [1, 2.50] },\"dimension_names\":[\"z\",null,\"\"],"
			  "\"zarr_format\":3,\"node_type\":\"array\",\"storage_transformers\":[]}");
	node_meta_finish(&node);
}
END_TEST

static const struct {
	const char *type, *fill;
} printable[] = {
	{"\"float32\"", "\"0x7fc00001\""},
	{"\"float64\"", "-0.0"},
	{"\"complex128\"", "[1, \"NaN\"]"},
	{"\"bool\"", "true"},
	{"\"uint64\"", "18446744073709551615"},
	{"\"r24\"", "[1, 2, 3]"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":3}}", "\"Af6A\""},
	{"{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":3}}", "\"YWI=\""},
	{"{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":12}}", "\"n\\u00e9\\ud83e\\uddca\""},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"us\",\"scale_factor\":10}}", "5"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"ns\",\"scale_factor\":1}}", "\"NaT\""},
	{"{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"generic\",\"scale_factor\":1}}", "0"},
};

START_TEST(a_printed_array_parses_to_the_same_and_prints_the_same)
{
	autostr(document);
	str_appendf(&document,
				"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[5],\"data_type\":%s,\"fill_value\":%s,"
				"\"chunk_grid\":" GRID("[2]") ",\"chunk_key_encoding\":\"v2\",\"codecs\":[\"bytes\"]}",
				printable[_i].type, printable[_i].fill);
	struct node_meta first, second;
	ck_assert_msg(meta_parse_v3(document.text, document.size, &first) == 0, "%s", err_message());
	autofree char *once = NULL, *twice = NULL;
	ck_assert_int_eq(meta_print_v3_array(first.array, &once), 0);
	ck_assert_msg(meta_parse_v3(once, strlen(once), &second) == 0, "%s: %s", once, err_message());
	ck_assert_int_eq(meta_print_v3_array(second.array, &twice), 0);
	ck_assert_str_eq(once, twice);
	ck_assert_ptr_nonnull(strstr(once, printable[_i].type));
	ck_assert_str_eq(first.array->dtype.descr, second.array->dtype.descr);
	ck_assert_mem_eq(first.array->fill_value, second.array->fill_value, first.array->dtype.size);
	ck_assert_int_eq(second.array->keys.kind, KEY_V2);
	node_meta_finish(&first);
	node_meta_finish(&second);
}
END_TEST

START_TEST(a_printed_group_is_a_group)
{
	autofree char *text = NULL;
	struct node_meta node;
	ck_assert_int_eq(meta_print_v3_group(&text), 0);
	ck_assert_int_eq(meta_parse_v3(text, strlen(text), &node), 0);
	ck_assert_ptr_nonnull(node.group);
	node_meta_finish(&node);
}
END_TEST

START_TEST(only_a_document_with_a_consolidated_block_may_be_large)
{
	size_t size = LIMIT_JSON_BYTES + 1;
	autofree char *text = malloc(size);
	static const char group[] = "{\"zarr_format\":3,\"node_type\":\"group\"";
	static const char block[] = ",\"consolidated_metadata\":{\"kind\":\"inline\",\"metadata\":{}}";
	for (int with_block = 0; with_block < 2; with_block++) {
		memset(text, ' ', size);
		memcpy(text, group, strlen(group));
		if (with_block)
			memcpy(text + strlen(group), block, strlen(block));
		text[size - 1] = '}';
		struct node_meta node;
		ck_assert_int_eq(meta_parse_v3(text, size, &node), with_block ? 0 : -EFBIG);
		if (with_block)
			node_meta_finish(&node);
	}
}
END_TEST

static Suite *v3_suite(void)
{
	Suite *suite = suite_create("v3");
	TCase *parse = tcase_create("parse");
	tcase_add_test(parse, an_array_document_becomes_a_struct);
	tcase_add_test(parse, a_type_that_is_not_served_leaves_the_rest_of_the_document);
	tcase_add_loop_test(parse, what_is_optional_or_harmless_is_accepted, 0, ARRAY_LEN(accepted));
	tcase_add_loop_test(parse, a_malformed_or_unserved_document_is_refused_by_its_member, 0, ARRAY_LEN(refused));
	tcase_add_loop_test(parse, a_document_that_is_no_node_is_refused, 0, ARRAY_LEN(documents));
	tcase_add_test(parse, limits_hold_at_their_value);
	tcase_add_test(parse, an_array_without_dimensions_has_one_element);
	tcase_add_test(parse, a_group_gives_its_attributes_and_its_inline_block);
	tcase_add_test(parse, a_block_of_another_kind_is_ignored);
	tcase_add_test(parse, only_a_document_with_a_consolidated_block_may_be_large);
	suite_add_tcase(suite, parse);
	TCase *print = tcase_create("print");
	tcase_add_test(print, an_array_is_printed_in_zarr_pythons_order);
	tcase_add_loop_test(print, a_printed_array_parses_to_the_same_and_prints_the_same, 0, ARRAY_LEN(printable));
	tcase_add_test(print, a_printed_group_is_a_group);
	suite_add_tcase(suite, print);
	return suite;
}

CHECK_MAIN(v3_suite)
