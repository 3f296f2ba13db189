/*
 * test_cache.c: the answers, single flight, replacement, indexes, owners, reservations, the budget under load.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"
#include "../lib/until.h"

#include "base/base.h"
#include "base/stats.h"
#include "cache/cache.h"
#include "cache/entries.h"

#define KIB UINT64_C(1024)
#define CHUNK (4 * KIB)

static struct cache *make_cache(uint64_t bytes, unsigned max_indexes)
{
	struct cache *cache;
	ck_assert_int_eq(cache_new(bytes, max_indexes, &cache), 0);
	return cache;
}

static struct cache_key chunk_key(uint64_t number)
{
	return (struct cache_key){.owner = 1, .level = 0, .number = number};
}

static struct cache_key index_key(uint64_t number)
{
	return (struct cache_key){.owner = 1, .level = 1, .number = number};
}

static void count_release(void *arg)
{
	atomic_fetch_add((atomic_int *)arg, 1);
}

static uint8_t foreign[64];

/* A buffer whose releases are counted; it stands for as many bytes as a test says. */
static struct buf *counted_buf(atomic_int *released)
{
	struct buf *buf;
	ck_assert_int_eq(buf_wrap(foreign, sizeof(foreign), count_release, released, &buf), 0);
	return buf;
}

static atomic_int ignored;

static enum cache_answer ask(struct cache *cache, struct cache_key key)
{
	struct buf *buf = NULL;
	int rc;
	enum cache_answer answer = cache_get(cache, key, false, NULL, &buf, &rc);
	buf_unref(buf);
	return answer;
}

static void never_granted(struct reservation *reservation)
{
	ck_abort_msg("granted a second time");
}

/* As a load does: reserve, fill. */
static void fill(struct cache *cache, struct cache_key key, uint64_t bytes, atomic_int *released)
{
	struct reservation reservation = {.bytes = bytes, .granted = never_granted};
	ck_assert(cache_reserve(cache, &reservation));
	autobuf buf = counted_buf(released);
	cache_fill(cache, key, buf, bytes);
}

static void load(struct cache *cache, struct cache_key key, uint64_t bytes, atomic_int *released)
{
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	fill(cache, key, bytes, released);
}

/* Asks, and loads what is not there; whether it was. */
static bool use(struct cache *cache, struct cache_key key, uint64_t bytes)
{
	enum cache_answer answer = ask(cache, key);
	if (answer == CACHE_LOAD)
		fill(cache, key, bytes, &ignored);
	return answer == CACHE_HIT;
}

struct told {
	struct cache_waiter waiter;
	int times, rc;
	struct buf *buf;
	char message[ERR_TEXT_BYTES];
};

static void note_told(struct cache_waiter *waiter, struct buf *buf, int rc)
{
	struct told *told = container_of(waiter, struct told, waiter);
	told->times++;
	told->rc = rc;
	told->buf = buf;
	snprintf(told->message, sizeof(told->message), "%s", rc ? err_message() : "");
	err_set(EINVAL, "what a waiter does leaves a message");
}

START_TEST(the_first_loads_others_join_and_all_are_told)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct told told[3] = {{.waiter.ready = note_told}, {.waiter.ready = note_told}, {.waiter.ready = note_told}};
	atomic_int released = 0;
	autobuf buf = NULL;
	int rc = 77;
	ck_assert_int_eq(cache_get(cache, chunk_key(5), false, &told[0].waiter, &buf, &rc), CACHE_LOAD);
	ck_assert_int_eq(cache_get(cache, chunk_key(5), false, &told[1].waiter, &buf, &rc), CACHE_JOINED);
	ck_assert_int_eq(cache_get(cache, chunk_key(5), true, NULL, &buf, &rc), CACHE_JOINED);
	/* the loader may wait like the others */
	cache_join(cache, chunk_key(5), &told[2].waiter);
	ck_assert_ptr_null(buf);
	fill(cache, chunk_key(5), 100, &released);
	ck_assert_int_eq(told[0].times, 0);
	for (int i = 1; i < 3; i++) {
		ck_assert_int_eq(told[i].times, 1);
		ck_assert_int_eq(told[i].rc, 0);
		ck_assert_ptr_eq(told[i].buf->data, foreign);
	}
	ck_assert_int_eq(cache_get(cache, chunk_key(5), false, &told[0].waiter, &buf, &rc), CACHE_HIT);
	ck_assert_ptr_eq(buf->data, foreign);
	ck_assert_int_eq(rc, 77);
	ck_assert_int_eq(told[0].times, 0);
	cache_free(cache);
	ck_assert_msg(!atomic_load(&released), "a hit keeps its buffer");
	buf_unref(buf);
	buf = NULL;
	ck_assert_int_eq(atomic_load(&released), 1);
}
END_TEST

START_TEST(keys_differ_by_owner_level_and_number)
{
	static const struct cache_key keys[] = {{1, 0, 0}, {2, 0, 0},		   {1, 1, 0},	{1, 2, 0},		   {1, 0, 1},
											{0, 1, 1}, {1, 0, UINT64_MAX}, {1, 256, 0}, {UINT64_MAX, 0, 0}};
	struct cache *cache = make_cache(KIB * KIB, 8);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ck_assert(!cache_peek(cache, keys[i]));
		ck_assert_int_eq(ask(cache, keys[i]), CACHE_LOAD);
		ck_assert(cache_peek(cache, keys[i]));
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		fill(cache, keys[i], 10, &ignored);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		ck_assert_int_eq(ask(cache, keys[i]), CACHE_HIT);
		ck_assert(cache_peek(cache, keys[i]));
	}
	cache_free(cache);
}
END_TEST

