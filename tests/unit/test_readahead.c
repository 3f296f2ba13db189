/*
 * test_readahead.c: what a file's reads make it load ahead. Everything runs in the caller, so the counters are exact.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/str.h"

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)

static struct fixture_env env;
static struct fixture_array array;
static struct readahead *readahead;
static uint64_t loads_before, used_before;

/* Rows of eight chunks of 16 KiB, and one long row: 16 MiB each, of which nothing is stored: fill is enough. */
static const struct fixture wide = {
	.path = "wide", .dtype = "uint64", .ndim = 2, .shape = {512, 4096}, .chunk = {4, 512}, .skip = 1, .fill = 5};
static const struct fixture line = {
	.path = "line", .dtype = "uint64", .ndim = 1, .shape = {2 << 20}, .chunk = {1024}, .skip = 1, .fill = 6};
static const struct fixture stored = {
	.path = "stored", .dtype = "uint64", .ndim = 2, .shape = {256, 512}, .chunk = {16, 64}, .fill = 6};

static void open_all(const char *path, bool once)
{
	fixture_array_open(&env, path, &array);
	ck_assert_int_eq(readahead_new(once, &readahead), 0);
	loads_before = stats_get(ahead_loads);
	used_before = stats_get(ahead_used);
}

static void begin(const struct fixture *wanted, bool once, uint64_t cache_bytes)
{
	struct fixture fixture = *wanted;
	fixture_env_open(&env, &(struct fixture_limits){.cache_bytes = cache_bytes});
	fixture_put(env.env.store, &fixture);
	open_all(fixture.path, once);
}

/* Without a look at each of its chunks. */
static void begin_empty(const struct fixture *wanted, uint64_t cache_bytes)
{
	struct fixture fixture = *wanted;
	autofree char *document = fixture_document(&fixture), *key = str_join_key(fixture.path, "zarr.json");
	fixture_env_open(&env, &(struct fixture_limits){.cache_bytes = cache_bytes});
	fixture_put_text(env.env.store, key, document);
	open_all(fixture.path, false);
}

static void end(void)
{
	fixture_env_settle(&env);
	readahead_free(readahead);
	fixture_array_close(&array);
	fixture_env_close(&env);
}

static void read_at(uint64_t offset, size_t size)
{
	static uint8_t bytes[1 << 20];
	ck_assert_int_eq(fixture_read(&array, offset, size, bytes, readahead), 0);
}

static uint64_t loads(void)
{
	return stats_get(ahead_loads) - loads_before;
}

static uint64_t used(void)
{
	return stats_get(ahead_used) - used_before;
}

static const struct {
	const struct fixture *fixture;
	size_t step;
} readers[] = {{&wide, 128 * KIB}, {&wide, 4 * KIB}, {&wide, 256 * KIB},
			   {&line, 128 * KIB}, {&line, 1000},	 {&stored, 32 * KIB}};

START_TEST(a_sequential_reader_finds_what_was_loaded_ahead)
{
	begin(readers[_i].fixture, false, 64 * MIB);
	uint64_t bytes = array.layout.bytes, chunks = bytes / array_chunk_bytes(array.array);
	for (uint64_t at = 0; at < bytes; at += readers[_i].step)
		read_at(at, (size_t)MIN(readers[_i].step, bytes - at));
	/* all but the first rows were there when they were asked for, and nothing was loaded in vain or twice */
	ck_assert_uint_ge(loads(), chunks * 8 / 10);
	ck_assert_uint_lt(loads(), chunks);
	ck_assert_uint_eq(used(), loads());
	end();
}
END_TEST

START_TEST(a_reader_loads_nothing_ahead_before_it_proved_sequential)
{
	begin(&wide, false, 64 * MIB);
	read_at(0, 4096);
	read_at(4096, 4096);
	ck_assert_uint_eq(loads(), 0);
	end();
}
END_TEST

START_TEST(a_random_reader_loads_nothing_ahead)
{
	uint64_t state = test_seed(), last = 0;
	begin(&line, false, 64 * MIB);
	for (int i = 0; i < 300; i++) {
		uint64_t offset;
		do
			offset = test_random(&state) % (array.layout.bytes - 4096);
		while (offset + 2 * MIB > last && offset < last + 2 * MIB);
		read_at(offset, 4096);
		last = offset;
	}
	ck_assert_uint_eq(loads(), 0);
	end();
}
END_TEST

START_TEST(a_jump_starts_over)
{
	begin(&line, false, 64 * MIB);
	for (uint64_t at = 0; at < MIB; at += 128 * KIB)
		read_at(at, 128 * KIB);
	uint64_t before = loads();
	ck_assert_uint_gt(before, 0);
	read_at(12 * MIB, 4096);
	read_at(12 * MIB + 4096, 4096);
	ck_assert_uint_eq(loads(), before);
	read_at(12 * MIB + 8192, 4096);
	ck_assert_uint_gt(loads(), before);
	end();
}
END_TEST

