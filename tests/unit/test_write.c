/*
 * test_write.c: arrays are written as others would read them, whatever their shapes and chains; a failure anywhere is reported and
 * leaves no value half written; and what is not equal to its source is found.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "array/strips.h"
#include "array/write.h"
#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store_impl.h"

#define CRC_INDEX FIXTURE_BYTES "," FIXTURE_CRC32C
#define SHARDED(shape, inner) "[" FIXTURE_SHARDING(shape, inner, CRC_INDEX, "end") "]"

/* A source of linear indexes that fails at its n-th call. */
struct linear {
	const struct array_meta *meta;
	int calls, fails_at; /* 0: never */
	bool lies;			 /* about the element 5 of each box */
};

static int read_linear(void *arg, const uint64_t *start, const uint64_t *count, void *dst)
{
	struct linear *linear = arg;
	const struct array_meta *meta = linear->meta;
	uint64_t at[LIMIT_DIMS] = {0}, n = 1;
	uint8_t *to = dst;
	if (++linear->calls == linear->fails_at)
		return err_set(EINTR, "enough");
	for (int a = 0; a < meta->ndim; a++) {
		ck_assert_uint_ge(count[a], 1);
		ck_assert_uint_le(start[a] + count[a], meta->shape[a]);
		n *= count[a];
	}
	for (uint64_t i = 0; i < n; i++, to += meta->dtype.size) {
		uint8_t bytes[8];
		uint64_t element = 0;
		for (int a = 0; a < meta->ndim; a++)
			element = element * meta->shape[a] + start[a] + at[a];
		store_le64(bytes, linear->lies && i == 5 ? ~element : element);
		memcpy(to, bytes, meta->dtype.size);
		for (int a = meta->ndim - 1; a >= 0 && ++at[a] == count[a]; a--)
			at[a] = 0;
	}
	return 0;
}

/* A store of another's values, whose n-th write call fails; and how many writes are open. */
struct failing {
	struct store store;
	struct store *inner;
	atomic_int calls, open;
	int fails_at;
};
struct failing_write {
	struct store_write write;
	struct store_write *inner;
};

static int fail_maybe(struct failing *failing)
{
	return atomic_fetch_add(&failing->calls, 1) + 1 == failing->fails_at ? err_set(ENOSPC, "the disk is full") : 0;
}

static int failing_begin(struct store *store, const char *key, struct store_write **ret_write)
{
	struct failing *failing = container_of(store, struct failing, store);
	int rc = fail_maybe(failing);
	if (rc)
		return rc;
	struct failing_write *write = calloc(1, sizeof(*write));
	ck_assert_ptr_nonnull(write);
	ck_assert_int_eq(store_write_begin(failing->inner, key, &write->inner), 0);
	atomic_fetch_add(&failing->open, 1);
	*ret_write = &write->write;
	return 0;
}

static int failing_append(struct store_write *write, const void *bytes, size_t size)
{
	int rc = fail_maybe(container_of(write->store, struct failing, store));
	return rc ? rc : store_write_append(container_of(write, struct failing_write, write)->inner, bytes, size);
}

static void failing_abort(struct store_write *write)
{
	struct failing_write *fw = container_of(write, struct failing_write, write);
	atomic_fetch_sub(&container_of(write->store, struct failing, store)->open, 1);
	store_write_abort(fw->inner);
	free(fw);
}

static int failing_commit(struct store_write *write)
{
	struct failing_write *fw = container_of(write, struct failing_write, write);
	int rc = fail_maybe(container_of(write->store, struct failing, store));
	if (rc) {
		failing_abort(write);
		return rc;
	}
	atomic_fetch_sub(&container_of(write->store, struct failing, store)->open, 1);
	rc = store_write_commit(fw->inner);
	free(fw);
	return rc;
}

static const struct store_ops failing_ops = {
	.write_begin = failing_begin,
	.write_append = failing_append,
	.write_commit = failing_commit,
	.write_abort = failing_abort,
};

