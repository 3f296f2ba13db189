/*
 * test_record.c: structured data types of v2 and v3: offsets, byte order, fill values, and what is refused.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"
#include "meta/meta_impl.h"

static struct json *parse(const char *text)
{
	struct json *json;
	ck_assert_msg(json_parse(text, strlen(text), LIMIT_JSON_BYTES, NULL, &json) == 0, "%s: %s", text, err_message());
	return json;
}

static int parse_type(int format, const char *text, struct dtype *ret_dtype, bool *ret_big_endian)
{
	struct json *json = parse(text);
	*ret_big_endian = false;
	int rc = format == 3 ? dtype_parse_v3(json, ret_dtype) : dtype_parse_v2(json, ret_dtype, ret_big_endian);
	json_free(json);
	return rc;
}

#define V3(fields) "{\"name\":\"struct\",\"configuration\":{\"fields\":[" fields "]}}"
#define XY V3("{\"name\":\"x\",\"data_type\":\"float32\"},{\"name\":\"y\",\"data_type\":\"int16\"}")

/* Spans are "offset:unit*count", in order. */
static const struct {
	int format;
	const char *type;
	uint32_t size, swap_unit;
	bool big_endian;
	const char *spans, *descr;
	bool has_v3;
} types[] = {
	{2, "[[\"a\",\"<i4\"],[\"b\",\">f8\"],[\"c\",\"|u1\"]]", 13, 1, true, "4:8*1",
	 "[[\"a\", \"<i4\"], [\"b\", \"<f8\"], [\"c\", \"|u1\"]]", true},
	{2, "[[\"a\",\"<i4\"],[\"b\",\"<f8\"]]", 12, 1, false, "", "[[\"a\", \"<i4\"], [\"b\", \"<f8\"]]", true},
	/* evenly filled: one unit says it all */
	{2, "[[\"a\",\">i4\"],[\"b\",\">f4\",[2,1]]]", 12, 4, true, "", "[[\"a\", \"<i4\"], [\"b\", \"<f4\", [2, 1]]]",
	 false},
	{2, "[[\"a\",\">i4\"],[\"b\",\">f4\",3]]", 16, 4, true, "", "[[\"a\", \"<i4\"], [\"b\", \"<f4\", [3]]]", false},
	{2, "[[\"a\",\">i2\"],[\"b\",\">c8\"]]", 10, 1, true, "0:2*1 2:4*2", "[[\"a\", \"<i2\"], [\"b\", \"<c8\"]]", true},
	/* neighbours join, also over the seam of a sub-array's elements */
	{2, "[[\"k\",\"|u1\"],[\"v\",[[\"w\",\">f4\"],[\"z\",\">i4\"]],[3]]]", 25, 1, true, "1:4*6",
	 "[[\"k\", \"|u1\"], [\"v\", [[\"w\", \"<f4\"], [\"z\", \"<i4\"]], [3]]]", false},
	{2, "[[\"k\",\"<u2\"],[\"v\",[[\"w\",\"<f4\"],[\"z\",\">i2\"]],[2,1]]]", 14, 1, true, "6:2*1 12:2*1",
	 "[[\"k\", \"<u2\"], [\"v\", [[\"w\", \"<f4\"], [\"z\", \"<i2\"]], [2, 1]]]", false},
	{2, "[[\"a\",\"|u1\"],[\"\",\"|V7\"],[\"b\",\">M8[10us]\"],[\"s\",\"|S3\"],[\"u\",\">U2\"]]", 27, 1, true,
	 "8:8*1 19:4*2", "[[\"a\", \"|u1\"], [\"\", \"|V7\"], [\"b\", \"<M8[10us]\"], [\"s\", \"|S3\"], [\"u\", \"<U2\"]]",
	 false},
	{2, "[[\"a\",\"bfloat16\"],[\"b\",\"float8_e5m2\"]]", 3, 1, false, "", "[[\"a\", \"<V2\"], [\"b\", \"|V1\"]]",
	 true},
	{2, "[[\"\\u00e9\\\"'\\u0416\",\"|b1\"]]", 1, 1, false, "", "[[\"\xc3\xa9\\\"'\xd0\x96\", \"|b1\"]]", true},
	/* v3: all numbers follow the codec */
	{3, XY, 6, 1, false, "0:4*1 4:2*1", "[[\"x\", \"<f4\"], [\"y\", \"<i2\"]]", true},
	{3, V3("[\"x\",\"uint8\"],[\"p\"," XY "]"), 7, 1, false, "1:4*1 5:2*1",
	 "[[\"x\", \"|u1\"], [\"p\", [[\"x\", \"<f4\"], [\"y\", \"<i2\"]]]]", true},
	{3, "{\"name\":\"structured\",\"configuration\":{\"fields\":[[\"x\",\"float32\"],[\"y\",\"complex64\"]]}}", 12, 4,
	 false, "", "[[\"x\", \"<f4\"], [\"y\", \"<c8\"]]", true},
	{3, "[[\"x\",\"bool\"],[\"y\",\"r24\"]]", 4, 1, false, "", "[[\"x\", \"|b1\"], [\"y\", \"|V3\"]]", true},
};

