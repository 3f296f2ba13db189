/*
 * test_array.c: which piece of an array is read by itself, what a read of it costs, and what a fault does to it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"

#include "array/array_impl.h"
#include "base/base.h"
#include "base/clock.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/stats.h"
#include "store/store_impl.h"

#define SHARDED_2X2(place) "[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES, FIXTURE_BYTES "," FIXTURE_CRC32C, place) "]"
#define SHARDED_CHECKED                                                                                                \
	"[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES "," FIXTURE_CRC32C, FIXTURE_BYTES "," FIXTURE_CRC32C, "end") "]"

static struct fixture_env env;
static struct fixture_array array;

static void open_env(void)
{
	fixture_env_open(&env, &(struct fixture_limits){0});
}

static void open_array(struct fixture *fixture)
{
	fixture_put(env.env.store, fixture);
	fixture_array_open(&env, fixture->path, &array);
	mem_store_reset_counts(env.env.store);
}

static void close_all(void)
{
	fixture_env_settle(&env);
	fixture_array_close(&array);
	fixture_env_close(&env);
}

static void set_fault(struct mem_fault fault)
{
	ck_assert_int_eq(mem_store_set_faults(env.env.store, &fault, 1), 0);
}

static void clear_faults(void)
{
	ck_assert_int_eq(mem_store_set_faults(env.env.store, NULL, 0), 0);
}

static int read_one(uint64_t offset, uint8_t *dst, size_t size)
{
	return fixture_read(&array, offset, size, dst, NULL);
}

static void check_well(const struct fixture *fixture, uint64_t offset, size_t size)
{
	int rc = fixture_check(fixture, &array, offset, size, NULL);
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

static void check_message(const char *wanted)
{
	ck_assert_msg(strstr(err_message(), wanted), "\"%s\" is not in \"%s\"", wanted, err_message());
}

/* ------------------------------------------------ opening ------------------------------------------------ */

static const struct {
	const char *codecs;
	uint64_t max_chunk;
	int rc;
	const char *message;
} refusals[] = {
	{"[" FIXTURE_BYTES ",{\"name\":\"jpegxl\"}]", 0, -ENOTSUP, "codecs[1]: unknown codec \"jpegxl\""},
	{"[" FIXTURE_ZSTD "]", 0, -ENOTSUP, "codecs"},
	{"[" FIXTURE_BYTES "," FIXTURE_BYTES "]", 0, -ENOTSUP, "codecs[1]"},
	{"[" FIXTURE_TRANSPOSE("0,0") "," FIXTURE_BYTES "]", 0, -EIO, "codecs[0]"},
	{"[" FIXTURE_SHARDING("3,2", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]", 0, -EIO, "codecs[0]"},
	{"[" FIXTURE_BYTES "]", 31, -EFBIG, "a chunk has 32 bytes decoded, more than --max-chunk allows (31)"},
	/* the inner chunk counts, and it fits exactly */
	{"[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]", 7, -EFBIG, "8 bytes decoded"},
	{"[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]", 8, 0, NULL},
	{"[" FIXTURE_BYTES "]", 32, 0, NULL},
};

START_TEST(an_array_that_cannot_be_read_is_refused_at_open_with_the_reason)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {8, 8}, .chunk = {4, 4}, .codecs = refusals[_i].codecs};
	fixture_env_open(&env, &(struct fixture_limits){.max_chunk = refusals[_i].max_chunk});
	autofree char *document = fixture_document(&fixture);
	fixture_put_text(env.env.store, "a/zarr.json", document);
	int rc = fixture_array_try(&env, "a", &array);
	ck_assert_msg(rc == refusals[_i].rc, "%d in place of %d: %s", rc, refusals[_i].rc, err_message());
	if (refusals[_i].message)
		check_message(refusals[_i].message);
	if (!rc)
		fixture_array_close(&array);
	fixture_env_close(&env);
}
END_TEST

#define INNER_ZSTD FIXTURE_BYTES "," FIXTURE_ZSTD
#define NESTED                                                                                                         \
	FIXTURE_SHARDING("4,8", FIXTURE_SHARDING("2,4", INNER_ZSTD, FIXTURE_BYTES, "end"), FIXTURE_BYTES, "start")
#define NESTED_TRANSPOSED                                                                                              \
	FIXTURE_SHARDING("4,8", FIXTURE_TRANSPOSE("1,0") "," FIXTURE_SHARDING("4,2", INNER_ZSTD, FIXTURE_BYTES, "end"),    \
					 FIXTURE_BYTES, "end")