START_TEST(absent_is_a_hit_without_a_buffer)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct told told = {.waiter.ready = note_told};
	struct cache_key key = _i ? index_key(3) : chunk_key(3);
	struct buf *buf = NULL;
	int rc;
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	cache_join(cache, key, &told.waiter);
	cache_fill(cache, key, NULL, 0);
	ck_assert_int_eq(told.times, 1);
	ck_assert_int_eq(told.rc, 0);
	ck_assert_ptr_null(told.buf);
	ck_assert_int_eq(cache_get(cache, key, false, NULL, &buf, &rc), CACHE_HIT);
	ck_assert_ptr_null(buf);
	cache_free(cache);
}
END_TEST

START_TEST(a_failure_travels_with_its_message_and_is_remembered_for_a_second)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct told told[2] = {{.waiter.ready = note_told}, {.waiter.ready = note_told}};
	struct cache_key key = _i ? index_key(3) : chunk_key(3);
	struct buf *buf = NULL;
	int rc = 0;
	uint64_t used = cache_used(cache);
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	for (int i = 0; i < 2; i++)
		cache_join(cache, key, &told[i].waiter);
	cache_fail(cache, key, err_set(EACCES, "temp/c/3: no access"));
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(told[i].times, 1);
		ck_assert_int_eq(told[i].rc, -EACCES);
		ck_assert_ptr_null(told[i].buf);
		ck_assert_str_eq(told[i].message, "temp/c/3: no access");
	}
	err_set(EIO, "another");
	ck_assert(!cache_peek(cache, key));
	ck_assert_int_eq(cache_get(cache, key, false, &told[0].waiter, &buf, &rc), CACHE_FAILED);
	ck_assert_int_eq(rc, -EACCES);
	ck_assert_str_eq(err_message(), "temp/c/3: no access");
	ck_assert_int_eq(told[0].times, 1);
	sleep_us(1010000);
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	ck_assert_uint_eq(cache_used(cache), used);
	ck_assert_int_eq(ask(cache, key), CACHE_JOINED);
	fill(cache, key, 100, &ignored);
	ck_assert_int_eq(ask(cache, key), CACHE_HIT);
	cache_free(cache);
}
END_TEST

START_TEST(a_value_that_had_changed_is_not_remembered)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct cache_key key = _i ? index_key(3) : chunk_key(3);
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	cache_fail(cache, key, err_set(ESTALE, "temp/c/3: replaced"));
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	fill(cache, key, 100, &ignored);
	cache_free(cache);
}
END_TEST

START_TEST(what_is_dropped_is_loaded_again_and_a_load_goes_on)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct cache_key key = _i ? index_key(3) : chunk_key(3);
	uint64_t used = cache_used(cache);
	cache_drop(cache, key);
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	fill(cache, key, 100, &ignored);
	cache_drop(cache, key);
	ck_assert_uint_eq(cache_used(cache), used);
	ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
	cache_drop(cache, key);
	ck_assert_int_eq(ask(cache, key), CACHE_JOINED);
	fill(cache, key, 100, &ignored);
	ck_assert_int_eq(ask(cache, key), CACHE_HIT);
	cache_free(cache);
}
END_TEST

START_TEST(an_abandoned_load_is_as_if_it_never_was_unless_somebody_joined)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	struct told told = {.waiter.ready = note_told};
	struct buf *buf = NULL;
	int rc;
	uint64_t used = cache_used(cache);
	ck_assert_int_eq(cache_get(cache, chunk_key(1), true, NULL, &buf, &rc), CACHE_LOAD);
	ck_assert(cache_abandon(cache, chunk_key(1)));
	ck_assert(!cache_peek(cache, chunk_key(1)));
	ck_assert_uint_eq(cache_used(cache), used);

	ck_assert_int_eq(cache_get(cache, chunk_key(1), true, NULL, &buf, &rc), CACHE_LOAD);
	ck_assert_int_eq(cache_get(cache, chunk_key(1), false, &told.waiter, &buf, &rc), CACHE_JOINED);
	ck_assert(!cache_abandon(cache, chunk_key(1)));
	ck_assert_int_eq(told.times, 0);
	fill(cache, chunk_key(1), 10, &ignored);
	ck_assert_int_eq(told.times, 1);
	cache_free(cache);
}
END_TEST

START_TEST(what_a_reader_leaves_behind_is_dropped_unless_it_proved_worth_keeping)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	atomic_int released = 0;
	load(cache, chunk_key(1), 100, &released);
	cache_discard(cache, chunk_key(1));
	ck_assert_int_eq(atomic_load(&released), 1);
	ck_assert_uint_eq(cache_used(cache), 0);
	cache_discard(cache, chunk_key(1));
	cache_discard(cache, chunk_key(2));

	load(cache, chunk_key(1), 100, &released); /* asked for again: kept */
	cache_discard(cache, chunk_key(1));
	ck_assert_int_eq(ask(cache, chunk_key(1)), CACHE_HIT);

	ck_assert_int_eq(ask(cache, chunk_key(3)), CACHE_LOAD);
	cache_discard(cache, chunk_key(3));
	ck_assert_int_eq(ask(cache, chunk_key(3)), CACHE_JOINED);
	fill(cache, chunk_key(3), 100, &released);
	cache_free(cache);
	ck_assert_int_eq(atomic_load(&released), 3);
}
END_TEST