static void print_spans(const struct record *record, struct str *str)
{
	for (int i = 0; i < record->n_spans; i++) {
		const struct swap_span *span = &record->spans[i];
		str_appendf(str, "%s%u:%u*%u", i ? " " : "", span->offset, span->unit, span->count);
	}
}

START_TEST(a_list_of_fields_has_its_size_byte_order_and_descr)
{
	struct dtype dtype, copy;
	bool big_endian;
	int rc = parse_type(types[_i].format, types[_i].type, &dtype, &big_endian);
	ck_assert_msg(rc == 0, "%s: %s", types[_i].type, err_message());
	ck_assert_int_eq(dtype.kind, DTYPE_RECORD);
	ck_assert_uint_eq(dtype.size, types[_i].size);
	ck_assert_uint_eq(dtype.swap_unit, types[_i].swap_unit);
	ck_assert_int_eq(big_endian, types[_i].big_endian);
	autostr(spans);
	autostr(descr);
	print_spans(dtype.record, &spans);
	ck_assert_str_eq(spans.text, types[_i].spans);
	dtype_copy(&dtype, &copy);
	dtype_finish(&dtype);
	dtype_print_descr(&copy, &descr);
	ck_assert_str_eq(descr.text, types[_i].descr);
	char buffer[DTYPE_NAME_BYTES];
	const char *name = dtype_v3_name(&copy, buffer, sizeof(buffer));
	ck_assert_int_eq(name != NULL, types[_i].has_v3);
	ck_assert(!name || strcmp(name, "struct") == 0);
	dtype_finish(&copy);
}
END_TEST

START_TEST(what_v3_can_say_is_printed_and_parsed_to_the_same)
{
	struct dtype dtype, again;
	bool big_endian;
	ck_assert_int_eq(parse_type(types[_i].format, types[_i].type, &dtype, &big_endian), 0);
	if (types[_i].has_v3) {
		autostr(text);
		autostr(descr);
		dtype_print_v3(&dtype, &text);
		ck_assert_msg(parse_type(3, text.text, &again, &big_endian) == 0, "%s: %s", text.text, err_message());
		dtype_print_descr(&again, &descr);
		ck_assert_str_eq(descr.text, types[_i].descr);
		dtype_finish(&again);
	}
	dtype_finish(&dtype);
}
END_TEST

static const struct {
	int format;
	const char *type;
	int rc;
	const char *message;
} refusals[] = {
	{2, "[]", -EIO, "no list of fields"},
	{2, "[5]", -EIO, "field 0: "},
	{2, "[[\"a\"]]", -EIO, "field 0: "},
	{2, "[[\"a\",\"<i4\",[2],3]]", -EIO, "field 0: "},
	{2, "[[\"a\",\"<i4\"],[7,\"<i4\"]]", -EIO, "field 1: "},
	{2, "[[[\"title\",\"a\"],\"<i4\"]]", -ENOTSUP, "title"},
	{2, "[[\"a\",\"<i4\"],[\"a\",\"<i4\"]]", -EIO, "two fields named \"a\""},
	{2, "[[\"\",\"<i4\"]]", -EIO, "without a name"},
	{2, "[[\"a\",\"|O\"]]", -ENOTSUP, "objects"},
	{2, "[[\"a\",[[\"b\",[[\"c\",\"|O\"]]]]]]", -ENOTSUP, "objects"},
	{2, "[[\"a\",\"<i4\",[0]]]", -ENOTSUP, "no elements"},
	{2, "[[\"a\",\"<i4\",[-1]]]", -EIO, "sub-array"},
	{2, "[[\"a\",\"<i4\",\"2\"]]", -EIO, "sub-array"},
	{2, "[[\"a\",\"|u1\",[65536,65536,65536,65536]]]", -EFBIG, "sub-array"},
	{2, "[[\"a\",\"|u1\",[1048577]]]", -EFBIG, "sub-array"},
	{2, "[[\"a\",\"<i4\",[262145]]]", -EFBIG, "the limit is"},
	{2, "[[\"a\",\"|S1048576\"],[\"b\",\"|u1\"]]", -EFBIG, "the limit is"},
	{2, "[[\"a\",[[\"x\",\">i2\"],[\"y\",\"|u1\"]],[65537]]]", -EFBIG, "different sizes"},
	{2, "[[\"a\",\"int4\"]]", -ENOTSUP, "\"int4\" in a structured type"},
	{3, "{\"name\":\"struct\"}", -EIO, "without fields"},
	{3, V3(""), -EIO, "no list of fields"},
	{3, V3("{\"name\":\"a\"}"), -EIO, "field 0: "},
	{3, V3("{\"name\":\"a\",\"data_type\":\"string\"}"), -ENOTSUP, "no fixed size"},
	{3, V3("{\"name\":\"\",\"data_type\":\"r8\"}"), -EIO, "without a name"},
	{3, V3("[\"a\",\"uint8\",[2]]"), -EIO, "field 0: "},
	{3, V3("{\"name\":\"a\",\"data_type\":\"uint4\"}"), -ENOTSUP, "\"uint4\" in a structured type"},
};

