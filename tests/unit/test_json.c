/*
 * test_json.c: documents from strangers, the getters, and their messages.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"

static int parse_bytes(const char *text, size_t size, bool *ret_duplicates, struct json **ret_root)
{
	/* exactly `size` bytes, so that a sanitizer sees a look behind them */
	autofree char *exact = malloc(size + !size);
	memcpy(exact, text, size);
	return json_parse(exact, size, LIMIT_JSON_BYTES, ret_duplicates, ret_root);
}

static struct json *parse(const char *text)
{
	struct json *root = NULL;
	int rc = parse_bytes(text, strlen(text), NULL, &root);
	ck_assert_msg(rc == 0, "%s: %s", text, err_message());
	return root;
}

static void free_root(struct json **root)
{
	json_free(*root);
}

#define autojson __attribute__((cleanup(free_root))) struct json *

/* ------------------------------------------------ documents ------------------------------------------------ */

static const struct {
	const char *text, *printed;
} good[] = {
	{"null", "null"},
	{" true\r\n", "true"},
	{"false", "false"},
	{"0", "0"},
	{"-0.0", "-0.0"},
	{"1e400", "1e400"},
	{"12345678901234567890123456789.50E+07", "12345678901234567890123456789.50E+07"},
	{"NaN", "NaN"},
	{"[NaN, Infinity,\t-Infinity]", "[NaN,Infinity,-Infinity]"},
	{"\"\"", "\"\""},
	{"\"NaN\"", "\"NaN\""},
	{"\"n1\"", "\"n1\""},
	{"[]", "[]"},
	{"[ ]", "[]"},
	{"{ }", "{}"},
	{"[[],{},[[]]]", "[[],{},[[]]]"},
	{"{\"b\": 1, \"a\": [2, {\"c\": null}]}", "{\"b\":1,\"a\":[2,{\"c\":null}]}"},
	{"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\\"\\\\/\\b\\f\\n\\r\\t\""},
	{"\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
	{"\"\xc3\xa9\xf0\x9f\x98\x80\x7f\"", "\"\xc3\xa9\xf0\x9f\x98\x80\x7f\""},
	{"\"\\ud800\"", "\"\xef\xbf\xbd\""},
	{"\"\\udc00x\"", "\"\xef\xbf\xbdx\""},
	{"\"\\ud800\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\""},
	{"\"\\ud800\\n\"", "\"\xef\xbf\xbd\\n\""},
	{"\"a\\u0000b\\u0001n\\u00010\"", "\"a\\u0000b\\u0001n\\u00010\""},
	{"\"\\u0001n1\"", "\"\\u0001n1\""},
	{"\"\\u0000\"", "\"\\u0000\""},
	{"{\"a\\u0000b\": \"\\u0001\", \"\\u0001n5\": 5}", "{\"a\xef\xbf\xbd"
													   "b\":\"\\u0001\",\"\\u0001n5\":5}"},
	{"{\"\": {\"\": 1}}", "{\"\":{\"\":1}}"},
	{"\xef\xbb\xbf[1]", "[1]"},
};

START_TEST(a_document_prints_as_it_was_without_white_space)
{
	autojson root = parse(good[_i].text);
	autofree char *printed = json_print(root);
	ck_assert_str_eq(printed, good[_i].printed);
}
END_TEST

static const struct {
	const char *text, *message;
} bad[] = {
	{"", "line 1, column 1"},
	{" \n ", "line 2, column 2"},
	{"\xef\xbb\xbf", "ends early"},
	{"nul", "a value is expected"},
	{"nulll", "behind the value"},
	{"True", "a value is expected"},
	{"+1", "a value is expected"},
	{"01", "behind the value"},
	{"-", "a digit is missing"},
	{"-x", "line 1, column 2: a digit"},
	{"1.", "a digit is missing"},
	{".5", "a value is expected"},
	{"1.e5", "a digit is missing"},
	{"1e", "a digit is missing"},
	{"1e+", "a digit is missing"},
	{"0x10", "behind the value"},
	{"-NaN", "a digit is missing"},
	{"-Inf", "a digit is missing"},
	{"[1", "',' or ']' is expected"},
	{"[1,]", "a value is expected"},
	{"[,1]", "a value is expected"},
	{"[1 2]", "',' or ']' is expected"},
	{"[1}", "',' or ']' is expected"},
	{"[", "ends early"},
	{"{", "ends early"},
	{"{1:2}", "a member's name is expected"},
	{"{\"a\" 1}", "':' is expected"},
	{"{\"a\":1,}", "a member's name is expected"},
	{"{\"a\":1]", "',' or '}' is expected"},
	{"{\"a\":}", "a value is expected"},
	{"{\"a\"", "':' is expected"},
	{"\"abc", "a string has no end"},
	{"\"abc\\", "unknown escape"},
	{"\"abc\\\"", "a string has no end"},
	{"\"\\x41\"", "unknown escape"},
	{"\"\\u12g4\"", "four hexadecimal digits"},
	{"\"\\u00@0\"", "four hexadecimal digits"},
	{"\"\\u00`0\"", "four hexadecimal digits"},
	{"\"\\u12", "four hexadecimal digits"},
	{"\"a\nb\"", "control character"},
	{"\"a\x01n\"", "control character"},
	{"\"\xff\"", "not UTF-8"},
	{"\"\xc3\"", "not UTF-8"},
	{"\"\xed\xa0\x80\"", "not UTF-8"},
	{"{\"\xc0\x80\":1}", "not UTF-8"},
	{"\xc3\xa9", "a value is expected"},
	{"'a'", "a value is expected"},
	{"[1] // c", "behind the value"},
	{"{} {}", "behind the value"},
	{"<html>", "line 1, column 1: a value"},
	{"{\n \"a\": 1,\n \"\xc3\xa9\" 2\n}", "line 3, column 6: ':'"},
};

START_TEST(a_malformed_document_is_eio_and_says_where)
{
	struct json *root = NULL;
	bool duplicates = true;
	ck_assert_int_eq(parse_bytes(bad[_i].text, strlen(bad[_i].text), &duplicates, &root), -EIO);
	ck_assert_msg(strstr(err_message(), bad[_i].message), "%s: %s", bad[_i].text, err_message());
	ck_assert_ptr_null(root);
	ck_assert(duplicates);
}
END_TEST

START_TEST(every_prefix_of_a_document_is_refused)
{
	static const char text[] = "{\"a\": [1.5e+3, \"\\u00e9\\ud83d\\ude00\xe2\x82\xac\", true, -Infinity], \"b\": {}}";
	for (size_t size = 0; size < strlen(text); size++) {
		struct json *root = NULL;
		ck_assert_int_eq(parse_bytes(text, size, NULL, &root), -EIO);
	}
	json_free(parse(text));
}
END_TEST

static const struct {
	const char *text;
	size_t size;
	int rc;
} tails[] = {
	{"{}\0\0\0", 5, 0}, {"{}\n\0 \0", 6, 0}, {"1\0", 2, 0},		  {"{}\0x", 4, -EIO},
	{"\0{}", 3, -EIO},	{"[\0]", 3, -EIO},	 {"\"\0\"", 3, -EIO},
};

START_TEST(nuls_are_skipped_behind_the_value_only)
{
	autojson root = NULL;
	ck_assert_int_eq(parse_bytes(tails[_i].text, tails[_i].size, NULL, &root), tails[_i].rc);
}
END_TEST

START_TEST(the_size_limit_is_the_callers)
{
	struct json *root = NULL;
	ck_assert_int_eq(json_parse("[1]  ", 5, 4, NULL, &root), -EFBIG);
	ck_assert_ptr_null(root);
	ck_assert_int_eq(json_parse("[1]  ", 5, 5, NULL, &root), 0);
	json_free(root);
}
END_TEST

/* `levels` values inside each other, arrays and objects in turn; the innermost one is empty. */
static void append_nested(struct str *out, int levels)
{
	for (int i = 0; i < levels; i++)
		str_append(out, i % 2 ? "{\"a\":" : "[");
	if (levels % 2 == 0)
		str_append(out, "0");
	for (int i = levels - 1; i >= 0; i--)
		str_append(out, i % 2 ? "}" : "]");
}

START_TEST(the_depth_limit_is_exact)
{
	for (int levels = LIMIT_JSON_DEPTH; levels <= LIMIT_JSON_DEPTH + 1; levels++) {
		autostr(text);
		append_nested(&text, levels);
		autojson root = NULL;
		ck_assert_int_eq(parse_bytes(text.text, text.size, NULL, &root), levels > LIMIT_JSON_DEPTH ? -EFBIG : 0);
	}
}
END_TEST

/* An array of zeros, `values` values in all, then white space up to `size` bytes. */
static int parse_zeros(size_t values, size_t size)
{
	size = MAX(size, 2 * values);
	autofree char *text = malloc(size);
	struct json *root = NULL;
	memset(text, ' ', size);
	text[0] = '[';
	for (size_t i = 0; i < values - 1; i++)
		memcpy(text + 2 * i + 1, "0,", 2);
	text[2 * (values - 1)] = ']';
	int rc = json_parse(text, size, size, NULL, &root);
	ck_assert(rc || json_count(root) == values - 1);
	json_free(root);
	return rc;
}

START_TEST(the_limit_of_values_is_exact)
{
	ck_assert_int_eq(parse_zeros(LIMIT_JSON_VALUES, 0), 0);
	ck_assert_int_eq(parse_zeros(LIMIT_JSON_VALUES + 1, 0), -EFBIG);
	ck_assert_msg(strstr(err_message(), "more than 1048576 values"), "%s", err_message());
}
END_TEST

START_TEST(a_longer_document_may_have_more_values)
{
	size_t values = LIMIT_JSON_VALUES + 1000, size = values * LIMIT_JSON_VALUE_BYTES;
	ck_assert_int_eq(parse_zeros(values, size), 0);
	ck_assert_int_eq(parse_zeros(values + 1, size), -EFBIG);
	ck_assert_int_eq(parse_zeros(values, size - 1), -EFBIG);
}
END_TEST

/* ------------------------------------------------ members ------------------------------------------------ */

START_TEST(members_and_elements_are_walked_in_order)
{
	autojson root = parse("{\"z\": [10, 11, 12], \"A\": {}, \"a\": true}");
	ck_assert_int_eq(json_type(root), JSON_OBJECT);
	ck_assert_uint_eq(json_count(root), 3);
	const struct json *item = json_first(root);
	ck_assert_str_eq(json_name(item), "z");
	ck_assert_uint_eq(json_count(item), 3);
	uint64_t expected = 10, value;
	for (const struct json *element = json_first(item); element; element = json_next(element)) {
		ck_assert_int_eq(json_uint64(element, "z", &value), 0);
		ck_assert_uint_eq(value, expected++);
		ck_assert_ptr_null(json_name(element));
	}
	ck_assert_uint_eq(expected, 13);
	item = json_next(item);
	ck_assert_str_eq(json_name(item), "A");
	ck_assert_ptr_null(json_first(item));
	ck_assert_uint_eq(json_count(item), 0);
	item = json_next(item);
	ck_assert_str_eq(json_name(item), "a");
	ck_assert_ptr_null(json_next(item));
	ck_assert_ptr_null(json_first(item));
	ck_assert_uint_eq(json_count(item), 0);
	ck_assert_ptr_null(json_next(root));
	ck_assert_ptr_null(json_name(root));
}
END_TEST

START_TEST(get_is_case_sensitive_and_null_when_absent)
{
	autojson root = parse("{\"A\": 1, \"a\": [\"a\"], \"\": 3}");
	ck_assert_int_eq(json_type(json_get(root, "A")), JSON_NUMBER);
	ck_assert_int_eq(json_type(json_get(root, "a")), JSON_ARRAY);
	ck_assert_int_eq(json_type(json_get(root, "")), JSON_NUMBER);
	ck_assert_ptr_null(json_get(root, "b"));
	ck_assert_ptr_null(json_get(json_get(root, "a"), "a"));
	ck_assert_ptr_null(json_get(json_get(root, "A"), "a"));
	ck_assert_ptr_null(json_get(NULL, "a"));
	ck_assert_uint_eq(json_count(NULL), 0);
	ck_assert_ptr_null(json_first(NULL));
}
END_TEST

static const struct {
	const char *text, *printed;
	bool duplicates;
} doubled[] = {
	{"{\"a\":1,\"b\":2}", "{\"a\":1,\"b\":2}", false},
	{"{\"a\":1,\"a\":2}", "{\"a\":2}", true},
	{"{\"a\":1,\"b\":2,\"a\":3}", "{\"b\":2,\"a\":3}", true},
	{"{\"b\":1,\"a\":2,\"b\":3,\"c\":4,\"a\":5,\"b\":6}", "{\"c\":4,\"a\":5,\"b\":6}", true},
	{"{\"a\":{\"x\":1,\"x\":2},\"A\":3}", "{\"a\":{\"x\":2},\"A\":3}", true},
	{"[{\"x\":1},{\"x\":1}]", "[{\"x\":1},{\"x\":1}]", false},
	{"{\"\\u0061\":1,\"a\":2}", "{\"a\":2}", true},
};

START_TEST(of_two_members_of_a_name_the_last_wins_and_it_is_told)
{
	autojson root = NULL;
	bool duplicates = !doubled[_i].duplicates;
	ck_assert_int_eq(parse_bytes(doubled[_i].text, strlen(doubled[_i].text), &duplicates, &root), 0);
	ck_assert_int_eq(duplicates, doubled[_i].duplicates);
	autofree char *printed = json_print(root);
	ck_assert_str_eq(printed, doubled[_i].printed);
}
END_TEST

START_TEST(large_objects_are_searched_for_duplicates_quickly)
{
	/* a quadratic search would take minutes */
	autostr(text);
	enum { MEMBERS = 200000, NAMES = 199000 };
	str_append(&text, "{");
	for (int i = 0; i < MEMBERS; i++)
		str_appendf(&text, "%s\"m%d\":%d", i ? "," : "", (int)((int64_t)i * 7919 % NAMES), i);
	str_append(&text, "}");
	bool duplicates = false;
	autojson root = NULL;
	ck_assert_int_eq(json_parse(text.text, text.size, text.size, &duplicates, &root), 0);
	ck_assert(duplicates);
	ck_assert_uint_eq(json_count(root), NAMES);
	uint64_t value;
	ck_assert_int_eq(json_uint64(json_get(root, "m0"), "m0", &value), 0);
	ck_assert_uint_eq(value, NAMES);
}
END_TEST

START_TEST(a_slice_is_the_value_in_the_original_text)
{
	static const char text[] =
		"\xef\xbb\xbf { \"a\" : [ 1.50, {\"b\":9} ] ,\"c\":\"\\u0000\" , \"a\":\tNaN\n,\"b\":{\"c\": 7 }}";
	static const struct {
		const char *name, *slice;
	} slices[] = {{"a", "NaN"}, {"c", "\"\\u0000\""}, {"b", "{\"c\": 7 }"}};
	autojson root = parse(text);
	size_t offset = 999, size = 999;
	for (size_t i = 0; i < ARRAY_LEN(slices); i++) {
		ck_assert(json_slice(root, slices[i].name, &offset, &size));
		ck_assert_uint_eq(size, strlen(slices[i].slice));
		ck_assert_mem_eq(text + offset, slices[i].slice, size);
	}
	ck_assert(!json_slice(root, "d", &offset, &size));
	autojson array = parse("[{\"a\":1}]");
	ck_assert(!json_slice(array, "a", &offset, &size));
	autojson empty = parse("{}");
	ck_assert(!json_slice(empty, "a", &offset, &size));
}
END_TEST

/* ------------------------------------------------ values ------------------------------------------------ */

static const struct {
	const char *text;
	int rc; /* of json_uint64 */
	uint64_t value;
	int signed_rc; /* of json_int64 */
	int64_t signed_value;
} integers[] = {
	{"0", 0, 0, 0, 0},
	{"-0", 0, 0, 0, 0},
	{"-0.0e5", 0, 0, 0, 0},
	{"0e99999999999999999999", 0, 0, 0, 0},
	{"0e-99999999999999999999", 0, 0, 0, 0},
	{"5", 0, 5, 0, 5},
	{"5.0", 0, 5, 0, 5},
	{"5e3", 0, 5000, 0, 5000},
	{"1E3", 0, 1000, 0, 1000},
	{"1E+3", 0, 1000, 0, 1000},
	{"2.50e1", 0, 25, 0, 25},
	{"120e-1", 0, 12, 0, 12},
	{"0.00012e5", 0, 12, 0, 12},
	{"1000000000000000000000000e-20", 0, 10000, 0, 10000},
	{"100.500e1", 0, 1005, 0, 1005},
	{"0.5", -EIO, 0, -EIO, 0},
	{"1.5", -EIO, 0, -EIO, 0},
	{"121e-1", -EIO, 0, -EIO, 0},
	{"1e-99999999999999999999", -EIO, 0, -EIO, 0},
	{"-1", -EIO, 0, 0, -1},
	{"9007199254740993", 0, UINT64_C(9007199254740993), 0, INT64_C(9007199254740993)},
	{"9223372036854775807", 0, INT64_MAX, 0, INT64_MAX},
	{"9223372036854775808", 0, UINT64_C(1) << 63, -EIO, 0},
	{"-9223372036854775808", -EIO, 0, 0, INT64_MIN},
	{"-9223372036854775809", -EIO, 0, -EIO, 0},
	{"18446744073709551615", 0, UINT64_MAX, -EIO, 0},
	{"1844674407370955161.5e1", 0, UINT64_MAX, -EIO, 0},
	{"18446744073709551616", -EIO, 0, -EIO, 0},
	{"1e19", 0, UINT64_C(10000000000000000000), -EIO, 0},
	{"2e19", -EIO, 0, -EIO, 0},
	{"1e20", -EIO, 0, -EIO, 0},
	{"1e99999999999999999999", -EIO, 0, -EIO, 0},
	{"123456789012345678901234567890", -EIO, 0, -EIO, 0},
	{"NaN", -EIO, 0, -EIO, 0},
	{"Infinity", -EIO, 0, -EIO, 0},
	{"-Infinity", -EIO, 0, -EIO, 0},
	{"\"5\"", -EIO, 0, -EIO, 0},
	{"true", -EIO, 0, -EIO, 0},
	{"null", -EIO, 0, -EIO, 0},
	{"[5]", -EIO, 0, -EIO, 0},
};

START_TEST(an_integer_is_exact_or_refused)
{
	autojson root = parse(integers[_i].text);
	uint64_t value = 77;
	int64_t signed_value = -77;
	ck_assert_int_eq(json_uint64(root, "x", &value), integers[_i].rc);
	ck_assert_uint_eq(value, integers[_i].rc == 0 ? integers[_i].value : 77);
	ck_assert_int_eq(json_int64(root, "x", &signed_value), integers[_i].signed_rc);
	ck_assert_int_eq(signed_value, integers[_i].signed_rc == 0 ? integers[_i].signed_value : -77);
}
END_TEST

static const struct {
	const char *text;
	int rc;
	double value;
} doubles[] = {
	{"0.1", 0, 0.1},		   {"-2e3", 0, -2000},			{"4.9406564584124654e-324", 0, 4.9406564584124654e-324},
	{"1e-999", 0, 0},		   {"1e999", -EIO, 0},			{"-1e999", -EIO, 0},
	{"Infinity", 0, INFINITY}, {"-Infinity", 0, -INFINITY}, {"18446744073709551615", 0, 18446744073709551615.0},
	{"\"1\"", -EIO, 0},		   {"null", -EIO, 0},
};

START_TEST(a_double_is_the_nearest)
{
	autojson root = parse(doubles[_i].text);
	double value = 77;
	ck_assert_int_eq(json_double(root, "x", &value), doubles[_i].rc);
	ck_assert_double_eq(value, doubles[_i].rc == 0 ? doubles[_i].value : 77);
}
END_TEST

START_TEST(nan_and_negative_zero_are_doubles)
{
	autojson root = parse("[NaN, -0.0]");
	double value;
	ck_assert_int_eq(json_double(json_first(root), "x", &value), 0);
	ck_assert_double_nan(value);
	ck_assert_int_eq(json_double(json_next(json_first(root)), "x", &value), 0);
	ck_assert(value == 0 && signbit(value));
}
END_TEST

START_TEST(strings_keep_their_nuls_and_count_them)
{
	autojson root = parse("[\"plain\", \"a\\u0000b\\u0001\", \"\", \"\\u0000\"]");
	const struct json *plain = json_first(root), *nuls = json_next(plain), *empty = json_next(nuls),
					  *nul = json_next(empty);
	const char *text = NULL;
	size_t size;
	ck_assert_int_eq(json_string(plain, "x", &text, NULL), 0);
	ck_assert_str_eq(text, "plain");
	ck_assert_int_eq(json_string(nuls, "name", &text, NULL), -EIO);
	ck_assert_str_eq(err_message(), "name: a NUL in the string");
	ck_assert_str_eq(text, "plain");
	ck_assert_int_eq(json_string(nuls, "x", &text, &size), 0);
	ck_assert_uint_eq(size, 4);
	ck_assert_mem_eq(text, "a\0b\x01", 5);
	ck_assert_int_eq(json_string(empty, "x", &text, &size), 0);
	ck_assert_uint_eq(size, 0);
	ck_assert_int_eq(json_string(nul, "x", &text, &size), 0);
	ck_assert_uint_eq(size, 1);
	ck_assert_mem_eq(text, "\0", 2);
}
END_TEST

START_TEST(a_string_of_a_numbers_spelling_is_a_string)
{
	autojson root = parse("[\"1.5\", 1.5]");
	ck_assert_int_eq(json_type(json_first(root)), JSON_STRING);
	ck_assert_ptr_null(json_number_text(json_first(root)));
	ck_assert_str_eq(json_number_text(json_next(json_first(root))), "1.5");
	ck_assert_ptr_null(json_number_text(NULL));
}
END_TEST

START_TEST(booleans_are_true_and_false_only)
{
	autojson root = parse("{\"t\":true,\"f\":false,\"n\":1}");
	bool value = false;
	ck_assert_int_eq(json_bool(json_get(root, "t"), "t", &value), 0);
	ck_assert(value);
	ck_assert_int_eq(json_bool(json_get(root, "f"), "f", &value), 0);
	ck_assert(!value);
	ck_assert_int_eq(json_bool(json_get(root, "n"), "n", &value), -EIO);
	ck_assert_str_eq(err_message(), "n: not a boolean but a number");
}
END_TEST

START_TEST(messages_name_the_value_and_its_type)
{
	autojson root = parse("{\"shape\":[1,2,\"3\"],\"big\":18446744073709551616,\"half\":0.5,\"nan\":NaN}");
	uint64_t values[3];
	const char *text;
	int n;
	ck_assert_int_eq(json_uint64_list(json_get(root, "shape"), "shape", 3, values, &n), -EIO);
	ck_assert_str_eq(err_message(), "shape[2]: not an integer but a string");
	ck_assert_int_eq(json_string(json_get(root, "shape"), "name", &text, NULL), -EIO);
	ck_assert_str_eq(err_message(), "name: not a string but an array");
	ck_assert_int_eq(json_uint64(json_get(root, "absent"), "absent", values), -EIO);
	ck_assert_str_eq(err_message(), "absent: missing");
	ck_assert_int_eq(json_uint64(json_get(root, "big"), "big", values), -EIO);
	ck_assert_str_eq(err_message(), "big: out of range: 18446744073709551616");
	ck_assert_int_eq(json_uint64(json_get(root, "half"), "half", values), -EIO);
	ck_assert_str_eq(err_message(), "half: not an integer: 0.5");
	ck_assert_int_eq(json_uint64(json_get(root, "nan"), "nan", values), -EIO);
	ck_assert_str_eq(err_message(), "nan: not an integer: NaN");
}
END_TEST

START_TEST(a_list_has_at_most_the_elements_asked_for)
{
	autojson root = parse("[3, 2.0, 1e1]");
	uint64_t values[3] = {0};
	int n = -1;
	ck_assert_int_eq(json_uint64_list(root, "shape", 2, values, &n), -EFBIG);
	ck_assert_int_eq(n, -1);
	ck_assert_int_eq(json_uint64_list(root, "shape", 3, values, &n), 0);
	ck_assert_int_eq(n, 3);
	ck_assert_uint_eq(values[0], 3);
	ck_assert_uint_eq(values[1], 2);
	ck_assert_uint_eq(values[2], 10);
	autojson empty = parse("[]");
	ck_assert_int_eq(json_uint64_list(empty, "shape", 0, values, &n), 0);
	ck_assert_int_eq(n, 0);
	ck_assert_int_eq(json_uint64_list(json_first(root), "shape", 3, values, &n), -EIO);
	ck_assert_int_eq(json_uint64_list(NULL, "shape", 3, values, &n), -EIO);
}
END_TEST

START_TEST(a_list_that_fails_leaves_the_outputs)
{
	autojson root = parse("[1, -2]");
	uint64_t values[2] = {70, 71};
	int n = 72;
	ck_assert_int_eq(json_uint64_list(root, "shape", 2, values, &n), -EIO);
	ck_assert_uint_eq(values[0], 70);
	ck_assert_uint_eq(values[1], 71);
	ck_assert_int_eq(n, 72);
}
END_TEST

START_TEST(a_part_of_a_tree_can_be_printed)
{
	autojson root = parse("{\"a\": [1.0, \"\\u0000\xc3\xa9\"], \"b\": 2}");
	autofree char *printed = json_print(json_get(root, "a"));
	ck_assert_str_eq(printed, "[1.0,\"\\u0000\xc3\xa9\"]");
}
END_TEST

START_TEST(a_long_list_of_short_numbers_has_room)
{
	/* the shortest numbers grow most when they are rewritten */
	autostr(text);
	str_append(&text, "[1");
	for (int i = 0; i < 100000; i++)
		str_append(&text, ",1");
	str_append(&text, "]");
	autojson root = parse(text.text);
	ck_assert_uint_eq(json_count(root), 100001);
	autofree char *printed = json_print(root);
	ck_assert_str_eq(printed, text.text);
}
END_TEST

/* ------------------------------------------------ without a tree ------------------------------------------------ */

static int append_member(void *arg, struct json_span name, struct json_span value)
{
	struct str *str = arg;
	str_appendf(str, "%zu+%zu %zu+%zu,", name.offset, name.size, value.offset, value.size);
	return 0;
}

static const struct {
	const char *text;
	int rc;
	const char *members; /* or what the message says */
} flat[] = {
	{"{}", 0, ""},
	{" { } \n", 0, ""},
	{"{\"a\":1}", 0, "2+1 5+1,"},
	{"\xef\xbb\xbf{\"a\" : [1, {\"b\":2}] , \"a\":\"x\"}", 0, "5+1 10+12,26+1 29+3,"},
	{"{\"\\u0041\\\"\":{\"b\":{}}}", 0, "2+8 12+8,"},
	{"[1]", -EIO, "line 1, column 1: not an object"},
	{"\"a\"", -EIO, "not an object"},
	{"", -EIO, "not an object"},
	{"{\"a\":1", -EIO, "column 7: the document ends early"},
	{"{\"a\":1}x", -EIO, "something stands behind"},
	{"{\"a\":\"\\x\"}", -EIO, "unknown escape"},
};

START_TEST(members_can_be_had_without_a_tree)
{
	autostr(str);
	size_t size = strlen(flat[_i].text);
	autofree char *exact = malloc(size + !size);
	memcpy(exact, flat[_i].text, size);
	int rc = json_each_member(exact, size, append_member, &str);
	ck_assert_int_eq(rc, flat[_i].rc);
	if (rc)
		ck_assert_msg(strstr(err_message(), flat[_i].members) != NULL, "%s", err_message());
	else
		ck_assert_str_eq(str.text, flat[_i].members);
}
END_TEST

static int refuse_second(void *arg, struct json_span name, struct json_span value)
{
	return ++*(int *)arg == 2 ? -ENOTSUP : 0;
}

START_TEST(a_member_that_is_refused_ends_the_walk)
{
	const char *text = "{\"a\":1,\"b\":2,\"c\":3}";
	int calls = 0;
	ck_assert_int_eq(json_each_member(text, strlen(text), refuse_second, &calls), -ENOTSUP);
	ck_assert_int_eq(calls, 2);
}
END_TEST

START_TEST(a_walk_has_a_limit_of_depth_and_none_of_values)
{
	enum { VALUES = LIMIT_JSON_VALUES + 10 };
	autostr(str);
	autostr(members);
	str_append(&str, "{\"a\":[0");
	for (int i = 0; i < VALUES; i++)
		str_append(&str, ",0");
	str_append(&str, "]}");
	ck_assert_int_eq(json_each_member(str.text, str.size, append_member, &members), 0);
	str.size = 0;
	str_append(&str, "{\"a\":");
	for (int i = 0; i < LIMIT_JSON_DEPTH; i++)
		str_append(&str, "[");
	ck_assert_int_eq(json_each_member(str.text, str.size, append_member, &members), -EFBIG);
}
END_TEST

static const struct {
	const char *written, *meant;
} strings[] = {
	{"", ""},
	{"plain", "plain"},
	{"\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t"},
	{"a\\u0041b", "aAb"},
	{"\\u00e9\\u20AC\\ud83d\\ude00", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
	{"\\ud83d", "\xef\xbf\xbd"},
	{"\\ud83dx", "\xef\xbf\xbdx"},
	{"\\ud83d\\u0041", "\xef\xbf\xbd"
					   "A"},
	{"\\ude00\\ud83d", "\xef\xbf\xbd\xef\xbf\xbd"},
	{"{\\\"zarr_format\\\":2}", "{\"zarr_format\":2}"},
};

START_TEST(escapes_are_undone_in_place_as_a_tree_has_them)
{
	const char *written = strings[_i].written, *text;
	size_t size = strlen(written), meant = strlen(strings[_i].meant), tree_size;
	autofree char *exact = malloc(size + 1);
	memcpy(exact, written, size);
	ck_assert_uint_eq(json_unescape(exact, size, exact), meant);
	ck_assert_mem_eq(exact, strings[_i].meant, meant);
	autostr(document);
	str_appendf(&document, "\"%s\"", written);
	autojson root = parse(document.text);
	ck_assert_int_eq(json_string(root, "", &text, &tree_size), 0);
	ck_assert(tree_size == meant && memcmp(text, strings[_i].meant, meant) == 0);
}
END_TEST

START_TEST(an_escaped_nul_is_a_byte)
{
	char text[] = "a\\u0000b";
	ck_assert_uint_eq(json_unescape(text, strlen(text), text), 3);
	ck_assert_mem_eq(text, "a\0b", 3);
}
END_TEST

static Suite *json_suite(void)
{
	Suite *suite = suite_create("json");
	TCase *documents = tcase_create("documents"), *members = tcase_create("members"), *values = tcase_create("values");
	tcase_add_loop_test(documents, a_document_prints_as_it_was_without_white_space, 0, ARRAY_LEN(good));
	tcase_add_loop_test(documents, a_malformed_document_is_eio_and_says_where, 0, ARRAY_LEN(bad));
	tcase_add_test(documents, every_prefix_of_a_document_is_refused);
	tcase_add_loop_test(documents, nuls_are_skipped_behind_the_value_only, 0, ARRAY_LEN(tails));
	tcase_add_test(documents, the_size_limit_is_the_callers);
	tcase_add_test(documents, the_depth_limit_is_exact);
	tcase_add_test(documents, the_limit_of_values_is_exact);
	tcase_add_test(documents, a_longer_document_may_have_more_values);
	tcase_add_test(documents, a_long_list_of_short_numbers_has_room);
	tcase_add_test(members, members_and_elements_are_walked_in_order);
	tcase_add_test(members, get_is_case_sensitive_and_null_when_absent);
	tcase_add_loop_test(members, of_two_members_of_a_name_the_last_wins_and_it_is_told, 0, ARRAY_LEN(doubled));
	tcase_add_test(members, large_objects_are_searched_for_duplicates_quickly);
	tcase_add_test(members, a_slice_is_the_value_in_the_original_text);
	tcase_add_test(members, a_part_of_a_tree_can_be_printed);
	tcase_add_loop_test(members, members_can_be_had_without_a_tree, 0, ARRAY_LEN(flat));
	tcase_add_test(members, a_member_that_is_refused_ends_the_walk);
	tcase_add_test(members, a_walk_has_a_limit_of_depth_and_none_of_values);
	tcase_add_loop_test(values, escapes_are_undone_in_place_as_a_tree_has_them, 0, ARRAY_LEN(strings));
	tcase_add_test(values, an_escaped_nul_is_a_byte);
	tcase_add_loop_test(values, an_integer_is_exact_or_refused, 0, ARRAY_LEN(integers));
	tcase_add_loop_test(values, a_double_is_the_nearest, 0, ARRAY_LEN(doubles));
	tcase_add_test(values, nan_and_negative_zero_are_doubles);
	tcase_add_test(values, strings_keep_their_nuls_and_count_them);
	tcase_add_test(values, a_string_of_a_numbers_spelling_is_a_string);
	tcase_add_test(values, booleans_are_true_and_false_only);
	tcase_add_test(values, messages_name_the_value_and_its_type);
	tcase_add_test(values, a_list_has_at_most_the_elements_asked_for);
	tcase_add_test(values, a_list_that_fails_leaves_the_outputs);
	suite_add_tcase(suite, documents);
	suite_add_tcase(suite, members);
	suite_add_tcase(suite, values);
	return suite;
}

CHECK_MAIN(json_suite)