START_TEST(reads_ahead_are_counted_apart)
{
	static const struct {
		bool first_ahead, join, then_ahead;
		int hits, misses, joins, loaded, used;
	} row[] = {
		{false, false, false, 1, 1, 0, 0, 0}, {true, false, false, 1, 0, 0, 1, 1}, {true, true, false, 1, 0, 1, 1, 1},
		{true, false, true, 0, 0, 0, 1, 0},	  {false, true, true, 0, 1, 1, 0, 0},
	};
	struct cache *cache = make_cache(KIB * KIB, 4);
	uint64_t hits = stats_get(cache_hits), misses = stats_get(cache_misses), joins = stats_get(cache_joins);
	uint64_t loaded = stats_get(ahead_loads), used = stats_get(ahead_used);
	struct buf *buf = NULL;
	int rc;
	ck_assert_int_eq(cache_get(cache, chunk_key(1), row[_i].first_ahead, NULL, &buf, &rc), CACHE_LOAD);
	if (row[_i].join)
		ck_assert_int_eq(ask(cache, chunk_key(1)), CACHE_JOINED);
	fill(cache, chunk_key(1), 10, &ignored);
	ck_assert_int_eq(cache_get(cache, chunk_key(1), row[_i].then_ahead, NULL, &buf, &rc), CACHE_HIT);
	buf_unref(buf);
	ck_assert_uint_eq(stats_get(cache_hits) - hits, row[_i].hits);
	ck_assert_uint_eq(stats_get(cache_misses) - misses, row[_i].misses);
	ck_assert_uint_eq(stats_get(cache_joins) - joins, row[_i].joins);
	ck_assert_uint_eq(stats_get(ahead_loads) - loaded, row[_i].loaded);
	ck_assert_uint_eq(stats_get(ahead_used) - used, row[_i].used);
	cache_free(cache);
}
END_TEST

/* Eight threads want all keys, in orders of their own. */
enum { FLIGHT_THREADS = 8, FLIGHT_KEYS = 400 };

struct flight {
	struct cache *cache;
	atomic_int loads[FLIGHT_KEYS];
	atomic_int ready, failed, hits, joined;
};

struct flight_thread {
	struct flight *flight;
	uint64_t random;
};

struct flight_waiter {
	struct cache_waiter waiter;
	struct flight *flight;
};

static void flight_ready(struct cache_waiter *waiter, struct buf *buf, int rc)
{
	struct flight_waiter *mine = container_of(waiter, struct flight_waiter, waiter);
	atomic_fetch_add(&mine->flight->ready, 1);
	if (rc || !buf || buf->size != CHUNK)
		atomic_fetch_add(&mine->flight->failed, 1);
	free(mine);
}

static void fly(struct flight *flight, uint64_t number)
{
	struct flight_waiter *waiter = malloc(sizeof(*waiter));
	struct reservation reservation = {.bytes = CHUNK, .granted = never_granted};
	struct buf *buf = NULL;
	int rc;
	*waiter = (struct flight_waiter){{.ready = flight_ready}, flight};
	switch (cache_get(flight->cache, chunk_key(number), false, &waiter->waiter, &buf, &rc)) {
	case CACHE_LOAD:
		atomic_fetch_add(&flight->loads[number], 1);
		cache_join(flight->cache, chunk_key(number), &waiter->waiter);
		if (!cache_reserve(flight->cache, &reservation) || buf_new(CHUNK, &buf))
			abort();
		if (number % 4 == 0)
			sleep_us(100);
		cache_fill(flight->cache, chunk_key(number), buf, CHUNK);
		break;
	case CACHE_JOINED:
		atomic_fetch_add(&flight->joined, 1);
		break;
	case CACHE_HIT:
		atomic_fetch_add(&flight->hits, 1);
		flight_ready(&waiter->waiter, buf, 0);
		break;
	case CACHE_FAILED:
		flight_ready(&waiter->waiter, NULL, rc);
		break;
	}
	buf_unref(buf);
}

static void *fly_all(void *arg)
{
	struct flight_thread *thread = arg;
	uint64_t start = test_random(&thread->random) % 8;
	for (uint64_t i = 0; i < FLIGHT_KEYS; i++)
		fly(thread->flight, (start + i) % FLIGHT_KEYS);
	return NULL;
}

START_TEST(eight_threads_load_each_chunk_once)
{
	static struct flight flight;
	struct flight_thread parts[FLIGHT_THREADS];
	pthread_t threads[FLIGHT_THREADS];
	uint64_t seed = test_seed(), gauge = stats_get(cache_bytes);
	memset(&flight, 0, sizeof(flight));
	flight.cache = make_cache(4 * CHUNK * FLIGHT_KEYS, 4);
	for (int i = 0; i < FLIGHT_THREADS; i++) {
		parts[i] = (struct flight_thread){&flight, seed + (uint64_t)i};
		pthread_create(&threads[i], NULL, fly_all, &parts[i]);
	}
	for (int i = 0; i < FLIGHT_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < FLIGHT_KEYS; i++)
		ck_assert_int_eq(atomic_load(&flight.loads[i]), 1);
	ck_assert_int_eq(atomic_load(&flight.ready), FLIGHT_THREADS * FLIGHT_KEYS);
	ck_assert_int_eq(atomic_load(&flight.failed), 0);
	ck_assert_int_eq(atomic_load(&flight.hits) + atomic_load(&flight.joined), (FLIGHT_THREADS - 1) * FLIGHT_KEYS);
	ck_assert_uint_eq(stats_get(cache_bytes) - gauge, cache_used(flight.cache));
	cache_drop_owner(flight.cache, 1);
	ck_assert_uint_eq(cache_used(flight.cache), 0);
	cache_free(flight.cache);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
}
END_TEST

/* Hot chunks come, go, and come back; then a scan reads what is many times the budget. */
static const struct {
	uint64_t budget_chunks, hot, scanned;
} scans[] = {{256, 32, 256 * 20}, {256, 128, 256 * 20}, {64, 16, 64 * 50}, {2048, 512, 2048 * 8}};