START_TEST(a_malformed_list_of_fields_is_refused_with_the_reason)
{
	struct dtype dtype = {.size = 77};
	bool big_endian;
	int rc = parse_type(refusals[_i].format, refusals[_i].type, &dtype, &big_endian);
	ck_assert_msg(rc == refusals[_i].rc, "%s: %d %s", refusals[_i].type, rc, err_message());
	ck_assert_msg(strstr(err_message(), refusals[_i].message) != NULL, "%s: %s", refusals[_i].type, err_message());
	ck_assert_uint_eq(dtype.size, 77);
}
END_TEST

START_TEST(fields_are_counted_on_all_levels_up_to_their_limit)
{
	for (int more = 0; more < 2; more++) {
		autostr(text);
		struct dtype dtype;
		bool big_endian;
		str_append(&text, "[[\"in\",[[\"x\",\"|u1\"]]]");
		for (int i = 0; i < LIMIT_FIELDS - 2 + more; i++)
			str_appendf(&text, ",[\"f%d\",\"|u1\"]", i);
		str_append(&text, "]");
		int rc = parse_type(2, text.text, &dtype, &big_endian);
		ck_assert_msg(rc == (more ? -EFBIG : 0), "%s", err_message());
		if (!rc) {
			ck_assert_uint_eq(dtype.size, LIMIT_FIELDS - 1);
			dtype_finish(&dtype);
		}
	}
}
END_TEST

/* Bytes are hex as they stand in memory; NULL: EIO. */
static const struct {
	int format;
	const char *type, *json, *bytes;
} fills[] = {
	/* base64 of the element as it is stored */
	{2, "[[\"a\",\">i4\"],[\"b\",\"<f8\"],[\"c\",\"|S3\"]]", "\"AAAAEQAAAAAAAAATAenoA\"", NULL},
	{2, "[[\"a\",\">i4\"],[\"b\",\"<f8\"],[\"c\",\"|S3\"]]", "\"AAAAEQAAAAAAAAAAenoA\"",
	 "11000000"
	 "0000000000000000"
	 "7a7a00"},
	{2, "[[\"a\",\"<u2\"],[\"p\",[[\"x\",\"<f4\"],[\"y\",\">f4\"]]]]", "\"CQAAAIA/v4AAAA==\"",
	 "0900"
	 "0000803f"
	 "000080bf"},
	{2, "[[\"a\",\">u2\",[2]]]", "\"AAEAAg==\"", "01000200"},
	{2, "[[\"a\",\">u2\",[2]]]", "0", "00000000"},
	{2, "[[\"a\",\">u2\",[2]]]", "\"\"", "00000000"},
	{2, "[[\"a\",\">u2\",[2]]]", "\"AAEA\"", NULL},
	{2, "[[\"a\",\">u2\",[2]]]", "{\"a\":1}", NULL},
	{2, "[[\"a\",\">u2\",[2]]]", "true", NULL},
	{3, XY, "{\"x\":1.5,\"y\":-2}",
	 "0000c03f"
	 "feff"},
	{3, XY, "{\"y\":-2,\"x\":\"0x7fc00001\",\"z\":0}",
	 "0100c07f"
	 "feff"},
	{3, XY, "{\"x\":1.5}", NULL},
	{3, XY, "{\"x\":1.5,\"y\":40000}", NULL},
	{3, XY, "\"AADAP/7/\"",
	 "0000c03f"
	 "feff"},
	{3, XY, "\"AADAP/4=\"", NULL},
	{3, XY, "0", NULL},
	{3, V3("[\"k\",\"uint8\"],[\"p\"," XY "]"), "{\"k\":7,\"p\":{\"x\":1,\"y\":2}}",
	 "07"
	 "0000803f"
	 "0200"},
};

