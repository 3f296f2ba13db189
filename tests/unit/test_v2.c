/*
 * test_v2.c: .zarray, .zgroup, .zattrs and .zmetadata.
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

static const struct {
	const char *name, *value;
} good_members[] = {
	{"zarr_format", "2"},
	{"shape", "[10, 7]"},
	{"chunks", "[4, 7]"},
	{"dtype", "\">i2\""},
	{"compressor", "{\"id\":\"zlib\",\"level\":1}"},
	{"fill_value", "-7"},
	{"order", "\"F\""},
	{"filters", "[{\"id\":\"delta\",\"dtype\":\">i2\"},{\"id\":\"shuffle\",\"elementsize\":2}]"},
	{"dimension_separator", "\"/\""},
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
		str_appendf(text, "%s\"%s\":%s", first ? "" : ",", good_members[i].name, shown);
		first = false;
	}
	if (name && !found)
		str_appendf(text, ",\"%s\":%s", name, value);
	str_append(text, "}");
}

static int parse_changed(const char *name, const char *value, struct array_meta **ret_meta)
{
	autostr(text);
	make_document(&text, name, value);
	return meta_parse_v2_array(text.text, text.size, NULL, 0, ret_meta);
}

static void assert_chain(const struct array_meta *meta, const char *expected)
{
	autostr(text);
	for (int i = 0; i < meta->codecs.n; i++) {
		const struct codec_spec *spec = &meta->codecs.specs[i];
		autofree char *config = json_print(spec->config);
		str_appendf(&text, "%s%s=%s%s", i ? " " : "", spec->where, spec->name, config);
	}
	ck_assert_str_eq(text.text, expected);
}

START_TEST(an_array_document_becomes_a_struct)
{
	struct array_meta *meta;
	ck_assert_msg(parse_changed(NULL, NULL, &meta) == 0, "%s", err_message());
	ck_assert_int_eq(meta->zarr_format, 2);
	ck_assert_int_eq(meta->ndim, 2);
	ck_assert_uint_eq(meta->shape[1], 7);
	ck_assert_uint_eq(meta->chunk_shape[0], 4);
	ck_assert_uint_eq(meta->elements, 70);
	ck_assert_str_eq(meta->dtype.name, ">i2");
	ck_assert_str_eq(meta->dtype.descr, "<i2");
	ck_assert_mem_eq(meta->fill_value, "\xf9\xff", 2);
	ck_assert(!meta->fill_undefined);
	ck_assert_int_eq(meta->keys.kind, KEY_V2);
	ck_assert_int_eq(meta->keys.separator, '/');
	ck_assert(!meta->separator_assumed);
	ck_assert_ptr_null(meta->attributes);
	ck_assert_ptr_null(meta->dimension_names);
	ck_assert(meta->codecs.v2);
	assert_chain(meta, "order=transpose{\"order\":[1,0]} dtype=bytes{\"endian\":\"big\"} "
					   "filters[0]=delta{\"id\":\"delta\",\"dtype\":\">i2\"} "
					   "filters[1]=shuffle{\"id\":\"shuffle\",\"elementsize\":2} "
					   "compressor=zlib{\"id\":\"zlib\",\"level\":1}");
	array_meta_free(meta);
}
END_TEST

static const struct {
	const char *dtype, *order, *shape, *chain;
} chains[] = {
	{"<f4", "C", "[6, 6, 6]", "dtype=bytes{\"endian\":\"little\"}"},
	{"<f4", "F", "[6, 6, 6]", "order=transpose{\"order\":[2,1,0]} dtype=bytes{\"endian\":\"little\"}"},
	{"<f4", "F", "[6]", "dtype=bytes{\"endian\":\"little\"}"},
	{"<f4", "F", "[]", "dtype=bytes{\"endian\":\"little\"}"},
	{">c16", "C", "[6]", "dtype=bytes{\"endian\":\"big\"}"},
	{">U3", "C", "[6]", "dtype=bytes{\"endian\":\"big\"}"},
	{"|u1", "F", "[6, 6]", "order=transpose{\"order\":[1,0]} dtype=bytes{}"},
	{">i1", "C", "[6]", "dtype=bytes{}"},
	{"|S8", "C", "[6]", "dtype=bytes{}"},
	{"|V8", "C", "[6]", "dtype=bytes{}"},
};

START_TEST(order_and_byte_order_become_codecs)
{
	autostr(text);
	str_appendf(&text,
				"{\"zarr_format\":2,\"shape\":%s,\"chunks\":%s,\"dtype\":\"%s\",\"order\":\"%s\","
				"\"compressor\":null,\"filters\":null,\"fill_value\":null}",
				chains[_i].shape, chains[_i].shape, chains[_i].dtype, chains[_i].order);
	struct array_meta *meta;
	ck_assert_msg(meta_parse_v2_array(text.text, text.size, NULL, 0, &meta) == 0, "%s", err_message());
	assert_chain(meta, chains[_i].chain);
	ck_assert(meta->fill_undefined);
	array_meta_free(meta);
}
END_TEST

static const struct {
	const char *name, *value;
} accepted[] = {
	{"compressor", NULL},
	{"compressor", "null"},
	{"filters", NULL},
	{"filters", "null"},
	{"filters", "[]"},
	{"order", NULL},
	{"order", "\"C\""},
	{"fill_value", NULL},
	{"fill_value", "null"},
	{"fill_value", "[5]"},
	{"dimension_separator", "\".\""},
	{"shape", "[0, 7]"},
	{"_NCZARR_ARRAY", "{\"dimrefs\":[]}"},
	{"must_understand", "true"},
	{"dtype", "\"|i1\""},
};

START_TEST(what_is_optional_or_unknown_is_accepted)
{
	struct array_meta *meta;
	int rc = parse_changed(accepted[_i].name, accepted[_i].value, &meta);
	ck_assert_msg(rc == 0, "%s: %s: %s", accepted[_i].name, accepted[_i].value, err_message());
	array_meta_free(meta);
}
END_TEST

START_TEST(an_absent_separator_is_an_assumed_dot)
{
	struct array_meta *meta;
	ck_assert_int_eq(parse_changed("dimension_separator", NULL, &meta), 0);
	ck_assert_int_eq(meta->keys.separator, '.');
	ck_assert(meta->separator_assumed);
	array_meta_free(meta);
}
END_TEST

START_TEST(an_absent_fill_value_is_zero_bytes_and_undefined)
{
	struct array_meta *meta;
	ck_assert_int_eq(parse_changed("fill_value", NULL, &meta), 0);
	ck_assert(meta->fill_undefined);
	ck_assert_mem_eq(meta->fill_value, "\0\0", 2);
	array_meta_free(meta);
}
END_TEST

#define FILTER "{\"id\":\"delta\"}"
#define FILTERS_4 FILTER "," FILTER "," FILTER "," FILTER
/* transpose, bytes, 13 of these and the compressor are 16 */
#define FILTERS_13 "[" FILTERS_4 "," FILTERS_4 "," FILTERS_4 "," FILTER "]"
#define FILTERS_14 "[" FILTERS_4 "," FILTERS_4 "," FILTERS_4 "," FILTER "," FILTER "]"