START_TEST(a_scan_does_not_flush_what_was_asked_for_again)
{
	uint64_t each = CHUNK + ENTRY_BYTES, hits = 0, numbers = 1000000;
	struct cache *cache = make_cache(scans[_i].budget_chunks * each, 4);
	for (uint64_t i = 0; i < scans[_i].hot; i++)
		use(cache, chunk_key(i), CHUNK);
	for (uint64_t i = 0; i < scans[_i].budget_chunks * 5 / 4; i++)
		use(cache, chunk_key(numbers++), CHUNK);
	for (uint64_t i = 0; i < scans[_i].hot; i++)
		use(cache, chunk_key(i), CHUNK);
	/* a scan hits each chunk several times, and then never again */
	for (uint64_t i = 0; i < scans[_i].scanned; i++, numbers++)
		for (int twice = 0; twice < 2; twice++)
			use(cache, chunk_key(numbers), CHUNK);
	for (uint64_t i = 0; i < scans[_i].hot; i++)
		hits += ask(cache, chunk_key(i)) == CACHE_HIT;
	/* some were still on probation when they were asked for again: hash and stripes are not quite fair */
	ck_assert_msg(hits * 10 >= scans[_i].hot * 9, "%llu of %llu are left", (unsigned long long)hits,
				  (unsigned long long)scans[_i].hot);
	ck_assert_uint_le(cache_used(cache), cache_budget(cache));
	for (uint64_t i = 0; i < scans[_i].hot; i++)
		if (!cache_peek(cache, chunk_key(i)))
			ck_assert_int_eq(ask(cache, chunk_key(i)), CACHE_LOAD);
	cache_free(cache);
}
END_TEST

START_TEST(a_scan_does_not_flush_the_index_that_it_uses)
{
	struct cache *cache = make_cache(64 * CHUNK, 4);
	int again = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		again += !use(cache, index_key(0), CHUNK);
		use(cache, chunk_key(i), CHUNK);
	}
	ck_assert_int_eq(again, 1);
	cache_free(cache);
}
END_TEST

START_TEST(indexes_do_not_push_out_chunks_beyond_a_quarter_of_the_budget)
{
	struct cache *cache = make_cache(100 * (CHUNK + ENTRY_BYTES), 1000);
	int left = 0;
	for (uint64_t i = 0; i < 70; i++)
		load(cache, chunk_key(i), CHUNK, &ignored);
	for (uint64_t i = 0; i < 300; i++)
		load(cache, index_key(i), CHUNK, &ignored);
	for (uint64_t i = 0; i < 70; i++)
		left += cache_peek(cache, chunk_key(i));
	ck_assert_int_ge(left, 68);
	cache_free(cache);
}
END_TEST

START_TEST(so_many_indexes_are_kept_and_the_others_release_their_values)
{
	struct cache *cache = make_cache(KIB * KIB, 4);
	atomic_int released = 0;
	for (uint64_t i = 0; i < 4; i++)
		load(cache, index_key(i), 100, &released);
	ck_assert_int_eq(atomic_load(&released), 0);
	ck_assert_int_eq(ask(cache, index_key(0)), CACHE_HIT);
	for (uint64_t i = 4; i < 7; i++)
		load(cache, index_key(i), 100, &released);
	ck_assert_int_eq(atomic_load(&released), 3);
	ck_assert_msg(cache_peek(cache, index_key(0)), "the one that was used last goes first");
	ck_assert(!cache_peek(cache, index_key(1)));

	for (uint64_t i = 100; i < 200; i++) {
		ck_assert_int_eq(ask(cache, index_key(i)), CACHE_LOAD);
		if (i % 2)
			cache_fill(cache, index_key(i), NULL, 0);
		else
			cache_fail(cache, index_key(i), err_set(EIO, "by the test"));
	}
	ck_assert_msg(cache_peek(cache, index_key(0)), "what holds no value counts as one");
	ck_assert_int_eq(atomic_load(&released), 3);
	load(cache, index_key(7), 100, &released);
	ck_assert_int_eq(atomic_load(&released), 4);
	cache_free(cache);
	ck_assert_int_eq(atomic_load(&released), 8);
}
END_TEST

START_TEST(an_owner_is_dropped_with_all_but_what_is_being_loaded)
{
	struct cache *cache = make_cache(4 * KIB * KIB, 64);
	atomic_int released = 0, others = 0;
	uint64_t gauge = stats_get(cache_bytes), a = cache_new_owner(cache), b = cache_new_owner(cache);
	ck_assert_uint_ne(a, b);
	ck_assert_uint_ne(a, 0);
	for (uint64_t i = 0; i < 300; i++) {
		load(cache, (struct cache_key){a, i % 10 == 0, i}, 100, &released);
		load(cache, (struct cache_key){b, i % 10 == 0, i}, 100, &others);
	}
	struct cache_key failed = {a, 0, 1000}, loading = {a, 0, 1001}, gone = {a, 0, 1002};
	ck_assert_int_eq(ask(cache, failed), CACHE_LOAD);
	cache_fail(cache, failed, err_set(EIO, "by the test"));
	load(cache, gone, 100, &released);
	cache_discard(cache, gone);
	ck_assert_int_eq(ask(cache, loading), CACHE_LOAD);
	cache_drop_owner(cache, a);
	ck_assert_int_eq(atomic_load(&released), 301);
	ck_assert_int_eq(atomic_load(&others), 0);
	ck_assert_int_eq(ask(cache, loading), CACHE_JOINED);
	ck_assert_int_eq(ask(cache, failed), CACHE_LOAD);
	ck_assert(cache_abandon(cache, failed));
	ck_assert_int_eq(ask(cache, (struct cache_key){b, 0, 1}), CACHE_HIT);
	fill(cache, loading, 100, &released);
	cache_drop_owner(cache, a);
	cache_drop_owner(cache, b);
	ck_assert_uint_eq(cache_used(cache), 0);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
	cache_free(cache);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
	ck_assert_int_eq(atomic_load(&released), 302);
	ck_assert_int_eq(atomic_load(&others), 300);
}
END_TEST

/* A value whose release is slow, or asks the cache: nobody may hold a lock meanwhile. */
struct caller {
	struct cache *cache;
	atomic_int peeks;
};

static void *peek_everywhere(void *arg)
{
	struct caller *caller = arg;
	for (uint64_t i = 0; i < 200; i++)
		cache_peek(caller->cache, i % 2 ? index_key(i) : chunk_key(i));
	atomic_fetch_add(&caller->peeks, 1);
	return NULL;
}