static const struct {
	const char *codecs;
	int levels;
	uint64_t unit[2];
} units[] = {
	{"[" FIXTURE_BYTES "]", 0, {8, 16}},
	{"[" FIXTURE_TRANSPOSE("1,0") "," FIXTURE_BYTES "," FIXTURE_ZSTD "]", 0, {8, 16}},
	{"[" FIXTURE_SHARDING("4,2", INNER_ZSTD, FIXTURE_BYTES, "end") "]", 1, {4, 2}},
	{"[" FIXTURE_SHARDING("4,2", FIXTURE_TRANSPOSE("1,0") "," FIXTURE_BYTES, FIXTURE_BYTES, "end") "]", 1, {4, 2}},
	{"[" NESTED "]", 2, {2, 4}},
	/* a codec on the way to the inner sharding: the outer one's inner chunk is the unit */
	{"[" NESTED_TRANSPOSED "]", 1, {4, 8}},
	{"[" FIXTURE_TRANSPOSE("1,0") "," FIXTURE_SHARDING("4,2", INNER_ZSTD, FIXTURE_BYTES, "end") "]", 0, {8, 16}},
	{"[" FIXTURE_SHARDING("4,2", INNER_ZSTD, FIXTURE_BYTES, "end") "," FIXTURE_CRC32C "]", 0, {8, 16}},
	/* a transpose that changes nothing is in nobody's way */
	{"[" FIXTURE_TRANSPOSE("0,1") "," FIXTURE_SHARDING("4,2", INNER_ZSTD, FIXTURE_BYTES, "end") "]", 1, {4, 2}},
};

START_TEST(the_read_unit_is_the_smallest_piece_that_is_decoded_by_itself)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {20, 30}, .chunk = {8, 16}, .codecs = units[_i].codecs};
	open_env();
	open_array(&fixture);
	ck_assert_int_eq(array.array->n_levels, units[_i].levels);
	ck_assert_uint_eq(array_grid(array.array)->chunk[0], units[_i].unit[0]);
	ck_assert_uint_eq(array_grid(array.array)->chunk[1], units[_i].unit[1]);
	ck_assert_uint_eq(array_chunk_bytes(array.array), 2 * units[_i].unit[0] * units[_i].unit[1]);
	check_well(&fixture, 0, fixture_bytes(&fixture));
	close_all();
}
END_TEST

/* ------------------------------------------------ cost ------------------------------------------------ */

static struct value_info info_of_value(const char *key)
{
	struct value *value;
	ck_assert_int_eq(store_open_value(env.env.store, key, STORE_WAIT, &value), 0);
	struct value_info info = *value_info(value);
	value_unref(value);
	return info;
}

static const char *const dear_chains[] = {
	SHARDED_2X2("end"),
	SHARDED_2X2("start"),
	"[" FIXTURE_SHARDING("4,8", FIXTURE_SHARDING("2,4", FIXTURE_BYTES, FIXTURE_BYTES, "end"), FIXTURE_BYTES,
						 "start") "]",
};

START_TEST(one_element_of_a_sharded_array_costs_the_index_and_one_inner_chunk)
{
	/* 4 x 4 inner chunks of 8 bytes; an index entry has 16 bytes, its checksum 4 */
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {16, 16}, .chunk = {8, 8}, .codecs = SHARDED_2X2("end")};
	const uint64_t index_bytes = 16 * 16 + 4, inner_bytes = 8;
	open_env();
	open_array(&fixture);
	check_well(&fixture, 10, 2);
	struct mem_counts counts = mem_store_counts(env.env.store, "");
	ck_assert_uint_eq(counts.opens, 1);
	ck_assert_uint_eq(counts.bytes, index_bytes + inner_bytes);
	check_well(&fixture, 8, 4); /* the same inner chunk */
	ck_assert_uint_eq(mem_store_counts(env.env.store, "").bytes, index_bytes + inner_bytes);
	check_well(&fixture, 0, 2); /* another of the shard */
	counts = mem_store_counts(env.env.store, "");
	ck_assert_uint_eq(counts.opens, 1);
	ck_assert_uint_eq(counts.bytes, index_bytes + 2 * inner_bytes);
	close_all();
}
END_TEST

START_TEST(one_element_below_two_shardings_costs_two_indexes_and_one_inner_chunk)
{
	struct fixture fixture = {
		.path = "a",
		.ndim = 2,
		.shape = {16, 16},
		.chunk = {8, 16},
		.codecs = "[" FIXTURE_SHARDING("4,8", FIXTURE_SHARDING("2,4", FIXTURE_BYTES, FIXTURE_BYTES, "end"),
									   FIXTURE_BYTES, "start") "]"};
	open_env();
	open_array(&fixture);
	check_well(&fixture, 100, 2);
	struct mem_counts counts = mem_store_counts(env.env.store, "");
	ck_assert_uint_eq(counts.opens, 1);
	ck_assert_uint_eq(counts.bytes, 4 * 16 + 4 * 16 + 16);
	close_all();
}
END_TEST