static void to_hex(const uint8_t *bytes, uint32_t size, char *ret_text)
{
	for (uint32_t i = 0; i < size; i++)
		snprintf(ret_text + 2 * i, 3, "%02x", bytes[i]);
}

START_TEST(a_records_fill_value_is_exact_and_survives_printing)
{
	struct dtype dtype;
	bool big_endian, undefined;
	uint8_t bytes[32], again[32];
	char hex[65];
	ck_assert_int_eq(parse_type(fills[_i].format, fills[_i].type, &dtype, &big_endian), 0);
	struct json *json = parse(fills[_i].json);
	int rc = dtype_parse_fill(&dtype, fills[_i].format, json, bytes, &undefined);
	ck_assert_msg(rc == (fills[_i].bytes ? 0 : -EIO), "%s: %d %s", fills[_i].json, rc, err_message());
	json_free(json);
	if (!rc) {
		to_hex(bytes, dtype.size, hex);
		ck_assert_str_eq(hex, fills[_i].bytes);
		autofree char *text = dtype_print_fill(&dtype, bytes);
		json = parse(text);
		ck_assert_msg(dtype_parse_fill(&dtype, 3, json, again, &undefined) == 0, "%s: %s", text, err_message());
		ck_assert_mem_eq(bytes, again, dtype.size);
		json_free(json);
	}
	dtype_finish(&dtype);
}
END_TEST

static void assert_fill_of_document(const char *codecs, const char *expected)
{
	autostr(text);
	struct node_meta node;
	char hex[65];
	str_appendf(&text,
				"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":" XY
				",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[4]}},"
				"\"chunk_key_encoding\":\"default\",\"fill_value\":\"P8AAAP/+\",\"codecs\":[%s]}",
				codecs);
	ck_assert_msg(meta_parse_v3(text.text, text.size, &node) == 0, "%s", err_message());
	to_hex(node.array->fill_value, 6, hex);
	ck_assert_str_eq(hex, expected);
	node_meta_finish(&node);
}

#define BIG "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"

START_TEST(base64_in_v3_is_in_the_order_of_the_codec_bytes)
{
	assert_fill_of_document("\"bytes\"", "3fc00000fffe");
	assert_fill_of_document("{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"zstd\"", "3fc00000fffe");
	assert_fill_of_document("{\"name\":\"transpose\"}," BIG, "0000c03ffeff");
	assert_fill_of_document("{\"name\":\"sharding_indexed\",\"configuration\":{\"codecs\":[" BIG ",\"zstd\"]}}",
							"0000c03ffeff");
}
END_TEST

START_TEST(swapping_a_record_turns_its_big_endian_fields_alone)
{
	struct dtype dtype;
	bool big_endian;
	const uint8_t stored[] = {1, 0, 9, 0, 2, 3, 0, 8, 0, 4};
	const uint8_t expected[] = {1, 0, 9, 2, 0, 3, 0, 8, 4, 0};
	uint8_t bytes[10];
	ck_assert_int_eq(parse_type(2, "[[\"a\",\"<u2\"],[\"b\",\"|u1\"],[\"c\",\">u2\"]]", &dtype, &big_endian), 0);
	dtype_swap(&dtype, bytes, stored, sizeof(bytes));
	ck_assert_mem_eq(bytes, expected, sizeof(bytes));
	dtype_swap(&dtype, bytes, bytes, sizeof(bytes));
	ck_assert_mem_eq(bytes, stored, sizeof(bytes));
	dtype_finish(&dtype);
}
END_TEST

static Suite *record_suite(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("record");
	tcase_add_loop_test(tcase, a_list_of_fields_has_its_size_byte_order_and_descr, 0, ARRAY_LEN(types));
	tcase_add_loop_test(tcase, what_v3_can_say_is_printed_and_parsed_to_the_same, 0, ARRAY_LEN(types));
	tcase_add_loop_test(tcase, a_malformed_list_of_fields_is_refused_with_the_reason, 0, ARRAY_LEN(refusals));
	tcase_add_test(tcase, fields_are_counted_on_all_levels_up_to_their_limit);
	tcase_add_loop_test(tcase, a_records_fill_value_is_exact_and_survives_printing, 0, ARRAY_LEN(fills));
	tcase_add_test(tcase, base64_in_v3_is_in_the_order_of_the_codec_bytes);
	tcase_add_test(tcase, swapping_a_record_turns_its_big_endian_fields_alone);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(record_suite)