static void release_and_peek(void *arg)
{
	struct caller *caller = arg;
	pthread_t thread;
	int before = atomic_load(&caller->peeks);
	pthread_create(&thread, NULL, peek_everywhere, caller);
	for (int i = 0; i < 2000 && atomic_load(&caller->peeks) == before; i++)
		sleep_us(1000);
	bool answered = atomic_load(&caller->peeks) != before;
	pthread_detach(thread);
	if (!answered)
		atomic_fetch_sub(&caller->peeks, 1000);
}

START_TEST(no_lock_is_held_while_a_value_is_released)
{
	struct cache *cache = make_cache(8 * CHUNK, 1);
	struct caller caller = {.cache = cache};
	for (uint64_t i = 0; i < 3; i++) {
		autobuf buf = NULL;
		struct cache_key key = i ? index_key(i) : chunk_key(i);
		ck_assert_int_eq(buf_wrap(foreign, sizeof(foreign), release_and_peek, &caller, &buf), 0);
		ck_assert_int_eq(ask(cache, key), CACHE_LOAD);
		cache_fill(cache, key, buf, 0);
	}
	ck_assert_int_eq(atomic_load(&caller.peeks), 1); /* one index too many */
	cache_discard(cache, chunk_key(0));
	ck_assert_int_eq(atomic_load(&caller.peeks), 2);
	cache_drop_owner(cache, 1);
	ck_assert_msg(atomic_load(&caller.peeks) == 3, "the cache stands while a value is released");
	cache_free(cache);
}
END_TEST

START_TEST(a_hit_outlives_its_eviction)
{
	struct cache *cache = make_cache(2 * CHUNK, 1);
	struct buf *mine = NULL;
	autobuf hit = NULL;
	int rc;
	ck_assert_int_eq(buf_new(16, &mine), 0);
	memset(mine->data, 42, 16);
	ck_assert_int_eq(ask(cache, chunk_key(0)), CACHE_LOAD);
	cache_fill(cache, chunk_key(0), mine, 0);
	buf_unref(mine);
	ck_assert_int_eq(cache_get(cache, chunk_key(0), false, NULL, &hit, &rc), CACHE_HIT);
	uint64_t evictions = stats_get(cache_evictions);
	load(cache, chunk_key(1), 2 * CHUNK - ENTRY_BYTES, &ignored);
	ck_assert(!cache_peek(cache, chunk_key(0)));
	ck_assert_uint_eq(stats_get(cache_evictions), evictions + 1);
	for (int i = 0; i < 16; i++)
		ck_assert_int_eq(hit->data[i], 42);
	cache_free(cache);
}
END_TEST

/* Reservations that note the order in which they are granted. */
struct claim {
	struct reservation reservation;
	int *order, *n, name;
};

static void note_granted(struct reservation *reservation)
{
	struct claim *claim = container_of(reservation, struct claim, reservation);
	claim->order[(*claim->n)++] = claim->name;
}

START_TEST(reservations_are_granted_first_come_first_served)
{
	static const uint64_t bytes[] = {600, 10, 390, 700};
	struct cache *cache = make_cache(1000, 1);
	struct claim claims[5];
	int order[5], n = 0;
	uint64_t gauge = stats_get(cache_bytes);
	claims[4] = (struct claim){{.bytes = 1000, .granted = note_granted}, order, &n, 4};
	ck_assert(cache_reserve(cache, &claims[4].reservation));
	for (int i = 0; i < 4; i++) {
		claims[i] = (struct claim){{.bytes = bytes[i], .granted = note_granted}, order, &n, i};
		ck_assert(!cache_reserve(cache, &claims[i].reservation));
	}
	cache_release(cache, 500);
	ck_assert_msg(n == 0, "a small one passes");
	ck_assert(!cache_try_reserve(cache, 1));
	cache_release(cache, 400);
	ck_assert_int_eq(n, 2);
	cache_release(cache, 100);
	ck_assert_int_eq(n, 3);
	ck_assert_uint_eq(cache_used(cache), 1000);
	cache_release(cache, 600);
	cache_release(cache, 10);
	ck_assert_int_eq(n, 3);
	cache_release(cache, 390);
	ck_assert_int_eq(n, 4);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(order[i], i);
	cache_release(cache, 700);
	ck_assert_uint_eq(cache_used(cache), 0);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
	cache_free(cache);
}
END_TEST

START_TEST(what_exceeds_the_budget_is_granted_alone)
{
	struct cache *cache = make_cache(10 * CHUNK, 1);
	atomic_int released = 0;
	int order[3], n = 0;
	struct claim claims[3] = {
		{{.bytes = 2 * CHUNK, .granted = note_granted}, order, &n, 0},
		{{.bytes = 30 * CHUNK, .granted = note_granted}, order, &n, 1},
		{{.bytes = CHUNK, .granted = note_granted}, order, &n, 2},
	};
	for (uint64_t i = 0; i < 3; i++)
		load(cache, chunk_key(i), CHUNK, &released);
	ck_assert(cache_reserve(cache, &claims[0].reservation));
	ck_assert(!cache_reserve(cache, &claims[1].reservation));
	ck_assert(!cache_reserve(cache, &claims[2].reservation));
	ck_assert_int_eq(n, 0);
	cache_release(cache, 2 * CHUNK);
	ck_assert_int_eq(n, 1);
	ck_assert_int_eq(order[0], 1);
	ck_assert_int_eq(atomic_load(&released), 3);
	ck_assert_uint_eq(cache_used(cache), 30 * CHUNK);
	ck_assert(!cache_try_reserve(cache, 0));
	cache_release(cache, 30 * CHUNK);
	ck_assert_int_eq(n, 2);
	cache_release(cache, CHUNK);
	ck_assert_uint_eq(cache_used(cache), 0);
	cache_free(cache);
}
END_TEST

