/*
 * test_check.c: a check reads each stored piece once, finds each damaged byte that a checksum covers, names the piece, and looks no
 * further than what is stored.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"

#include "array/array_impl.h"
#include "array/check.h"
#include "base/base.h"
#include "base/clock.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/str.h"

#define CRC_BYTES FIXTURE_BYTES "," FIXTURE_CRC32C
#define SHARDED(shape, place) "[" FIXTURE_SHARDING(shape, CRC_BYTES, CRC_BYTES, place) "]"
#define NESTED "[" FIXTURE_SHARDING("4,4", FIXTURE_SHARDING("2,2", CRC_BYTES, CRC_BYTES, "start"), CRC_BYTES, "end") "]"
#define WHOLE "[" FIXTURE_SHARDING("2,2", CRC_BYTES, CRC_BYTES, "end") "," FIXTURE_ZSTD "]"

/* What a check has told. */
static struct told {
	struct check_finding finding;
	char key[64];
	char reason[ERR_TEXT_BYTES];
} told[256];
static size_t n_told;
static int stop_after; /* calls of go_on; 0: never */
static struct check_counts counts;

static struct fixture_env env;
static struct fixture_array array;

static void found(void *arg, const struct check_finding *finding)
{
	ck_assert_uint_lt(n_told, ARRAY_LEN(told));
	struct told *to = &told[n_told++];
	to->finding = *finding;
	snprintf(to->key, sizeof(to->key), "%s", finding->key);
	snprintf(to->reason, sizeof(to->reason), "%s", finding->reason);
}

static bool go_on(void *arg, const struct check_counts *now)
{
	ck_assert_ptr_eq(now, &counts);
	ck_assert_uint_le(now->part, 1000);
	return !stop_after || --stop_after > 0;
}

static int check_one(struct array *which)
{
	const struct check_sink sink = {found, go_on, NULL};
	n_told = 0;
	counts = (struct check_counts){0};
	return array_check(which, &sink, &counts);
}

static void check_now(void)
{
	mem_store_reset_counts(env.env.store);
	ck_assert_int_eq(check_one(array.array), 0);
}

static void open_with(struct fixture *fixture, struct fixture_limits limits)
{
	fixture_env_open(&env, &limits);
	fixture_put(env.env.store, fixture);
	fixture_array_open(&env, fixture->path, &array);
}

static void close_all(void)
{
	fixture_env_settle(&env);
	fixture_array_close(&array);
	fixture_env_close(&env);
}

static struct buf *stored(const char *key)
{
	struct buf *buf;
	ck_assert_int_eq(store_get(env.env.store, key, STORE_WAIT, UINT64_MAX, &buf, NULL), 0);
	return buf;
}

/* Where element boxes are told, they are what the fixture's own geometry says. */
static void assert_box(const struct told *one, uint64_t row, uint64_t rows, uint64_t column, uint64_t columns)
{
	const struct check_finding *finding = &one->finding;
	ck_assert(finding->has_box);
	ck_assert_uint_eq(finding->start[0], row);
	ck_assert_uint_eq(finding->count[0], rows);
	ck_assert_uint_eq(finding->start[1], column);
	ck_assert_uint_eq(finding->count[1], columns);
}

