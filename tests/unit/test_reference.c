/*
 * test_reference.c: kerchunk reference files: what their values are, which targets are opened, and what hostile ones get.
 *
 *     TOP/own/refs.json       the reference file
 *     TOP/own/data.bin        0123456789
 *     TOP/own/sub/b.bin       abc
 *     TOP/own/in, out, none   links to data.bin, to TOP/other/secret and to nothing
 *     TOP/own/fifo
 *     TOP/other/secret
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../lib/check_main.h"
#include "../lib/scratch.h"

#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "store/store.h"

static char top[PATH_MAX];
static struct store *store;
static char logged[512];

static void keep_line(enum log_level level, const char *line, void *arg)
{
	snprintf(logged, sizeof(logged), "%s", line);
}

static void make_folders(void)
{
	scratch_make(scratch_disk(), top);
	ck_assert(mkdir(scratch_path(top, "own"), 0777) == 0 && mkdir(scratch_path(top, "own/sub"), 0777) == 0 &&
			  mkdir(scratch_path(top, "other"), 0777) == 0 && mkfifo(scratch_path(top, "own/fifo"), 0666) == 0);
	ck_assert(scratch_write(top, "own/data.bin", "0123456789") && scratch_write(top, "own/sub/b.bin", "abc") &&
			  scratch_write(top, "other/secret", "secret"));
	ck_assert(symlink("data.bin", scratch_path(top, "own/in")) == 0 &&
			  symlink("../other/secret", scratch_path(top, "own/out")) == 0 &&
			  symlink("nothing", scratch_path(top, "own/none")) == 0 &&
			  symlink("other", scratch_path(top, "another")) == 0);
	logged[0] = '\0';
	log_set_sink(keep_line, NULL);
}

static void tear_down(void)
{
	store_close(store);
	store = NULL;
	log_set_sink(NULL, NULL);
	scratch_remove(top);
}

/* TOP in place of each '@'. */
static void append_with_top(struct str *str, const char *text)
{
	for (; *text; text++)
		if (*text == '@')
			str_append(str, top);
		else
			str_append_bytes(str, text, 1);
}

static int open_text(const char *text, const char *root)
{
	autostr(document);
	append_with_top(&document, text);
	ck_assert(scratch_write(top, "own/refs.json", document.text));
	struct store_options options = {.reference_root = root};
	return store_open_with(scratch_path(top, "own/refs.json"), &options, &store);
}

/* A value as text, in a static buffer; NULL when rc is not 0. */
static int get(const char *key, const char **ret_text)
{
	static char text[4096];
	struct buf *buf;
	*ret_text = NULL;
	int rc = store_get(store, key, STORE_WAIT, sizeof(text) - 1, &buf, NULL);
	if (rc)
		return rc;
	memcpy(text, buf->data, buf->size);
	text[buf->size] = '\0';
	buf_unref(buf);
	*ret_text = text;
	return 0;
}

/* ---------------------------------------------------------------- values */

#define TEMPLATES                                                                                                      \
	"\"templates\":{\"u\":\"data.bin\",\"n\":7,\"f\":\"{{c}}.bin\",\"g\":\"{{a}}{{ b }}\",\"deep\":\"{{f(c='x')}}\"}"