/* Twice opened: its size says how much memory the load must wait for, and what waits holds nothing. */
START_TEST(a_shard_whose_ranges_are_dear_is_read_whole_and_once)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {16, 16}, .chunk = {8, 8}, .codecs = dear_chains[_i]};
	open_env();
	set_fault((struct mem_fault){.key_part = "a/c", .dear = true});
	open_array(&fixture);
	check_well(&fixture, 10, 2);
	struct mem_counts counts = mem_store_counts(env.env.store, "a/c/0/0");
	struct value_info info = info_of_value("a/c/0/0");
	ck_assert_uint_eq(counts.opens, 2);
	ck_assert_uint_eq(counts.reads, 1);
	ck_assert_uint_eq(counts.bytes, info.size);
	ck_assert_uint_ge(cache_used(env.env.cache), info.size);
	/* a chunk that is cached must not keep the shard in memory when its index goes */
	autobuf chunk = NULL;
	const uint64_t coords[2] = {0, 5 / array.array->grid.chunk[1]};
	int rc;
	struct cache_key key = array_key(array.array, &array.array->grid, 0, coords);
	ck_assert_int_eq(cache_get(env.env.cache, key, false, NULL, &chunk, &rc), CACHE_HIT);
	ck_assert_ptr_null(chunk->parent);
	check_well(&fixture, 0, fixture_bytes(&fixture));
	ck_assert_uint_eq(mem_store_counts(env.env.store, "a/c/0/0").bytes, info.size);
	ck_assert_uint_eq(mem_store_counts(env.env.store, "a/c").reads, 4);
	close_all();
}
END_TEST

/* 388 bytes: 16 inner chunks of 8, an index of 260. */
START_TEST(a_shard_whose_ranges_are_dear_may_be_as_large_as_a_chunk)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {16, 16}, .chunk = {8, 8}, .codecs = SHARDED_2X2("end")};
	uint8_t got[2];
	fixture_env_open(&env, &(struct fixture_limits){.max_chunk = 387 + (unsigned)_i});
	set_fault((struct mem_fault){.key_part = "a/c", .dear = true});
	open_array(&fixture);
	ck_assert_int_eq(read_one(0, got, 2), _i ? 0 : -EFBIG);
	if (!_i)
		check_message("shard of 388 bytes is compressed by the store, and more than --max-chunk allows (387)");
	close_all();
}
END_TEST

START_TEST(missing_chunks_are_fill_and_cost_no_bytes)
{
	static const char *const chains[] = {NULL, SHARDED_2X2("start"), "[" FIXTURE_BYTES "," FIXTURE_ZSTD "]"};
	for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
		struct fixture fixture = {.path = "a",
								  .ndim = 2,
								  .shape = {16, 16},
								  .chunk = {8, 8},
								  .codecs = chains[i],
								  .fill = 0xbeef,
								  .skip = 2,
								  .skip_inner = i == 1 ? 3 : 0};
		open_env();
		open_array(&fixture);
		check_well(&fixture, 16, 16); /* in the chunk (0, 1), which has no key */
		ck_assert_uint_eq(mem_store_counts(env.env.store, "").bytes, 0);
		ck_assert_uint_eq(mem_store_counts(env.env.store, "").opens, 1);
		check_well(&fixture, 18, 2); /* absent is remembered */
		ck_assert_uint_eq(mem_store_counts(env.env.store, "").opens, 1);
		check_well(&fixture, 0, fixture_bytes(&fixture));
		close_all();
	}
}
END_TEST

