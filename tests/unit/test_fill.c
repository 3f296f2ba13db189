/*
 * test_fill.c: fill values of every data type, JSON <-> bytes.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/base64.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/json.h"
#include "meta/dtype.h"

static struct json *parse(const char *text)
{
	struct json *json;
	ck_assert_msg(json_parse(text, strlen(text), 4 << 20, NULL, &json) == 0, "%s: %s", text, err_message());
	return json;
}

/* The type is a v3 name (or object) for format 3 and a typestring for 2; bytes are hex as they stand in memory. */
static const struct {
	int format;
	const char *type, *json, *bytes; /* bytes NULL: EIO */
} fills[] = {
	{3, "\"bool\"", "true", "01"},
	{3, "\"bool\"", "false", "00"},
	{3, "\"bool\"", "1", NULL},
	{2, "\"|b1\"", "1", "01"},
	{2, "\"|b1\"", "0", "00"},
	{2, "\"|b1\"", "2", NULL},
	{2, "\"|b1\"", "\"true\"", NULL},
	/* integers */
	{3, "\"int8\"", "-128", "80"},
	{3, "\"int8\"", "127", "7f"},
	{3, "\"int8\"", "128", NULL},
	{3, "\"int8\"", "-129", NULL},
	{3, "\"uint8\"", "255", "ff"},
	{3, "\"uint8\"", "256", NULL},
	{3, "\"uint8\"", "-1", NULL},
	{3, "\"int16\"", "0.0", "0000"},
	{3, "\"int16\"", "1e3", "e803"},
	{3, "\"int16\"", "0.5", NULL},
	{3, "\"int32\"", "\"0\"", "00000000"},
	{3, "\"int32\"", "\"-3\"", "fdffffff"},
	{3, "\"int32\"", "\"NaN\"", NULL},
	{3, "\"int32\"", "\"0x1\"", NULL},
	{3, "\"int32\"", "\"\"", NULL},
	{3, "\"int32\"", "true", NULL},
	{3, "\"int32\"", "[1]", NULL},
	{2, "\"<i4\"", "[7]", "07000000"},
	{2, "\">i4\"", "1", "01000000"},
	{3, "\"int64\"", "9223372036854775807", "ffffffffffffff7f"},
	{3, "\"int64\"", "-9223372036854775808", "0000000000000080"},
	{3, "\"int64\"", "9223372036854775808", NULL},
	{3, "\"int64\"", "9007199254740993", "0100000000002000"},
	{3, "\"uint64\"", "18446744073709551615", "ffffffffffffffff"},
	{3, "\"uint64\"", "18446744073709551616", NULL},
	{3, "\"uint64\"", "9223372036854775813", "0500000000000080"},
	{2, "\"<u8\"", "\"18446744073709551615\"", "ffffffffffffffff"},
	/* float32 and float64 */
	{3, "\"float32\"", "0", "00000000"},
	{3, "\"float32\"", "-0.0", "00000080"},
	{3, "\"float32\"", "-0", "00000080"},
	{3, "\"float32\"", "3.1415927410125732", "db0f4940"},
	{3, "\"float32\"", "\"NaN\"", "0000c07f"},
	{3, "\"float32\"", "\"Infinity\"", "0000807f"},
	{3, "\"float32\"", "\"+Infinity\"", "0000807f"},
	{3, "\"float32\"", "\"-Infinity\"", "000080ff"},
	{3, "\"float32\"", "NaN", "0000c07f"},
	{3, "\"float32\"", "-Infinity", "000080ff"},
	{3, "\"float32\"", "\"0x3f800000\"", "0000803f"},
	{3, "\"float32\"", "\"0x7fc00001\"", "0100c07f"},
	{3, "\"float32\"", "\"0x7F800001\"", "0100807f"},
	{3, "\"float32\"", "\"0x3f80000\"", NULL},
	{3, "\"float32\"", "\"0x3f8000000\"", NULL},
	{3, "\"float32\"", "\"0x3f80000g\"", NULL},
	{3, "\"float32\"", "\"1.5\"", NULL},
	{3, "\"float32\"", "\"nan\"", NULL},
	{3, "\"float32\"", "\"NaN\\u0000\"", NULL},
	{3, "\"float32\"", "true", NULL},
	{2, "\"<f4\"", "\"1.5\"", "0000c03f"},
	{2, "\"<f4\"", "\"0\"", "00000000"},
	{2, "\"<f4\"", "\"nan(1)\"", NULL},
	{2, "\"<f4\"", "\" 0x1p3\"", NULL},
	{2, "\">f4\"", "-Infinity", "000080ff"},
	{2, "\"<f4\"", "[\"NaN\"]", "0000c07f"},
	/* a hair above 1 + 2^-24: rounded to a double first it would be a tie, and 1 */
	{3, "\"float32\"", "1.00000005960464477540736", "0100803f"},
	{3, "\"float64\"", "5e-324", "0100000000000000"},
	{3, "\"float64\"", "2.2250738585072014e-308", "0000000000001000"},
	{3, "\"float64\"", "1.7976931348623157e308", "ffffffffffffef7f"},
	{3, "\"float64\"", "-0.0", "0000000000000080"},
	{3, "\"float64\"", "\"NaN\"", "000000000000f87f"},
	{3, "\"float64\"", "\"0x7ff8000000000123\"", "230100000000f87f"},
	{3, "\"float64\"", "\"0x7ff4000000000001\"", "010000000000f47f"},
	{3, "\"float64\"", "\"0xfff0000000000000\"", "000000000000f0ff"},
	{3, "\"float64\"", "\"0x3f800000\"", NULL},
	/* float16 */
	{3, "\"float16\"", "1.0", "003c"},
	{3, "\"float16\"", "-0.0", "0080"},
	{3, "\"float16\"", "65504", "ff7b"},
	{3, "\"float16\"", "65519.99", "ff7b"},
	{3, "\"float16\"", "65520", "007c"},
	{3, "\"float16\"", "-1e300", "00fc"},
	{3, "\"float16\"", "6.103515625e-05", "0004"},
	{3, "\"float16\"", "5.960464477539063e-08", "0100"},
	{3, "\"float16\"", "2.98023223876953125e-8", "0000"},
	{3, "\"float16\"", "2.98023223876953125000000000000000000001e-8", "0100"},
	{3, "\"float16\"", "-2.98023223876953125e-8", "0080"},
	{3, "\"float16\"", "1e-400", "0000"},
	{3, "\"float16\"", "\"NaN\"", "007e"},
	{3, "\"float16\"", "\"0x7e01\"", "017e"},
	{3, "\"float16\"", "\"-Infinity\"", "00fc"},
	/* the tie between 1 and its successor is even; a hair above and below it is not a tie */
	{3, "\"float16\"", "1.00048828125", "003c"},
	{3, "\"float16\"", "1.00048828125000000000000000000000000001", "013c"},
	{3, "\"float16\"", "-1.00048828125000000000000000000000000001", "01bc"},
	{3, "\"float16\"", "1.00146484375", "023c"},
	{3, "\"float16\"", "1.00146484374999999999999999999999999999", "013c"},
	/* complex */
	{3, "\"complex64\"", "[1.5, -2.0]", "0000c03f000000c0"},
	{3, "\"complex64\"", "[\"0x7fc00001\", 1.5]", "0100c07f0000c03f"},
	{3, "\"complex128\"", "[\"NaN\", \"-Infinity\"]", "000000000000f87f000000000000f0ff"},
	{3, "\"complex64\"", "[1.5]", NULL},
	{3, "\"complex64\"", "[1, 2, 3]", NULL},
	{3, "\"complex64\"", "1.5", NULL},
	{3, "\"complex64\"", "[1, null]", NULL},
	{2, "\">c8\"", "[NaN, 1]", "0000c07f0000803f"},
	{2, "\"<c8\"", "2", "0000004000000000"},
	{2, "\"<c8\"", "[[1, 2]]", "0000803f00000040"},
	/* raw and bytes */
	{3, "\"r16\"", "[1, 2]", "0102"},
	{3, "\"r16\"", "\"AQI=\"", "0102"},
	{3, "\"r16\"", "\"0x0102\"", "0102"},
	{3, "\"r16\"", "[1]", NULL},
	{3, "\"r16\"", "[1, 256]", NULL},
	{3, "\"r16\"", "[1, 2, 3]", NULL},
	{3, "\"r16\"", "\"AQ==\"", NULL},
	{3, "\"r16\"", "\"AQI\"", NULL},
	{3, "\"r16\"", "\"A=I=\"", NULL},
	{3, "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":3}}", "\"Af6A\"", "01fe80"},
	{3, "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}", "\"YWI=\"", "61620000"},
	{3, "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}", "\"\"", "00000000"},
	{3, "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}", "[97, 98]", "61620000"},
	{3, "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":1}}", "\"YWI=\"", NULL},
	{3, "{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}", "\"a\"", NULL},
	{2, "\"|S5\"", "\"eHl6\"", "78797a0000"},
	{2, "\"|S4\"", "\"/wBB\"", "ff004100"},
	{2, "\"|S4\"", "\"\"", "00000000"},
	{2, "\"|S4\"", "0", "00000000"},
	{2, "\"|S4\"", "\"0\"", "00000000"},
	{2, "\"|S4\"", "1", NULL},
	{2, "\"|S4\"", "\"abc\"", "61626300"},
	{2, "\"|S4\"", "\"n/a!!\"", NULL},
	{2, "\"|V3\"", "\"Af6A\"", "01fe80"},
	{2, "\"|V3\"", "\"\"", "000000"},
	{2, "\"|V3\"", "\"0\"", "000000"},
	{2, "\"|V3\"", "\"abc\"", NULL},
	/* text: n, e acute, ice cube */
	{2, "\"<U4\"", "\"n\\u00e9\\ud83e\\uddca\"", "6e000000e9000000caf9010000000000"},
	{2, "\">U2\"", "\"\xd0\x96x\"", "1604000078000000"},
	{2, "\"<U1\"", "0", "00000000"},
	{2, "\"<U1\"", "\"0\"", "00000000"},
	{2, "\"<U1\"", "\"ab\"", NULL},
	{2, "\"<U1\"", "5", NULL},
	{3, "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4}}", "\"0\"", "30000000"},
	{3, "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4}}", "\"\"", "00000000"},
	{3, "{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":4}}", "0", NULL},
	/* times */
	{2, "\"<M8[ns]\"", "\"NaT\"", "0000000000000080"},
	{2, "\"<M8[ns]\"", "-9223372036854775808", "0000000000000080"},
	{2, "\">m8[s]\"", "-99", "9dffffffffffffff"},
	{3, "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\"}}", "\"NaT\"", "0000000000000080"},
	{3, "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\"}}", "981173106", "72837b3a00000000"},
	{3, "{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\"}}", "\"never\"", NULL},
	{3, "\"int64\"", "\"NaT\"", NULL},
	/* numbers narrower than their byte: the sign is extended */
	{3, "\"int4\"", "-8", "f8"},
	{3, "\"int4\"", "7", "07"},
	{3, "\"int4\"", "8", NULL},
	{3, "\"int2\"", "-2", "fe"},
	{3, "\"int2\"", "-3", NULL},
	{3, "\"uint4\"", "15", "0f"},
	{3, "\"uint4\"", "16", NULL},
	{3, "\"uint2\"", "3", "03"},
	{3, "\"uint2\"", "-1", NULL},
	{2, "\"int4\"", "-1", "ff"},
	/* floats that numpy lacks; the NaNs are those of the registry */
	{3, "\"bfloat16\"", "1.0", "803f"},
	{3, "\"bfloat16\"", "-0.0", "0080"},
	{3, "\"bfloat16\"", "3.14159", "4940"},
	{3, "\"bfloat16\"", "1e39", "807f"},
	{3, "\"bfloat16\"", "\"NaN\"", "c07f"},
	{3, "\"bfloat16\"", "\"0x7fc1\"", "c17f"},
	{3, "\"bfloat16\"", "\"0x7fc10000\"", NULL},
	{2, "\"bfloat16\"", "\"-Infinity\"", "80ff"},
	{3, "\"float8_e3m4\"", "\"NaN\"", "78"},
	{3, "\"float8_e4m3\"", "\"NaN\"", "7c"},
	{3, "\"float8_e5m2\"", "\"NaN\"", "7e"},
	{3, "\"float8_e4m3fn\"", "\"NaN\"", "7f"},
	{3, "\"float8_e4m3fnuz\"", "\"NaN\"", "80"},
	{3, "\"float8_e4m3b11fnuz\"", "\"NaN\"", "80"},
	{3, "\"float8_e5m2fnuz\"", "\"NaN\"", "80"},
	{3, "\"float8_e8m0fnu\"", "\"NaN\"", "ff"},
	{3, "\"float6_e2m3fn\"", "\"NaN\"", NULL},
	{3, "\"float4_e2m1fn\"", "\"NaN\"", NULL},
	{3, "\"float8_e5m2\"", "\"Infinity\"", "7c"},
	{3, "\"float8_e5m2\"", "61440", "7c"},
	{3, "\"float8_e5m2\"", "61439", "7b"},
	{3, "\"float8_e4m3fn\"", "448", "7e"},
	{3, "\"float8_e4m3fn\"", "500", NULL},
	{3, "\"float8_e4m3fn\"", "\"Infinity\"", NULL},
	{3, "\"float8_e4m3fnuz\"", "240", "7f"},
	{3, "\"float8_e4m3fnuz\"", "-0.0", "00"},
	{3, "\"float8_e8m0fnu\"", "1", "7f"},
	{3, "\"float8_e8m0fnu\"", "0", NULL},
	{3, "\"float8_e8m0fnu\"", "-1", NULL},
	{3, "\"float6_e2m3fn\"", "7.5", "1f"},
	{3, "\"float6_e3m2fn\"", "-28", "3f"},
	{3, "\"float4_e2m1fn\"", "6", "07"},
	{3, "\"float4_e2m1fn\"", "7.1", NULL},
	{3, "\"float4_e2m1fn\"", "\"0xff\"", "0f"},
	{3, "\"complex_bfloat16\"", "[1.0, \"NaN\"]", "803fc07f"},
	{3, "\"complex_float16\"", "[1.0, \"0x7e01\"]", "003c017e"},
	{3, "\"complex_float8_e5m2\"", "[1.0, \"Infinity\"]", "3c7c"},
	{3, "\"complex_float4_e2m1fn\"", "[0.5, -6]", "010f"},
};

