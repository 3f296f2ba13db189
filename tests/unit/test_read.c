/*
 * test_read.c: any byte range of any array, against a loop over its elements: alone, in threads, with a cache that is too
 * small for one chunk, and with a store that would wait.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

#define CRC_INDEX FIXTURE_BYTES "," FIXTURE_CRC32C
#define ZSTD FIXTURE_BYTES "," FIXTURE_ZSTD
#define GZIP FIXTURE_BYTES ",{\"name\":\"gzip\",\"configuration\":{\"level\":1}}"
#define BLOSC(item)                                                                                                    \
	FIXTURE_BYTES ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":1,\"shuffle\":\"shuffle\","    \
				  "\"typesize\":" item ",\"blocksize\":0}}"

static const struct fixture fixtures[] = {
	{.path = "scalar", .dtype = "float64", .fill = 3},
	{.path = "scalar_missing", .dtype = "int32", .fill = 77, .skip = 1},
	{.path = "bytes", .dtype = "uint8", .ndim = 1, .shape = {1000}, .chunk = {64}, .skip = 5, .fill = 9},
	{.path = "one_chunk", .ndim = 2, .shape = {5, 7}, .chunk = {100, 100}},
	{.path = "odd", .dtype = "r24", .ndim = 3, .shape = {5, 7, 11}, .chunk = {2, 3, 4}, .skip = 7, .fill = 0xabcdef},
	{.path = "tiny_chunks", .dtype = "int64", .ndim = 2, .shape = {9, 13}, .chunk = {1, 1}, .skip = 4, .fill = 1},
	{.path = "columns", .dtype = "float32", .ndim = 2, .shape = {40, 50}, .chunk = {40, 3}, .codecs = "[" ZSTD "]"},
	{.path = "big_endian",
	 .dtype = "uint32",
	 .ndim = 2,
	 .shape = {33, 17},
	 .chunk = {8, 8},
	 .codecs = "[" FIXTURE_BIG "," FIXTURE_CRC32C "]"},
	{.path = "permuted",
	 .dtype = "int16",
	 .ndim = 3,
	 .shape = {8, 9, 10},
	 .chunk = {3, 4, 5},
	 .codecs = "[" FIXTURE_TRANSPOSE("2,0,1") "," GZIP "]",
	 .skip = 3,
	 .fill = 0x1234},
	{.path = "blosc", .dtype = "uint64", .ndim = 2, .shape = {100, 20}, .chunk = {30, 7}, .codecs = "[" BLOSC("8") "]"},
	{.path = "sharded",
	 .ndim = 2,
	 .shape = {50, 40},
	 .chunk = {20, 16},
	 .codecs = "[" FIXTURE_SHARDING("5,4", FIXTURE_BYTES, CRC_INDEX, "end") "]",
	 .skip = 4,
	 .skip_inner = 3,
	 .fill = 0xffff},
	{.path = "sharded_start",
	 .dtype = "float64",
	 .ndim = 3,
	 .shape = {9, 10, 11},
	 .chunk = {4, 6, 8},
	 .codecs = "[" FIXTURE_SHARDING("2,3,4", ZSTD "," FIXTURE_CRC32C, CRC_INDEX, "start") "]",
	 .skip_inner = 2,
	 .fill = 5},
	{.path = "nested",
	 .dtype = "uint32",
	 .ndim = 2,
	 .shape = {40, 40},
	 .chunk = {16, 24},
	 .codecs = "[" FIXTURE_SHARDING("8,12", FIXTURE_SHARDING("2,4", FIXTURE_BYTES, CRC_INDEX, "start"), FIXTURE_BYTES,
									"end") "]",
	 .skip = 5,
	 .skip_inner = 3,
	 .fill = 1 << 20},
	{.path = "nested_transposed",
	 .ndim = 2,
	 .shape = {30, 30},
	 .chunk = {16, 24},
	 .codecs =
		 "[" FIXTURE_SHARDING("8,12", FIXTURE_TRANSPOSE("1,0") "," FIXTURE_SHARDING("4,2", ZSTD, CRC_INDEX, "end"),
							  FIXTURE_BYTES, "end") "]"},
	{.path = "shard_behind_a_codec",
	 .ndim = 2,
	 .shape = {30, 20},
	 .chunk = {8, 8},
	 .codecs = "[" FIXTURE_SHARDING("4,2", ZSTD, CRC_INDEX, "end") "," FIXTURE_CRC32C "]",
	 .skip = 3,
	 .fill = 8},
	{.path = "five_axes",
	 .dtype = "uint8",
	 .ndim = 5,
	 .shape = {3, 1, 4, 2, 5},
	 .chunk = {2, 1, 3, 1, 4},
	 .codecs = "[" ZSTD "]",
	 .skip = 4},
	{.path = "empty", .ndim = 2, .shape = {0, 9}, .chunk = {3, 3}},
};
#define FIXTURES ARRAY_LEN(fixtures)

static struct fixture_env env;
static struct fixture made[FIXTURES];
static struct fixture_array arrays[FIXTURES];

static void open_all(const struct fixture_limits *limits)
{
	fixture_env_open(&env, limits);
	for (size_t i = 0; i < FIXTURES; i++) {
		made[i] = fixtures[i];
		fixture_put(env.env.store, &made[i]);
		fixture_array_open(&env, made[i].path, &arrays[i]);
	}
}

static void close_all(void)
{
	fixture_env_settle(&env);
	for (size_t i = 0; i < FIXTURES; i++)
		fixture_array_close(&arrays[i]);
	fixture_env_close(&env);
}

static int check_random(size_t i, uint64_t *state)
{
	uint64_t bytes = fixture_bytes(&made[i]), offset = test_random(state) % (bytes + 1);
	uint64_t most = test_random(state) % 3 ? MIN(bytes - offset, 100) : bytes - offset;
	return fixture_check(&made[i], &arrays[i], offset, (size_t)(test_random(state) % (most + 1)), NULL);
}

static void check_all(uint64_t *state, int rounds)
{
	for (size_t i = 0; i < FIXTURES; i++) {
		int rc = fixture_check(&made[i], &arrays[i], 0, (size_t)fixture_bytes(&made[i]), NULL);
		for (int round = 0; round < rounds && !rc; round++)
			rc = check_random(i, state);
		ck_assert_msg(rc == 0, "%s: %d %s", made[i].path, rc, err_message());
	}
}

/* At most one chunk, the largest of all, is over a budget that is smaller. */
static void check_budget(uint64_t cache_bytes)
{
	ck_assert_uint_le(cache_used(env.env.cache), MAX(cache_bytes, 4096));
}

