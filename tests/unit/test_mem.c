/*
 * test_mem.c: the faults and counters of the store in memory; what it shares with other stores is in contract/.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "store/mem.h"

static struct store *store;

static void begin(void)
{
	ck_assert_int_eq(mem_store_new("test.zarr", true, &store), 0);
	ck_assert_int_eq(mem_store_put(store, "a/0", "0123456789", 10), 0);
	ck_assert_int_eq(mem_store_put(store, "a/1", "abc", 3), 0);
}

static void end(void)
{
	store_close(store);
}

static void set_fault(struct mem_fault fault)
{
	ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
}

static int open_and_read(const char *key, enum store_how how, size_t *ret_size)
{
	char dst[16];
	struct value *value;
	int rc = store_open_value(store, key, how, &value);
	if (rc)
		return rc;
	rc = value_read(value, (struct range){.length = sizeof(dst)}, how, dst, ret_size);
	value_unref(value);
	return rc;
}

static double seconds_now(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

START_TEST(it_has_a_name)
{
	begin();
	ck_assert_str_eq(store_url(store), "mem://test.zarr");
	ck_assert_str_eq(store_base_name(store), "test");
	ck_assert(store_can_list(store));
	end();
}
END_TEST

START_TEST(a_put_without_bytes_removes)
{
	begin();
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "a/1", STORE_WAIT, &value), 0);
	ck_assert_int_eq(mem_store_put(store, "a/1", NULL, 0), 0);
	char dst[3];
	size_t size;
	ck_assert_int_eq(value_read(value, (struct range){.length = 3}, STORE_WAIT, dst, &size), -ESTALE);
	value_unref(value);
	ck_assert_int_eq(store_open_value(store, "a/1", STORE_WAIT, &value), -ENOENT);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "a", &listing), 0);
	ck_assert_uint_eq(listing.n, 1);
	store_listing_finish(&listing);
	ck_assert_int_eq(mem_store_put(store, "a/0", NULL, 0), 0);
	ck_assert_int_eq(store_list(store, "a", &listing), -ENOENT);
	end();
}
END_TEST

START_TEST(a_value_and_a_prefix_of_one_name_are_one_entry)
{
	begin();
	ck_assert_int_eq(mem_store_put(store, "a", "x", 1), 0);
	ck_assert_int_eq(mem_store_put(store, "a.x", "x", 1), 0);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "", &listing), 0);
	ck_assert_uint_eq(listing.n, 2);
	ck_assert_str_eq(listing.entries[0].name, "a");
	ck_assert(listing.entries[0].is_prefix);
	ck_assert_str_eq(listing.entries[1].name, "a.x");
	ck_assert(!listing.entries[1].is_prefix);
	store_listing_finish(&listing);
	end();
}
END_TEST

/* A server may list keys that no path can spell; a put does not check, so that this can be shown. */
START_TEST(names_that_cannot_be_are_not_listed)
{
	begin();
	static const char *const keys[] = {"a//b", "a/../b", "a/./b", "a/..", "a/."};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		ck_assert_int_eq(mem_store_put(store, keys[i], "x", 1), 0);
	char longest[300] = "a/";
	memset(longest + 2, 'n', 256);
	ck_assert_int_eq(mem_store_put(store, longest, "x", 1), 0);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "a", &listing), 0);
	ck_assert_uint_eq(listing.n, 2);
	ck_assert_str_eq(listing.entries[0].name, "0");
	ck_assert_str_eq(listing.entries[1].name, "1");
	store_listing_finish(&listing);
	end();
}
END_TEST