START_TEST(a_chunk_that_exceeds_the_budget_stays_until_room_is_needed)
{
	/* by itself; with what its load needed beside it */
	static const uint64_t reserved[] = {30 * CHUNK, 13 * CHUNK}, kept[] = {30 * CHUNK, 8 * CHUNK};
	struct cache *cache = make_cache(10 * CHUNK, 1);
	struct reservation reservation = {.bytes = reserved[_i], .granted = never_granted};
	autobuf buf = counted_buf(&ignored);
	load(cache, chunk_key(1), CHUNK, &ignored);
	ck_assert_int_eq(ask(cache, chunk_key(0)), CACHE_LOAD);
	ck_assert(cache_reserve(cache, &reservation));
	cache_fill(cache, chunk_key(0), buf, kept[_i]);
	cache_release(cache, reserved[_i] - kept[_i]);
	ck_assert_int_eq(ask(cache, chunk_key(0)), CACHE_HIT);
	load(cache, chunk_key(2), 5 * CHUNK, &ignored);
	ck_assert(!cache_peek(cache, chunk_key(0)));
	ck_assert_int_eq(ask(cache, chunk_key(2)), CACHE_HIT);
	cache_free(cache);
}
END_TEST

static const struct {
	const char *what;
	uint64_t entries, reserved; /* chunks, of 100 */
	uint64_t bytes;
	bool waiting, granted;
} tries[] = {
	{"half", 0, 0, 50 * CHUNK, false, true},
	{"more than half", 0, 0, 50 * CHUNK + 1, false, false},
	{"half with others", 0, 30, 20 * CHUNK, false, true},
	{"more than half with others", 0, 30, 20 * CHUNK + 1, false, false},
	{"beside more than half", 0, 60, 1, false, false},
	{"of old entries", 90, 0, 50 * CHUNK, false, true},
	{"of old entries, beside others", 70, 20, 30 * CHUNK, false, true},
	{"nothing passes those in line", 0, 40, 1, true, false},
	{"no number is too large", 0, 30, UINT64_MAX, false, false},
};

START_TEST(read_ahead_gets_up_to_half_of_the_budget_and_never_waits)
{
	struct cache *cache = make_cache(100 * CHUNK, 1);
	int order[1], n = 0;
	struct claim waiting = {{.bytes = 70 * CHUNK, .granted = note_granted}, order, &n, 0};
	for (uint64_t i = 0; i < tries[_i].entries; i++)
		load(cache, chunk_key(i), CHUNK, &ignored);
	struct reservation others = {.bytes = tries[_i].reserved * CHUNK, .granted = never_granted};
	ck_assert(cache_reserve(cache, &others));
	if (tries[_i].waiting)
		ck_assert(!cache_reserve(cache, &waiting.reservation));
	uint64_t used = cache_used(cache);
	ck_assert_msg(cache_try_reserve(cache, tries[_i].bytes) == tries[_i].granted, "%s", tries[_i].what);
	if (!tries[_i].granted)
		ck_assert_uint_eq(cache_used(cache), used);
	ck_assert_uint_le(cache_used(cache), cache_budget(cache));
	cache_release(cache, others.bytes);
	if (tries[_i].granted)
		cache_release(cache, tries[_i].bytes);
	ck_assert_int_eq(n, tries[_i].waiting);
	if (n)
		cache_release(cache, waiting.reservation.bytes);
	cache_drop_owner(cache, 1);
	ck_assert_uint_eq(cache_used(cache), 0);
	cache_free(cache);
}
END_TEST

START_TEST(entries_stay_while_it_is_reservations_that_are_in_the_way)
{
	struct cache *cache = make_cache(100 * CHUNK, 1);
	int order[1], n = 0;
	struct reservation others = {.bytes = 85 * CHUNK, .granted = never_granted};
	struct claim waiting = {{.bytes = 20 * CHUNK, .granted = note_granted}, order, &n, 0};
	for (uint64_t i = 0; i < 10; i++)
		load(cache, chunk_key(i), CHUNK, &ignored);
	ck_assert(cache_reserve(cache, &others));
	ck_assert(!cache_reserve(cache, &waiting.reservation));
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(cache_peek(cache, chunk_key(i)));
	cache_release(cache, 85 * CHUNK);
	ck_assert_int_eq(n, 1);
	for (uint64_t i = 0; i < 10; i++)
		ck_assert(cache_peek(cache, chunk_key(i)));
	cache_release(cache, 20 * CHUNK);
	cache_free(cache);
}
END_TEST

START_TEST(what_is_not_reserved_for_keeps_the_budget_too)
{
	struct cache *cache = make_cache(32 * KIB, 1);
	uint64_t gauge = stats_get(cache_bytes);
	for (uint64_t i = 0; i < 3000; i++) {
		ck_assert_int_eq(ask(cache, chunk_key(i)), CACHE_LOAD);
		if (_i)
			cache_fail(cache, chunk_key(i), err_set(EIO, "by the test"));
		else
			cache_fill(cache, chunk_key(i), NULL, 0);
		ck_assert_uint_le(cache_used(cache), cache_budget(cache));
	}
	ck_assert_int_eq(ask(cache, chunk_key(2999)), _i ? CACHE_FAILED : CACHE_HIT);
	cache_free(cache);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
}
END_TEST

/* Four threads load at random what is several times the budget: chunks, indexes, absent and failing ones, some too large. */
enum { LOAD_THREADS = 4 };

static const struct {
	uint64_t budget; /* chunks */
	int rounds, oversize;
} crowds[] = {{64, 3000, 0}, {64, 2000, 400}, {6, 3000, 0}, {3, 2000, 0}};

struct crowd {
	struct cache *cache;
	int rounds, oversize;
	uint64_t keys, reserved_most;
	atomic_int over, told, joined;
};

struct crowd_thread {
	struct crowd *crowd;
	uint64_t random;
};

struct crowd_claim {
	struct reservation reservation;
	atomic_bool granted;
};

struct crowd_waiter {
	struct cache_waiter waiter;
	struct crowd *crowd;
};

static void crowd_granted(struct reservation *reservation)
{
	atomic_store(&container_of(reservation, struct crowd_claim, reservation)->granted, true);
}