START_TEST(a_missing_inner_chunk_costs_the_index_alone)
{
	struct fixture fixture = {.path = "a",
							  .ndim = 1,
							  .shape = {32},
							  .chunk = {16},
							  .skip_inner = 2,
							  .fill = 7,
							  .codecs = "[" FIXTURE_SHARDING("4", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]"};
	open_env();
	open_array(&fixture);
	check_well(&fixture, 8, 8);
	ck_assert_uint_eq(mem_store_counts(env.env.store, "").bytes, 4 * 16);
	close_all();
}
END_TEST

/* ------------------------------------------------ damage ------------------------------------------------ */

static size_t get_value(const char *key, uint8_t *dst, size_t room)
{
	autobuf buf = NULL;
	ck_assert_int_eq(store_get(env.env.store, key, STORE_WAIT, room, &buf, NULL), 0);
	memcpy(dst, buf->data, buf->size);
	return buf->size;
}

/* Shards of 2 x 2 inner chunks of 8 + 4 bytes; the index follows at 48. */
static struct fixture damaged = {.path = "a", .ndim = 2, .shape = {8, 8}, .chunk = {4, 4}, .codecs = SHARDED_CHECKED};

/* The inner chunks that are read: elements (0, 0), (0, 2), (2, 0), (2, 2) of shard (0, 0), then one of shard (0, 1). */
static const uint64_t samples[] = {0, 4, 32, 36, 8};

static const struct {
	size_t at;
	uint8_t flip;
	int cut;	  /* bytes */
	unsigned bad; /* samples that fail, as bits */
	const char *message;
} damages[] = {
	{.at = 3, .flip = 1, .bad = 1, .message = "a/c/0/0: inner chunk (0, 0): "},
	{.at = 12 + 9, .flip = 0x80, .bad = 2, .message = "a/c/0/0: inner chunk (0, 1): "},
	{.at = 48 + 5, .flip = 1, .bad = 15, .message = "a/c/0/0: inner chunk ("},
	{.cut = 1, .bad = 15, .message = "a/c/0/0: inner chunk ("},
	{.cut = 90, .bad = 15, .message = "shorter than its index"},
	{.cut = 116, .bad = 15, .message = "shard of 0 bytes is shorter than its index (68 bytes)"},
};

START_TEST(damage_is_EIO_for_its_readers_and_nobody_else)
{
	uint8_t bytes[256], got[2];
	open_env();
	open_array(&damaged);
	size_t size = get_value("a/c/0/0", bytes, sizeof(bytes));
	ck_assert_uint_eq(size, 116);
	bytes[damages[_i].at] ^= damages[_i].flip;
	ck_assert_int_eq(mem_store_put(env.env.store, "a/c/0/0", bytes, size - (size_t)damages[_i].cut), 0);
	for (int round = 0; round < 2; round++)
		for (unsigned i = 0; i < ARRAY_LEN(samples); i++) {
			if (!(damages[_i].bad >> i & 1)) {
				check_well(&damaged, samples[i], 2);
				continue;
			}
			ck_assert_int_eq(read_one(samples[i], got, 2), -EIO);
			check_message(damages[_i].message);
		}
	ck_assert_int_eq(fixture_check(&damaged, &array, 0, fixture_bytes(&damaged), NULL), -EIO);
	close_all();
}
END_TEST

START_TEST(an_index_entry_out_of_range_harms_its_own_inner_chunk_only)
{
	/* the index has no checksum, so it can lie */
	struct fixture fixture = {.path = "a",
							  .ndim = 1,
							  .shape = {32},
							  .chunk = {16},
							  .codecs = "[" FIXTURE_SHARDING("4", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]"};
	static const struct {
		uint64_t offset, size;
	} lies[] = {{90, 8}, {UINT64_MAX - 3, 8}, {0, UINT64_MAX - 1}, {0, 0}, {0, 9}, {0, 7}};
	uint8_t bytes[256], got[2];
	open_env();
	open_array(&fixture);
	size_t size = get_value("a/c/0", bytes, sizeof(bytes));
	ck_assert_uint_eq(size, 4 * 8 + 4 * 16);
	store_le64(bytes + 32 + 16, lies[_i].offset);
	store_le64(bytes + 32 + 24, lies[_i].size);
	ck_assert_int_eq(mem_store_put(env.env.store, "a/c/0", bytes, size), 0);
	ck_assert_int_eq(read_one(8, got, 2), -EIO);
	check_message("a/c/0: inner chunk (1): ");
	check_well(&fixture, 0, 8);
	check_well(&fixture, 16, 48);
	close_all();
}
END_TEST

START_TEST(a_message_about_an_index_names_one_reader_only)
{
	uint8_t bytes[256], got[128];
	fixture_env_open(&env, &(struct fixture_limits){.width = 1});
	open_array(&damaged);
	size_t size = get_value("a/c/0/0", bytes, sizeof(bytes));
	bytes[50] ^= 1;
	ck_assert_int_eq(mem_store_put(env.env.store, "a/c/0/0", bytes, size), 0);
	/* all four inner chunks wait for the same index */
	set_fault((struct mem_fault){.key_part = "a/c", .delay_ms = 20});
	ck_assert_int_eq(read_one(0, got, 64), -EIO);
	for (unsigned i = 0; i < 4; i++) {
		ck_assert_int_eq(read_one(samples[i], got, 2), -EIO);
		ck_assert_int_eq(strncmp(err_message(), "a/c/0/0: inner chunk (", 22), 0);
		ck_assert_msg(!strstr(err_message() + 22, "inner chunk ("), "%s", err_message());
	}
	close_all();
}
END_TEST

static const struct {
	const char *codecs;
	int open_errnum, read_errnum;
} failures[] = {
	{NULL, EMFILE, 0},
	{NULL, EACCES, 0},
	{NULL, EIO, 0},
	{NULL, 0, EIO},
	{NULL, 0, ESTALE},
	{NULL, ECANCELED, 0},
	{NULL, 0, ECANCELED},
	{SHARDED_CHECKED, EMFILE, 0},
	{SHARDED_CHECKED, EACCES, 0},
	{SHARDED_CHECKED, 0, EIO},
	{SHARDED_CHECKED, 0, ECANCELED},
};

START_TEST(a_failure_of_the_store_is_an_errno_and_never_fill)
{
	struct fixture fixture = damaged;
	fixture.codecs = failures[_i].codecs;
	uint8_t got[2];
	open_env();
	open_array(&fixture);
	set_fault((struct mem_fault){
		.key_part = "c/0/0", .open_errnum = failures[_i].open_errnum, .read_errnum = failures[_i].read_errnum});
	ck_assert_int_eq(read_one(0, got, 2), -(failures[_i].open_errnum + failures[_i].read_errnum));
	ck_assert_int_eq(strncmp(err_message(), "a/c/0/0: ", 9), 0);
	ck_assert_ptr_null(strstr(err_message() + 1, "a/c/0/0"));
	check_well(&fixture, 8, 2); /* chunk (0, 1) */
	close_all();
}
END_TEST

START_TEST(a_value_of_another_length_is_EIO)
{
	static const struct {
		const char *codecs;
		int change; /* bytes */
	} cuts[] = {
		{NULL, -1},
		{NULL, -32},
		{NULL, 1},
		{"[" FIXTURE_BYTES "," FIXTURE_CRC32C "]", -1},
		{"[" FIXTURE_BYTES "," FIXTURE_ZSTD "]", -1},
		{"[" FIXTURE_BYTES "," FIXTURE_ZSTD "]", 1 << 20},
		{"[" FIXTURE_TRANSPOSE("1,0") "," FIXTURE_BYTES "]", -2},
	};
	static uint8_t bytes[2 << 20];
	uint8_t got[2];
	struct fixture fixture = damaged;
	fixture.codecs = cuts[_i].codecs;
	open_env();
	open_array(&fixture);
	size_t size = get_value("a/c/0/0", bytes, sizeof(bytes));
	ck_assert_int_eq(mem_store_put(env.env.store, "a/c/0/0", bytes, (size_t)((int)size + cuts[_i].change)), 0);
	ck_assert_int_eq(read_one(0, got, 2), -EIO);
	check_message("a/c/0/0: ");
	check_well(&fixture, 8, 2);
	close_all();
}
END_TEST

START_TEST(a_value_that_is_read_in_small_pieces_is_whole)
{
	struct fixture fixture = damaged;
	open_env();
	open_array(&fixture);
	set_fault((struct mem_fault){.key_part = "a/c", .short_read = 3});
	check_well(&fixture, 0, fixture_bytes(&fixture));
	close_all();
}
END_TEST

static const char *const replaced_chains[] = {
	NULL,
	SHARDED_2X2("end"),
	"[" FIXTURE_SHARDING("4,4", FIXTURE_SHARDING("2,2", FIXTURE_BYTES, FIXTURE_BYTES, "end"), FIXTURE_BYTES,
						 "start") "]",
};

START_TEST(a_value_replaced_after_its_index_was_read_is_opened_anew)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {8, 8}, .chunk = {8, 8}, .codecs = replaced_chains[_i]};
	open_env();
	open_array(&fixture);
	check_well(&fixture, 0, 2);
	uint64_t indexes = stats_get(indexes_read);
	fixture_put(env.env.store, &fixture);
	check_well(&fixture, 0, fixture_bytes(&fixture));
	/* of two levels: the outer again, and four inner ones, of which one may have been read again by its own load too */
	ck_assert_uint_le(stats_get(indexes_read) - indexes, 6);
	fixture_put(env.env.store, &fixture);
	fixture_array_close(&array);
	fixture_array_open(&env, "a", &array);
	check_well(&fixture, 0, fixture_bytes(&fixture));
	close_all();
}
END_TEST