static struct fixture_env env;
static struct fixture_array array;

static void open_empty(struct fixture *fixture, int width)
{
	fixture_env_open(&env, &(struct fixture_limits){.width = width, .cache_bytes = 16 << 20});
	autofree char *document = fixture_document(fixture);
	autofree char *key = str_join_key(fixture->path, "zarr.json");
	fixture_put_text(env.env.store, key, document);
	fixture_array_open(&env, fixture->path, &array);
	fixture->item_size = array.meta.array->dtype.size;
	memcpy(fixture->inner, fixture->chunk, sizeof(fixture->inner));
}

static void close_all(void)
{
	fixture_env_settle(&env);
	fixture_array_close(&array);
	fixture_env_close(&env);
}

static int write_linear(void)
{
	struct linear linear = {.meta = array.meta.array};
	return array_write(array.array, &(struct array_source){read_linear, &linear});
}

static int verify_linear(void)
{
	struct linear linear = {.meta = array.meta.array};
	return array_verify(array.array, &(struct array_source){read_linear, &linear});
}

/* ------------------------------------------------ what is written ------------------------------------------------ */

static struct fixture arrays[] = {
	{.path = "", .ndim = 0},
	{.path = "a", .ndim = 1, .shape = {0}, .chunk = {4}},
	{.path = "a", .ndim = 3, .shape = {5, 0, 7}, .chunk = {2, 2, 2}, .codecs = SHARDED("1,1,1", FIXTURE_BYTES)},
	{.path = "a", .ndim = 1, .shape = {1}, .chunk = {1}},
	{.path = "a/b", .ndim = 1, .shape = {17}, .chunk = {4}, .dtype = "float64", .fill = 9},
	{.path = "a", .ndim = 2, .shape = {10, 7}, .chunk = {3, 4}, .codecs = "[" FIXTURE_BIG "," FIXTURE_ZSTD "]"},
	{.path = "", .ndim = 2, .shape = {10, 7}, .chunk = {4, 4}, .codecs = SHARDED("2,2", FIXTURE_BYTES), .fill = 77},
	{.path = "a",
	 .ndim = 2,
	 .shape = {10, 7},
	 .chunk = {40, 40},
	 .codecs = SHARDED("4,4", FIXTURE_BYTES "," FIXTURE_ZSTD)},
	{.path = "a",
	 .ndim = 2,
	 .shape = {10, 7},
	 .chunk = {4, 4},
	 .codecs = SHARDED("4,4", FIXTURE_BYTES "," FIXTURE_CRC32C)},
	{.path = "a",
	 .dtype = "r24",
	 .ndim = 3,
	 .shape = {5, 9, 11},
	 .chunk = {2, 6, 6},
	 .codecs = SHARDED("1,3,2", FIXTURE_TRANSPOSE("2,0,1") "," FIXTURE_BYTES)},
	/* written as whole chunks: the index comes first, or something is around the shard */
	{.path = "a",
	 .ndim = 2,
	 .shape = {10, 7},
	 .chunk = {4, 4},
	 .codecs = "[" FIXTURE_SHARDING("2,2", FIXTURE_BYTES, CRC_INDEX, "start") "]"},
	{.path = "a",
	 .ndim = 2,
	 .shape = {10, 7},
	 .chunk = {4, 6},
	 .codecs = "[" FIXTURE_TRANSPOSE("1,0") "," FIXTURE_SHARDING("2,2", FIXTURE_BYTES, CRC_INDEX,
																 "end") "," FIXTURE_ZSTD "]"},
	/* shards in shards */
	{.path = "a",
	 .ndim = 2,
	 .shape = {21, 19},
	 .chunk = {8, 8},
	 .codecs = SHARDED("4,8", FIXTURE_SHARDING("2,2", FIXTURE_BYTES "," FIXTURE_ZSTD, CRC_INDEX, "start"))},
	/* several strips a shard, and more strips than the ring has */
	{.path = "a",
	 .dtype = "uint64",
	 .ndim = 2,
	 .shape = {1500, 3500},
	 .chunk = {500, 4096},
	 .codecs = SHARDED("100,128", FIXTURE_BYTES)},
	{.path = "a", .dtype = "uint64", .ndim = 1, .shape = {5600000}, .chunk = {400000}},
	/* as many units as a strip may have, and more */
	{.path = "a",
	 .ndim = 2,
	 .shape = {100, 90},
	 .chunk = {100, 90},
	 .dtype = "uint8",
	 .codecs = SHARDED("1,1", FIXTURE_BYTES)},
};