static void parse_type(int format, const char *text, struct dtype *ret_dtype)
{
	struct json *json = parse(text);
	bool big_endian;
	int rc = format == 3 ? dtype_parse_v3(json, ret_dtype) : dtype_parse_v2(json, ret_dtype, &big_endian);
	ck_assert_msg(rc == 0, "%s: %s", text, err_message());
	json_free(json);
}

static void assert_bytes(const char *what, const uint8_t *bytes, uint32_t size, const char *hex)
{
	ck_assert_uint_eq(strlen(hex), 2 * size);
	char text[2 * 64 + 1];
	for (uint32_t i = 0; i < size; i++)
		snprintf(text + 2 * i, 3, "%02x", bytes[i]);
	ck_assert_msg(strcmp(text, hex) == 0, "%s: %s, not %s", what, text, hex);
}

START_TEST(a_fill_value_is_exact_to_the_bit)
{
	struct dtype dtype;
	parse_type(fills[_i].format, fills[_i].type, &dtype);
	struct json *json = parse(fills[_i].json);
	uint8_t bytes[64];
	memset(bytes, 0x77, sizeof(bytes));
	bool undefined = true;
	int rc = dtype_parse_fill(&dtype, fills[_i].format, json, bytes, &undefined);
	ck_assert_msg(rc == (fills[_i].bytes ? 0 : -EIO), "%s %s: %d %s", fills[_i].type, fills[_i].json, rc,
				  err_message());
	if (rc) {
		ck_assert_ptr_nonnull(strstr(err_message(), "fill_value"));
		ck_assert_uint_eq(bytes[0], 0x77);
	} else {
		ck_assert(!undefined);
		assert_bytes(fills[_i].json, bytes, dtype.size, fills[_i].bytes);
		ck_assert_uint_eq(bytes[dtype.size], 0x77);
	}
	json_free(json);
}
END_TEST

