/*
 * test_options.c: command lines by a table: sizes, times, flags in bunches, lists of mount(8), --help.
 */
#include "tools/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

static const struct {
	const char *text;
	int rc;
	uint64_t value;
} sizes[] = {
	{"0", 0, 0},
	{"4096", 0, 4096},
	{"1B", 0, 1},
	{"1K", 0, 1024},
	{"1k", 0, 1024},
	{"1KB", 0, 1000},
	{"1KiB", 0, 1024},
	{"512M", 0, UINT64_C(512) << 20},
	{"512MiB", 0, UINT64_C(512) << 20},
	{"512MB", 0, 512000000},
	{"1G", 0, UINT64_C(1) << 30},
	{"1.5G", 0, UINT64_C(3) << 29},
	{"1.25K", 0, 1280},
	{"0.000001M", 0, 1},
	{"2TB", 0, UINT64_C(2000000000000)},
	{"18446744073709551615", 0, UINT64_MAX},
	{"18446744073709551616", -EINVAL, 0},
	{"16777215T", 0, UINT64_C(16777215) << 40},
	{"16777216T", -EINVAL, 0},
	{"16777215.999999T", 0, (UINT64_C(16777215) << 40) + UINT64_C(1099510528264)},
	{"", -EINVAL, 0},
	{"M", -EINVAL, 0},
	{"-1", -EINVAL, 0},
	{"+1", -EINVAL, 0},
	{" 1", -EINVAL, 0},
	{"1 M", -EINVAL, 0},
	{"1X", -EINVAL, 0},
	{"1MM", -EINVAL, 0},
	{"1.", -EINVAL, 0},
	{".5G", -EINVAL, 0},
	{"1.0000001G", -EINVAL, 0},
	{"0x10", -EINVAL, 0},
	{"1e3", -EINVAL, 0},
};

START_TEST(a_size_is_a_number_and_a_unit_or_refused)
{
	uint64_t value = 77;
	int rc = options_parse_size(sizes[_i].text, &value);
	ck_assert_msg(rc == sizes[_i].rc, "%s: %d", sizes[_i].text, rc);
	ck_assert_msg(value == (rc ? 77 : sizes[_i].value), "%s: %llu", sizes[_i].text, (unsigned long long)value);
	if (rc)
		ck_assert_ptr_nonnull(strstr(err_message(), sizes[_i].text));
}
END_TEST

static const struct {
	const char *text;
	int rc;
	uint64_t ns;
} times[] = {
	{"0", 0, 0},
	{"30", 0, UINT64_C(30000000000)},
	{"30s", 0, UINT64_C(30000000000)},
	{"500ms", 0, 500000000},
	{"0.5", 0, 500000000},
	{"0.5s", 0, 500000000},
	{"2m", 0, UINT64_C(120000000000)},
	{"1h", 0, UINT64_C(3600000000000)},
	{"1.5ms", 0, 1500000},
	{"5124096h", -EINVAL, 0},
	{"5124095h", 0, UINT64_C(18446742000000000000)},
	{"1d", -EINVAL, 0},
	{"s", -EINVAL, 0},
	{"", -EINVAL, 0},
	{"-1s", -EINVAL, 0},
};

START_TEST(a_time_is_a_number_and_a_unit_or_refused)
{
	uint64_t ns = 77;
	int rc = options_parse_time(times[_i].text, &ns);
	ck_assert_msg(rc == times[_i].rc, "%s: %d", times[_i].text, rc);
	ck_assert_msg(ns == (rc ? 77 : times[_i].ns), "%s: %llu", times[_i].text, (unsigned long long)ns);
}
END_TEST

struct values {
	bool is_long, recursive, allow_other;
	const char *views;
	uint64_t cache, timeout;
	int threads;
	uint32_t uid;
	mode_t umask;
	struct str list;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 'l', "long", NULL, "much", offsetof(struct values, is_long), 0},
	{OPTION_FLAG, 'R', "recursive", NULL, "all", offsetof(struct values, recursive), 0},
	{OPTION_FLAG, 0, "allow-other", NULL, "others", offsetof(struct values, allow_other), 0},
	{OPTION_LIST, 'o', NULL, "OPTION,...", "a list\nof them", offsetof(struct values, list), 0},
	{OPTION_TEXT, 'v', "views", "LIST", "suffixes", offsetof(struct values, views), 0},
	{OPTION_SIZE, 0, "cache-size", "SIZE", "memory", offsetof(struct values, cache), 1},
	{OPTION_TIME, 0, "timeout", "TIME", "time", offsetof(struct values, timeout), 0},
	{OPTION_COUNT, 0, "threads", "N", "threads", offsetof(struct values, threads), 1},
	{OPTION_ID, 0, "uid", "N", "owner", offsetof(struct values, uid), 0},
	{OPTION_MODE, 0, "umask", "MODE", "mask", offsetof(struct values, umask), 0},
	{0},
};