/* Arrays without damage: how many values and chunks are stored, and how many reads of the store they take. */
static struct {
	struct fixture fixture;
	uint64_t values, chunks, reads;
} clean[] = {
	{{.path = "plain", .ndim = 2, .shape = {7, 9}, .chunk = {3, 4}}, 9, 9, 9},
	{{"", NULL, 2, {7, 9}, {3, 4}, .codecs = "[" CRC_BYTES "," FIXTURE_ZSTD "]"}, 9, 9, 9},
	{{"a/b", NULL, 1, {100}, {10}, .skip = 3}, 7, 7, 7},
	{{.path = "scalar"}, 1, 1, 1},
	{{.path = "none", .ndim = 2, .shape = {0, 9}, .chunk = {3, 4}}, 0, 0, 0},
	{{"shards", NULL, 2, {8, 8}, {4, 4}, .codecs = SHARDED("2,2", "end")}, 4, 16, 20},
	{{"start", NULL, 2, {8, 8}, {4, 4}, .codecs = SHARDED("2,2", "start")}, 4, 16, 20},
	{{"holes", NULL, 2, {8, 8}, {4, 4}, .codecs = SHARDED("2,2", "end"), .skip = 2, .skip_inner = 2}, 2, 4, 6},
	{{"nested", NULL, 2, {16, 8}, {8, 8}, .codecs = NESTED}, 2, 32, 2 + 8 + 32},
	{{"whole", NULL, 2, {8, 8}, {4, 4}, .codecs = WHOLE}, 4, 4, 4},
};
static const struct fixture_limits widths[] = {{.width = 0}, {.width = 3}, {.width = 3, .cache_bytes = 1}};

START_TEST(what_is_stored_is_read_once_and_is_good)
{
	struct fixture *fixture = &clean[_i].fixture;
	for (size_t w = 0; w < ARRAY_LEN(widths); w++) {
		open_with(fixture, widths[w]);
		check_now();
		ck_assert_msg(n_told == 0, "%s: %s: %s", fixture->path, told[0].key, told[0].reason);
		ck_assert_uint_eq(counts.values, clean[_i].values);
		ck_assert_uint_eq(counts.chunks, clean[_i].chunks);
		ck_assert_uint_eq(counts.decoded_bytes, clean[_i].chunks * array_chunk_bytes(array.array));
		ck_assert_uint_eq(counts.part, 0);
		struct mem_counts asked = mem_store_counts(env.env.store, "");
		ck_assert_uint_eq(asked.opens, clean[_i].values);
		ck_assert_uint_eq(asked.reads, clean[_i].reads);
		/* a shard with absent inner chunks has gaps, which nobody needs */
		ck_assert_uint_eq(asked.bytes, counts.stored_bytes - (fixture->skip_inner ? 2 * 2 * 12 : 0));
		ck_assert_uint_eq(cache_used(env.env.cache), 0);
		close_all();
	}
}
END_TEST

START_TEST(a_store_that_waits_or_compresses_is_checked_too)
{
	struct fixture *fixture = &clean[_i].fixture;
	const struct mem_fault faults[] = {{.key_part = "", .delay_ms = 1}, {.key_part = "", .dear = true}};
	for (size_t f = 0; f < ARRAY_LEN(faults); f++) {
		open_with(fixture, (struct fixture_limits){.width = 3});
		ck_assert_int_eq(mem_store_set_faults(env.env.store, &faults[f], 1), 0);
		check_now();
		ck_assert_msg(n_told == 0, "%s: %s: %s", fixture->path, told[0].key, told[0].reason);
		ck_assert_uint_eq(counts.values, clean[_i].values);
		ck_assert_uint_eq(counts.chunks, clean[_i].chunks);
		ck_assert_uint_eq(cache_used(env.env.cache), 0);
		close_all();
	}
}
END_TEST