START_TEST(a_printed_fill_value_reads_back_to_the_same_bytes)
{
	if (!fills[_i].bytes)
		return;
	struct dtype dtype;
	parse_type(fills[_i].format, fills[_i].type, &dtype);
	struct json *json = parse(fills[_i].json);
	uint8_t bytes[64], again[64];
	bool undefined;
	ck_assert_int_eq(dtype_parse_fill(&dtype, fills[_i].format, json, bytes, &undefined), 0);
	autofree char *text = dtype_print_fill(&dtype, bytes);
	struct json *printed = parse(text);
	ck_assert_msg(dtype_parse_fill(&dtype, 3, printed, again, &undefined) == 0, "%s", text);
	ck_assert_msg(memcmp(bytes, again, dtype.size) == 0, "%s was printed as %s", fills[_i].json, text);
	json_free(printed);
	json_free(json);
}
END_TEST

static const struct {
	const char *type, *json, *printed;
} prints[] = {
	{"\"bool\"", "true", "true"},
	{"\"int8\"", "-128", "-128"},
	{"\"uint64\"", "18446744073709551615", "18446744073709551615"},
	{"\"int64\"", "-9223372036854775808", "-9223372036854775808"},
	{"\"float32\"", "0", "0.0"},
	{"\"float32\"", "-0.0", "-0.0"},
	{"\"float32\"", "0.1", "0.1"},
	{"\"float64\"", "0.1", "0.1"},
	{"\"float64\"", "1e20", "1e+20"},
	{"\"float16\"", "0.1", "0.1"},
	{"\"float64\"", "5e-324", "5e-324"},
	{"\"float64\"", "NaN", "\"NaN\""},
	{"\"float32\"", "\"0xffc12345\"", "\"0xffc12345\""},
	{"\"float16\"", "\"0x7e01\"", "\"0x7e01\""},
	{"\"complex64\"", "[\"Infinity\", -1]", "[\"Infinity\",-1.0]"},
	{"\"r16\"", "\"AQI=\"", "[1,2]"},
	{"{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":2}}", "[1, 2]", "\"AQI=\""},
	{"{\"name\":\"null_terminated_bytes\",\"configuration\":{\"length_bytes\":4}}", "\"YWI=\"", "\"YWI=\""},
	{"{\"name\":\"fixed_length_utf32\",\"configuration\":{\"length_bytes\":8}}", "\"a\"", "\"a\""},
	{"{\"name\":\"numpy.datetime64\",\"configuration\":{\"unit\":\"s\"}}", "\"NaT\"", "-9223372036854775808"},
};

