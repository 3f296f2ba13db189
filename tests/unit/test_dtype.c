/*
 * test_dtype.c: data types, in the spellings of v2, v3 and numpy.
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
#include "meta/dtype.h"

static struct json *parse(const char *text)
{
	struct json *json;
	ck_assert_msg(json_parse(text, strlen(text), 4 << 20, NULL, &json) == 0, "%s: %s", text, err_message());
	return json;
}

static const struct {
	const char *json;
	enum dtype_kind kind;
	uint32_t size, swap_unit;
	const char *name, *descr;
} v3_types[] = {
	{"\"bool\"", DTYPE_BOOL, 1, 1, "bool", "|b1"},
	{"\"int8\"", DTYPE_INT, 1, 1, "int8", "|i1"},
	{"\"int16\"", DTYPE_INT, 2, 2, "int16", "<i2"},
	{"\"int32\"", DTYPE_INT, 4, 4, "int32", "<i4"},
	{"\"int64\"", DTYPE_INT, 8, 8, "int64", "<i8"},
	{"\"uint8\"", DTYPE_UINT, 1, 1, "uint8", "|u1"},
	{"\"uint16\"", DTYPE_UINT, 2, 2, "uint16", "<u2"},
	{"\"uint32\"", DTYPE_UINT, 4, 4, "uint32", "<u4"},
	{"\"uint64\"", DTYPE_UINT, 8, 8, "uint64", "<u8"},
	{"\"float16\"", DTYPE_FLOAT, 2, 2, "float16", "<f2"},
	{"\"float32\"", DTYPE_FLOAT, 4, 4, "float32", "<f4"},
	{"{\"name\":\"float64\"}", DTYPE_FLOAT, 8, 8, "float64", "<f8"},
	{"{\"name\":\"float64\",\"configuration\":{}}", DTYPE_FLOAT, 8, 8, "float64", "<f8"},
	{"\"complex64\"", DTYPE_COMPLEX, 8, 4, "complex64", "<c8"},
	{"\"complex128\"", DTYPE_COMPLEX, 16, 8, "complex128", "<c16"},
	{"\"complex_float32\"", DTYPE_COMPLEX, 8, 4, "complex_float32", "<c8"},
	{"\"complex_float64\"", DTYPE_COMPLEX, 16, 8, "complex_float64", "<c16"},
	{"\"r8\"", DTYPE_RAW, 1, 1, "r8", "|V1"},
	{"\"r24\"", DTYPE_RAW, 3, 1, "r24", "|V3"},
	{"\"r8388608\"", DTYPE_RAW, LIMIT_ITEM_SIZE, 1, "r8388608", "|V1048576"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":16}}", DTYPE_RAW, 16, 1, "raw_bytes", "|V16"},
	{"{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":5}}", DTYPE_BYTES, 5, 1,
	 "null_terminated_bytes", "|S5"},
	{"{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":20}}", DTYPE_UNICODE, 20, 4,
	 "fixed_length_utf32", "<U5"},
	{"\"int2\"", DTYPE_INT, 1, 1, "int2", "|i1"},
	{"\"int4\"", DTYPE_INT, 1, 1, "int4", "|i1"},
	{"\"uint2\"", DTYPE_UINT, 1, 1, "uint2", "|u1"},
	{"\"uint4\"", DTYPE_UINT, 1, 1, "uint4", "|u1"},
	{"\"bfloat16\"", DTYPE_FLOAT, 2, 2, "bfloat16", "<V2"},
	{"\"float8_e3m4\"", DTYPE_FLOAT, 1, 1, "float8_e3m4", "|V1"},
	{"\"float8_e4m3\"", DTYPE_FLOAT, 1, 1, "float8_e4m3", "|V1"},
	{"\"float8_e4m3b11fnuz\"", DTYPE_FLOAT, 1, 1, "float8_e4m3b11fnuz", "|V1"},
	{"\"float8_e4m3fn\"", DTYPE_FLOAT, 1, 1, "float8_e4m3fn", "|V1"},
	{"\"float8_e4m3fnuz\"", DTYPE_FLOAT, 1, 1, "float8_e4m3fnuz", "|V1"},
	{"\"float8_e5m2\"", DTYPE_FLOAT, 1, 1, "float8_e5m2", "|V1"},
	{"\"float8_e5m2fnuz\"", DTYPE_FLOAT, 1, 1, "float8_e5m2fnuz", "|V1"},
	{"\"float8_e8m0fnu\"", DTYPE_FLOAT, 1, 1, "float8_e8m0fnu", "|V1"},
	{"\"float6_e2m3fn\"", DTYPE_FLOAT, 1, 1, "float6_e2m3fn", "|V1"},
	{"\"float6_e3m2fn\"", DTYPE_FLOAT, 1, 1, "float6_e3m2fn", "|V1"},
	{"\"float4_e2m1fn\"", DTYPE_FLOAT, 1, 1, "float4_e2m1fn", "|V1"},
	{"\"complex_bfloat16\"", DTYPE_COMPLEX, 4, 2, "complex_bfloat16", "<V4"},
	{"\"complex_float16\"", DTYPE_COMPLEX, 4, 2, "complex_float16", "<V4"},
	{"\"complex_float8_e3m4\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e3m4", "|V2"},
	{"\"complex_float8_e4m3\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e4m3", "|V2"},
	{"\"complex_float8_e4m3b11fnuz\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e4m3b11fnuz", "|V2"},
	{"\"complex_float8_e4m3fnuz\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e4m3fnuz", "|V2"},
	{"\"complex_float8_e5m2\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e5m2", "|V2"},
	{"\"complex_float8_e5m2fnuz\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e5m2fnuz", "|V2"},
	{"\"complex_float8_e8m0fnu\"", DTYPE_COMPLEX, 2, 1, "complex_float8_e8m0fnu", "|V2"},
	{"\"complex_float6_e2m3fn\"", DTYPE_COMPLEX, 2, 1, "complex_float6_e2m3fn", "|V2"},
	{"\"complex_float6_e3m2fn\"", DTYPE_COMPLEX, 2, 1, "complex_float6_e3m2fn", "|V2"},
	{"\"complex_float4_e2m1fn\"", DTYPE_COMPLEX, 2, 1, "complex_float4_e2m1fn", "|V2"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"ns\",\"scale_factor\":1}}", DTYPE_DATETIME, 8, 8,
	 "numpy.datetime64", "<M8[ns]"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"\xce\xbcs\",\"scale_factor\":10}}", DTYPE_DATETIME,
	 8, 8, "numpy.datetime64", "<M8[10us]"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"\xc2\xb5s\"}}", DTYPE_DATETIME, 8, 8,
	 "numpy.datetime64", "<M8[us]"},
	{"{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"generic\",\"scale_factor\":1}}", DTYPE_TIMEDELTA, 8,
	 8, "numpy.timedelta64", "<m8"},
	{"{\"name\":\"numpy.timedelta64\",\"configuration\":{\"unit\":\"D\",\"scale_factor\":2147483647}}", DTYPE_TIMEDELTA,
	 8, 8, "numpy.timedelta64", "<m8[2147483647D]"},
};

START_TEST(a_v3_type_has_its_size_swap_unit_and_descr)
{
	struct json *json = parse(v3_types[_i].json);
	struct dtype dtype;
	int rc = dtype_parse_v3(json, &dtype);
	ck_assert_msg(rc == 0, "%s: %s", v3_types[_i].json, err_message());
	ck_assert_int_eq(dtype.kind, v3_types[_i].kind);
	ck_assert_uint_eq(dtype.size, v3_types[_i].size);
	ck_assert_uint_eq(dtype.swap_unit, v3_types[_i].swap_unit);
	ck_assert_str_eq(dtype.name, v3_types[_i].name);
	ck_assert_str_eq(dtype.descr, v3_types[_i].descr);
	char buffer[DTYPE_NAME_BYTES];
	ck_assert_str_eq(dtype_v3_name(&dtype, buffer, sizeof(buffer)), v3_types[_i].name);
	json_free(json);
}
END_TEST

static const struct {
	const char *json;
	int rc;
	const char *message;
} v3_refusals[] = {
	{"\"int128\"", -ENOTSUP, "unknown data type \"int128\""},
	{"\"<i4\"", -ENOTSUP, "unknown data type"},
	{"\"r<N>\"", -ENOTSUP, "unknown data type"},
	{"\"r\"", -ENOTSUP, "unknown data type"},
	{"\"Float32\"", -ENOTSUP, "unknown data type"},
	{"\"string\"", -ENOTSUP, "\"string\" is not supported: its elements have no fixed size"},
	{"\"variable_length_bytes\"", -ENOTSUP, "no fixed size"},
	{"\"int3\"", -ENOTSUP, "unknown data type \"int3\""},
	{"{\"name\":\"zarrs.optional\",\"configuration\":{\"name\":\"uint8\"}}", -ENOTSUP, "no fixed size"},
	{"[[\"x\",\"<f4\"]]", -ENOTSUP, "field 0: data_type: unknown data type \"<f4\""},
	{"\"r12\"", -EIO, "whole number of bytes"},
	{"\"r0\"", -EIO, "0 bytes"},
	{"\"r8388616\"", -EFBIG, "the limit is"},
	{"\"r99999999999999999999\"", -EFBIG, "larger than"},
	{"{\"name\":\"float32\",\"configuration\":{\"x\":1}}", -EIO, "takes none"},
	{"\"raw_bytes\"", -EIO, "length_bytes"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":0}}", -EIO, "0 bytes"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":1048577}}", -EFBIG, "the limit is"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":-1}}", -EIO, "length_bytes"},
	{"{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":6}}", -EIO, "multiple of 4"},
	{"\"numpy.datetime64\"", -EIO, "without unit"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"week\"}}", -EIO, "unknown time unit \"week\""},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\",\"scale_factor\":0}}", -EIO, "scale 0"},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\",\"scale_factor\":2147483648}}", -EIO, "2^31-1"},
	{"{\"configuration\":{}}", -EIO, "data_type"},
	{"5", -EIO, "data_type"},
	{"null", -EIO, "data_type"},
};

START_TEST(a_v3_type_that_is_not_served_is_refused_with_the_reason)
{
	struct json *json = parse(v3_refusals[_i].json);
	struct dtype dtype;
	memset(&dtype, 0x55, sizeof(dtype));
	int rc = dtype_parse_v3(json, &dtype);
	ck_assert_msg(rc == v3_refusals[_i].rc, "%s: %d %s", v3_refusals[_i].json, rc, err_message());
	ck_assert_msg(strstr(err_message(), v3_refusals[_i].message) != NULL, "%s: %s", v3_refusals[_i].json,
				  err_message());
	ck_assert_uint_eq(dtype.size, 0x55555555);
	json_free(json);
}
END_TEST

static const struct {
	const char *typestring;
	enum dtype_kind kind;
	uint32_t size, swap_unit;
	bool big_endian;
	const char *descr, *v3_name;
} v2_types[] = {
	{"|b1", DTYPE_BOOL, 1, 1, false, "|b1", "bool"},
	{"<b1", DTYPE_BOOL, 1, 1, false, "|b1", "bool"},
	{"|i1", DTYPE_INT, 1, 1, false, "|i1", "int8"},
	{">i1", DTYPE_INT, 1, 1, false, "|i1", "int8"},
	{"<u1", DTYPE_UINT, 1, 1, false, "|u1", "uint8"},
	{"<i2", DTYPE_INT, 2, 2, false, "<i2", "int16"},
	{">i2", DTYPE_INT, 2, 2, true, "<i2", "int16"},
	{"|u2", DTYPE_UINT, 2, 2, false, "<u2", "uint16"},
	{">u4", DTYPE_UINT, 4, 4, true, "<u4", "uint32"},
	{"<i8", DTYPE_INT, 8, 8, false, "<i8", "int64"},
	{">f2", DTYPE_FLOAT, 2, 2, true, "<f2", "float16"},
	{"<f4", DTYPE_FLOAT, 4, 4, false, "<f4", "float32"},
	{">f8", DTYPE_FLOAT, 8, 8, true, "<f8", "float64"},
	{">c8", DTYPE_COMPLEX, 8, 4, true, "<c8", "complex64"},
	{"<c16", DTYPE_COMPLEX, 16, 8, false, "<c16", "complex128"},
	{"|S12", DTYPE_BYTES, 12, 1, false, "|S12", "null_terminated_bytes"},
	{">S1", DTYPE_BYTES, 1, 1, false, "|S1", "null_terminated_bytes"},
	{"|S0", DTYPE_BYTES, 1, 1, false, "|S1", "null_terminated_bytes"},
	{"<U12", DTYPE_UNICODE, 48, 4, false, "<U12", "fixed_length_utf32"},
	{">U1", DTYPE_UNICODE, 4, 4, true, "<U1", "fixed_length_utf32"},
	{"<U0", DTYPE_UNICODE, 4, 4, false, "<U1", "fixed_length_utf32"},
	{"<U262144", DTYPE_UNICODE, LIMIT_ITEM_SIZE, 4, false, "<U262144", "fixed_length_utf32"},
	{"|V16", DTYPE_RAW, 16, 1, false, "|V16", "r128"},
	{"<M8[ns]", DTYPE_DATETIME, 8, 8, false, "<M8[ns]", "numpy.datetime64"},
	{">M8[10us]", DTYPE_DATETIME, 8, 8, true, "<M8[10us]", "numpy.datetime64"},
	{"<M8[1D]", DTYPE_DATETIME, 8, 8, false, "<M8[D]", "numpy.datetime64"},
	{"<M8", DTYPE_DATETIME, 8, 8, false, "<M8", "numpy.datetime64"},
	{"<M8[generic]", DTYPE_DATETIME, 8, 8, false, "<M8", "numpy.datetime64"},
	{"bfloat16", DTYPE_FLOAT, 2, 2, false, "<V2", "bfloat16"},
	{"float8_e4m3fn", DTYPE_FLOAT, 1, 1, false, "|V1", "float8_e4m3fn"},
	{"float4_e2m1fn", DTYPE_FLOAT, 1, 1, false, "|V1", "float4_e2m1fn"},
	{"int4", DTYPE_INT, 1, 1, false, "|i1", "int4"},
	{"int2", DTYPE_INT, 1, 1, false, "|i1", "int2"},
	{">m8[h]", DTYPE_TIMEDELTA, 8, 8, true, "<m8[h]", "numpy.timedelta64"},
};

START_TEST(a_v2_typestring_has_its_size_swap_unit_descr_and_byte_order)
{
	char text[40];
	snprintf(text, sizeof(text), "\"%s\"", v2_types[_i].typestring);
	struct json *json = parse(text);
	struct dtype dtype;
	bool big_endian;
	int rc = dtype_parse_v2(json, &dtype, &big_endian);
	ck_assert_msg(rc == 0, "%s: %s", text, err_message());
	ck_assert_int_eq(dtype.kind, v2_types[_i].kind);
	ck_assert_uint_eq(dtype.size, v2_types[_i].size);
	ck_assert_uint_eq(dtype.swap_unit, v2_types[_i].swap_unit);
	ck_assert_int_eq(big_endian, v2_types[_i].big_endian);
	ck_assert_str_eq(dtype.name, v2_types[_i].typestring);
	ck_assert_str_eq(dtype.descr, v2_types[_i].descr);
	char buffer[DTYPE_NAME_BYTES];
	ck_assert_str_eq(dtype_v3_name(&dtype, buffer, sizeof(buffer)), v2_types[_i].v3_name);
	json_free(json);
}
END_TEST

static const struct {
	const char *json;
	int rc;
} v2_refusals[] = {
	{"\"|O\"", -ENOTSUP},
	{"[[\"x\",\"|O\"]]", -ENOTSUP},
	{"\"float32\"", -ENOTSUP},
	{"\"<q9\"", -ENOTSUP},
	{"\"<i3\"", -ENOTSUP},
	{"\"<f16\"", -ENOTSUP},
	{"\"<c32\"", -ENOTSUP},
	{"\"=i4\"", -ENOTSUP},
	{"\"|J0\"", -ENOTSUP},
	{"\"\"", -ENOTSUP},
	{"\"<\"", -ENOTSUP},
	{"\"<i\"", -EIO},
	{"\"<i4x\"", -EIO},
	{"\"<44\"", -EIO},
	{"\"|V0\"", -EIO},
	{"\"<M8[\"", -EIO},
	{"\"<M8[]\"", -EIO},
	{"\"<M8[10]\"", -EIO},
	{"\"<M8[ns\"", -EIO},
	{"\"<M8[fortnight]\"", -EIO},
	{"\"<M8[0s]\"", -EIO},
	{"\"<M8[9999999999s]\"", -EIO},
	{"\"<M8[aaaaaaaaaaaaaaaaa]\"", -EIO},
	{"\"<M4\"", -ENOTSUP},
	{"\"|S1048577\"", -EFBIG},
	{"\"<U262145\"", -EFBIG},
	{"\"|S99999999999999999999\"", -EFBIG},
	{"4", -EIO},
	{"null", -EIO},
	{"\"|S00000000000000000000000000000000000000000000000000000000000000001\"", -EIO},
};

START_TEST(a_v2_type_that_is_not_served_is_refused)
{
	struct json *json = parse(v2_refusals[_i].json);
	struct dtype dtype = {.size = 77};
	bool big_endian = true;
	int rc = dtype_parse_v2(json, &dtype, &big_endian);
	ck_assert_msg(rc == v2_refusals[_i].rc, "%s: %d %s", v2_refusals[_i].json, rc, err_message());
	ck_assert_uint_eq(dtype.size, 77);
	ck_assert(big_endian);
	json_free(json);
}
END_TEST

static int parse_descr(const char *text, struct dtype *ret_dtype, bool *ret_big_endian)
{
	struct json *json = parse(text);
	int rc = dtype_parse_descr_json(json, ret_dtype, ret_big_endian);
	json_free(json);
	return rc;
}

START_TEST(a_descr_is_a_typestring_with_elements_of_at_least_one_byte)
{
	struct dtype dtype;
	bool big_endian;
	ck_assert_int_eq(parse_descr("\">f4\"", &dtype, &big_endian), 0);
	ck_assert(big_endian);
	ck_assert_str_eq(dtype.descr, "<f4");
	ck_assert_int_eq(parse_descr("\"|S0\"", &dtype, &big_endian), -EIO);
	ck_assert_int_eq(parse_descr("\"|O\"", &dtype, &big_endian), -ENOTSUP);
	ck_assert_int_eq(parse_descr("\"bfloat16\"", &dtype, &big_endian), -ENOTSUP);
}
END_TEST

START_TEST(every_known_name_is_listed)
{
	ck_assert_ptr_nonnull(strstr(dtype_known(), "bool, int8, "));
	ck_assert_ptr_nonnull(strstr(dtype_known(), "r<N>"));
	ck_assert_ptr_nonnull(strstr(dtype_known(), "numpy.timedelta64"));
	ck_assert_str_eq(dtype_known() + strlen(dtype_known()) - strlen(", struct, structured"), ", struct, structured");
	ck_assert_ptr_eq(dtype_known(), dtype_known());
}
END_TEST

static Suite *dtype_suite(void)
{
	Suite *suite = suite_create("dtype");
	TCase *types = tcase_create("types");
	tcase_add_loop_test(types, a_v3_type_has_its_size_swap_unit_and_descr, 0, ARRAY_LEN(v3_types));
	tcase_add_loop_test(types, a_v3_type_that_is_not_served_is_refused_with_the_reason, 0, ARRAY_LEN(v3_refusals));
	tcase_add_loop_test(types, a_v2_typestring_has_its_size_swap_unit_descr_and_byte_order, 0, ARRAY_LEN(v2_types));
	tcase_add_loop_test(types, a_v2_type_that_is_not_served_is_refused, 0, ARRAY_LEN(v2_refusals));
	tcase_add_test(types, a_descr_is_a_typestring_with_elements_of_at_least_one_byte);
	tcase_add_test(types, every_known_name_is_listed);
	suite_add_tcase(suite, types);
	return suite;
}

CHECK_MAIN(dtype_suite)