START_TEST(each_flipped_byte_of_a_shard_is_one_finding)
{
	static const char *const chains[] = {SHARDED("2,2", "end"), SHARDED("2,2", "start")};
	struct fixture fixture = {"s", NULL, 2, {7, 8}, {4, 4}, .codecs = chains[_i]};
	open_with(&fixture, (struct fixture_limits){.width = 2});
	autobuf good = stored("s/c/1/0");
	const size_t index = 4 * 16 + 4, chunk = 2 * 2 * 2 + 4, first = _i ? index : 0;
	ck_assert_uint_eq(good->size, index + 4 * chunk);
	for (size_t at = 0; at < good->size; at++) {
		autofree uint8_t *bad = malloc(good->size);
		memcpy(bad, good->data, good->size);
		bad[at] ^= 0x40;
		ck_assert_int_eq(mem_store_put(env.env.store, "s/c/1/0", bad, good->size), 0);
		check_now();
		ck_assert_uint_eq(n_told, 1);
		ck_assert_uint_eq(counts.corrupt, 1);
		ck_assert_int_eq(told[0].finding.kind, CHECK_CORRUPT);
		ck_assert_str_eq(told[0].key, "s/c/1/0");
		if (at < first || at >= first + 4 * chunk) {
			ck_assert(!told[0].finding.is_inner);
			ck_assert_uint_eq(counts.chunks, 12);
			assert_box(&told[0], 4, 3, 0, 4);
		} else {
			uint64_t number = (at - first) / chunk;
			ck_assert(told[0].finding.is_inner && !told[0].finding.is_shard);
			ck_assert_uint_eq(told[0].finding.coords[0], 2 + number / 2);
			ck_assert_uint_eq(told[0].finding.coords[1], number % 2);
			ck_assert_uint_eq(told[0].finding.offset, first + number * chunk);
			ck_assert_uint_eq(told[0].finding.size, chunk);
			ck_assert_uint_eq(counts.chunks, 15);
			assert_box(&told[0], 4 + number / 2 * 2, number / 2 ? 1 : 2, number % 2 * 2, 2);
		}
	}
	close_all();
}
END_TEST

START_TEST(a_damaged_shard_inside_a_shard_is_named)
{
	struct fixture fixture = {"n", NULL, 2, {8, 8}, {8, 8}, .codecs = NESTED};
	open_with(&fixture, (struct fixture_limits){.width = 2});
	autobuf value = stored("n/c/0/0");
	/* each of the four shards begins with its index of 68 bytes, before four chunks of 12 */
	const size_t shard = 68 + 4 * 12;
	value->data[3 * shard + 5] ^= 1;
	value->data[2 * shard + 68 + 12] ^= 1;
	ck_assert_int_eq(mem_store_put(env.env.store, "n/c/0/0", value->data, value->size), 0);
	check_now();
	ck_assert_uint_eq(n_told, 2);
	ck_assert(told[0].finding.is_inner && !told[0].finding.is_shard);
	ck_assert_uint_eq(told[0].finding.offset, 2 * shard + 68 + 12);
	assert_box(&told[0], 4, 2, 2, 2);
	ck_assert(told[1].finding.is_inner && told[1].finding.is_shard);
	ck_assert_uint_eq(told[1].finding.coords[0], 1);
	ck_assert_uint_eq(told[1].finding.coords[1], 1);
	ck_assert_uint_eq(told[1].finding.offset, 3 * shard);
	ck_assert_uint_eq(told[1].finding.size, shard);
	assert_box(&told[1], 4, 4, 4, 4);
	ck_assert_uint_eq(counts.chunks, 11);
	close_all();
}
END_TEST

/* Indexes of a shard of four chunks of 8 bytes, without checksums: offset and size of each, and the chunks that are corrupt. */
static const struct {
	uint64_t entries[8];
	unsigned corrupt; /* a bit each */
	const char *reason;
} indexes[] = {
	{{0, 8, 8, 8, 16, 8, 24, 8}, 0, NULL},
	{{24, 8, 16, 8, 8, 8, 0, 8}, 0, NULL},
	{{8, 8, 8, 8, 8, 8, 8, 8}, 0, NULL},
	{{UINT64_MAX, UINT64_MAX, 8, 8, UINT64_MAX, 0, 0, 8}, 0, NULL},
	{{0, 8, 8, 8, 12, 8, 24, 8}, 4, "overlap those of (0, 1)"},
	{{4, 8, 8, 8, 16, 8, 24, 8}, 2, "overlap those of (0, 0)"},
	{{0, 8, 4, 8, 8, 8, 24, 8}, 6, "overlap those of"},
	{{0, 8, 8, 8, 16, 8, 25, 8}, 8, "overlap those of the index"},
	{{0, 8, 8, 8, 16, 8, 88, 8}, 8, "overlap those of the index"},
	{{0, 8, 8, 8, 16, 8, 89, 8}, 8, "past the shard's end"},
	{{0, 8, 8, 8, 16, 8, UINT64_MAX - 7, 8}, 8, "past the shard's end"},
	{{0, 8, UINT64_C(1) << 63, 8, 16, 8, 24, 0}, 10, "shard index"},
	{{0, 7, 8, 8, 16, 8, 24, 8}, 1, "has 7 bytes in place of 8"},
};