/* The inner index is of the first opening, the outer of the second, and the value is the third by then. */
START_TEST(indexes_of_several_openings_do_not_make_a_value_at_rest_stale)
{
	struct fixture fixture = {.path = "a",
							  .ndim = 2,
							  .shape = {8, 8},
							  .chunk = {8, 8},
							  .codecs = replaced_chains[ARRAY_LEN(replaced_chains) - 1]};
	open_env();
	open_array(&fixture);
	check_well(&fixture, 0, 2);
	fixture_put(env.env.store, &fixture);
	check_well(&fixture, 8, 2);
	fixture_put(env.env.store, &fixture);
	check_well(&fixture, 4, 2);
	close_all();
}
END_TEST

START_TEST(a_value_that_changes_at_every_read_is_ESTALE_after_two_and_well_as_soon_as_it_rests)
{
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {8, 8}, .chunk = {8, 8}, .codecs = replaced_chains[_i]};
	uint8_t got[2];
	open_env();
	open_array(&fixture);
	set_fault((struct mem_fault){.key_part = "c/0/0", .read_errnum = ESTALE});
	ck_assert_int_eq(read_one(0, got, 2), -ESTALE);
	ck_assert_uint_eq(mem_store_counts(env.env.store, "c/0/0").opens, 2);
	clear_faults();
	check_well(&fixture, 0, fixture_bytes(&fixture));
	close_all();
}
END_TEST

START_TEST(a_failure_is_remembered_for_a_second)
{
	uint8_t got[2];
	open_env();
	open_array(&damaged);
	set_fault((struct mem_fault){.key_part = "c/0/0", .open_errnum = EACCES});
	uint64_t began = monotonic_ns();
	ck_assert_int_eq(read_one(0, got, 2), -EACCES);
	autofree char *message = strdup(err_message());
	clear_faults();
	uint64_t opens = mem_store_counts(env.env.store, "").opens;
	ck_assert_int_eq(read_one(0, got, 2), -EACCES);
	if (monotonic_ns() - began < UINT64_C(1000000000)) {
		ck_assert_str_eq(err_message(), message);
		ck_assert_uint_eq(mem_store_counts(env.env.store, "").opens, opens);
	}
	while (monotonic_ns() - began < UINT64_C(2050000000))
		nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
	check_well(&damaged, 0, fixture_bytes(&damaged));
	close_all();
}
END_TEST