static const struct {
	const char *value; /* JSON of the key "k"; @ is TOP */
	int rc;
	const char *bytes; /* or what the message says */
} values[] = {
	/* texts */
	{"\"\"", 0, ""},
	{"\"plain\"", 0, "plain"},
	{"\"{{u}}\"", 0, "{{u}}"},
	{"\"{\\\"zarr_format\\\":2}\"", 0, "{\"zarr_format\":2}"},
	{"\"\\u00e9\"", 0, "\xc3\xa9"},
	{"\"base64:aGVsbG8=\"", 0, "hello"},
	{"\"base64:aGVsb\\u00478=\"", 0, "hello"},
	{"\"base64:\\/\\/\\/\\/\"", 0, "\xff\xff\xff"},
	{"\"base64:\"", 0, ""},
	{"\"base64:aGVsbG8\"", -EIO, "k: no base64"},
	{"\"base64:####\"", -EIO, "k: no base64"},
	{"{\"a\": [1, NaN]}", 0, "{\"a\": [1, NaN]}"},
	{"{}", 0, "{}"},
	/* what is none of them */
	{"7", -EIO, "k: a reference is a text, an object, [url] or [url, offset, length]"},
	{"null", -EIO, "k: a reference is"},
	{"true", -EIO, "k: a reference is"},
	{"NaN", -EIO, "k: a reference is"},
	{"[]", -EIO, "not a list of 0"},
	{"[\"data.bin\",1]", -EIO, "not a list of 2"},
	{"[\"data.bin\",1,2,3]", -EIO, "not a list of 4"},
	{"[7]", -EIO, "url: not a string but a number"},
	{"[null]", -EIO, "url: not a string but null"},
	{"[[\"data.bin\"]]", -EIO, "url: not a string but an array"},
	{"[\"data\\u0000.bin\"]", -EIO, "url: a NUL"},
	/* places in a target */
	{"[\"data.bin\"]", 0, "0123456789"},
	{"[\"data.bin\",0,10]", 0, "0123456789"},
	{"[\"data.bin\",3,4]", 0, "3456"},
	{"[\"data.bin\",3.0,4e0]", 0, "3456"},
	{"[\"data.bin\",10,0]", 0, ""},
	{"[\"data.bin\",0,0]", 0, ""},
	{"[\"data.bin\",10,1]", -EIO, "k: data.bin: 1 bytes from byte 10 on are not in a file of 10"},
	{"[\"data.bin\",11,0]", -EIO, "data.bin: 0 bytes from byte 11 on"},
	{"[\"data.bin\",0,11]", -EIO, "data.bin: 11 bytes"},
	{"[\"data.bin\",9223372036854775807,1]", -EIO, "data.bin: 1 bytes from byte 9223372036854775807"},
	{"[\"data.bin\",18446744073709551615,1]", -EIO, "offset and length"},
	{"[\"data.bin\",1,18446744073709551615]", -EIO, "offset and length"},
	{"[\"data.bin\",18446744073709551616,1]", -EIO, "offset: "},
	{"[\"data.bin\",-1,1]", -EIO, "offset: "},
	{"[\"data.bin\",0,-1]", -EIO, "length: "},
	{"[\"data.bin\",0.5,1]", -EIO, "offset: "},
	{"[\"data.bin\",1e300,1]", -EIO, "offset: "},
	{"[\"data.bin\",NaN,1]", -EIO, "offset: "},
	{"[\"data.bin\",\"0\",1]", -EIO, "offset: not"},
	{"[\"data.bin\",null,null]", -EIO, "offset: not"},
	/* templates */
	{"[\"{{u}}\",1,2]", 0, "12"},
	{"[\"{{ u }}\",1,2]", 0, "12"},
	{"[\"./{{u}}\"]", 0, "0123456789"},
	{"[\"{{f(c='data')}}\",1,2]", 0, "12"},
	{"[\"{{ f ( c = \\\"data\\\" ) }}\",1,2]", 0, "12"},
	{"[\"{{g(a='da', b='ta.bin')}}\",1,2]", 0, "12"},
	{"[\"{{no}}\"]", -EIO, "k: template \"no\" is not defined"},
	{"[\"{{n}}\"]", -EIO, "n: not a string"},
	{"[\"{{f}}\"]", -EIO, "template \"f\" needs arguments"},
	{"[\"{{u()}}\"]", -EIO, "template \"u\" takes no arguments"},
	{"[\"{{f(d='x')}}\"]", -EIO, "template \"f\": template \"c\" is not defined"},
	{"[\"{{deep(x='y')}}\"]", -EIO, "template \"f\" is not defined"},
	{"[\"{{u\"]", -EIO, "{{ without }}"},
	{"[\"{{}}\"]", -ENOTSUP, "the expression {{}} is not read"},
	{"[\"{{1}}\"]", -ENOTSUP, "the expression {{1}} is not read"},
	{"[\"{{u + 1}}\"]", -ENOTSUP, "the expression {{u + 1}} is not read"},
	{"[\"{{u|upper}}\"]", -ENOTSUP, "is not read"},
	{"[\"{{u.x}}\"]", -ENOTSUP, "is not read"},
	{"[\"{{f(c=u)}}\"]", -ENOTSUP, "is not read"},
	{"[\"{{f(c='a' d='b')}}\"]", -ENOTSUP, "is not read"},
	{"[\"{{f(c='a'\"]", -EIO, "{{ without }}"},
	{"[\"{% for x in y %}{{u}}\"]", -ENOTSUP, "of Jinja are not read"},
};

static void check_value(const char *key, int rc, const char *bytes)
{
	const char *text;
	int got = get(key, &text);
	ck_assert_msg(got == rc, "%d, not %d: %s", got, rc, err_message());
	if (rc == 0)
		ck_assert_str_eq(text, bytes);
	else
		ck_assert_msg(strstr(err_message(), bytes) != NULL, "%s", err_message());
}