START_TEST(a_fill_value_is_printed_in_its_shortest_form)
{
	struct dtype dtype;
	parse_type(3, prints[_i].type, &dtype);
	struct json *json = parse(prints[_i].json);
	uint8_t bytes[64];
	bool undefined;
	ck_assert_int_eq(dtype_parse_fill(&dtype, 3, json, bytes, &undefined), 0);
	autofree char *text = dtype_print_fill(&dtype, bytes);
	ck_assert_str_eq(text, prints[_i].printed);
	json_free(json);
}
END_TEST

START_TEST(null_and_absent_are_zero_bytes_and_undefined)
{
	static const char *const types[] = {"\"<f4\"", "\"<M8[ns]\"", "\"|S7\"", "\"<U2\"", "\"|V5\"", "\"<c16\""};
	struct json *null = parse("null");
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		for (int absent = 0; absent < 2; absent++) {
			struct dtype dtype;
			parse_type(2, types[i], &dtype);
			uint8_t bytes[16], zeros[16] = {0};
			memset(bytes, 0xff, sizeof(bytes));
			bool undefined = false;
			ck_assert_int_eq(dtype_parse_fill(&dtype, 2, absent ? NULL : null, bytes, &undefined), 0);
			ck_assert(undefined);
			ck_assert_mem_eq(bytes, zeros, dtype.size);
		}
	json_free(null);
}
END_TEST