static void crowd_told(struct cache_waiter *waiter, struct buf *buf, int rc)
{
	struct crowd_waiter *mine = container_of(waiter, struct crowd_waiter, waiter);
	atomic_fetch_add(&mine->crowd->told, 1);
	free(mine);
}

static void crowd_reserve(struct crowd *crowd, uint64_t bytes)
{
	struct crowd_claim claim = {.reservation = {.bytes = bytes, .granted = crowd_granted}};
	if (cache_reserve(crowd->cache, &claim.reservation))
		return;
	for (int i = 0; i < 400000 && !atomic_load(&claim.granted); i++)
		sleep_us(50);
	if (atomic_load(&claim.granted))
		return;
	/* the claim is on this stack, and in line for ever */
	fprintf(stderr, "a reservation of %llu bytes hangs\n", (unsigned long long)bytes);
	abort();
}

static void crowd_load(struct crowd *crowd, struct cache_key key, uint64_t random)
{
	uint64_t bytes = CHUNK, scratch = random / 8 % CHUNK;
	struct buf *buf = NULL;
	switch (random % 16) {
	case 0: /* absent, as an index tells */
		cache_fill(crowd->cache, key, NULL, 0);
		return;
	case 1: /* fails without memory */
		cache_fail(crowd->cache, key, err_set(EIO, "by the test"));
		return;
	case 2: /* read ahead that gives up */
		if (cache_try_reserve(crowd->cache, bytes)) {
			cache_release(crowd->cache, bytes);
		} else if (cache_abandon(crowd->cache, key)) {
			return;
		}
		break;
	case 3:
		if (crowd->oversize && random / 16 % (uint64_t)crowd->oversize == 0)
			bytes = cache_budget(crowd->cache) + CHUNK;
		break;
	default:
		break;
	}
	crowd_reserve(crowd, bytes + scratch);
	if (buf_new(16, &buf))
		abort();
	if (random % 64 == 4)
		sleep_us(random / 64 % 100);
	cache_fill(crowd->cache, key, buf, bytes);
	buf_unref(buf);
	cache_release(crowd->cache, scratch);
}

static void *run_crowd(void *arg)
{
	struct crowd_thread *thread = arg;
	struct crowd *crowd = thread->crowd;
	for (int i = 0; i < crowd->rounds; i++) {
		uint64_t random = test_random(&thread->random), number = random % crowd->keys;
		struct cache_key key = random / 1000 % 8 ? chunk_key(number) : index_key(number % 20);
		struct crowd_waiter *waiter = malloc(sizeof(*waiter));
		struct buf *buf = NULL;
		int rc;
		*waiter = (struct crowd_waiter){{.ready = crowd_told}, crowd};
		enum cache_answer answer = cache_get(crowd->cache, key, false, &waiter->waiter, &buf, &rc);
		atomic_fetch_add(&crowd->joined, answer == CACHE_JOINED);
		buf_unref(buf);
		if (answer != CACHE_JOINED)
			free(waiter);
		if (answer == CACHE_LOAD)
			crowd_load(crowd, key, test_random(&thread->random));
		if (random % 512 == 0)
			cache_discard(crowd->cache, key);
		if (cache_used(crowd->cache) > crowd->reserved_most)
			atomic_fetch_add(&crowd->over, 1);
	}
	return NULL;
}

START_TEST(a_crowd_keeps_the_budget_and_nobody_waits_for_ever)
{
	uint64_t seed = test_seed(), gauge = stats_get(cache_bytes);
	struct crowd crowd = {
		.cache = make_cache(crowds[_i].budget * (CHUNK + ENTRY_BYTES), 8),
		.rounds = crowds[_i].rounds,
		.oversize = crowds[_i].oversize,
		.keys = crowds[_i].budget * 4,
	};
	/*
	 * Charges that meet while nothing can be evicted (what others hold is between two books) may go past the limit by
	 * themselves, each by an entry without bytes; and an oversize load has all and a chunk more.
	 */
	uint64_t slack = LOAD_THREADS * (ENTRY_BYTES + sizeof(struct err_text));
	crowd.reserved_most = cache_budget(crowd.cache) + slack + (crowds[_i].oversize ? 2 * CHUNK : 0);
	struct crowd_thread parts[LOAD_THREADS];
	pthread_t threads[LOAD_THREADS];
	for (int i = 0; i < LOAD_THREADS; i++) {
		parts[i] = (struct crowd_thread){&crowd, seed + (uint64_t)i};
		pthread_create(&threads[i], NULL, run_crowd, &parts[i]);
	}
	for (int i = 0; i < LOAD_THREADS; i++)
		pthread_join(threads[i], NULL);
	ck_assert_int_eq(atomic_load(&crowd.over), 0);
	ck_assert_int_eq(atomic_load(&crowd.told), atomic_load(&crowd.joined));
	ck_assert_uint_eq(stats_get(cache_bytes) - gauge, cache_used(crowd.cache));
	cache_drop_owner(crowd.cache, 1);
	ck_assert_uint_eq(cache_used(crowd.cache), 0);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
	cache_free(crowd.cache);
	ck_assert_uint_eq(stats_get(cache_bytes), gauge);
}
END_TEST

/*
 * A value whose release waits: what was evicted with it is out of its stripe, and not uncharged. The thread that evicts
 * finds somebody in line afterwards, for whom it has made room.
 */
struct slow_value {
	atomic_bool gate;
	atomic_int begun;
};

static void release_slowly(void *arg)
{
	struct slow_value *slow = arg;
	atomic_fetch_add(&slow->begun, 1);
	while (!atomic_load(&slow->gate))
		sleep_us(200);
}

enum maker { BY_RESERVE, BY_TRY, BY_DISCARD, BY_DROP, MAKERS };

struct making {
	struct cache *cache;
	enum maker maker;
	struct crowd_claim claim;
	atomic_bool reserved, returned;
};