static void open_well(const char *text, const char *root)
{
	int rc = open_text(text, root);
	ck_assert_msg(rc == 0, "%s: %d, %s", text, rc, err_message());
}

START_TEST(a_value_is_a_text_or_a_part_of_a_target)
{
	autostr(document);
	str_appendf(&document, "{\"version\":1," TEMPLATES ",\"refs\":{\"k\": %s ,\"good\":\"x\"}}", values[_i].value);
	open_well(document.text, NULL);
	check_value("k", values[_i].rc, values[_i].bytes);
	check_value("good", 0, "x");
}
END_TEST

/* ---------------------------------------------------------------- targets */

static const struct {
	const char *url, *root; /* @ is TOP */
	int rc;
	const char *says;
} urls[] = {
	{"data.bin", NULL, 0, "0123456789"},
	{"./data.bin", NULL, 0, "0123456789"},
	{"sub/b.bin", NULL, 0, "abc"},
	{"sub//./b.bin", NULL, 0, "abc"},
	{"sub/../data.bin", NULL, 0, "0123456789"},
	{"../own/data.bin", NULL, 0, "0123456789"},
	{"in", NULL, 0, "0123456789"},
	{"@/own/data.bin", NULL, 0, "0123456789"},
	{"file://@/own/data.bin", NULL, 0, "0123456789"},
	{"file://localhost@/own/data.bin", NULL, 0, "0123456789"},
	{"local://@/own/data.bin", NULL, 0, "0123456789"},
	{"file:@/own/data.bin", NULL, 0, "0123456789"},
	/* not there: the key is, so it is not absent */
	{"no.bin", NULL, -EIO, "k: no.bin: no such file"},
	{"data.bin/x", NULL, -EIO, "no such file"},
	{"sub", NULL, -EIO, "sub: no such file"},
	{"none", NULL, -EIO, "leads to nothing"},
	{"fifo", NULL, -EIO, "not a regular file"},
	{"", NULL, -EACCES, "outside"},
	{".", NULL, -EACCES, "outside"},
	{"{{u}}", NULL, -EIO, "no such file"}, /* without templates it is a name */
	/* not to be opened */
	{"out", NULL, -EIO, "leads out"},
	{"../other/secret", NULL, -EACCES, "../other/secret: outside of the reference file's folder"},
	{"../../../../../../../../etc/passwd", NULL, -EACCES, "outside"},
	{"sub/../../other/secret", NULL, -EACCES, "outside"},
	{"@/other/secret", NULL, -EACCES, "outside"},
	{"@/owner", NULL, -EACCES, "outside"},
	{"sub/../../own/../other/secret", NULL, -EACCES, "outside"},
	{"/../@/own/./../own/data.bin", NULL, 0, "0123456789"},
	{"/etc/passwd", NULL, -EACCES, "/etc/passwd: outside"},
	{"/", NULL, -EACCES, "outside"},
	{"file:///etc/passwd", NULL, -EACCES, "file:///etc/passwd: outside"},
	{"file:////etc/passwd", NULL, -ENOTSUP, "not a local file"},
	{"file://host/etc/passwd", NULL, -ENOTSUP, "file://host/etc/passwd: not a local file"},
	{"/proc/self/fd/0", NULL, -EACCES, "outside"},
	{"s3://bucket/data.bin", NULL, -ENOTSUP, "s3://bucket/data.bin: not a local file"},
	{"http://h/data.bin", NULL, -ENOTSUP, "not a local file"},
	{"https://h/data.bin", NULL, -ENOTSUP, "not a local file"},
	{"gs://h/data.bin", NULL, -ENOTSUP, "not a local file"},
	{"simplecache::data.bin", NULL, -ENOTSUP, "not a local file"},
	/* another folder is allowed */
	{"../other/secret", "@/other", 0, "secret"},
	{"@/other/secret", "@/other", 0, "secret"},
	{"file://@/other/secret", "@/other/../other/", 0, "secret"},
	{"@/another/secret", "@/another", 0, "secret"}, /* a link to it, by either name */
	{"@/other/secret", "@/another", 0, "secret"},
	{"data.bin", "@/other", 0, "0123456789"},
	{"out", "@/other", -EIO, "leads out"},
	{"/etc/passwd", "@/other", -EACCES, "outside"},
	{"@/other", "@/other", -EACCES, "outside"},
	{"../other/secret", "@", 0, "secret"},
	{"@/other/secret", "/", 0, "secret"},
};