/* ------------------------------------------------ a store that hangs ------------------------------------------------ */

#define MS UINT64_C(1000000)
#define STUCK 64

/* Reads that are not waited for; their buffers outlive every deadline. */
struct hanging {
	struct request request;
	uint8_t bytes[2];
	atomic_int rc; /* 1: not answered */
};
static atomic_int hanging_open;

static void hanging_complete(struct request *request, int rc)
{
	atomic_store(&container_of(request, struct hanging, request)->rc, rc);
}

static void hanging_release(struct request *request)
{
	(void)request;
	atomic_fetch_sub(&hanging_open, 1);
}

static void start_hanging(struct hanging *hanging, const struct fixture_array *from, uint64_t offset)
{
	atomic_init(&hanging->rc, 1);
	atomic_fetch_add(&hanging_open, 1);
	request_init(&hanging->request, env.deadlines, hanging_complete, hanging_release);
	array_read(from->array, &from->layout, offset, 2, hanging->bytes, &hanging->request, NULL);
	request_finish_part(&hanging->request, 0);
}

static int wait_hanging(struct hanging *hanging, uint64_t timeout_ns)
{
	uint64_t until = monotonic_ns() + timeout_ns;
	while (atomic_load(&hanging->rc) == 1 && monotonic_ns() < until)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	return atomic_load(&hanging->rc);
}