static const struct fixture_limits environments[] = {
	{.width = 0},
	{.width = 2},
	{.width = 0, .cache_bytes = 1}, /* less than any chunk */
	{.width = 2, .cache_bytes = 1},
	{.width = 2, .cache_bytes = 4000}, /* a few chunks of the small ones */
	{.width = 2, .max_indexes = 1},
};

START_TEST(every_range_is_what_a_loop_over_the_elements_gives)
{
	uint64_t state = test_seed();
	open_all(&environments[_i]);
	check_all(&state, 60);
	check_budget(environments[_i].cache_bytes ? environments[_i].cache_bytes : 1 << 20);
	close_all();
}
END_TEST

START_TEST(the_same_when_every_load_goes_through_the_fetch_slots)
{
	uint64_t state = test_seed();
	const struct mem_fault slow = {.key_part = "", .delay_ms = 1, .short_read = 50};
	struct fixture_limits limits = environments[_i];
	if (limits.width)
		limits.width = 16;
	open_all(&limits);
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &slow, 1), 0);
	check_all(&state, 1);
	close_all();
}
END_TEST

START_TEST(the_same_where_ranges_are_dear)
{
	uint64_t state = test_seed();
	const struct mem_fault dear = {.key_part = "", .dear = true, .short_read = _i % 2 ? 50 : 0};
	open_all(&environments[_i]);
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &dear, 1), 0);
	check_all(&state, 20);
	check_budget(environments[_i].cache_bytes ? environments[_i].cache_bytes : 1 << 20);
	close_all();
}
END_TEST

/* ------------------------------------------------ random geometries ------------------------------------------------ */

static void print_shape(struct str *str, const uint64_t *shape, int n)
{
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i ? "," : "", shape[i]);
}

static void append_order(struct str *str, int n, uint64_t *state)
{
	uint64_t order[FIXTURE_DIMS];
	for (int i = 0; i < n; i++)
		order[i] = (uint64_t)i;
	for (int i = n - 1; i > 0; i--) {
		int j = (int)(test_random(state) % (uint64_t)(i + 1));
		uint64_t at = order[i];
		order[i] = order[j];
		order[j] = at;
	}
	str_append(str, "{\"name\":\"transpose\",\"configuration\":{\"order\":[");
	print_shape(str, order, n);
	str_append(str, "]}},");
}

static const char *const tails[] = {FIXTURE_BYTES, FIXTURE_BIG "," FIXTURE_CRC32C, ZSTD, GZIP};

