/*
 * test_key.c: chunk key encodings, parsed and applied.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "base/json.h"
#include "meta/key.h"

static const struct {
	const char *json;
	int rc;
	enum key_kind kind;
	char separator;
} documents[] = {
	{"\"default\"", 0, KEY_DEFAULT, '/'},
	{"\"v2\"", 0, KEY_V2, '.'},
	{"{\"name\":\"default\"}", 0, KEY_DEFAULT, '/'},
	{"{\"name\":\"v2\",\"configuration\":{}}", 0, KEY_V2, '.'},
	{"{\"name\":\"default\",\"configuration\":null}", 0, KEY_DEFAULT, '/'},
	{"{\"name\":\"default\",\"configuration\":{\"separator\":\".\"}}", 0, KEY_DEFAULT, '.'},
	{"{\"name\":\"v2\",\"configuration\":{\"separator\":\"/\"}}", 0, KEY_V2, '/'},
	{"{\"name\":\"default\",\"separator\":\".\"}", 0, KEY_DEFAULT, '.'},
	{"{\"name\":\"v2\",\"separator\":\".\",\"configuration\":{\"separator\":\"/\"}}", 0, KEY_V2, '/'},
	{"{\"name\":\"morton\"}", -ENOTSUP, 0, 0},
	{"\"zarrs.default_suffix\"", -ENOTSUP, 0, 0},
	{"{\"configuration\":{}}", -EIO, 0, 0},
	{"{\"name\":3}", -EIO, 0, 0},
	{"{\"name\":\"default\",\"configuration\":[]}", -EIO, 0, 0},
	{"{\"name\":\"default\",\"configuration\":{\"separator\":\"-\"}}", -EIO, 0, 0},
	{"{\"name\":\"default\",\"configuration\":{\"separator\":\"//\"}}", -EIO, 0, 0},
	{"{\"name\":\"default\",\"configuration\":{\"separator\":1}}", -EIO, 0, 0},
	{"7", -EIO, 0, 0},
	{"null", -EIO, 0, 0},
};

START_TEST(an_encoding_is_a_name_or_an_object_with_a_separator)
{
	const char *text = documents[_i].json;
	struct json *json;
	ck_assert_int_eq(json_parse(text, strlen(text), 1000, NULL, &json), 0);
	struct key_encoding encoding = {.kind = KEY_V2, .separator = '!'};
	int rc = key_encoding_parse(json, &encoding);
	ck_assert_msg(rc == documents[_i].rc, "%s: %d %s", text, rc, err_message());
	ck_assert_int_eq(encoding.separator, rc ? '!' : documents[_i].separator);
	if (rc)
		ck_assert_ptr_nonnull(strstr(err_message(), "chunk_key_encoding"));
	else
		ck_assert_int_eq(encoding.kind, documents[_i].kind);
	json_free(json);
}
END_TEST

START_TEST(an_unknown_encoding_is_named)
{
	struct json *json;
	struct key_encoding encoding;
	ck_assert_int_eq(json_parse("{\"name\":\"morton\"}", 17, 1000, NULL, &json), 0);
	ck_assert_int_eq(key_encoding_parse(json, &encoding), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err_message(), "\"morton\""));
	json_free(json);
}
END_TEST

static const struct {
	enum key_kind kind;
	char separator;
	const char *path;
	int ndim;
	uint64_t coords[3];
	const char *key;
} keys[] = {
	{KEY_DEFAULT, '/', "", 2, {1, 23}, "c/1/23"},
	{KEY_DEFAULT, '.', "", 2, {1, 23}, "c.1.23"},
	{KEY_V2, '.', "", 2, {1, 23}, "1.23"},
	{KEY_V2, '/', "", 2, {1, 23}, "1/23"},
	{KEY_DEFAULT, '/', "", 0, {0}, "c"},
	{KEY_V2, '.', "", 0, {0}, "0"},
	{KEY_DEFAULT, '/', "", 1, {0}, "c/0"},
	{KEY_V2, '/', "", 1, {0}, "0"},
	{KEY_DEFAULT, '/', "group/temp", 3, {0, 0, 7}, "group/temp/c/0/0/7"},
	{KEY_DEFAULT, '.', "a.b", 1, {5}, "a.b/c.5"},
	{KEY_V2, '.', "temp", 0, {0}, "temp/0"},
	{KEY_V2, '.', "temp", 3, {10, 0, 2}, "temp/10.0.2"},
	{KEY_DEFAULT, '/', "", 2, {UINT64_MAX, 0}, "c/18446744073709551615/0"},
};

START_TEST(a_key_is_the_path_and_the_coordinates)
{
	struct key_encoding encoding = {.kind = keys[_i].kind, .separator = keys[_i].separator};
	autofree char *key = key_of_chunk(&encoding, keys[_i].path, keys[_i].coords, keys[_i].ndim);
	ck_assert_str_eq(key, keys[_i].key);
}
END_TEST

START_TEST(the_coordinates_come_back_from_the_key)
{
	struct key_encoding encoding = {.kind = keys[_i].kind, .separator = keys[_i].separator};
	uint64_t coords[3] = {0};
	ck_assert(key_to_coords(&encoding, keys[_i].path, keys[_i].key, keys[_i].ndim, coords));
	ck_assert_mem_eq(coords, keys[_i].coords, sizeof(coords));
}
END_TEST

/* Of the array at "a", two axes, in each encoding. */
static const char *const no_keys[] = {
	"",
	"a",
	"a/",
	"a/c",
	"a/c/1",
	"a/c/1/2/3",
	"a/c/1/",
	"a/c//2",
	"a/c/01/2",
	"a/c/1/02",
	"a/c/-1/2",
	"a/c/+1/2",
	"a/c/ 1/2",
	"a/c/1/2 ",
	"a/c/1.2.",
	"a/c.1/2",
	"a/c/1/2x",
	"a/c/0x1/2",
	"a/C/1/2",
	"b/c/1/2",
	"c/1/2",
	"ab/c/1/2",
	"a/1",
	"a/1/2/3",
	"a/1/",
	"a/1..2",
	"a/.1.2",
	"a/01.2",
	"a/1.2.3",
	"a/1.x",
	"a/c1.2",
	"a/c.1.2.3",
	"a/c.1",
	"a/c/1/zarr.json",
	"a/zarr.json",
	"a/.zarray",
	"ac/1/2",
	"a//c/1/2",
	"a/c/1/18446744073709551616",
	"a/1.99999999999999999999",
};

START_TEST(what_no_coordinates_give_is_no_key)
{
	uint64_t coords[2];
	for (int kind = KEY_DEFAULT; kind <= KEY_V2; kind++)
		for (int dot = 0; dot < 2; dot++) {
			struct key_encoding encoding = {.kind = (enum key_kind)kind, .separator = dot ? '.' : '/'};
			ck_assert_msg(!key_to_coords(&encoding, "a", no_keys[_i], 2, coords), "%s", no_keys[_i]);
		}
}
END_TEST

static Suite *key_suite(void)
{
	Suite *suite = suite_create("key");
	TCase *tcase = tcase_create("key");
	tcase_add_loop_test(tcase, an_encoding_is_a_name_or_an_object_with_a_separator, 0, ARRAY_LEN(documents));
	tcase_add_test(tcase, an_unknown_encoding_is_named);
	tcase_add_loop_test(tcase, a_key_is_the_path_and_the_coordinates, 0, ARRAY_LEN(keys));
	tcase_add_loop_test(tcase, the_coordinates_come_back_from_the_key, 0, ARRAY_LEN(keys));
	tcase_add_loop_test(tcase, what_no_coordinates_give_is_no_key, 0, ARRAY_LEN(no_keys));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(key_suite)