static const struct {
	const char *name, *value;
	int rc;
	const char *message;
} refused[] = {
	{"zarr_format", NULL, -EIO, "zarr_format: missing"},
	{"zarr_format", "3", -ENOTSUP, "zarr_format: 3"},
	{"shape", NULL, -EIO, "shape: missing"},
	{"shape", "[-1, 7]", -EIO, "shape[0]"},
	{"shape", "[\"10\", 7]", -EIO, "shape[0]"},
	{"shape", "[10]", -EIO, "chunks: 2 lengths, but shape has 1"},
	{"shape", "[4611686018427387904, 1]", -EFBIG, "2^63-1"},
	{"chunks", NULL, -EIO, "chunks: missing"},
	{"chunks", "[4, 0]", -EIO, "chunks[1]"},
	{"chunks", "true", -EIO, "chunks"},
	{"dtype", NULL, -EIO, "dtype: missing"},
	{"dtype", "[[\"x\",\"<f4\",[0.5]]]", -EIO, "field 0"},
	{"compressor", "{\"level\":1}", -EIO, "compressor"},
	{"compressor", "{\"id\":7}", -EIO, "compressor"},
	{"compressor", "\"zlib\"", -EIO, "compressor"},
	{"filters", "{\"id\":\"delta\"}", -EIO, "filters"},
	{"filters", "[" FILTER ",{}]", -EIO, "filters[1]"},
	{"filters", FILTERS_14, -EFBIG, "codecs"},
	{"fill_value", "40000", -EIO, "fill_value"},
	{"fill_value", "\"NaN\"", -EIO, "fill_value"},
	{"order", "\"K\"", -EIO, "order"},
	{"order", "1", -EIO, "order"},
	{"dimension_separator", "\"-\"", -EIO, "dimension_separator"},
	{"dimension_separator", "\"\"", -EIO, "dimension_separator"},
};

