/*
 * test_str.c: the growing string, escaping, UTF-8, keys and names.
 */
#include <errno.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/str.h"

START_TEST(a_new_str_is_empty_and_owns_nothing)
{
	struct str str;
	str_init(&str);
	ck_assert_str_eq(str.text, "");
	ck_assert_uint_eq(str.size, 0);
	str_append(&str, "");
	str_append_bytes(&str, NULL, 0);
	ck_assert_str_eq(str.text, "");
	str_finish(&str);
	str_finish(&str);
}
END_TEST

START_TEST(appends_follow_each_other_and_keep_nuls)
{
	autostr(str);
	str_append(&str, "ab");
	str_append_bytes(&str, "\0c", 2);
	str_appendf(&str, "%d-%s", 12, "x");
	ck_assert_uint_eq(str.size, 8);
	ck_assert_mem_eq(str.text, "ab\0c12-x", 9);
	ck_assert(!str.failed);
}
END_TEST

START_TEST(formatted_text_of_any_length_fits)
{
	char filler[5000];
	for (size_t n = 0; n < sizeof(filler); n += n < 140 ? 1 : 611) {
		autostr(str);
		memset(filler, 'f', n);
		filler[n] = '\0';
		str_append(&str, "<");
		str_appendf(&str, "%s>", filler);
		ck_assert_uint_eq(str.size, n + 2);
		ck_assert_uint_eq(strlen(str.text), n + 2);
		ck_assert_int_eq(str.text[n + 1], '>');
	}
}
END_TEST

START_TEST(a_failed_append_leaves_the_text_and_shows_in_take)
{
	autostr(str);
	str_append(&str, "kept");
	str_append_bytes(&str, "x", SIZE_MAX - 2);
	ck_assert(str.failed);
	ck_assert_str_eq(str.text, "kept");
	str_append(&str, "later");
	ck_assert_str_eq(str.text, "kept");
	char *text = NULL;
	ck_assert_int_eq(str_take(&str, &text), -ENOMEM);
	ck_assert_ptr_null(text);
	ck_assert(!str.failed);
	ck_assert_str_eq(str.text, "");
}
END_TEST

START_TEST(take_hands_the_text_over_and_leaves_an_empty_str)
{
	autostr(str);
	for (int i = 0; i < 2; i++) {
		autofree char *text = NULL;
		if (i == 1)
			str_append(&str, "abc");
		ck_assert_int_eq(str_take(&str, &text), 0);
		ck_assert_str_eq(text, i == 1 ? "abc" : "");
		ck_assert_str_eq(str.text, "");
		ck_assert_uint_eq(str.size, 0);
	}
}
END_TEST

static const struct {
	const char *text;
	size_t length;
} sequences[] = {
	{"a", 1},
	{"\x7f", 1},
	{"\x80", 0},
	{"\xbf", 0},
	{"\xc0\x80", 0},
	{"\xc1\xbf", 0},
	{"\xc2\x80", 2},
	{"\xdf\xbf", 2},
	{"\xc2", 0},
	{"\xc2\x41", 0},
	{"\xe0\x9f\xbf", 0},
	{"\xe0\xa0\x80", 3},
	{"\xed\x9f\xbf", 3},
	{"\xed\xa0\x80", 0},
	{"\xee\x80\x80", 3},
	{"\xef\xbf\xbf", 3},
	{"\xe2\x82", 0},
	{"\xe2\x82\x41", 0},
	{"\xf0\x8f\xbf\xbf", 0},
	{"\xf0\x90\x80\x80", 4},
	{"\xf4\x8f\xbf\xbf", 4},
	{"\xf4\x90\x80\x80", 0},
	{"\xf5\x80\x80\x80", 0},
	{"\xf0\x9f\x98", 0},
	{"\xff", 0},
};

START_TEST(only_well_formed_utf8_has_a_length)
{
	ck_assert_uint_eq(str_utf8_length(sequences[_i].text, strlen(sequences[_i].text)), sequences[_i].length);
	ck_assert_uint_eq(str_utf8_length(sequences[_i].text, 0), 0);
}
END_TEST