#define WORDS 8

/* A command line in writable memory, as main gets it. */
struct line {
	char text[256];
	char *argv[WORDS];
	int argc;
	struct values values;
	int n;
	bool help;
	int rc;
};

/* `text` has one space between words. */
static void parse_line(struct line *line, const char *text)
{
	memset(line, 0, sizeof(*line));
	str_init(&line->values.list);
	line->n = -1;
	ck_assert_uint_lt(strlen(text), sizeof(line->text));
	strcpy(line->text, text);
	char *rest = line->text;
	for (char *word = strsep(&rest, " "); word; word = strsep(&rest, " ")) {
		ck_assert_int_lt(line->argc, WORDS);
		line->argv[line->argc++] = word;
	}
	line->rc = options_parse(rows, line->argc, line->argv, &line->values, &line->n, &line->help);
}

static void line_finish(struct line *line)
{
	str_finish(&line->values.list);
}

START_TEST(options_and_arguments_may_be_mixed)
{
	struct line line;
	parse_line(&line, "store --cache-size 2K -lR here --timeout=1s --threads 3");
	ck_assert_msg(line.rc == 0, "%s", err_message());
	ck_assert_int_eq(line.n, 2);
	ck_assert_str_eq(line.argv[0], "store");
	ck_assert_str_eq(line.argv[1], "here");
	ck_assert(line.values.is_long && line.values.recursive && !line.values.allow_other && !line.help);
	ck_assert_uint_eq(line.values.cache, 2048);
	ck_assert_uint_eq(line.values.timeout, 1000000000);
	ck_assert_int_eq(line.values.threads, 3);
	line_finish(&line);
}
END_TEST

START_TEST(two_dashes_end_the_options)
{
	struct line line;
	parse_line(&line, "-l -- -R - --nothing");
	ck_assert_int_eq(line.rc, 0);
	ck_assert_int_eq(line.n, 3);
	ck_assert_str_eq(line.argv[0], "-R");
	ck_assert_str_eq(line.argv[1], "-");
	ck_assert_str_eq(line.argv[2], "--nothing");
	ck_assert(line.values.is_long && !line.values.recursive);
	line_finish(&line);
}
END_TEST

START_TEST(a_letter_takes_its_value_from_its_word_or_the_next)
{
	struct line line;
	parse_line(&line, "-lvnpy -v raw");
	ck_assert_int_eq(line.rc, 0);
	ck_assert_str_eq(line.values.views, "raw");
	ck_assert_int_eq(line.n, 0);
	line_finish(&line);
	parse_line(&line, "-lvnpy");
	ck_assert_int_eq(line.rc, 0);
	ck_assert_str_eq(line.values.views, "npy");
	ck_assert(line.values.is_long);
	line_finish(&line);
}
END_TEST

static const struct {
	const char *line;
	const char *message; /* part of it */
} refused[] = {
	{"--nothing", "--nothing"},
	{"--nothing=1", "--nothing"},
	{"--lon", "--lon"},
	{"-x", "-x"},
	{"-lx", "-x"},
	{"--long=1", "--long: takes no value"},
	{"--cache-size", "--cache-size: needs a value"},
	{"-v", "-v: needs a value"},
	{"--cache-size 12Q", "--cache-size: \"12Q\""},
	{"--cache-size 0", "--cache-size: \"0\" is less than 1"},
	{"--threads 0", "--threads: \"0\" is less than 1"},
	{"--threads -1", "--threads: \"-1\""},
	{"--threads 2147483648", "--threads: \"2147483648\""},
	{"--threads 2x", "--threads: \"2x\""},
	{"--uid root", "--uid: \"root\""},
	{"--uid 4294967295", "--uid: \"4294967295\""},
	{"--umask 8", "--umask: \"8\""},
	{"--umask 1000", "--umask: \"1000\""},
	{"--umask=", "--umask: \"\""},
	{"-o cache-size", "cache-size: needs a value"},
	{"-o allow_other=1", "allow-other: takes no value"},
	{"-o ro,cache_size=x", "--cache-size: \"x\""},
	{"-o", "-o: needs a value"},
	{"--allow_other", "--allow_other"},
};

START_TEST(a_wrong_command_line_is_refused_and_named)
{
	struct line line;
	parse_line(&line, refused[_i].line);
	ck_assert_msg(line.rc == -EINVAL, "%s: %d", refused[_i].line, line.rc);
	ck_assert_msg(strstr(err_message(), refused[_i].message), "%s: %s", refused[_i].line, err_message());
	ck_assert_int_eq(line.n, -1);
	line_finish(&line);
}
END_TEST