START_TEST(faults_hit_keys_that_contain_their_part_and_no_others)
{
	begin();
	static const struct mem_fault faults[] = {
		{.key_part = "a/0", .open_errnum = EACCES},
		{.key_part = "a/", .read_errnum = EIO},
	};
	size_t size = 77;
	ck_assert_int_eq(mem_store_set_faults(store, faults, 2), 0);
	ck_assert_int_eq(mem_store_put(store, "b", "x", 1), 0);
	ck_assert_int_eq(open_and_read("a/0", STORE_WAIT, &size), -EACCES);
	ck_assert_int_eq(open_and_read("a/1", STORE_WAIT, &size), -EIO);
	ck_assert_int_eq(open_and_read("a/1", STORE_TRY, &size), -EIO);
	ck_assert_int_eq(open_and_read("a/2", STORE_WAIT, &size), -ENOENT);
	ck_assert_uint_eq(size, 77);
	ck_assert_int_eq(open_and_read("b", STORE_WAIT, &size), 0);
	set_fault((struct mem_fault){.key_part = "", .open_errnum = EMFILE});
	ck_assert_int_eq(open_and_read("b", STORE_WAIT, &size), -EMFILE);
	ck_assert_ptr_nonnull(strstr(err_message(), "b: "));
	ck_assert_int_eq(mem_store_set_faults(store, NULL, 0), 0);
	ck_assert_int_eq(open_and_read("a/0", STORE_TRY, &size), 0);
	ck_assert_uint_eq(size, 10);
	end();
}
END_TEST

START_TEST(short_reads_are_resumed_to_the_whole_range)
{
	begin();
	set_fault((struct mem_fault){.key_part = "a/0", .short_read = 4});
	mem_store_reset_counts(store);
	size_t size;
	ck_assert_int_eq(open_and_read("a/0", STORE_WAIT, &size), 0);
	ck_assert_uint_eq(size, 10);
	struct mem_counts counts = mem_store_counts(store, "a/0");
	ck_assert_uint_eq(counts.reads, 3);
	ck_assert_uint_eq(counts.bytes, 10);
	end();
}
END_TEST

START_TEST(a_delay_makes_tries_EAGAIN_and_holds_open_and_first_read)
{
	begin();
	set_fault((struct mem_fault){.key_part = "a/0", .delay_ms = 30});
	struct value *value = NULL;
	char dst[10];
	size_t size = 77;
	ck_assert_int_eq(store_open_value(store, "a/0", STORE_TRY, &value), -EAGAIN);
	ck_assert_int_eq(store_open_value(store, "a/1", STORE_TRY, &value), 0);
	value_unref(value);
	double start = seconds_now();
	ck_assert_int_eq(store_open_value(store, "a/0", STORE_WAIT, &value), 0);
	ck_assert_double_ge(seconds_now() - start, 0.030);
	struct range range = {.length = 10};
	ck_assert_int_eq(value_read(value, range, STORE_TRY, dst, &size), -EAGAIN);
	ck_assert_uint_eq(size, 0);
	start = seconds_now();
	ck_assert_int_eq(value_read(value, range, STORE_WAIT, dst, &size), 0);
	ck_assert_double_ge(seconds_now() - start, 0.030);
	ck_assert_int_eq(value_read(value, range, STORE_TRY, dst, &size), 0);
	ck_assert_uint_eq(size, 10);
	value_unref(value);
	end();
}
END_TEST

enum { WAITERS = 8 };

static atomic_int ended;

static void *wait_in_open(void *arg)
{
	size_t size;
	int rc = open_and_read("a/0", STORE_WAIT, &size);
	ended++;
	return (void *)(intptr_t)rc;
}

/* Until `key_part` has so many opens and reads: a call is counted when it begins to wait. */
static void await_counts(const char *key_part, uint64_t opens, uint64_t reads)
{
	double start = seconds_now();
	for (;;) {
		struct mem_counts counts = mem_store_counts(store, key_part);
		if (counts.opens >= opens && counts.reads >= reads)
			return;
		ck_assert_double_lt(seconds_now() - start, 60);
		usleep(1000);
	}
}