START_TEST(entries_that_overlap_or_lie_outside_are_corrupt)
{
	struct fixture fixture = {
		"i", NULL, 2, {4, 4}, {4, 4}, .codecs = "[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]"};
	open_with(&fixture, (struct fixture_limits){.width = 2});
	uint8_t shard[4 * 8 + 64] = {0};
	for (int i = 0; i < 8; i++)
		store_le64(shard + 32 + i * 8, indexes[_i].entries[i]);
	ck_assert_int_eq(mem_store_put(env.env.store, "i/c/0/0", shard, sizeof(shard)), 0);
	check_now();
	unsigned corrupt = 0;
	for (size_t i = 0; i < n_told; i++) {
		const struct check_finding *finding = &told[i].finding;
		ck_assert(finding->is_inner);
		unsigned number = (unsigned)(finding->coords[0] * 2 + finding->coords[1]);
		ck_assert_msg(strstr(told[i].reason, indexes[_i].reason), "%s", told[i].reason);
		ck_assert_uint_eq(finding->offset, indexes[_i].entries[number * 2]);
		ck_assert_uint_eq(finding->size, indexes[_i].entries[number * 2 + 1]);
		ck_assert(!(corrupt & 1u << number));
		corrupt |= 1u << number;
	}
	ck_assert_uint_eq(corrupt, indexes[_i].corrupt);
	close_all();
}
END_TEST

START_TEST(what_is_absent_costs_nothing)
{
	/* 10^12 places of the grid, and 10^6 in a shard */
	struct fixture grid = {"g", "uint8", .ndim = 2, .shape = {1000000000, 1000000}, .chunk = {1, 1000}};
	fixture_env_open(&env, &(struct fixture_limits){.width = 2, .cache_bytes = 64 << 20});
	autofree char *document = fixture_document(&grid);
	fixture_put_text(env.env.store, "g/zarr.json", document);
	fixture_array_open(&env, "g", &array);
	uint8_t chunk[1000] = {0};
	ck_assert_int_eq(mem_store_put(env.env.store, "g/c/999999999/999", chunk, sizeof(chunk)), 0);
	ck_assert_int_eq(mem_store_put(env.env.store, "g/c/0/7", chunk, sizeof(chunk) - 1), 0);
	check_now();
	ck_assert_uint_eq(mem_store_counts(env.env.store, "").opens, 2);
	ck_assert_uint_eq(counts.chunks, 1);
	ck_assert_uint_eq(n_told, 1);
	ck_assert_str_eq(told[0].key, "g/c/0/7");
	close_all();

	struct fixture fixture = {"s", "uint8", 1, {1000000}, {1000000}, .codecs = SHARDED("1", "end"), .skip_inner = 1};
	open_with(&fixture, (struct fixture_limits){.width = 2, .cache_bytes = 64 << 20});
	check_now();
	ck_assert_uint_eq(mem_store_counts(env.env.store, "").reads, 1);
	ck_assert_uint_eq(counts.chunks, 0);
	ck_assert_uint_eq(n_told, 0);
	close_all();
}
END_TEST