START_TEST(a_target_is_opened_only_where_that_is_allowed)
{
	autostr(document);
	autostr(root);
	str_appendf(&document, "{\"version\":1,\"refs\":{\"k\":[\"%s\"],\"good\":[\"data.bin\"]}}", urls[_i].url);
	append_with_top(&root, urls[_i].root ? urls[_i].root : "");
	open_well(document.text, urls[_i].root ? root.text : NULL);
	check_value("k", urls[_i].rc, urls[_i].says);
	check_value("good", 0, "0123456789");
}
END_TEST

START_TEST(a_relative_target_is_of_the_files_folder_and_not_of_ours)
{
	char before[PATH_MAX];
	ck_assert_ptr_nonnull(getcwd(before, sizeof(before)));
	open_well("{\"refs\":{\"k\":[\"data.bin\"]}}", NULL);
	store_close(store);
	ck_assert_int_eq(chdir(scratch_path(top, "own")), 0);
	ck_assert_int_eq(store_open("refs.json", &store), 0);
	check_value("k", 0, "0123456789");
	ck_assert_str_eq(store_base_name(store), "refs");
	ck_assert_int_eq(chdir(before), 0);
	check_value("k", 0, "0123456789");
}
END_TEST

START_TEST(a_root_that_is_none_is_a_wrong_option)
{
	ck_assert_int_eq(open_text("{\"refs\":{}}", scratch_path(top, "no")), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err_message(), "--reference-root: "));
	ck_assert_int_eq(open_text("{\"refs\":{}}", scratch_path(top, "own/data.bin")), -EINVAL);
	ck_assert_ptr_null(store);
}
END_TEST

/* ---------------------------------------------------------------- documents */

static const struct {
	const char *text;
	int rc;
	const char *says; /* the keys, sorted; or what the message says */
} documents[] = {
	{"{\"version\":1,\"refs\":{}}", 0, ""},
	{"{\"refs\":{\"b\":\"\",\"a\":\"\",\"a-\":\"\"}}", 0, "a a- b"},
	{"{\"version\":0,\"refs\":{\"a\":\"\"}}", 0, "a"},
	{"\xef\xbb\xbf {\"refs\":{\"a\":\"\"}}\n", 0, "a"},
	{"{\"refs\":{\"a\":\"\"},\"more\":[1,{}]}", 0, "a"},
	{"{\"refs\":{\"x\":\"\"},\"refs\":{\"a\":\"\"}}", 0, "a"},
	{"{\"refs\":{\"\\u0061\\/b\":\"\"}}", 0, "a"},
	{"{\".zgroup\":\"\",\"a\":[\"x\"]}", 0, ".zgroup a"},
	{"{\"x/.zarray\":{}}", 0, "x"},
	{"{\"x/zarr.json\":\"\"}", 0, "x"},
	{"{\".zmetadata\":\"\"}", 0, ".zmetadata"},
	{"{\"version\":2,\"refs\":{}}", -ENOTSUP, "version 2 of reference files is not read"},
	{"{\"version\":\"1\",\"refs\":{}}", -EIO, "version: not"},
	{"{\"version\":-1,\"refs\":{}}", -EIO, "version: "},
	{"{\"version\":1,\"templates\":[],\"refs\":{}}", -EIO, "templates: not an object"},
	{"{\"version\":1,\"gen\":{},\"refs\":{}}", -EIO, "gen: not a list"},
	{"{\"version\":1,\"refs\":[]}", -EIO, "refs: line 1, column 1: not an object"},
	{"{\"version\":1,\"refs\":\"a\"}", -EIO, "refs: "},
	{"{\"version\":1}", -ENOENT, "not a Zarr store"},
	{"{}", -ENOENT, "not a Zarr store"},
	{"{\"zarr_format\":3,\"node_type\":\"group\"}", -ENOENT, "not a Zarr store"},
	{"{\"metadata\":{\".zgroup\":{}},\"zarr_consolidated_format\":1}", -ENOENT, "not a Zarr store"},
	{"{\"version\":1,\"refs\":{\"a\":\"", -EIO, "ends early"},
	{"{\"version\":1,\"refs\":{\"a\":\"\"}}x", -EIO, "something stands behind"},
	{"{\"version\":1,\"refs\":{\"a\":\"\\x\"}}", -EIO, "unknown escape"},
	{"{\"version\":1,\"refs\":{\"a\" \"\"}}", -EIO, "':' is expected"},
};