START_TEST(release_ends_every_wait_whatever_the_faults_are_by_then)
{
	begin();
	set_fault((struct mem_fault){.key_part = "a/0", .delay_ms = 600000});
	pthread_t waiters[WAITERS];
	ended = 0;
	double start = seconds_now();
	for (int i = 0; i < WAITERS; i++)
		ck_assert_int_eq(pthread_create(&waiters[i], NULL, wait_in_open, NULL), 0);
	await_counts("a/0", WAITERS, 0);
	size_t size;
	ck_assert_int_eq(open_and_read("a/1", STORE_WAIT, &size), 0);
	ck_assert_int_eq(ended, 0);
	mem_store_release(store);
	await_counts("a/0", WAITERS, WAITERS);
	ck_assert_int_eq(ended, 0);
	ck_assert_int_eq(mem_store_set_faults(store, NULL, 0), 0);
	usleep(5000);
	ck_assert_int_eq(ended, 0);
	mem_store_release(store);
	for (int i = 0; i < WAITERS; i++) {
		void *rc;
		pthread_join(waiters[i], &rc);
		ck_assert_ptr_null(rc);
	}
	ck_assert_double_lt(seconds_now() - start, 300);
	end();
}
END_TEST

START_TEST(a_value_replaced_during_a_wait_is_opened_anew_but_not_read)
{
	begin();
	set_fault((struct mem_fault){.key_part = "a/0", .delay_ms = 600000});
	ended = 0;
	pthread_t waiter;
	ck_assert_int_eq(pthread_create(&waiter, NULL, wait_in_open, NULL), 0);
	await_counts("a/0", 1, 0);
	ck_assert_int_eq(mem_store_put(store, "a/0", "new", 3), 0);
	for (char key[] = "A"; key[0] <= 'Z'; key[0]++) /* the table moves while the call waits */
		for (int i = 0; i < 5; i++) {
			char more[8];
			snprintf(more, sizeof(more), "%s%d", key, i);
			ck_assert_int_eq(mem_store_put(store, more, "x", 1), 0);
		}
	mem_store_release(store);
	await_counts("a/0", 1, 1);
	ck_assert_int_eq(mem_store_put(store, "a/0", "newer", 5), 0);
	mem_store_release(store);
	void *rc;
	pthread_join(waiter, &rc);
	ck_assert_int_eq((int)(intptr_t)rc, -ESTALE);
	end();
}
END_TEST

START_TEST(what_was_asked_is_counted_also_of_missing_keys)
{
	begin();
	size_t size;
	ck_assert_int_eq(open_and_read("a/0", STORE_WAIT, &size), 0);
	ck_assert_int_eq(open_and_read("a/1", STORE_TRY, &size), 0);
	ck_assert_int_eq(open_and_read("a/2", STORE_WAIT, &size), -ENOENT);
	ck_assert_int_eq(open_and_read("b", STORE_WAIT, &size), -ENOENT);
	struct mem_counts all = mem_store_counts(store, ""), a = mem_store_counts(store, "a/");
	ck_assert_uint_eq(all.opens, 4);
	ck_assert_uint_eq(a.opens, 3);
	ck_assert_uint_eq(a.reads, 2);
	ck_assert_uint_eq(a.bytes, 13);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "", &listing), 0);
	ck_assert_uint_eq(listing.n, 1);
	store_listing_finish(&listing);
	mem_store_reset_counts(store);
	all = mem_store_counts(store, "");
	ck_assert(all.opens == 0 && all.reads == 0 && all.bytes == 0);
	end();
}
END_TEST

static Suite *mem_suite(void)
{
	Suite *suite = suite_create("mem");
	TCase *tcase = tcase_create("mem");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, it_has_a_name);
	tcase_add_test(tcase, a_put_without_bytes_removes);
	tcase_add_test(tcase, a_value_and_a_prefix_of_one_name_are_one_entry);
	tcase_add_test(tcase, names_that_cannot_be_are_not_listed);
	tcase_add_test(tcase, faults_hit_keys_that_contain_their_part_and_no_others);
	tcase_add_test(tcase, short_reads_are_resumed_to_the_whole_range);
	tcase_add_test(tcase, a_delay_makes_tries_EAGAIN_and_holds_open_and_first_read);
	tcase_add_test(tcase, release_ends_every_wait_whatever_the_faults_are_by_then);
	tcase_add_test(tcase, a_value_replaced_during_a_wait_is_opened_anew_but_not_read);
	tcase_add_test(tcase, what_was_asked_is_counted_also_of_missing_keys);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(mem_suite)