static const struct {
	const char *text;
	size_t size;
	const char *escaped, *json;
} texts[] = {
	{"", 0, "", "\"\""},
	{"plain ~", 7, "plain ~", "\"plain ~\""},
	{"a\\b", 3, "a\\x5cb", "\"a\\\\b\""},
	{"\"/", 2, "\"/", "\"\\\"/\""},
	{"\b\t\n\f\r", 5, "\\x08\\x09\\x0a\\x0c\\x0d", "\"\\b\\t\\n\\f\\r\""},
	{"\x01\x1f\x7f", 3, "\\x01\\x1f\\x7f", "\"\\u0001\\u001f\x7f\""},
	{"a\0b", 3, "a\\x00b", "\"a\\u0000b\""},
	{"\xc3\xa9\xf0\x9f\x98\x80", 6, "\xc3\xa9\xf0\x9f\x98\x80", "\"\xc3\xa9\xf0\x9f\x98\x80\""},
	{"\xff"
	 "a\xc3",
	 3, "\\xffa\\xc3",
	 "\"\xef\xbf\xbd"
	 "a\xef\xbf\xbd\""},
	{"\xed\xa0\x80", 3, "\\xed\\xa0\\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\""},
};

START_TEST(escaped_text_has_no_control_bytes_and_no_broken_utf8)
{
	autostr(str);
	str_append_escaped(&str, texts[_i].text, texts[_i].size);
	ck_assert_str_eq(str.text, texts[_i].escaped);
}
END_TEST

START_TEST(any_bytes_become_a_json_string)
{
	autostr(str);
	str_append_json(&str, texts[_i].text, texts[_i].size);
	ck_assert_str_eq(str.text, texts[_i].json);
}
END_TEST

static const struct {
	const char *prefix, *suffix, *key;
} keys[] = {{"a", "b", "a/b"}, {"", "b", "b"}, {"a", "", "a"}, {"", "", ""}, {"a/b", "c/0/1", "a/b/c/0/1"}};

START_TEST(a_key_is_joined_by_one_slash_unless_a_part_is_empty)
{
	autofree char *key = str_join_key(keys[_i].prefix, keys[_i].suffix);
	ck_assert_str_eq(key, keys[_i].key);
}
END_TEST

static const struct {
	const char *name;
	size_t size;
	bool good;
} names[] = {
	{"a", 1, true},	   {"", 0, false},	   {".", 1, false}, {"..", 2, false},	 {"...", 3, true}, {".a", 2, true},
	{"a/b", 3, false}, {"a\0b", 3, false}, {"/", 1, false}, {"\xff\n", 2, true}, {"..a", 3, true},
};

START_TEST(a_name_is_one_segment)
{
	ck_assert_int_eq(str_is_name(names[_i].name, names[_i].size), names[_i].good);
}
END_TEST

START_TEST(a_name_has_at_most_255_bytes)
{
	char name[256];
	memset(name, 'n', sizeof(name));
	ck_assert(str_is_name(name, 255));
	ck_assert(!str_is_name(name, 256));
}
END_TEST

static Suite *str_suite(void)
{
	Suite *suite = suite_create("str");
	TCase *tcase = tcase_create("str");
	tcase_add_test(tcase, a_new_str_is_empty_and_owns_nothing);
	tcase_add_test(tcase, appends_follow_each_other_and_keep_nuls);
	tcase_add_test(tcase, formatted_text_of_any_length_fits);
	tcase_add_test(tcase, a_failed_append_leaves_the_text_and_shows_in_take);
	tcase_add_test(tcase, take_hands_the_text_over_and_leaves_an_empty_str);
	tcase_add_loop_test(tcase, only_well_formed_utf8_has_a_length, 0, ARRAY_LEN(sequences));
	tcase_add_loop_test(tcase, escaped_text_has_no_control_bytes_and_no_broken_utf8, 0, ARRAY_LEN(texts));
	tcase_add_loop_test(tcase, any_bytes_become_a_json_string, 0, ARRAY_LEN(texts));
	tcase_add_loop_test(tcase, a_key_is_joined_by_one_slash_unless_a_part_is_empty, 0, ARRAY_LEN(keys));
	tcase_add_loop_test(tcase, a_name_is_one_segment, 0, ARRAY_LEN(names));
	tcase_add_test(tcase, a_name_has_at_most_255_bytes);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(str_suite)