static void append_keys(struct str *str)
{
	struct store_listing listing;
	int rc = store_list(store, "", &listing);
	ck_assert_msg(rc == 0, "%s", err_message());
	for (size_t i = 0; i < listing.n; i++)
		str_appendf(str, "%s%s", i ? " " : "", listing.entries[i].name);
	store_listing_finish(&listing);
}

START_TEST(a_document_of_either_version_is_a_store_or_says_why_not)
{
	autostr(keys);
	int rc = open_text(documents[_i].text, NULL);
	ck_assert_msg(rc == documents[_i].rc, "%d, %s", rc, err_message());
	if (rc) {
		ck_assert_msg(strstr(err_message(), documents[_i].says) != NULL, "%s", err_message());
		return;
	}
	append_keys(&keys);
	ck_assert_str_eq(keys.text, documents[_i].says);
}
END_TEST

START_TEST(every_prefix_of_a_document_is_refused)
{
	static const char text[] =
		"{\"version\":1,\"templates\":{\"u\":\"data.bin\"},\"refs\":{\"a\":[\"{{u}}\",1,2],\"b\":\"\"}}";
	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		autofree char *prefix = strndup(text, n);
		int rc = open_text(prefix, NULL);
		ck_assert_msg(rc == -EIO, "%s: %d", prefix, rc);
	}
	open_well(text, NULL);
	check_value("a", 0, "12");
}
END_TEST

START_TEST(of_a_key_that_comes_twice_the_last_wins)
{
	open_well("{\"refs\":{\"k\":\"1\",\"a\":\"\",\"\\u006b\":\"2\",\"z\":\"\",\"k\":\"3\"},"
			  "\"gen\":[{\"key\":\"z\",\"url\":\"data.bin\",\"dimensions\":{}}]}",
			  NULL);
	autostr(keys);
	append_keys(&keys);
	ck_assert_str_eq(keys.text, "a k z");
	check_value("k", 0, "3");
	check_value("z", 0, "0123456789");
}
END_TEST

START_TEST(a_name_that_can_be_no_key_is_left_out_and_told)
{
	open_well(
		"{\"refs\":{\"../x\":\"\",\"/a\":\"\",\"b/\":\"\",\"\":\"\",\"c\\u0000\":\"\",\"d//e\":\"\",\"ok\":\"\"}}",
		NULL);
	autostr(keys);
	append_keys(&keys);
	ck_assert(strcmp(keys.text, "c\xef\xbf\xbd ok") == 0 || strcmp(keys.text, "ok") == 0);
	ck_assert_ptr_nonnull(strstr(logged, "names that no key can have, \"../x\" first: ignored"));
}
END_TEST

/* ---------------------------------------------------------------- gen */

#define GEN(members)                                                                                                   \
	"{\"version\":1,\"templates\":{\"t\":\"sub\",\"f\":\"{{x}}.bin\"},\"refs\":{},\"gen\":[{" members "}]}"
#define X10 "xxxxxxxxxx"
#define X100 X10 X10 X10 X10 X10 X10 X10 X10 X10 X10
#define X1000 X100 X100 X100 X100 X100 X100 X100 X100 X100 X100
#define KEY_URL "\"key\":\"k{{i}}\",\"url\":\"data.bin\","