static void *make_room(void *arg)
{
	struct making *making = arg;
	switch (making->maker) {
	case BY_RESERVE:
		atomic_store(&making->reserved, cache_reserve(making->cache, &making->claim.reservation));
		break;
	case BY_TRY:
		atomic_store(&making->reserved, cache_try_reserve(making->cache, making->claim.reservation.bytes));
		break;
	case BY_DISCARD:
		cache_discard(making->cache, chunk_key(0));
		break;
	case BY_DROP:
	default:
		cache_drop_owner(making->cache, 1);
		break;
	}
	atomic_store(&making->returned, true);
	return NULL;
}

START_TEST(who_lines_up_while_room_is_made_gets_it)
{
	struct cache *cache = make_cache(100 * KIB, 1);
	struct slow_value slow = {0};
	struct making maker = {cache, (enum maker)_i, {{.bytes = 40 * KIB, .granted = crowd_granted}, false}, false, false};
	struct making waiter = {cache, BY_RESERVE, {{.bytes = 95 * KIB, .granted = crowd_granted}, false}, false, false};
	struct reservation first = {.bytes = 60 * KIB, .granted = never_granted};
	struct reservation rest = {.bytes = 10 * KIB, .granted = never_granted};
	pthread_t threads[2];
	autobuf buf = NULL;
	ck_assert_int_eq(buf_wrap(foreign, sizeof(foreign), release_slowly, &slow, &buf), 0);
	ck_assert_int_eq(ask(cache, chunk_key(0)), CACHE_LOAD);
	ck_assert(cache_reserve(cache, &first));
	cache_fill(cache, chunk_key(0), buf, first.bytes);
	buf_unref(buf);
	buf = NULL;
	ck_assert(cache_reserve(cache, &rest));

	pthread_create(&threads[0], NULL, make_room, &maker);
	ck_assert(until(atomic_load(&slow.begun) == 1));
	pthread_create(&threads[1], NULL, make_room, &waiter);
	bool lined_up = until(atomic_load(&waiter.returned));
	cache_release(cache, rest.bytes);
	bool early = atomic_load(&waiter.claim.granted);
	atomic_store(&slow.gate, true);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	ck_assert_msg(lined_up, "the reservation spins");
	ck_assert(!early && !atomic_load(&waiter.reserved));
	ck_assert_msg(atomic_load(&waiter.claim.granted), "nobody tells who is in line");
	ck_assert(!atomic_load(&maker.reserved) && !atomic_load(&maker.claim.granted));
	cache_release(cache, waiter.claim.reservation.bytes);
	ck_assert_int_eq(atomic_load(&maker.claim.granted), _i == BY_RESERVE);
	if (_i == BY_RESERVE)
		cache_release(cache, maker.claim.reservation.bytes);
	ck_assert_uint_eq(cache_used(cache), 0);
	cache_free(cache);
}
END_TEST

START_TEST(no_cache_is_freed_too)
{
	cache_free(NULL);
	struct cache *cache = make_cache(1000, 0);
	ck_assert_uint_eq(cache_budget(cache), 1000);
	ck_assert_uint_eq(cache_used(cache), 0);
	cache_free(cache);
}
END_TEST

static Suite *cache_suite(void)
{
	Suite *suite = suite_create("cache");
	TCase *tcase = tcase_create("cache");
	tcase_add_test(tcase, the_first_loads_others_join_and_all_are_told);
	tcase_add_test(tcase, keys_differ_by_owner_level_and_number);
	tcase_add_loop_test(tcase, absent_is_a_hit_without_a_buffer, 0, 2);
	tcase_add_loop_test(tcase, a_failure_travels_with_its_message_and_is_remembered_for_a_second, 0, 2);
	tcase_add_loop_test(tcase, a_value_that_had_changed_is_not_remembered, 0, 2);
	tcase_add_loop_test(tcase, what_is_dropped_is_loaded_again_and_a_load_goes_on, 0, 2);
	tcase_add_test(tcase, an_abandoned_load_is_as_if_it_never_was_unless_somebody_joined);
	tcase_add_test(tcase, what_a_reader_leaves_behind_is_dropped_unless_it_proved_worth_keeping);
	tcase_add_loop_test(tcase, reads_ahead_are_counted_apart, 0, 5);
	tcase_add_test(tcase, eight_threads_load_each_chunk_once);
	tcase_add_loop_test(tcase, a_scan_does_not_flush_what_was_asked_for_again, 0, ARRAY_LEN(scans));
	tcase_add_test(tcase, a_scan_does_not_flush_the_index_that_it_uses);
	tcase_add_test(tcase, indexes_do_not_push_out_chunks_beyond_a_quarter_of_the_budget);
	tcase_add_test(tcase, so_many_indexes_are_kept_and_the_others_release_their_values);
	tcase_add_test(tcase, an_owner_is_dropped_with_all_but_what_is_being_loaded);
	tcase_add_test(tcase, no_lock_is_held_while_a_value_is_released);
	tcase_add_test(tcase, a_hit_outlives_its_eviction);
	tcase_add_test(tcase, reservations_are_granted_first_come_first_served);
	tcase_add_test(tcase, what_exceeds_the_budget_is_granted_alone);
	tcase_add_loop_test(tcase, a_chunk_that_exceeds_the_budget_stays_until_room_is_needed, 0, 2);
	tcase_add_loop_test(tcase, read_ahead_gets_up_to_half_of_the_budget_and_never_waits, 0, ARRAY_LEN(tries));
	tcase_add_test(tcase, entries_stay_while_it_is_reservations_that_are_in_the_way);
	tcase_add_loop_test(tcase, what_is_not_reserved_for_keeps_the_budget_too, 0, 2);
	tcase_add_loop_test(tcase, a_crowd_keeps_the_budget_and_nobody_waits_for_ever, 0, ARRAY_LEN(crowds));
	tcase_add_loop_test(tcase, who_lines_up_while_room_is_made_gets_it, 0, MAKERS);
	tcase_add_test(tcase, no_cache_is_freed_too);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cache_suite)