/* All of it, or where that would take long some windows. */
static void check_well(const struct fixture *fixture, const struct fixture_array *fresh)
{
	const size_t whole = 100000, window = 5000;
	uint64_t bytes = fixture_bytes(fixture), step = bytes <= whole ? MAX(bytes, 1) : bytes / 30;
	for (uint64_t at = 0; at < bytes; at += step) {
		int rc = fixture_check(fixture, fresh, at, MIN(bytes - at, bytes <= whole ? whole : window), NULL);
		ck_assert_msg(rc == 0, "%d %s", rc, err_message());
	}
}

START_TEST(what_is_written_reads_back)
{
	for (int width = 0; width <= 3; width += 3) {
		struct fixture *fixture = &arrays[_i];
		struct fixture_array fresh;
		open_empty(fixture, width);
		ck_assert_msg(write_linear() == 0, "%s", err_message());
		fixture_array_open(&env, fixture->path, &fresh);
		check_well(fixture, &fresh);
		ck_assert_msg(verify_linear() == 0, "%s", err_message());
		fixture_env_settle(&env);
		fixture_array_close(&fresh);
		close_all();
	}
}
END_TEST

static struct buf *get(const char *key)
{
	struct buf *buf;
	ck_assert_msg(store_get(env.env.store, key, STORE_WAIT, 1 << 20, &buf, NULL) == 0, "%s", err_message());
	return buf;
}

START_TEST(what_lies_outside_the_array_is_the_fill_value)
{
	struct fixture fixture = {.path = "a", .dtype = "uint8", .ndim = 2, .shape = {3, 5}, .chunk = {2, 3}, .fill = 77};
	/* rows 0 and 1, columns 3 to 5 */
	static const uint8_t right[] = {3, 4, 77, 8, 9, 77};
	open_empty(&fixture, 2);
	ck_assert_int_eq(write_linear(), 0);
	autobuf buf = get("a/c/0/1");
	ck_assert_uint_eq(buf->size, sizeof(right));
	ck_assert_mem_eq(buf->data, right, sizeof(right));
	close_all();
}
END_TEST

START_TEST(inner_chunks_outside_the_array_are_absent_and_the_rest_is_in_order)
{
	/* of 2 x 2 in a shard of 4 x 6, of which the array has 3 x 3 */
	struct fixture fixture = {.path = "a",
							  .dtype = "uint8",
							  .ndim = 2,
							  .shape = {3, 3},
							  .chunk = {4, 6},
							  .codecs = SHARDED("2,2", FIXTURE_BYTES)};
	static const uint8_t data[] = {0, 1, 3, 4, 2, 0, 5, 0, 6, 7, 0, 0, 8, 0, 0, 0};
	static const uint64_t offsets[] = {0, 4, SHARD_ABSENT, 8, 12, SHARD_ABSENT};
	open_empty(&fixture, 2);
	ck_assert_int_eq(write_linear(), 0);
	autobuf buf = get("a/c/0/0");
	ck_assert_uint_eq(buf->size, sizeof(data) + 6 * 16 + 4);
	ck_assert_mem_eq(buf->data, data, sizeof(data));
	for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
		const uint8_t *entry = buf->data + sizeof(data) + i * 16;
		ck_assert_uint_eq(load_le64(entry), offsets[i]);
		ck_assert_uint_eq(load_le64(entry + 8), offsets[i] == SHARD_ABSENT ? SHARD_ABSENT : 4);
	}
	close_all();
}
END_TEST