/* A chain for a chunk of that shape; *ret_top: it is sharding alone. */
static void append_chain(struct str *str, const uint64_t *chunk, int n, uint64_t *state, int depth, bool *ret_top)
{
	*ret_top = false;
	if (test_random(state) % 3 == 0 && n) {
		append_order(str, n, state);
		str_append(str, tails[test_random(state) % ARRAY_LEN(tails)]);
		return;
	}
	if (depth == 2 || test_random(state) % 3 == 0) {
		str_append(str, tails[test_random(state) % ARRAY_LEN(tails)]);
		return;
	}
	uint64_t inner[FIXTURE_DIMS];
	for (int i = 0; i < n; i++) {
		do
			inner[i] = 1 + test_random(state) % chunk[i];
		while (chunk[i] % inner[i]);
	}
	str_append(str, "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[");
	print_shape(str, inner, n);
	str_append(str, "],\"codecs\":[");
	bool inside;
	append_chain(str, inner, n, state, depth + 1, &inside);
	str_appendf(str, "],\"index_codecs\":[%s],\"index_location\":\"%s\"}}",
				test_random(state) % 2 ? CRC_INDEX : FIXTURE_BYTES, test_random(state) % 2 ? "start" : "end");
	*ret_top = true;
}

static void make_random(struct fixture *fixture, struct str *codecs, uint64_t *state)
{
	static const char *const dtypes[] = {"uint8", "int16", "r24", "float32", "r40", "complex64", "uint64"};
	bool top;
	*fixture = (struct fixture){.path = "random",
								.dtype = dtypes[test_random(state) % ARRAY_LEN(dtypes)],
								.ndim = (int)(test_random(state) % 5),
								.fill = test_random(state),
								.skip = (unsigned)(test_random(state) % 4)};
	for (int i = 0; i < fixture->ndim; i++) {
		fixture->shape[i] = 1 + test_random(state) % (fixture->ndim > 2 ? 9 : 40);
		fixture->chunk[i] = 1 + test_random(state) % (fixture->shape[i] + 3);
	}
	str_append(codecs, "[");
	append_chain(codecs, fixture->chunk, fixture->ndim, state, 0, &top);
	str_append(codecs, "]");
	fixture->codecs = codecs->text;
	fixture->skip_inner = top ? (unsigned)(test_random(state) % 4) : 0;
}

START_TEST(random_arrays_with_random_codecs_are_read_right)
{
	uint64_t state = test_seed();
	for (int round = 0; round < 60; round++) {
		struct fixture fixture;
		struct fixture_array array;
		autostr(codecs);
		make_random(&fixture, &codecs, &state);
		fixture_env_open(&env, &(struct fixture_limits){.width = round % 3, .cache_bytes = round % 2 ? 1 << 20 : 500});
		fixture_put(env.env.store, &fixture);
		fixture_array_open(&env, fixture.path, &array);
		uint64_t bytes = fixture_bytes(&fixture);
		int rc = fixture_check(&fixture, &array, 0, (size_t)bytes, NULL);
		for (int i = 0; i < 20 && !rc; i++) {
			uint64_t offset = test_random(&state) % bytes;
			rc = fixture_check(&fixture, &array, offset, (size_t)(test_random(&state) % (bytes - offset + 1)), NULL);
		}
		ck_assert_msg(rc == 0, "round %d, %s: %d %s", round, codecs.text, rc, err_message());
		fixture_env_settle(&env);
		fixture_array_close(&array);
		fixture_env_close(&env);
	}
}
END_TEST

/* ------------------------------------------------ threads ------------------------------------------------ */

#define THREADS 8

struct reader {
	pthread_t thread;
	uint64_t state;
	int rounds;
	int rc;
	char message[ERR_TEXT_BYTES];
};

static void *read_randomly(void *arg)
{
	struct reader *reader = arg;
	for (int round = 0; round < reader->rounds && !reader->rc; round++)
		reader->rc = check_random(test_random(&reader->state) % FIXTURES, &reader->state);
	snprintf(reader->message, sizeof(reader->message), "%s", err_message());
	return NULL;
}

static void run_readers(void *(*main)(void *), int rounds, uint64_t seed)
{
	struct reader readers[THREADS] = {0};
	for (int t = 0; t < THREADS; t++) {
		readers[t].state = seed + (uint64_t)t * 1000003;
		readers[t].rounds = rounds;
		ck_assert_int_eq(pthread_create(&readers[t].thread, NULL, main, &readers[t]), 0);
	}
	for (int t = 0; t < THREADS; t++)
		pthread_join(readers[t].thread, NULL);
	for (int t = 0; t < THREADS; t++)
		ck_assert_msg(readers[t].rc == 0, "%d %s", readers[t].rc, readers[t].message);
}