START_TEST(a_type_that_is_not_served_leaves_the_rest_of_the_document)
{
	static const struct {
		const char *type, *name, *reason;
	} types[] = {
		{"\"<q9\"", "<q9", "\"<q9\""},
		{"\"|O\"", "|O", "objects"},
		{"[[\"x\",\"<f4\"],[\"y\",\"|O\"]]", "[[\"x\",\"<f4\"],[\"y\",\"|O\"]]", "field 1: dtype: \"|O\""},
	};
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct array_meta *meta;
		ck_assert_msg(parse_changed("dtype", types[i].type, &meta) == 0, "%s", err_message());
		ck_assert_int_eq(meta->dtype.kind, DTYPE_UNSERVED);
		ck_assert_str_eq(meta->dtype.descr, types[i].name);
		ck_assert_msg(strstr(meta->refusal, types[i].reason) != NULL, "%s", meta->refusal);
		ck_assert_ptr_null(meta->fill_value);
		ck_assert_int_gt(meta->ndim, 0);
		ck_assert_int_gt(meta->codecs.n, 0);
		array_meta_free(meta);
	}
}
END_TEST

START_TEST(a_malformed_or_unserved_document_is_refused_by_its_member)
{
	struct array_meta *meta = (void *)&meta;
	int rc = parse_changed(refused[_i].name, refused[_i].value, &meta);
	ck_assert_msg(rc == refused[_i].rc, "%s: %s: %d %s", refused[_i].name, refused[_i].value, rc, err_message());
	ck_assert_msg(strstr(err_message(), refused[_i].message) != NULL, "%s", err_message());
	ck_assert_ptr_eq(meta, &meta);
}
END_TEST

START_TEST(a_chain_of_sixteen_codecs_is_accepted)
{
	struct array_meta *meta;
	ck_assert_int_eq(parse_changed("filters", FILTERS_13, &meta), 0);
	ck_assert_int_eq(meta->codecs.n, LIMIT_CODECS);
	array_meta_free(meta);
}
END_TEST

static const struct {
	const char *text;
	int rc;
	const char *attributes;
} zattrs[] = {
	{"{}", 0, "{}"},
	{"\xef\xbb\xbf \n{\"a\": {\"b\" : NaN}}\n\n", 0, "{\"a\": {\"b\" : NaN}}"},
	{"{\"a\":\"}\"}", 0, "{\"a\":\"}\"}"},
	{"[]", -EIO, NULL},
	{"", -EIO, NULL},
	{"{\"a\":", -EIO, NULL},
};

START_TEST(attributes_are_the_text_of_zattrs)
{
	autostr(text);
	make_document(&text, NULL, NULL);
	struct array_meta *array;
	struct group_meta *group;
	size_t size = strlen(zattrs[_i].text);
	int rc = meta_parse_v2_array(text.text, text.size, zattrs[_i].text, size, &array);
	ck_assert_msg(rc == zattrs[_i].rc, "%s: %d %s", zattrs[_i].text, rc, err_message());
	if (rc)
		ck_assert_ptr_nonnull(strstr(err_message(), ".zattrs: "));
	else {
		ck_assert_str_eq(array->attributes, zattrs[_i].attributes);
		array_meta_free(array);
	}
	ck_assert_int_eq(meta_parse_v2_group(NULL, 0, zattrs[_i].text, size, &group), zattrs[_i].rc);
	if (!rc) {
		ck_assert_str_eq(group->attributes, zattrs[_i].attributes);
		group_meta_free(group);
	}
}
END_TEST

