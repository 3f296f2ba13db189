/*
 * test_log.c: levels, escaping and the rate limit; and the counters' names. Time is a clock of ours.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../lib/check_main.h"

#include "base/log.h"
#include "base/stats.h"

static time_t seconds_ahead;

/* Replaces libc's for the whole program: the real time, and what a test adds. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	int rc = (int)syscall(SYS_clock_gettime, clock, now);
	now->tv_sec += seconds_ahead;
	return rc;
}

static struct {
	int lines;
	enum log_level level;
	char text[10000];
} heard;

static void hear(enum log_level level, const char *line, void *arg)
{
	ck_assert_ptr_eq(arg, &heard);
	heard.lines++;
	heard.level = level;
	snprintf(heard.text, sizeof(heard.text), "%s", line);
}

static void setup(void)
{
	heard.lines = 0;
	log_set_sink(hear, &heard);
	log_set_level(LOG_LEVEL_WARN);
}

static void teardown(void)
{
	log_set_sink(NULL, NULL);
}

START_TEST(a_line_is_its_category_and_text)
{
	log_line(LOG_LEVEL_ERROR, "array", "chunk %d", 3);
	ck_assert_int_eq(heard.lines, 1);
	ck_assert_int_eq(heard.level, LOG_LEVEL_ERROR);
	ck_assert_str_eq(heard.text, "array: chunk 3");
}
END_TEST

START_TEST(less_urgent_lines_than_the_level_are_dropped)
{
	log_line(LOG_LEVEL_INFO, "log", "dropped");
	log_limited(LOG_LEVEL_DEBUG, "log", "level", "dropped");
	ck_assert_int_eq(heard.lines, 0);
	log_line(LOG_LEVEL_WARN, "log", "heard");
	ck_assert_int_eq(heard.lines, 1);
	log_set_level(LOG_LEVEL_DEBUG);
	log_limited(LOG_LEVEL_DEBUG, "log", "level", "heard");
	ck_assert_int_eq(heard.lines, 2);
	log_set_level(LOG_LEVEL_ERROR);
	log_line(LOG_LEVEL_WARN, "log", "dropped");
	ck_assert_int_eq(heard.lines, 2);
}
END_TEST

START_TEST(control_characters_cannot_forge_a_line)
{
	log_line(LOG_LEVEL_WARN, "log", "a\nzarrfs: b\x7f\x1b[1m\xc2\x9b\tc\xc3\xa9");
	ck_assert_str_eq(heard.text, "log: a\\x0azarrfs: b\\x7f\\x1b[1m\\xc2\\x9b\\x09c\xc3\xa9");
}
END_TEST

START_TEST(a_line_of_any_length_is_cut_not_lost)
{
	char *longer = malloc(100001);
	memset(longer, '\n', 100000);
	longer[100000] = '\0';
	log_line(LOG_LEVEL_WARN, "log", "%s", longer);
	ck_assert_int_eq(heard.lines, 1);
	ck_assert_uint_gt(strlen(heard.text), 1000);
	ck_assert_ptr_null(strchr(heard.text, '\n'));
	log_line(LOG_LEVEL_WARN, longer, "text");
	ck_assert_ptr_nonnull(strstr(heard.text, "text"));
	free(longer);
}
END_TEST

START_TEST(one_line_a_subject_passes_in_ten_seconds)
{
	for (int i = 0; i < 5; i++)
		log_limited(LOG_LEVEL_WARN, "read", "temp", "failed %d", i);
	ck_assert_int_eq(heard.lines, 1);
	ck_assert_str_eq(heard.text, "read: failed 0");
	log_limited(LOG_LEVEL_WARN, "read", "wind", "another subject");
	log_limited(LOG_LEVEL_WARN, "open", "temp", "another category");
	ck_assert_int_eq(heard.lines, 3);
	seconds_ahead += 9;
	log_limited(LOG_LEVEL_WARN, "read", "temp", "failed 5");
	ck_assert_int_eq(heard.lines, 3);
	seconds_ahead += 2;
	log_limited(LOG_LEVEL_WARN, "read", "temp", "failed 6");
	ck_assert_int_eq(heard.lines, 4);
	ck_assert_str_eq(heard.text, "read: failed 6 (5 more suppressed)");
	seconds_ahead += 11;
	log_limited(LOG_LEVEL_WARN, "read", "temp", "failed 7");
	ck_assert_str_eq(heard.text, "read: failed 7");
}
END_TEST

START_TEST(category_and_subject_do_not_run_into_each_other)
{
	log_limited(LOG_LEVEL_WARN, "ab", "c", "one");
	log_limited(LOG_LEVEL_WARN, "a", "bc", "two");
	ck_assert_int_eq(heard.lines, 2);
}
END_TEST

START_TEST(any_number_of_subjects_is_heard_once)
{
	char subject[32];
	for (int i = 0; i < 20000; i++) {
		snprintf(subject, sizeof(subject), "array-%d", i);
		log_limited(LOG_LEVEL_WARN, "many", subject, "failed");
	}
	ck_assert_int_eq(heard.lines, 20000);
	log_limited(LOG_LEVEL_WARN, "many", subject, "failed");
	ck_assert_int_eq(heard.lines, 20000);
}
END_TEST

START_TEST(errno_survives_a_line)
{
	errno = ENOENT;
	log_line(LOG_LEVEL_WARN, "log", "text");
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

START_TEST(counters_have_names_and_add_up)
{
	uint64_t before = stats_get(reads);
	stats_add(reads, 2);
	stats_add(reads, 3);
	ck_assert_uint_eq(stats_get(reads), before + 5);
	ck_assert_uint_eq(stats_value(STATS_reads), before + 5);
	ck_assert_str_eq(stats_name(STATS_reads), "reads");
	ck_assert_str_eq(stats_name(STATS_COUNT - 1), "stuck_loads");
}
END_TEST

static Suite *log_suite(void)
{
	Suite *suite = suite_create("log");
	TCase *tcase = tcase_create("log");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_test(tcase, a_line_is_its_category_and_text);
	tcase_add_test(tcase, less_urgent_lines_than_the_level_are_dropped);
	tcase_add_test(tcase, control_characters_cannot_forge_a_line);
	tcase_add_test(tcase, a_line_of_any_length_is_cut_not_lost);
	tcase_add_test(tcase, one_line_a_subject_passes_in_ten_seconds);
	tcase_add_test(tcase, category_and_subject_do_not_run_into_each_other);
	tcase_add_test(tcase, any_number_of_subjects_is_heard_once);
	tcase_add_test(tcase, errno_survives_a_line);
	tcase_add_test(tcase, counters_have_names_and_add_up);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(log_suite)