static const struct {
	const char *text;
	int rc;
	const char *says;
	const char *key, *bytes;
} gens[] = {
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"stop\":3}}"), 0, "k0 k1 k2", "k2", "0123456789"},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"start\":5,\"stop\":0,\"step\":-2}}"), 0, "k1 k3 k5", "k1", "0123456789"},
	{GEN(KEY_URL "\"offset\":\"{{i}}\",\"length\":\" {{n}}\",\"dimensions\":{\"i\":[1,7],\"n\":[3]}"), -EIO, "length",
	 NULL, NULL},
	{GEN(KEY_URL "\"offset\":\"{{i}}\",\"length\":\"0{{n}}\",\"dimensions\":{\"i\":[1,7],\"n\":[3]}"), 0, "k1 k7", "k7",
	 "789"},
	{GEN("\"key\":\"{{a}}.{{b}}\",\"url\":\"{{t}}/b.bin\",\"dimensions\":{\"a\":{\"stop\":2},\"b\":[10,-20]}"), 0,
	 "0.-20 0.10 1.-20 1.10", "1.-20", "abc"},
	{GEN("\"key\":\"k\",\"url\":\"{{f(x='data')}}\",\"dimensions\":{}"), 0, "k", "k", "0123456789"},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"stop\":0}}"), 0, "", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":[],\"j\":{\"stop\":9}}"), 0, "", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"start\":9223372036854775806,\"stop\":9223372036854775807,\"step\":2}}"), 0,
	 "k9223372036854775806", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"stop\":1000000000000}}"), -EFBIG, "gen[0]: more than 1048576 keys", NULL,
	 NULL},
	{GEN("\"key\":\"k{{i}}\",\"url\":\"" X1000 "\",\"dimensions\":{\"i\":{\"stop\":100000}}"), -EFBIG,
	 "gen[0]: more than 67108864 bytes of keys", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"stop\":3,\"step\":0}}"), -EIO, "gen[0]: dimensions.i: step: 0", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":{\"start\":3}}"), -EIO, "dimensions.i: stop: missing", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":[1.5]}"), -EIO, "dimensions.i: a number", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":{\"i\":7}"), -EIO, "neither a list nor a range", NULL, NULL},
	{GEN(KEY_URL "\"dimensions\":[]"), -EIO, "dimensions: not an object", NULL, NULL},
	{GEN(KEY_URL "\"offset\":\"0\",\"dimensions\":{}"), -EIO, "offset and length stand together", NULL, NULL},
	{GEN(KEY_URL "\"offset\":\"-1\",\"length\":\"1\",\"dimensions\":{\"i\":[1]}"), -EIO, "offset: \"-1\"", NULL, NULL},
	{GEN(KEY_URL "\"offset\":\"99999999999999999999\",\"length\":\"1\",\"dimensions\":{\"i\":[1]}"), -EIO,
	 "offset: ", NULL, NULL},
	{GEN(KEY_URL "\"offset\":\"{{i*100}}\",\"length\":\"1\",\"dimensions\":{\"i\":[1]}"), -ENOTSUP,
	 "gen[0]: offset: the expression {{i*100}} is not read", NULL, NULL},
	{GEN("\"key\":\"k{{ '%02d' % i }}\",\"url\":\"data.bin\",\"dimensions\":{\"i\":[1]}"), -ENOTSUP,
	 "gen[0]: key: ", NULL, NULL},
	{GEN("\"url\":\"data.bin\",\"dimensions\":{}"), -EIO, "key: missing", NULL, NULL},
	{GEN("\"key\":\"k\",\"dimensions\":{}"), -EIO, "url: missing", NULL, NULL},
	{"{\"refs\":{},\"gen\":[7]}", -EIO, "gen[0]: ", NULL, NULL},
};

START_TEST(gen_makes_a_key_for_each_combination)
{
	autostr(keys);
	int rc = open_text(gens[_i].text, NULL);
	ck_assert_msg(rc == gens[_i].rc, "%d, %s", rc, err_message());
	if (rc) {
		ck_assert_msg(strstr(err_message(), gens[_i].says) != NULL, "%s", err_message());
		return;
	}
	append_keys(&keys);
	ck_assert_str_eq(keys.text, gens[_i].says);
	if (gens[_i].key)
		check_value(gens[_i].key, 0, gens[_i].bytes);
}
END_TEST

/* ---------------------------------------------------------------- what changes */

static void replace(const char *name, const char *text)
{
	char next[PATH_MAX];
	ck_assert(scratch_write(top, "next", text));
	strcpy(next, scratch_path(top, "next"));
	ck_assert_int_eq(rename(next, scratch_path(top, name)), 0);
}

static void cut(const char *name)
{
	ck_assert_int_eq(truncate(scratch_path(top, name), 6), 0);
}

static void remove_it(const char *name)
{
	ck_assert_int_eq(unlink(scratch_path(top, name)), 0);
}

static void rewrite(const char *name)
{
	replace(name, "9876543210");
}

static const struct {
	const char *file;
	void (*change)(const char *name);
	int again; /* opening the value once more */
} changes[] = {
	{"own/data.bin", rewrite, 0},	 {"own/data.bin", cut, -EIO},			{"own/data.bin", remove_it, -EIO},
	{"own/refs.json", cut, -ESTALE}, {"own/refs.json", remove_it, -ESTALE}, {"own/refs.json", rewrite, -ESTALE},
};