START_TEST(an_array_whose_reads_all_hang_is_given_up_and_its_neighbour_is_served)
{
	enum { READS = 3 * STUCK };
	static struct hanging reads[READS], one;
	struct fixture dead = {.path = "dead", .ndim = 1, .shape = {4 * READS}, .chunk = {1}};
	struct fixture alive = {.path = "alive", .ndim = 1, .shape = {64}, .chunk = {1}};
	struct fixture_array neighbour;
	fixture_env_open(&env, &(struct fixture_limits){.width = STUCK, .timeout_ns = 200 * MS});
	open_array(&dead);
	fixture_put(env.env.store, &alive);
	fixture_array_open(&env, "alive", &neighbour);
	/* the neighbour waits too, so that it needs the fetch slots */
	const struct mem_fault faults[] = {{.key_part = "dead", .delay_ms = 600000}, {.key_part = "alive", .delay_ms = 1}};
	ck_assert_int_eq(mem_store_set_faults(env.env.store, faults, 2), 0);

	/* more at once than there are slots and replacements for them */
	for (int i = 0; i < READS; i++)
		start_hanging(&reads[i], &array, 2 * (uint64_t)i);
	for (int i = 0; i < READS; i++)
		ck_assert_int_eq(wait_hanging(&reads[i], 20000 * MS), -ETIMEDOUT);
	for (int i = 0; i < 2000 && pool_stuck(env.env.pool) < STUCK; i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	ck_assert_int_ge(pool_stuck(env.env.pool), STUCK);

	uint64_t began = monotonic_ns(), opens = mem_store_counts(env.env.store, "dead").opens;
	start_hanging(&one, &array, 2 * READS);
	ck_assert_int_eq(atomic_load(&one.rc), -ETIMEDOUT);
	ck_assert_uint_lt(monotonic_ns() - began, 100 * MS);
	ck_assert_uint_eq(mem_store_counts(env.env.store, "dead").opens, opens);

	/* time enough for whatever is still queued to get stuck as well */
	nanosleep(&(struct timespec){.tv_nsec = 500 * (long)MS}, NULL);
	for (uint64_t i = 0; i < 4; i++) {
		static struct hanging healthy[4];
		start_hanging(&healthy[i], &neighbour, 2 * i);
		ck_assert_int_eq(wait_hanging(&healthy[i], 20000 * MS), 0);
		ck_assert_uint_eq(load_le16(healthy[i].bytes), i);
	}

	/* it answers again: so does the array */
	clear_faults();
	mem_store_release(env.env.store);
	for (int i = 0; i < 5000 && pool_stuck(env.env.pool); i++)
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	ck_assert_int_eq(pool_stuck(env.env.pool), 0);
	static struct hanging again;
	start_hanging(&again, &array, 2 * (READS + 1));
	ck_assert_int_eq(wait_hanging(&again, 20000 * MS), 0);
	ck_assert_uint_eq(load_le16(again.bytes), READS + 1);

	fixture_env_settle(&env);
	ck_assert_int_eq(atomic_load(&hanging_open), 0);
	fixture_array_close(&neighbour);
	close_all();
}
END_TEST

START_TEST(who_asks_for_what_has_hung_for_the_time_out_is_answered_at_once)
{
	static struct hanging first, second, third, other;
	static const char *const chains[] = {NULL, "[" FIXTURE_SHARDING("2", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]"};
	struct fixture fixture = {.path = "dead", .ndim = 1, .shape = {64}, .chunk = {4}, .codecs = chains[_i]};
	fixture_env_open(&env, &(struct fixture_limits){.width = 2, .timeout_ns = 300 * MS});
	open_array(&fixture);
	set_fault((struct mem_fault){.key_part = "dead", .delay_ms = 600000});
	start_hanging(&first, &array, 0);
	nanosleep(&(struct timespec){.tv_nsec = 100 * (long)MS}, NULL);
	start_hanging(&second, &array, 0);
	ck_assert_int_eq(atomic_load(&second.rc), 1);
	ck_assert_int_eq(wait_hanging(&first, 20000 * MS), -ETIMEDOUT);
	/* the kernel asks again at once; in a sharded array other inner chunks need the same index */
	start_hanging(&third, &array, 0);
	ck_assert_int_eq(atomic_load(&third.rc), -ETIMEDOUT);
	start_hanging(&other, &array, 4);
	ck_assert_int_eq(wait_hanging(&other, 20000 * MS), -ETIMEDOUT);
	ck_assert_int_eq(wait_hanging(&second, 20000 * MS), -ETIMEDOUT);
	fixture_env_settle(&env);
	ck_assert_int_eq(atomic_load(&hanging_open), 0);
	close_all();
}
END_TEST

START_TEST(a_sharded_array_whose_indexes_hang_is_given_up_too)
{
	enum { READS = 2 * STUCK };
	static struct hanging reads[READS];
	struct fixture dead = {.path = "dead",
						   .ndim = 1,
						   .shape = {2 * READS},
						   .chunk = {2},
						   .codecs = "[" FIXTURE_SHARDING("1", FIXTURE_BYTES, FIXTURE_BYTES, "end") "]"};
	fixture_env_open(&env, &(struct fixture_limits){.width = 2, .timeout_ns = 100 * MS, .cache_bytes = 1 << 20});
	open_array(&dead);
	set_fault((struct mem_fault){.key_part = "dead", .delay_ms = 600000});
	for (int i = 0; i < READS; i++)
		start_hanging(&reads[i], &array, 4 * (uint64_t)i);
	for (int i = 0; i < READS; i++)
		ck_assert_int_eq(wait_hanging(&reads[i], 60000 * MS), -ETIMEDOUT);
	clear_faults();
	mem_store_release(env.env.store);
	for (int i = 0; i < 10000 && (pool_stuck(env.env.pool) || atomic_load(&hanging_open)); i++) {
		mem_store_release(env.env.store);
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	ck_assert_int_eq(atomic_load(&hanging_open), 0);
	/* failures are remembered for a second, index and chunk one after the other */
	nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100 * (long)MS}, NULL);
	static struct hanging again[READS];
	for (int i = 0; i < READS; i++) {
		start_hanging(&again[i], &array, 4 * (uint64_t)i + 2);
		ck_assert_int_eq(wait_hanging(&again[i], 20000 * MS), 0);
		ck_assert_uint_eq(load_le16(again[i].bytes), 2 * i + 1);
	}
	fixture_env_settle(&env);
	close_all();
}
END_TEST

/* ------------------------------------------------ open values ------------------------------------------------ */

/*
 * A store whose values open at once but whose reads might wait, as on a disk whose names are cached and data are not, or only
 * the first `warm` bytes of each value. Byte i of a value is i + 1.
 */
struct cold_store {
	struct store store;
	size_t size, warm;
	atomic_int open, most_open;
};

static int cold_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	struct cold_store *cold = container_of(store, struct cold_store, store);
	struct value *value = calloc(1, sizeof(*value));
	ck_assert(key && value);
	value->info = (struct value_info){.size = cold->size, .version = 1, .ranges_cheap = true};
	int now = atomic_fetch_add(&cold->open, 1) + 1, most = atomic_load(&cold->most_open);
	while (now > most && !atomic_compare_exchange_weak(&cold->most_open, &most, now))
		;
	*ret_value = value;
	return 0;
}

static int cold_read(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how, size_t *ret_size)
{
	size_t warm = container_of(value->store, struct cold_store, store)->warm;
	if (how == STORE_TRY && offset >= warm)
		return -EAGAIN;
	if (how == STORE_TRY)
		size = MIN(size, warm - offset);
	else
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
	for (size_t i = 0; i < size; i++)
		((uint8_t *)dst)[i] = (uint8_t)(offset + i + 1);
	*ret_size = size;
	return 0;
}

static void cold_close_value(struct value *value)
{
	atomic_fetch_sub(&container_of(value->store, struct cold_store, store)->open, 1);
	free(value);
}

static void cold_close(struct store *store)
{
	free(container_of(store, struct cold_store, store));
}

static const struct store_ops cold_ops = {.scheme = "cold",
										  .close = cold_close,
										  .open_value = cold_open_value,
										  .read = cold_read,
										  .close_value = cold_close_value};

static struct cold_store *cold;