/* The value of a half by its definition (IEEE 754, 3.4). */
static double half_value(uint16_t half)
{
	int exponent = half >> 10 & 31, mantissa = half & 1023;
	double value = exponent ? ldexp(1 + mantissa / 1024.0, exponent - 15) : ldexp(mantissa / 1024.0, -14);
	return half >> 15 ? -value : value;
}

static uint16_t half_of_text(const char *text)
{
	struct dtype dtype;
	parse_type(3, "\"float16\"", &dtype);
	struct json *json = parse(text);
	uint8_t bytes[2];
	bool undefined;
	ck_assert_int_eq(dtype_parse_fill(&dtype, 3, json, bytes, &undefined), 0);
	json_free(json);
	return load_le16(bytes);
}

START_TEST(every_half_reads_back_and_ties_between_two_go_to_the_even_one)
{
	char text[80];
	for (uint32_t half = 0; half < 0x7c00; half++) {
		double value = half_value((uint16_t)half);
		snprintf(text, sizeof(text), "%.60g", value);
		ck_assert_uint_eq(half_of_text(text), half);
		if (half == 0x7bff)
			break;
		double middle = (value + half_value((uint16_t)(half + 1))) / 2;
		snprintf(text, sizeof(text), "%.60g", middle);
		ck_assert_uint_eq(half_of_text(text), half + (half & 1));
		snprintf(text, sizeof(text), "-%.60g", nextafter(middle, INFINITY));
		ck_assert_uint_eq(half_of_text(text), 0x8000 | (half + 1));
		snprintf(text, sizeof(text), "%.60g", nextafter(middle, 0));
		ck_assert_uint_eq(half_of_text(text), half);
	}
}
END_TEST