START_TEST(a_store_that_cannot_list_is_asked_for_each_key)
{
	struct fixture fixture = {"p", NULL, 2, {7, 9}, {3, 4}, .skip = 4};
	open_with(&fixture, (struct fixture_limits){.width = 2});
	struct array_env unlisted = env.env;
	struct array *other;
	ck_assert_int_eq(mem_store_new("unlisted", false, &unlisted.store), 0);
	fixture_put(unlisted.store, &fixture);
	ck_assert_int_eq(array_open(&unlisted, "p", array.meta.array, &other), 0);
	ck_assert_int_eq(check_one(other), 0);
	ck_assert_uint_eq(n_told, 0);
	ck_assert_uint_eq(counts.values, 7);
	ck_assert_uint_eq(counts.chunks, 7);
	array_close(other);
	store_close(unlisted.store);
	close_all();
}
END_TEST

START_TEST(keys_of_no_place_are_strays)
{
	static const char *const strays[] = {"0/0", "0.0", "c.0.0", "c/0/3", "c/00/0", "c/0/0/0", "c/3/0", "c/1.0"};
	static const char *const others[] = {"zarr.json.bak", "c/0/.tmp", "c/x", "README", "d/0/0", "c/0/0.partial"};
	struct fixture fixture = {"p", NULL, 2, {7, 9}, {3, 4}, .skip = 9};
	open_with(&fixture, (struct fixture_limits){.width = 2});
	for (size_t i = 0; i < ARRAY_LEN(strays) + ARRAY_LEN(others); i++) {
		const char *name = i < ARRAY_LEN(strays) ? strays[i] : others[i - ARRAY_LEN(strays)];
		autofree char *key = str_join_key("p", name);
		fixture_put_text(env.env.store, key, "x");
	}
	check_now();
	ck_assert_uint_eq(counts.strays, ARRAY_LEN(strays));
	ck_assert_uint_eq(n_told, counts.strays);
	for (size_t i = 0; i < n_told; i++) {
		bool is_one = false;
		ck_assert_int_eq(told[i].finding.kind, CHECK_STRAY);
		ck_assert(!told[i].finding.has_box);
		for (size_t k = 0; k < ARRAY_LEN(strays); k++)
			is_one |= strcmp(told[i].key + 2, strays[k]) == 0;
		ck_assert_msg(is_one, "%s", told[i].key);
	}
	ck_assert_uint_eq(counts.chunks, 8);
	close_all();
}
END_TEST

static const struct {
	struct mem_fault fault;
	enum check_kind kind;
} failures[] = {
	{{"c/1/", .open_errnum = EACCES}, CHECK_UNREADABLE},
	{{"c/1/", .open_errnum = EIO}, CHECK_UNREADABLE},
	{{"c/1/", .read_errnum = EIO}, CHECK_UNREADABLE},
	{{"c/1/", .open_errnum = ENOTSUP}, CHECK_UNSUPPORTED},
};

START_TEST(a_store_that_fails_is_not_damage)
{
	struct fixture fixtures[] = {{.path = "p", .ndim = 2, .shape = {8, 8}, .chunk = {4, 4}},
								 {"s", NULL, 2, {8, 8}, {4, 4}, .codecs = SHARDED("2,2", "end")}};
	for (size_t i = 0; i < ARRAY_LEN(fixtures); i++) {
		open_with(&fixtures[i], (struct fixture_limits){.width = 3});
		ck_assert_int_eq(mem_store_set_faults(env.env.store, &failures[_i].fault, 1), 0);
		check_now();
		ck_assert_uint_eq(n_told, 2);
		for (uint64_t k = 0; k < 2; k++) {
			ck_assert_int_eq(told[k].finding.kind, failures[_i].kind);
			ck_assert_msg(strstr(told[k].key, k ? "c/1/1" : "c/1/0"), "%s", told[k].key);
			ck_assert_ptr_null(strstr(told[k].reason, "c/1/"));
			assert_box(&told[k], 4, 4, 4 * k, 4);
		}
		ck_assert_uint_eq(counts.corrupt, 0);
		ck_assert_uint_eq(counts.chunks, i ? 8 : 2);
		close_all();
	}
}
END_TEST