START_TEST(the_largest_numbers_are_taken)
{
	struct line line;
	parse_line(&line, "--threads 2147483647 --uid 4294967294 --umask 0777");
	ck_assert_msg(line.rc == 0, "%s", err_message());
	ck_assert_int_eq(line.values.threads, 2147483647);
	ck_assert_uint_eq(line.values.uid, 4294967294u);
	ck_assert_uint_eq(line.values.umask, 0777);
	line_finish(&line);
}
END_TEST

START_TEST(a_list_applies_our_options_and_keeps_the_others)
{
	struct line line;
	parse_line(&line,
			   "s m -o ro,cache-size=1M,allow_other,max_read=4096 -o timeout=2s,fsname=a\\,b,views=npy\\,raw,,x");
	ck_assert_msg(line.rc == 0, "%s", err_message());
	ck_assert_int_eq(line.n, 2);
	ck_assert_str_eq(line.values.list.text, "ro,max_read=4096,fsname=a\\,b,x");
	ck_assert_uint_eq(line.values.cache, 1 << 20);
	ck_assert_uint_eq(line.values.timeout, 2000000000);
	ck_assert(line.values.allow_other);
	ck_assert_str_eq(line.values.views, "npy,raw");
	line_finish(&line);
}
END_TEST

START_TEST(the_last_of_two_wins)
{
	struct line line;
	parse_line(&line, "--cache-size 1 -o cache_size=2 --cache-size=3");
	ck_assert_int_eq(line.rc, 0);
	ck_assert_uint_eq(line.values.cache, 3);
	line_finish(&line);
	parse_line(&line, "--cache-size 1 -o cache_size=2");
	ck_assert_uint_eq(line.values.cache, 2);
	line_finish(&line);
}
END_TEST

START_TEST(help_is_found_before_what_stands_behind_it)
{
	static const char *const lines[] = {"-h --nothing", "--help -x", "store -lh", "-l --help"};
	struct line line;
	parse_line(&line, lines[_i]);
	ck_assert_int_eq(line.rc, 0);
	ck_assert(line.help);
	line_finish(&line);
}
END_TEST

START_TEST(pieces_of_a_list_are_cut_at_commas_that_are_not_escaped)
{
	char text[] = "a,b\\,c,,d\\\\,\\e";
	static const char *const pieces[] = {"a", "b,c", "", "d\\", "\\e"};
	char *list = text;
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		ck_assert_ptr_nonnull(list);
		ck_assert_str_eq(options_next_piece(&list), pieces[i]);
	}
	ck_assert_ptr_null(list);
}
END_TEST

START_TEST(help_shows_every_row)
{
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	ck_assert_ptr_nonnull(file);
	options_print(rows, file);
	fclose(file);
	for (const struct option_row *row = rows; row->kind != OPTION_END; row++)
		if (row->name)
			ck_assert_msg(strstr(text, row->name) != NULL, "%s", row->name);
	ck_assert_ptr_nonnull(strstr(text, "  -l, --long              much\n"));
	ck_assert_ptr_nonnull(strstr(text, "  -o OPTION,...           a list\n                          of them\n"));
	ck_assert_ptr_nonnull(strstr(text, "      --cache-size SIZE   memory\n"));
	ck_assert_ptr_nonnull(strstr(text, "  -h, --help              print this\n"));
	free(text);
}
END_TEST

static Suite *options_suite(void)
{
	Suite *suite = suite_create("options");
	TCase *tcase = tcase_create("options");
	tcase_add_loop_test(tcase, a_size_is_a_number_and_a_unit_or_refused, 0, ARRAY_LEN(sizes));
	tcase_add_loop_test(tcase, a_time_is_a_number_and_a_unit_or_refused, 0, ARRAY_LEN(times));
	tcase_add_test(tcase, options_and_arguments_may_be_mixed);
	tcase_add_test(tcase, two_dashes_end_the_options);
	tcase_add_test(tcase, a_letter_takes_its_value_from_its_word_or_the_next);
	tcase_add_loop_test(tcase, a_wrong_command_line_is_refused_and_named, 0, ARRAY_LEN(refused));
	tcase_add_test(tcase, the_largest_numbers_are_taken);
	tcase_add_test(tcase, a_list_applies_our_options_and_keeps_the_others);
	tcase_add_test(tcase, the_last_of_two_wins);
	tcase_add_loop_test(tcase, help_is_found_before_what_stands_behind_it, 0, 4);
	tcase_add_test(tcase, pieces_of_a_list_are_cut_at_commas_that_are_not_escaped);
	tcase_add_test(tcase, help_shows_every_row);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(options_suite)