START_TEST(an_empty_array_has_no_values)
{
	struct store_listing listing;
	struct fixture fixture = {.path = "a", .ndim = 2, .shape = {4, 0}, .chunk = {2, 2}};
	open_empty(&fixture, 2);
	ck_assert_int_eq(write_linear(), 0);
	ck_assert_int_eq(store_list(env.env.store, "a", &listing), 0);
	ck_assert_uint_eq(listing.n, 1); /* its document */
	store_listing_finish(&listing);
	close_all();
}
END_TEST

/* ------------------------------------------------ strips ------------------------------------------------ */

/* Containers in C order, their units in C order without a gap, boxes whole units, every element in one box. */
static void check_strips(const struct array_meta *meta, uint64_t bytes)
{
	struct strips strips;
	struct strip_box box;
	uint64_t elements = 0, next = 0, coords[LIMIT_DIMS], start[LIMIT_DIMS], count[LIMIT_DIMS], of_units = 0;
	bool begins = true;
	strips_begin(&strips, array.array, bytes);
	while (strips_next(&strips, &box)) {
		uint64_t inside = 0;
		ck_assert_uint_eq(box.begins, begins);
		ck_assert_uint_eq(box.first, begins ? 0 : next);
		ck_assert_uint_ge(box.n, 1);
		if (box.n > 1)
			ck_assert_uint_le(box.n * pipeline_decoded_bytes(strips.pipeline), bytes);
		for (uint64_t i = 0; i < box.n; i++) {
			uint64_t n = 1;
			bool is_inside = strips_unit(&strips, &box, box.first + i, coords, start, count);
			for (int a = 0; a < meta->ndim; a++) {
				n *= count[a];
				if (!is_inside)
					continue;
				ck_assert_uint_ge(start[a], box.start[a]);
				ck_assert_uint_le(start[a] + count[a], box.start[a] + box.count[a]);
				ck_assert_uint_le(start[a] + count[a], meta->shape[a]);
			}
			ck_assert_uint_eq(is_inside, n > 0);
			inside += n;
		}
		ck_assert_uint_eq(box.bytes, inside * meta->dtype.size);
		elements += inside;
		next = box.first + box.n;
		begins = box.ends;
		of_units += box.n;
	}
	ck_assert_uint_eq(elements, meta->elements);
	ck_assert(begins || of_units == 0);
}

START_TEST(strips_cover_an_array_once_in_order)
{
	uint64_t state = test_seed();
	for (int round = 0; round < 300; round++) {
		struct fixture fixture = {.path = "a", .ndim = 1 + (int)(test_random(&state) % 4)};
		char inner[64] = "", codecs[512];
		for (int a = 0; a < fixture.ndim; a++) {
			uint64_t unit = 1 + test_random(&state) % 3;
			fixture.shape[a] = 1 + test_random(&state) % 12;
			fixture.chunk[a] = unit * (1 + test_random(&state) % 4);
			snprintf(inner + strlen(inner), sizeof(inner) - strlen(inner), "%s%" PRIu64, a ? "," : "", unit);
		}
		snprintf(codecs, sizeof(codecs),
				 "[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[%s],\"codecs\":[" FIXTURE_BYTES
				 "],\"index_codecs\":[" CRC_INDEX "]}}]",
				 inner);
		fixture.codecs = test_random(&state) % 4 ? codecs : NULL;
		open_empty(&fixture, 0);
		check_strips(array.meta.array, 1 + test_random(&state) % 400);
		ck_assert_msg(write_linear() == 0, "%s", err_message());
		ck_assert_msg(verify_linear() == 0, "%s", err_message());
		close_all();
	}
}
END_TEST