/* Of each format of a byte: the definition, by which all its values are computed again (zarr-format, section 1.5). */
static const struct {
	const char *type;
	int exponent_bits, mantissa_bits, bias;
	const char *nans; /* the bits that are no number: "ieee", or in hex */
} bytes[] = {
	{"float8_e3m4", 3, 4, 3, "ieee"},		{"float8_e4m3", 4, 3, 7, "ieee"},	 {"float8_e5m2", 5, 2, 15, "ieee"},
	{"float8_e4m3b11fnuz", 4, 3, 11, "80"}, {"float8_e4m3fnuz", 4, 3, 8, "80"},	 {"float8_e5m2fnuz", 5, 2, 16, "80"},
	{"float8_e4m3fn", 4, 3, 7, "7f ff"},	{"float6_e2m3fn", 2, 3, 1, "none"},	 {"float6_e3m2fn", 3, 2, 3, "none"},
	{"float4_e2m1fn", 2, 1, 1, "none"},		{"float8_e8m0fnu", 8, 0, 127, "ff"},
};

START_TEST(every_byte_of_a_small_float_is_the_number_of_its_definition)
{
	char type[40], text[80], hex[12];
	struct dtype dtype;
	int exponent_bits = bytes[_i].exponent_bits, mantissa_bits = bytes[_i].mantissa_bits;
	bool is_scale = mantissa_bits == 0, is_ieee = strcmp(bytes[_i].nans, "ieee") == 0;
	int limit = 1 << (exponent_bits + mantissa_bits + !is_scale);
	snprintf(type, sizeof(type), "\"%s\"", bytes[_i].type);
	parse_type(3, type, &dtype);
	for (int bits = 0; bits < limit; bits++) {
		int field = bits >> mantissa_bits & ((1 << exponent_bits) - 1), mantissa = bits & ((1 << mantissa_bits) - 1);
		snprintf(hex, sizeof(hex), "%02x", bits);
		if (strstr(bytes[_i].nans, hex) || (is_ieee && field == (1 << exponent_bits) - 1))
			continue;
		double value = field || is_scale ? ldexp(1 + ldexp(mantissa, -mantissa_bits), field - bytes[_i].bias)
										 : ldexp(mantissa, 1 - bytes[_i].bias - mantissa_bits);
		bool is_negative = !is_scale && bits >> (exponent_bits + mantissa_bits);
		snprintf(text, sizeof(text), "%s%.60g", is_negative ? "-" : "", value);
		struct json *json = parse(text);
		uint8_t byte = 0x55;
		bool undefined;
		ck_assert_msg(dtype_parse_fill(&dtype, 3, json, &byte, &undefined) == 0, "%s: %s", text, err_message());
		ck_assert_msg(byte == bits, "%s: %s is %02x, not %02x", type, text, byte, bits);
		json_free(json);
	}
}
END_TEST

