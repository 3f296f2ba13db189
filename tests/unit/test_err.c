/*
 * test_err.c: the message beside the errno.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/err.h"

START_TEST(set_returns_the_negative_errno_and_keeps_the_text)
{
	ck_assert_int_eq(err_set(EIO, "chunk %d is %s", 7, "short"), -EIO);
	ck_assert_str_eq(err_message(), "chunk 7 is short");
	ck_assert_int_eq(err_set(ENOTSUP, "next"), -ENOTSUP);
	ck_assert_str_eq(err_message(), "next");
}
END_TEST

START_TEST(layers_prefix_their_part_and_pass_the_code_on)
{
	int rc = err_set(EIO, "unknown codec \"%s\"", "jpegxl");
	rc = err_prefix(rc, "codecs[%d]", 1);
	rc = err_prefix(rc, "temp/zarr.json");
	ck_assert_int_eq(rc, -EIO);
	ck_assert_str_eq(err_message(), "temp/zarr.json: codecs[1]: unknown codec \"jpegxl\"");
}
END_TEST

START_TEST(the_old_message_may_be_an_argument_of_the_new_one)
{
	err_set(EIO, "first");
	err_set(EIO, "%s and second", err_message());
	ck_assert_str_eq(err_message(), "first and second");
	err_prefix(-EIO, "before %s", err_message());
	ck_assert_str_eq(err_message(), "before first and second: first and second");
}
END_TEST

START_TEST(long_text_is_cut_and_ended)
{
	char longer[2 * ERR_TEXT_BYTES];
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	err_set(EIO, "%s", longer);
	ck_assert_uint_eq(strlen(err_message()), ERR_TEXT_BYTES - 1);
	err_set(EIO, "short");
	err_prefix(-EIO, "%s", longer);
	ck_assert_uint_eq(strlen(err_message()), ERR_TEXT_BYTES - 1);
	err_set(EIO, "%s", longer);
	err_prefix(-EIO, "temp");
	ck_assert_uint_eq(strlen(err_message()), ERR_TEXT_BYTES - 1);
	ck_assert_int_eq(strncmp(err_message(), "temp: xxx", 9), 0);
}
END_TEST

START_TEST(errno_survives)
{
	errno = ENOENT;
	err_set(EIO, "text %d", 1);
	err_prefix(-EIO, "more");
	ck_assert_int_eq(errno, ENOENT);
}
END_TEST

static void *other_thread(void *arg)
{
	struct err_text *travelling = arg;
	if (err_message()[0] != '\0')
		return "a new thread begins with a message";
	err_restore(travelling);
	err_prefix(-EIO, "there");
	err_save(travelling);
	return NULL;
}

START_TEST(a_message_belongs_to_its_thread_until_saved_and_restored)
{
	struct err_text travelling;
	err_set(EIO, "here");
	err_save(&travelling);
	pthread_t thread;
	void *problem;
	ck_assert_int_eq(pthread_create(&thread, NULL, other_thread, &travelling), 0);
	pthread_join(thread, &problem);
	ck_assert_ptr_null(problem);
	ck_assert_str_eq(err_message(), "here");
	err_restore(&travelling);
	ck_assert_str_eq(err_message(), "there: here");
}
END_TEST

static Suite *err_suite(void)
{
	Suite *suite = suite_create("err");
	TCase *tcase = tcase_create("err");
	tcase_add_test(tcase, set_returns_the_negative_errno_and_keeps_the_text);
	tcase_add_test(tcase, layers_prefix_their_part_and_pass_the_code_on);
	tcase_add_test(tcase, the_old_message_may_be_an_argument_of_the_new_one);
	tcase_add_test(tcase, long_text_is_cut_and_ended);
	tcase_add_test(tcase, errno_survives);
	tcase_add_test(tcase, a_message_belongs_to_its_thread_until_saved_and_restored);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(err_suite)