/* ------------------------------------------------ failures ------------------------------------------------ */

static struct fixture several[] = {
	{.path = "a", .ndim = 2, .shape = {10, 7}, .chunk = {4, 4}, .codecs = SHARDED("2,2", FIXTURE_BYTES)},
	{.path = "a", .ndim = 2, .shape = {10, 7}, .chunk = {3, 3}},
};

START_TEST(a_failing_store_fails_the_write_and_leaves_none_open)
{
	for (size_t i = 0; i < ARRAY_LEN(several); i++)
		for (int width = 0; width <= 3; width += 3)
			for (int fails_at = 1;; fails_at++) {
				struct array *other;
				open_empty(&several[i], width);
				struct failing failing = {.store.ops = &failing_ops, .inner = env.env.store, .fails_at = fails_at};
				struct linear linear = {.meta = array.meta.array};
				struct array_env failing_env = env.env;
				failing_env.store = &failing.store;
				ck_assert_int_eq(array_open(&failing_env, "a", array.meta.array, &other), 0);
				int rc = array_write(other, &(struct array_source){read_linear, &linear});
				bool was_reached = atomic_load(&failing.calls) >= fails_at;
				ck_assert_int_eq(atomic_load(&failing.open), 0);
				ck_assert_int_eq(rc, was_reached ? -ENOSPC : 0);
				if (rc)
					ck_assert_str_eq(err_message(), "the disk is full");
				array_close(other);
				close_all();
				if (!was_reached)
					break;
				ck_assert_int_lt(fails_at, 1000);
			}
}
END_TEST

START_TEST(a_source_that_stops_stops_the_write)
{
	for (size_t i = 0; i < ARRAY_LEN(several); i++)
		for (int width = 0; width <= 3; width += 3) {
			open_empty(&several[i], width);
			struct failing failing = {.store.ops = &failing_ops, .inner = env.env.store};
			struct linear linear = {.meta = array.meta.array, .fails_at = 1};
			struct array_env failing_env = env.env;
			struct array *other;
			failing_env.store = &failing.store;
			ck_assert_int_eq(array_open(&failing_env, "a", array.meta.array, &other), 0);
			ck_assert_int_eq(array_write(other, &(struct array_source){read_linear, &linear}), -EINTR);
			ck_assert_str_eq(err_message(), "enough");
			ck_assert_int_eq(atomic_load(&failing.open), 0);
			array_close(other);
			close_all();
		}
}
END_TEST

/* Shards of 12 MiB in strips of 8 and 4 MiB: the source stops while others are encoded and committed. */
START_TEST(a_source_may_stop_at_any_strip)
{
	const int strips = 8;
	struct fixture fixture = {.path = "a",
							  .dtype = "uint64",
							  .ndim = 1,
							  .shape = {UINT64_C(45) << 17},
							  .chunk = {12 << 17},
							  .codecs = SHARDED("131072", FIXTURE_BYTES)};
	for (int fails_at = 1; fails_at <= strips + 1; fails_at++) {
		open_empty(&fixture, 3);
		struct linear linear = {.meta = array.meta.array, .fails_at = fails_at};
		struct array_source source = {read_linear, &linear};
		ck_assert_int_eq(array_write(array.array, &source), fails_at <= strips ? -EINTR : 0);
		linear.calls = 0;
		linear.fails_at = 3;
		if (fails_at > strips)
			ck_assert_int_eq(array_verify(array.array, &source), -EINTR);
		ck_assert_str_eq(err_message(), "enough");
		close_all();
	}
}
END_TEST