START_TEST(any_bits_of_a_float_survive_printing_and_parsing)
{
	static const char *const types[] = {
		"\"float16\"",		  "\"float32\"",		  "\"float64\"",		 "\"complex64\"",
		"\"bfloat16\"",		  "\"float8_e3m4\"",	  "\"float8_e4m3fn\"",	 "\"float8_e4m3fnuz\"",
		"\"float8_e8m0fnu\"", "\"complex_bfloat16\"", "\"complex_float16\"", "\"complex_float8_e5m2\"",
	};
	uint64_t state = test_seed();
	for (size_t round = 0; round < 12000; round++) {
		struct dtype dtype;
		parse_type(3, types[round % ARRAY_LEN(types)], &dtype);
		uint8_t bytes[8], again[8];
		bool undefined;
		store_le64(bytes, test_random(&state));
		autofree char *text = dtype_print_fill(&dtype, bytes);
		struct json *json = parse(text);
		ck_assert_int_eq(dtype_parse_fill(&dtype, 3, json, again, &undefined), 0);
		ck_assert_msg(memcmp(bytes, again, dtype.size) == 0, "%s: %s", dtype.name, text);
		json_free(json);
	}
}
END_TEST

START_TEST(base64_of_any_length_survives_printing_and_parsing)
{
	uint64_t state = test_seed();
	for (uint32_t size = 1; size <= 64; size++) {
		char type[100];
		snprintf(type, sizeof(type), "{\"name\":\"raw_bytes\",\"configuration\":{\"length_bytes\":%u}}", size);
		struct dtype dtype;
		parse_type(3, type, &dtype);
		uint8_t bytes[64], again[64];
		bool undefined;
		for (uint32_t i = 0; i < size; i++)
			bytes[i] = (uint8_t)test_random(&state);
		autofree char *text = dtype_print_fill(&dtype, bytes);
		struct json *json = parse(text);
		ck_assert_int_eq(dtype_parse_fill(&dtype, 3, json, again, &undefined), 0);
		ck_assert_mem_eq(bytes, again, size);
		json_free(json);
	}
}
END_TEST

static Suite *fill_suite(void)
{
	Suite *suite = suite_create("fill");
	TCase *values = tcase_create("fill");
	tcase_set_timeout(values, 60);
	tcase_add_loop_test(values, a_fill_value_is_exact_to_the_bit, 0, ARRAY_LEN(fills));
	tcase_add_loop_test(values, a_printed_fill_value_reads_back_to_the_same_bytes, 0, ARRAY_LEN(fills));
	tcase_add_loop_test(values, a_fill_value_is_printed_in_its_shortest_form, 0, ARRAY_LEN(prints));
	tcase_add_test(values, null_and_absent_are_zero_bytes_and_undefined);
	tcase_add_test(values, every_half_reads_back_and_ties_between_two_go_to_the_even_one);
	tcase_add_loop_test(values, every_byte_of_a_small_float_is_the_number_of_its_definition, 0, ARRAY_LEN(bytes));
	tcase_add_test(values, any_bits_of_a_float_survive_printing_and_parsing);
	tcase_add_test(values, base64_of_any_length_survives_printing_and_parsing);
	suite_add_tcase(suite, values);
	return suite;
}

CHECK_MAIN(fill_suite)