START_TEST(what_changes_while_a_value_is_open_is_ESTALE)
{
	char bytes[8];
	size_t n = 99;
	struct value *value, *again = NULL;
	struct store_listing listing = {0};
	open_well("{\"refs\":{\"k\":[\"data.bin\",2,6]}}", NULL);
	ck_assert_int_eq(store_open_value(store, "k", STORE_WAIT, &value), 0);
	ck_assert_int_eq(value_read(value, (struct range){.length = 6}, STORE_WAIT, bytes, &n), 0);
	ck_assert_mem_eq(bytes, "234567", 6);
	changes[_i].change(changes[_i].file);
	ck_assert_int_eq(value_read(value, (struct range){.length = 6}, STORE_WAIT, bytes, &n), -ESTALE);
	int rc = store_open_value(store, "k", STORE_WAIT, &again);
	ck_assert_msg(rc == changes[_i].again, "%d, %s", rc, err_message());
	if (rc == 0)
		ck_assert_uint_ne(value_info(again)->version, value_info(value)->version);
	if (rc == -ESTALE) { /* and nothing is proved absent then */
		ck_assert_int_eq(store_open_value(store, "no", STORE_WAIT, &again), -ESTALE);
		ck_assert_int_eq(store_list(store, "", &listing), -ESTALE);
	} else {
		ck_assert_int_eq(store_open_value(store, "no", STORE_WAIT, &again), -ENOENT);
	}
	if (rc == 0)
		value_unref(again);
	value_unref(value);
}
END_TEST

START_TEST(parts_of_one_target_are_different_versions)
{
	struct value_info a, b, again;
	struct buf *buf;
	open_well("{\"refs\":{\"a\":[\"data.bin\",0,4],\"b\":[\"data.bin\",4,4]}}", NULL);
	static const char *const keys[] = {"a", "b", "a"};
	struct value_info *const infos[] = {&a, &b, &again};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ck_assert_int_eq(store_get(store, keys[i], STORE_WAIT, 9, &buf, infos[i]), 0);
		buf_unref(buf);
	}
	ck_assert_uint_eq(a.version, again.version);
	ck_assert_uint_ne(a.version, b.version);
	ck_assert(a.ranges_cheap && a.mtime_ns > 0 && a.size == 4);
}
END_TEST

/* ---------------------------------------------------------------- size */

#define MANY 200000

/* A text of 20 MB: as it is, a table of 12 bytes a key (which grows by halves), and no more. */
START_TEST(a_large_document_takes_its_size_and_a_table)
{
	autostr(document);
	str_append(&document,
			   "{\"version\":1,\"templates\":{\"u\":\"data.bin\"},\"refs\":{\".zgroup\":\"{\\\"zarr_format\\\":2}\"");
	for (int i = 0; i < MANY; i++)
		str_appendf(&document, ",\"temperature/%d.0.%d\": [\"{{u}}\", %d, 1], \"text/%d\": \"base64:aGVsbG8=\"", i,
					i % 7, i % 10, i);
	str_append(&document, "}}");
	ck_assert(scratch_write(top, "own/refs.json", document.text));
	struct mallinfo2 before = mallinfo2();
	ck_assert_int_eq(store_open(scratch_path(top, "own/refs.json"), &store), 0);
	struct mallinfo2 after = mallinfo2();
	size_t took = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
	ck_assert_msg(took <= document.size + 18 * (2 * MANY + 64) + (1 << 16), "%zu bytes for %zu", took, document.size);
	check_value("temperature/199999.0.2", 0, "9");
	check_value("text/0", 0, "hello");
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "temperature", &listing), 0);
	ck_assert_uint_eq(listing.n, MANY);
	store_listing_finish(&listing);
	ck_assert_int_eq(store_list(store, "", &listing), 0);
	ck_assert_uint_eq(listing.n, 3);
	store_listing_finish(&listing);
}
END_TEST

START_TEST(a_file_over_the_limit_is_refused_unread)
{
	ck_assert(scratch_write(top, "own/refs.json", "{\"refs\":{}}"));
	ck_assert_int_eq(truncate(scratch_path(top, "own/refs.json"), (off_t)LIMIT_REFERENCE_BYTES + 1), 0);
	ck_assert_int_eq(store_open(scratch_path(top, "own/refs.json"), &store), -EFBIG);
}
END_TEST