/* `array` becomes one of a cold store, of uint8 elements. */
static void open_cold(size_t elements, size_t chunk, size_t warm)
{
	struct fixture fixture = {.path = "a", .dtype = "uint8", .ndim = 1, .shape = {elements}, .chunk = {chunk}};
	autofree char *document = fixture_document(&fixture);
	fixture_env_open(&env, &(struct fixture_limits){.width = 2});
	cold = calloc(1, sizeof(*cold));
	ck_assert(cold && !store_init(&cold->store, &cold_ops, "cold://a"));
	cold->size = chunk;
	cold->warm = warm;
	struct array_env inside = env.env;
	inside.store = &cold->store;
	array = (struct fixture_array){.env = &env};
	ck_assert_int_eq(meta_parse_v3(document, strlen(document), &array.meta), 0);
	ck_assert_int_eq(array_open(&inside, "a", array.meta.array, &array.array), 0);
	ck_assert(layout_init(&array.layout, 1, fixture.shape, 1));
}

static void close_cold(void)
{
	close_all();
	ck_assert_int_eq(atomic_load(&cold->open), 0);
	store_close(&cold->store);
}

START_TEST(a_chunk_that_waits_for_a_fetch_slot_holds_no_value_open)
{
	static uint8_t got[500];
	open_cold(sizeof(got), 1, 0);
	ck_assert_int_eq(read_one(0, got, sizeof(got)), 0);
	for (size_t i = 0; i < sizeof(got); i++)
		ck_assert_int_eq(got[i], 1);
	/* one for each thread that reads, and no more: two of each lane, and the caller */
	ck_assert_int_le(atomic_load(&cold->most_open), 2 + 2 + 1);
	close_cold();
}
END_TEST

START_TEST(a_chunk_that_came_half_when_it_was_tried_is_whole)
{
	uint8_t got[100];
	for (size_t warm = 0; warm <= 10; warm++) {
		open_cold(sizeof(got), 10, warm);
		ck_assert_int_eq(read_one(0, got, sizeof(got)), 0);
		for (size_t i = 0; i < sizeof(got); i++)
			ck_assert_int_eq(got[i], i % 10 + 1);
		close_cold();
	}
}
END_TEST

static Suite *array_suite(void)
{
	Suite *suite = suite_create("array");
	TCase *tcase = tcase_create("array");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, an_array_that_cannot_be_read_is_refused_at_open_with_the_reason, 0, ARRAY_LEN(refusals));
	tcase_add_loop_test(tcase, the_read_unit_is_the_smallest_piece_that_is_decoded_by_itself, 0, ARRAY_LEN(units));
	tcase_add_test(tcase, one_element_of_a_sharded_array_costs_the_index_and_one_inner_chunk);
	tcase_add_test(tcase, one_element_below_two_shardings_costs_two_indexes_and_one_inner_chunk);
	tcase_add_loop_test(tcase, a_shard_whose_ranges_are_dear_is_read_whole_and_once, 0, ARRAY_LEN(dear_chains));
	tcase_add_loop_test(tcase, a_shard_whose_ranges_are_dear_may_be_as_large_as_a_chunk, 0, 2);
	tcase_add_test(tcase, missing_chunks_are_fill_and_cost_no_bytes);
	tcase_add_test(tcase, a_missing_inner_chunk_costs_the_index_alone);
	tcase_add_loop_test(tcase, damage_is_EIO_for_its_readers_and_nobody_else, 0, ARRAY_LEN(damages));
	tcase_add_loop_test(tcase, an_index_entry_out_of_range_harms_its_own_inner_chunk_only, 0, 6);
	tcase_add_test(tcase, a_message_about_an_index_names_one_reader_only);
	tcase_add_loop_test(tcase, a_failure_of_the_store_is_an_errno_and_never_fill, 0, ARRAY_LEN(failures));
	tcase_add_loop_test(tcase, a_value_of_another_length_is_EIO, 0, 7);
	tcase_add_test(tcase, a_value_that_is_read_in_small_pieces_is_whole);
	tcase_add_loop_test(tcase, a_value_replaced_after_its_index_was_read_is_opened_anew, 0, ARRAY_LEN(replaced_chains));
	tcase_add_test(tcase, indexes_of_several_openings_do_not_make_a_value_at_rest_stale);
	tcase_add_loop_test(tcase, a_value_that_changes_at_every_read_is_ESTALE_after_two_and_well_as_soon_as_it_rests, 0,
						ARRAY_LEN(replaced_chains));
	tcase_add_test(tcase, a_failure_is_remembered_for_a_second);
	tcase_add_test(tcase, an_array_whose_reads_all_hang_is_given_up_and_its_neighbour_is_served);
	tcase_add_loop_test(tcase, who_asks_for_what_has_hung_for_the_time_out_is_answered_at_once, 0, 2);
	tcase_add_test(tcase, a_sharded_array_whose_indexes_hang_is_given_up_too);
	tcase_add_test(tcase, a_chunk_that_waits_for_a_fetch_slot_holds_no_value_open);
	tcase_add_test(tcase, a_chunk_that_came_half_when_it_was_tried_is_whole);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(array_suite)