START_TEST(requests_slightly_out_of_order_are_sequential_all_the_same)
{
	static const unsigned order[] = {1, 0, 3, 2};
	begin(&line, false, 64 * MIB);
	for (uint64_t at = 0; at < array.layout.bytes; at += 512 * KIB)
		for (size_t i = 0; i < ARRAY_LEN(order); i++)
			read_at(at + order[i] * 128 * KIB, 128 * KIB);
	ck_assert_uint_ge(loads(), array.layout.bytes / array_chunk_bytes(array.array) * 8 / 10);
	ck_assert_uint_eq(used(), loads());
	end();
}
END_TEST

/* Budgets in chunks: some have no share for a row, which then is not loaded ahead at all. */
static const uint64_t budgets[] = {4, 20, 31, 33, 80, 200};

START_TEST(what_lies_ahead_is_never_more_than_its_share_of_the_budget)
{
	begin(&wide, false, budgets[_i] * 16 * KIB);
	uint64_t row = 8;
	for (uint64_t at = 0; at < array.layout.bytes; at += 32 * KIB) {
		read_at(at, 32 * KIB);
		ck_assert_uint_le(loads() - used(), budgets[_i] / 4);
	}
	if (budgets[_i] / 4 < row)
		ck_assert_uint_eq(loads(), 0);
	else
		ck_assert_uint_gt(loads(), 100);
	end();
}
END_TEST

START_TEST(nothing_is_loaded_past_the_end)
{
	begin(&wide, false, 64 * MIB);
	uint64_t bytes = array.layout.bytes;
	for (uint64_t at = bytes - 512 * KIB; at < bytes; at += 64 * KIB)
		read_at(at, 64 * KIB);
	ck_assert_uint_le(loads() * array_chunk_bytes(array.array), 512 * KIB);
	read_at(bytes - 1, 1);
	end();
}
END_TEST

START_TEST(chunks_are_given_up_behind_a_reader_that_reads_once)
{
	uint64_t most[2] = {0, 0};
	for (int once = 0; once < 2; once++) {
		struct fixture big = stored;
		big.shape[0] = 6144; /* 24 MiB */
		begin(&big, once, 64 * MIB);
		for (uint64_t at = 0; at < array.layout.bytes; at += 128 * KIB) {
			read_at(at, 128 * KIB);
			most[once] = MAX(most[once], cache_used(env.env.cache));
		}
		ck_assert_uint_eq(used(), loads());
		end();
	}
	ck_assert_uint_ge(most[0], 24 * MIB);
	/* what lies ahead is at most 8 MiB */
	ck_assert_uint_le(most[1], 12 * MIB);
}
END_TEST

/* A window of half a MiB would be as many loads, each larger than its chunk. */
START_TEST(chunks_of_a_byte_are_loaded_ahead_in_thousands_not_in_millions)
{
	begin_empty(&(struct fixture){.path = "dust", .dtype = "uint8", .ndim = 1, .shape = {16 << 20}, .chunk = {1}},
				256 * MIB);
	for (uint64_t at = 0; at < 6 * 2048; at += 2048)
		read_at(at, 2048);
	ck_assert_uint_ge(loads(), 2048);
	ck_assert_uint_le(loads(), 32768);
	end();
}
END_TEST

START_TEST(rows_of_more_chunks_than_that_are_not_loaded_ahead)
{
	begin_empty(&(struct fixture){.path = "rows", .dtype = "uint8", .ndim = 2, .shape = {64, 65536}, .chunk = {4, 2}},
				256 * MIB);
	for (uint64_t at = 0; at < 6 * 2048; at += 2048)
		read_at(at, 2048);
	ck_assert_uint_eq(loads(), 0);
	end();
}
END_TEST

static Suite *readahead_suite(void)
{
	Suite *suite = suite_create("readahead");
	TCase *tcase = tcase_create("readahead");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, a_sequential_reader_finds_what_was_loaded_ahead, 0, ARRAY_LEN(readers));
	tcase_add_test(tcase, a_reader_loads_nothing_ahead_before_it_proved_sequential);
	tcase_add_test(tcase, a_random_reader_loads_nothing_ahead);
	tcase_add_test(tcase, a_jump_starts_over);
	tcase_add_test(tcase, requests_slightly_out_of_order_are_sequential_all_the_same);
	tcase_add_loop_test(tcase, what_lies_ahead_is_never_more_than_its_share_of_the_budget, 0, ARRAY_LEN(budgets));
	tcase_add_test(tcase, nothing_is_loaded_past_the_end);
	tcase_add_test(tcase, chunks_are_given_up_behind_a_reader_that_reads_once);
	tcase_add_test(tcase, chunks_of_a_byte_are_loaded_ahead_in_thousands_not_in_millions);
	tcase_add_test(tcase, rows_of_more_chunks_than_that_are_not_loaded_ahead);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(readahead_suite)