START_TEST(a_store_that_cannot_be_written_says_so)
{
	static const struct store_ops read_only;
	struct store store = {.ops = &read_only};
	struct array *other;
	for (size_t i = 0; i < ARRAY_LEN(several); i++) {
		open_empty(&several[i], 2);
		struct linear linear = {.meta = array.meta.array};
		struct array_env other_env = env.env;
		other_env.store = &store;
		ck_assert_int_eq(array_open(&other_env, "a", array.meta.array, &other), 0);
		ck_assert_int_eq(array_write(other, &(struct array_source){read_linear, &linear}), -EROFS);
		array_close(other);
		close_all();
	}
}
END_TEST

START_TEST(a_codec_that_cannot_encode_fails_the_write)
{
	struct fixture fixture = {
		.path = "a",
		.ndim = 2,
		.shape = {10, 7},
		.chunk = {4, 4},
		.codecs = SHARDED("2,2", FIXTURE_BYTES
						  ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"nosuch\",\"clevel\":1,\"typesize\":2,"
						  "\"shuffle\":\"shuffle\",\"blocksize\":0}}"),
	};
	open_empty(&fixture, 3);
	ck_assert_int_eq(write_linear(), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err_message(), "blosc"));
	close_all();
}
END_TEST

START_TEST(one_false_byte_is_found_with_its_place)
{
	for (size_t i = 0; i < ARRAY_LEN(several); i++) {
		open_empty(&several[i], 3);
		ck_assert_int_eq(write_linear(), 0);
		autobuf buf = get("a/c/1/1");
		buf->data[0] ^= 1; /* the first element of the chunk */
		ck_assert_int_eq(mem_store_put(env.env.store, "a/c/1/1", buf->data, buf->size), 0);
		ck_assert_int_eq(verify_linear(), -EIO);
		const char *place = i == 0 ? "element [4, 4] " : "element [3, 3] ";
		ck_assert_msg(strncmp(err_message(), place, strlen(place)) == 0, "%s", err_message());
		close_all();
	}
}
END_TEST

START_TEST(a_missing_chunk_and_a_changed_source_are_found)
{
	struct fixture fixture = several[1];
	open_empty(&fixture, 3);
	ck_assert_int_eq(write_linear(), 0);
	struct linear linear = {.meta = array.meta.array, .lies = true};
	ck_assert_int_eq(array_verify(array.array, &(struct array_source){read_linear, &linear}), -EIO);
	ck_assert_str_eq(err_message(), "element [0, 5] is not what was written");
	struct fixture_array fresh;
	fixture_array_open(&env, fixture.path, &fresh);
	ck_assert_int_eq(mem_store_put(env.env.store, "a/c/3/2", NULL, 0), 0);
	linear.lies = false;
	ck_assert_int_eq(array_verify(fresh.array, &(struct array_source){read_linear, &linear}), -EIO);
	ck_assert_str_eq(err_message(), "element [9, 6] is not what was written");
	fixture_env_settle(&env);
	fixture_array_close(&fresh);
	close_all();
}
END_TEST

static Suite *write_suite(void)
{
	Suite *suite = suite_create("write");
	TCase *tcase = tcase_create("write");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, what_is_written_reads_back, 0, (int)ARRAY_LEN(arrays));
	tcase_add_test(tcase, what_lies_outside_the_array_is_the_fill_value);
	tcase_add_test(tcase, inner_chunks_outside_the_array_are_absent_and_the_rest_is_in_order);
	tcase_add_test(tcase, an_empty_array_has_no_values);
	tcase_add_test(tcase, strips_cover_an_array_once_in_order);
	tcase_add_test(tcase, a_failing_store_fails_the_write_and_leaves_none_open);
	tcase_add_test(tcase, a_source_that_stops_stops_the_write);
	tcase_add_test(tcase, a_source_may_stop_at_any_strip);
	tcase_add_test(tcase, a_store_that_cannot_be_written_says_so);
	tcase_add_test(tcase, a_codec_that_cannot_encode_fails_the_write);
	tcase_add_test(tcase, one_false_byte_is_found_with_its_place);
	tcase_add_test(tcase, a_missing_chunk_and_a_changed_source_are_found);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(write_suite)