START_TEST(threads_that_share_a_cache_get_their_own_bytes)
{
	uint64_t seed = test_seed();
	open_all(&environments[_i]);
	run_readers(read_randomly, 60, seed);
	close_all();
}
END_TEST

static void *read_everything(void *arg)
{
	struct reader *reader = arg;
	for (size_t i = 0; i < FIXTURES && !reader->rc; i++)
		reader->rc = fixture_check(&made[i], &arrays[i], 0, (size_t)fixture_bytes(&made[i]), NULL);
	snprintf(reader->message, sizeof(reader->message), "%s", err_message());
	return NULL;
}

START_TEST(who_comes_while_a_chunk_is_loaded_waits_for_it_and_loads_nothing)
{
	const struct mem_fault slow = {.key_part = "", .delay_ms = 2};
	open_all(&(struct fixture_limits){.width = 8});
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &slow, 1), 0);
	mem_store_reset_counts(env.env.store);
	run_readers(read_everything, 1, 0);
	/* every value that is there was opened once, every key that is not was asked for once */
	for (size_t i = 0; i < FIXTURES; i++) {
		uint64_t chunks = 1;
		for (int a = 0; a < made[i].ndim; a++)
			chunks *= (made[i].shape[a] + made[i].chunk[a] - 1) / made[i].chunk[a];
		autofree char *prefix = str_join_key(made[i].path, "c");
		ck_assert_msg(mem_store_counts(env.env.store, prefix).opens == chunks, "%s: %" PRIu64 " opens of %" PRIu64,
					  prefix, mem_store_counts(env.env.store, prefix).opens, chunks);
	}
	close_all();
}
END_TEST

static const size_t contested = 10; /* "sharded" */

static void *read_one_chunk(void *arg)
{
	struct reader *reader = arg;
	reader->rc = fixture_check(&made[contested], &arrays[contested], 0, 8, NULL);
	snprintf(reader->message, sizeof(reader->message), "%s", err_message());
	return NULL;
}

START_TEST(one_chunk_that_many_want_is_loaded_once_even_without_room_for_it)
{
	/* long enough for all to have asked before it comes */
	const struct mem_fault slow = {.key_part = "sharded/c", .delay_ms = 300};
	open_all(&(struct fixture_limits){.width = 8, .cache_bytes = 1});
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &slow, 1), 0);
	mem_store_reset_counts(env.env.store);
	run_readers(read_one_chunk, 1, 0);
	ck_assert_uint_eq(mem_store_counts(env.env.store, "sharded/c").opens, 1);
	close_all();
}
END_TEST

/* A failure reaches all who wait, with its message, and each request is answered. */
static void *read_failing(void *arg)
{
	struct reader *reader = arg;
	uint8_t got[64];
	int rc = fixture_read(&arrays[contested], 0, sizeof(got), got, NULL);
	snprintf(reader->message, sizeof(reader->message), "%s", err_message());
	reader->rc = rc == -EACCES && !strncmp(reader->message, "sharded/c/0/0: ", 15) ? 0 : rc ? rc : -EBADMSG;
	return NULL;
}

START_TEST(a_failure_reaches_everybody_who_waits)
{
	const struct mem_fault fault = {.key_part = "sharded/c/0/0", .delay_ms = 20, .open_errnum = EACCES};
	open_all(&(struct fixture_limits){.width = 4});
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &fault, 1), 0);
	run_readers(read_failing, 1, 0);
	close_all();
}
END_TEST

static Suite *read_suite(void)
{
	Suite *suite = suite_create("read");
	TCase *tcase = tcase_create("read");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, every_range_is_what_a_loop_over_the_elements_gives, 0, ARRAY_LEN(environments));
	tcase_add_loop_test(tcase, the_same_when_every_load_goes_through_the_fetch_slots, 1, 2);
	tcase_add_loop_test(tcase, the_same_when_every_load_goes_through_the_fetch_slots, 3, 4);
	tcase_add_loop_test(tcase, the_same_where_ranges_are_dear, 0, ARRAY_LEN(environments));
	tcase_add_test(tcase, random_arrays_with_random_codecs_are_read_right);
	tcase_add_loop_test(tcase, threads_that_share_a_cache_get_their_own_bytes, 0, ARRAY_LEN(environments));
	tcase_add_test(tcase, who_comes_while_a_chunk_is_loaded_waits_for_it_and_loads_nothing);
	tcase_add_test(tcase, one_chunk_that_many_want_is_loaded_once_even_without_room_for_it);
	tcase_add_test(tcase, a_failure_reaches_everybody_who_waits);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(read_suite)