START_TEST(findings_come_in_the_order_of_the_keys)
{
	struct fixture fixture = {"p", NULL, 1, {900}, {1}, .codecs = "[" CRC_BYTES "]"};
	struct mem_fault delay = {.key_part = "c/1", .delay_ms = 2};
	char last[64] = "";
	open_with(&fixture, (struct fixture_limits){.width = 4});
	for (int i = 0; i < 900; i += 9) {
		char key[64];
		snprintf(key, sizeof(key), "p/c/%d", i);
		fixture_put_text(env.env.store, key, "wrong!");
	}
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &delay, 1), 0);
	check_now();
	ck_assert_uint_eq(n_told, 100);
	ck_assert_uint_eq(counts.chunks, 800);
	for (size_t i = 0; i < n_told; i++) {
		ck_assert_int_lt(strcmp(last, told[i].key), 0);
		memcpy(last, told[i].key, sizeof(last));
	}
	close_all();
}
END_TEST

START_TEST(a_check_that_is_stopped_ends_and_says_so)
{
	struct fixture *fixture = &clean[_i].fixture;
	for (int calls = 1; calls < 6; calls++) {
		open_with(fixture, (struct fixture_limits){.width = 2});
		stop_after = calls;
		int rc = check_one(array.array);
		if (stop_after == 0)
			ck_assert_int_eq(rc, -EINTR);
		else
			ck_assert_uint_eq(counts.chunks, clean[_i].chunks);
		ck_assert_uint_le(counts.chunks, clean[_i].chunks);
		ck_assert_uint_eq(n_told, 0);
		stop_after = 0;
		close_all();
	}
}
END_TEST

/* A chunk larger than the budget is let in alone: never two at once. */
START_TEST(the_budget_holds)
{
	struct fixture fixture = {"p", NULL, 1, {1 << 16}, {1 << 12}, .codecs = "[" CRC_BYTES "," FIXTURE_ZSTD "]"};
	struct mem_fault delay = {.key_part = "", .delay_ms = 20};
	open_with(&fixture, (struct fixture_limits){.width = 8, .cache_bytes = 1});
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &delay, 1), 0);
	uint64_t before = monotonic_ns();
	check_now();
	ck_assert_uint_ge(monotonic_ns() - before, UINT64_C(16) * 20 * 1000000);
	ck_assert_uint_eq(counts.chunks, 16);
	close_all();
}
END_TEST

static Suite *check_suite(void)
{
	Suite *suite = suite_create("check");
	TCase *tcase = tcase_create("check");
	tcase_set_timeout(tcase, 60);
	tcase_add_loop_test(tcase, what_is_stored_is_read_once_and_is_good, 0, ARRAY_LEN(clean));
	tcase_add_loop_test(tcase, a_store_that_waits_or_compresses_is_checked_too, 0, ARRAY_LEN(clean));
	tcase_add_loop_test(tcase, each_flipped_byte_of_a_shard_is_one_finding, 0, 2);
	tcase_add_test(tcase, a_damaged_shard_inside_a_shard_is_named);
	tcase_add_loop_test(tcase, entries_that_overlap_or_lie_outside_are_corrupt, 0, ARRAY_LEN(indexes));
	tcase_add_test(tcase, what_is_absent_costs_nothing);
	tcase_add_test(tcase, a_store_that_cannot_list_is_asked_for_each_key);
	tcase_add_test(tcase, keys_of_no_place_are_strays);
	tcase_add_loop_test(tcase, a_store_that_fails_is_not_damage, 0, ARRAY_LEN(failures));
	tcase_add_test(tcase, findings_come_in_the_order_of_the_keys);
	tcase_add_loop_test(tcase, a_check_that_is_stopped_ends_and_says_so, 0, ARRAY_LEN(clean));
	tcase_add_test(tcase, the_budget_holds);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(check_suite)