START_TEST(a_long_text_is_decoded_by_a_thread_that_may_wait)
{
	autostr(document);
	str_append(&document, "{\"refs\":{\"short\":\"base64:aGVsbG8=\",\"long\":\"base64:");
	for (int i = 0; i < 20000; i++)
		str_append(&document, "QUFB");
	str_append(&document, "\"}}");
	open_well(document.text, NULL);
	struct value *value;
	struct buf *buf;
	ck_assert_int_eq(store_open_value(store, "long", STORE_TRY, &value), -EAGAIN);
	ck_assert_int_eq(store_open_value(store, "short", STORE_TRY, &value), 0);
	value_unref(value);
	ck_assert_int_eq(store_get(store, "long", STORE_WAIT, 1 << 20, &buf, NULL), 0);
	ck_assert(buf->size == 60000 && buf->data[0] == 'A' && buf->data[59999] == 'A');
	buf_unref(buf);
	ck_assert(store_recodes(store)); /* its memory is counted */
}
END_TEST

static void open_limited(struct str *text, int wanted, const char *message)
{
	ck_assert(!text->failed);
	int rc = open_text(text->text, NULL);
	ck_assert_msg(rc == wanted, "%d in place of %d: %s", rc, wanted, err_message());
	if (message)
		ck_assert_msg(strstr(err_message(), message), "%s", err_message());
	store_close(store);
	store = NULL;
}

/* Each at its limit and one past it. */
START_TEST(what_templates_and_gen_can_cost_is_bounded)
{
	for (int more = 0; more < 2; more++) {
		autostr(templates);
		str_append(&templates, "{\"version\":1,\"templates\":{");
		for (int i = 0; i < LIMIT_REFERENCE_TEMPLATES + more; i++)
			str_appendf(&templates, "%s\"t%d\":\"x\"", i ? "," : "", i);
		str_append(&templates, "},\"refs\":{\".zgroup\":\"{}\"}}");
		open_limited(&templates, more ? -EFBIG : 0, more ? "templates: more than 1024" : NULL);

		autostr(expressions);
		str_append(&expressions,
				   "{\"version\":1,\"refs\":{\".zgroup\":\"{}\"},\"gen\":[{\"key\":\"k{{i}}\",\"url\":\"");
		for (int i = 0; i < LIMIT_REFERENCE_EXPRESSIONS + more; i++)
			str_append(&expressions, "{{i}}");
		str_append(&expressions, "\",\"dimensions\":{\"i\":{\"stop\":2}}}]}");
		open_limited(&expressions, more ? -EFBIG : 0, more ? "more than 16 expressions" : NULL);
	}
	/* keys that are none cost what others do: 2,000 of 40,000 bytes */
	autostr(made);
	str_append(&made, "{\"version\":1,\"refs\":{\".zgroup\":\"{}\"},\"gen\":[{\"key\":\"/{{i}}\",\"url\":\"");
	for (int i = 0; i < 4000; i++)
		str_append(&made, "0123456789");
	str_append(&made, "\",\"dimensions\":{\"i\":{\"stop\":2000}}}]}");
	open_limited(&made, -EFBIG, "bytes of keys");
}
END_TEST

static Suite *reference_suite(void)
{
	Suite *suite = suite_create("reference");
	TCase *references = tcase_create("references");
	tcase_add_checked_fixture(references, make_folders, tear_down);
	tcase_set_timeout(references, 60);
	tcase_add_loop_test(references, a_value_is_a_text_or_a_part_of_a_target, 0, ARRAY_LEN(values));
	tcase_add_loop_test(references, a_target_is_opened_only_where_that_is_allowed, 0, ARRAY_LEN(urls));
	tcase_add_test(references, a_relative_target_is_of_the_files_folder_and_not_of_ours);
	tcase_add_test(references, a_root_that_is_none_is_a_wrong_option);
	tcase_add_loop_test(references, a_document_of_either_version_is_a_store_or_says_why_not, 0, ARRAY_LEN(documents));
	tcase_add_test(references, every_prefix_of_a_document_is_refused);
	tcase_add_test(references, of_a_key_that_comes_twice_the_last_wins);
	tcase_add_test(references, a_name_that_can_be_no_key_is_left_out_and_told);
	tcase_add_loop_test(references, gen_makes_a_key_for_each_combination, 0, ARRAY_LEN(gens));
	tcase_add_loop_test(references, what_changes_while_a_value_is_open_is_ESTALE, 0, ARRAY_LEN(changes));
	tcase_add_test(references, parts_of_one_target_are_different_versions);
	tcase_add_test(references, a_large_document_takes_its_size_and_a_table);
	tcase_add_test(references, a_file_over_the_limit_is_refused_unread);
	tcase_add_test(references, a_long_text_is_decoded_by_a_thread_that_may_wait);
	tcase_add_test(references, what_templates_and_gen_can_cost_is_bounded);
	suite_add_tcase(suite, references);
	return suite;
}

CHECK_MAIN(reference_suite)