START_TEST(trailing_nuls_are_no_attributes)
{
	static const char text[] = "{\"a\":1}\n\0\0";
	struct group_meta *group;
	ck_assert_msg(meta_parse_v2_group(NULL, 0, text, sizeof(text), &group) == 0, "%s", err_message());
	ck_assert_str_eq(group->attributes, "{\"a\":1}");
	group_meta_free(group);
}
END_TEST

static const struct {
	const char *text;
	int rc;
} zgroups[] = {
	{"{\"zarr_format\": 2}", 0},
	{"{\"zarr_format\":2,\"_nczarr_group\":{}}", 0},
	{"{\"zarr_format\":3}", -ENOTSUP},
	{"{}", -EIO},
	{"[]", -EIO},
	{"", -EIO},
};

START_TEST(a_group_document_says_its_format)
{
	struct group_meta *group;
	int rc = meta_parse_v2_group(zgroups[_i].text, strlen(zgroups[_i].text), NULL, 0, &group);
	ck_assert_msg(rc == zgroups[_i].rc, "%s: %d %s", zgroups[_i].text, rc, err_message());
	if (rc)
		return;
	ck_assert_int_eq(group->zarr_format, 2);
	ck_assert_ptr_null(group->attributes);
	group_meta_free(group);
}
END_TEST

static const struct {
	const char *text;
	int rc;
} blocks[] = {
	{"{\"zarr_consolidated_format\":1,\"metadata\":{\".zgroup\":{\"zarr_format\":2},\"a/.zarray\":{}}}", 0},
	{"{\"metadata\":{},\"record_size\":1000}", -ENOENT},
	{"{\"zarr_consolidated_format\":2,\"metadata\":{}}", -ENOTSUP},
	{"{\"zarr_consolidated_format\":1}", -EIO},
	{"{\"zarr_consolidated_format\":1,\"metadata\":[]}", -EIO},
	{"{\"metadata\":{}}", -EIO},
	{"[]", -EIO},
	{"{", -EIO},
};

START_TEST(consolidated_metadata_is_a_map_of_documents)
{
	struct json *root = NULL;
	const struct json *metadata = NULL;
	int rc = meta_parse_v2_consolidated(blocks[_i].text, strlen(blocks[_i].text), &root, &metadata);
	ck_assert_msg(rc == blocks[_i].rc, "%s: %d %s", blocks[_i].text, rc, err_message());
	if (rc) {
		ck_assert_ptr_null(root);
		ck_assert_ptr_null(metadata);
	} else {
		ck_assert_uint_eq(json_count(metadata), 2);
		ck_assert_ptr_nonnull(json_get(metadata, "a/.zarray"));
	}
	json_free(root);
}
END_TEST

static Suite *v2_suite(void)
{
	Suite *suite = suite_create("v2");
	TCase *array = tcase_create("array");
	tcase_add_test(array, an_array_document_becomes_a_struct);
	tcase_add_loop_test(array, order_and_byte_order_become_codecs, 0, ARRAY_LEN(chains));
	tcase_add_loop_test(array, what_is_optional_or_unknown_is_accepted, 0, ARRAY_LEN(accepted));
	tcase_add_test(array, an_absent_separator_is_an_assumed_dot);
	tcase_add_test(array, an_absent_fill_value_is_zero_bytes_and_undefined);
	tcase_add_test(array, a_type_that_is_not_served_leaves_the_rest_of_the_document);
	tcase_add_loop_test(array, a_malformed_or_unserved_document_is_refused_by_its_member, 0, ARRAY_LEN(refused));
	tcase_add_test(array, a_chain_of_sixteen_codecs_is_accepted);
	suite_add_tcase(suite, array);
	TCase *group = tcase_create("attributes, groups, consolidated metadata");
	tcase_add_loop_test(group, attributes_are_the_text_of_zattrs, 0, ARRAY_LEN(zattrs));
	tcase_add_test(group, trailing_nuls_are_no_attributes);
	tcase_add_loop_test(group, a_group_document_says_its_format, 0, ARRAY_LEN(zgroups));
	tcase_add_loop_test(group, consolidated_metadata_is_a_map_of_documents, 0, ARRAY_LEN(blocks));
	suite_add_tcase(suite, group);
	return suite;
}

CHECK_MAIN(v2_suite)
