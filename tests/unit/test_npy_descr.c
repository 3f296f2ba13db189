/*
 * test_npy_descr.c: numpy's descr as Python writes it, and as it is read back. The expected texts are repr()'s.
 */
#include <errno.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"
#include "view/npy_descr.h"

/* A descr as JSON (v2's dtype), and its Python literal. */
static const struct {
	const char *json, *literal;
} pairs[] = {
	{"\"<f4\"", "'<f4'"},
	{"\"|V3\"", "'|V3'"},
	{"[[\"a\",\"<i4\"]]", "[('a', '<i4')]"},
	{"[[\"a\",\"<i4\"],[\"m\",\"<i2\",[2,3]],[\"t\",\"<f4\",[2]]]",
	 "[('a', '<i4'), ('m', '<i2', (2, 3)), ('t', '<f4', (2,))]"},
	{"[[\"p\",[[\"q\",[[\"r\",\"<u2\"]]],[\"\",\"|V4\"]],[3]]]", "[('p', [('q', [('r', '<u2')]), ('', '|V4')], (3,))]"},
	{"[[\"it's\",\"|u1\"],[\"a\\\"b\",\"|u1\"],[\"'\\\"\",\"|u1\"]]",
	 "[(\"it's\", '|u1'), ('a\"b', '|u1'), ('\\'\"', '|u1')]"},
	{"[[\"\\\\ \\n\\r\\t\\u0001\\u007f\\u0085\\u00ad\",\"|u1\"]]", "[('\\\\ \\n\\r\\t\\x01\\x7f\\x85\\xad', '|u1')]"},
	{"[[\"\\u00e9\\u0416\\ud83e\\uddca\\u2028\\ue000\",\"|u1\"]]",
	 "[('\xc3\xa9\xd0\x96\xf0\x9f\xa7\x8a\\u2028\\ue000', '|u1')]"},
};

static void parse(const char *text, struct dtype *ret_dtype)
{
	struct json *json;
	bool big_endian;
	ck_assert_int_eq(json_parse(text, strlen(text), LIMIT_JSON_BYTES, NULL, &json), 0);
	ck_assert_msg(dtype_parse_v2(json, ret_dtype, &big_endian) == 0, "%s: %s", text, err_message());
	json_free(json);
}

static int take(const char *text, bool is_latin1, struct dtype *ret_dtype, bool *ret_big_endian)
{
	struct npy_literal literal = {text, text + strlen(text), is_latin1};
	return npy_take_descr(&literal, ret_dtype, ret_big_endian);
}

START_TEST(a_descr_is_written_as_repr_writes_it_and_read_back)
{
	struct dtype dtype, again;
	bool big_endian;
	autostr(literal);
	autostr(literal_again);
	parse(pairs[_i].json, &dtype);
	npy_append_descr(&dtype, &literal);
	ck_assert_str_eq(literal.text, pairs[_i].literal);
	ck_assert_msg(take(literal.text, false, &again, &big_endian) == 0, "%s", err_message());
	ck_assert(!big_endian);
	npy_append_descr(&again, &literal_again);
	ck_assert_str_eq(literal_again.text, literal.text);
	dtype_finish(&again);
	dtype_finish(&dtype);
}
END_TEST

START_TEST(latin1_is_what_fits_it)
{
	autostr(text);
	autostr(latin1);
	autostr(other);
	str_append(&text, "a\xc3\xa9\xc3\xbf");
	ck_assert(npy_to_latin1(&text, &latin1));
	ck_assert_str_eq(latin1.text, "a\xe9\xff");
	str_append(&text, "\xc4\x80");
	ck_assert(!npy_to_latin1(&text, &other));
}
END_TEST

START_TEST(other_spellings_of_a_literal_are_read)
{
	static const struct {
		const char *text;
		bool is_latin1;
		const char *literal;
	} cases[] = {
		{"[(\"a\",'>i4',),]", false, "[('a', '<i4')]"},
		{"[ ( 'a' , '<i4' , ( 2 , 3, ) ) ]", false, "[('a', '<i4', (2, 3))]"},
		{"[('a', '<i4', 2)]", false, "[('a', '<i4', (2,))]"},
		{"[['a', '<i4']]", false, "[('a', '<i4')]"},
		{"[('\\x41\\u0416\\U0001f9ca\\'\\\"', '<i4')]", false, "[('A\xd0\x96\xf0\x9f\xa7\x8a\\'\"', '<i4')]"},
		{"[('\xe9', '<i4')]", true, "[('\xc3\xa9', '<i4')]"},
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct dtype dtype;
		bool big_endian;
		autostr(literal);
		int rc = take(cases[i].text, cases[i].is_latin1, &dtype, &big_endian);
		ck_assert_msg(rc == 0, "%s: %s", cases[i].text, err_message());
		npy_append_descr(&dtype, &literal);
		ck_assert_str_eq(literal.text, cases[i].literal);
		dtype_finish(&dtype);
	}
}
END_TEST

START_TEST(what_is_no_literal_is_eio)
{
	static const char *const cases[] = {
		"",
		"'<f4",
		"[",
		"[('a', '<i4')",
		"[('a' '<i4')]",
		"[('a', '<i4'))",
		"('a', '<i4']",
		"[,]",
		"-1",
		"None",
		"['\\",
		"['\\q', '<i4']",
		"[('\\x4', '<i4')]",
		"[('\\ud800', '<i4')]",
		"[('\\x00', '<i4')]",
		"[('\\U00110000', '<i4')]",
	};
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct dtype dtype = {.size = 77};
		bool big_endian;
		int rc = take(cases[i], false, &dtype, &big_endian);
		ck_assert_msg(rc == -EIO, "%s: %d", cases[i], rc);
		ck_assert_uint_eq(dtype.size, 77);
	}
}
END_TEST

START_TEST(nesting_is_bounded)
{
	autostr(text);
	struct dtype dtype;
	bool big_endian;
	for (int i = 0; i < 100000; i++)
		str_append(&text, "[");
	ck_assert_int_eq(take(text.text, false, &dtype, &big_endian), -EIO);
}
END_TEST

static Suite *npy_descr_suite(void)
{
	Suite *suite = suite_create("npy descr");
	TCase *tcase = tcase_create("npy descr");
	tcase_add_loop_test(tcase, a_descr_is_written_as_repr_writes_it_and_read_back, 0, ARRAY_LEN(pairs));
	tcase_add_test(tcase, latin1_is_what_fits_it);
	tcase_add_test(tcase, other_spellings_of_a_literal_are_read);
	tcase_add_test(tcase, what_is_no_literal_is_eio);
	tcase_add_test(tcase, nesting_is_bounded);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(npy_descr_suite)
