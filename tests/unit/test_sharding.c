/*
 * test_sharding.c: shards of other writers byte by byte, hostile indexes, limits, nesting, and a whole shard in both directions.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/codecs.h"
#include "../lib/hex.h"
#include "../lib/seed.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define LITTLE "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define BIG "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define SHARDING(shape, codecs, index, more)                                                                           \
	"{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":" shape ",\"codecs\":[" codecs                  \
	"],\"index_codecs\":[" index "]" more "}}"
#define AT_START ",\"index_location\":\"start\""
#define AT_END ",\"index_location\":\"end\""

static const uint8_t nine[16] = {9, 0};
static const struct repr four = {.ndim = 1, .shape = {4}, .item_size = 2, .swap_unit = 2, .fill_value = nine};

static int open_chain(const char *json, const struct repr *repr, struct pipeline **ret_pipeline)
{
	struct test_codecs codecs;
	ck_assert_msg(test_codecs_parse(json, strlen(json), false, &codecs) == 0, "%s", json);
	int rc = pipeline_open(&codecs.list, repr, ret_pipeline);
	test_codecs_finish(&codecs);
	return rc;
}

static struct pipeline *open_good(const char *json, const struct repr *repr)
{
	struct pipeline *pipeline = NULL;
	int rc = open_chain(json, repr, &pipeline);
	ck_assert_msg(rc == 0, "%s: %s", json, err_message());
	return pipeline;
}

#define PAIR(offset, size) offset "00000000000000" size "00000000000000 "
#define PAIR_BIG(offset, size) "00000000000000" offset "00000000000000" size " "
#define NONE "ffffffffffffffffffffffffffffffff "
#define DATA "0100 0200 0300 0400 "

/* Cases O-16 and O-17: uint16 [1, 2, 3, 4] in a shard of two inner chunks. */
START_TEST(shards_of_other_writers)
{
	static const struct {
		const char *json, *hex;
		size_t index_bytes;
		uint16_t right[4];
	} rows[] = {
		{"[" SHARDING("[2]", LITTLE, LITTLE, "") "]", DATA PAIR("00", "04") PAIR("04", "04"), 32, {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, LITTLE ",\"crc32c\"", AT_END) "]",
		 DATA PAIR("00", "04") PAIR("04", "04") "f6ff6f8f",
		 36,
		 {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, LITTLE ",\"crc32c\",\"crc32c\"", "") "]",
		 DATA PAIR("00", "04") PAIR("04", "04") "f6ff6f8f c74b6748",
		 40,
		 {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, BIG, "") "]", DATA PAIR_BIG("00", "04") PAIR_BIG("04", "04"), 32, {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, LITTLE ",\"crc32c\"", AT_START) "]",
		 PAIR("24", "04") PAIR("28", "04") "df3706b7" DATA,
		 36,
		 {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, LITTLE ",\"crc32c\"", AT_START) "]",
		 NONE PAIR("24", "04") "4102a204 0300 0400",
		 36,
		 {9, 9, 3, 4}},
		/* the second inner chunk first, a gap, and both in one place */
		{"[" SHARDING("[2]", LITTLE, LITTLE, "") "]",
		 "0300 0400 aaaaaa 0100 0200" PAIR("07", "04") PAIR("00", "04"),
		 32,
		 {1, 2, 3, 4}},
		{"[" SHARDING("[2]", LITTLE, LITTLE, "") "]", "0100 0200" PAIR("00", "04") PAIR("00", "04"), 32, {1, 2, 1, 2}},
		/* an offset of all ones is enough */
		{"[" SHARDING("[2]", LITTLE, LITTLE, "") "]",
		 "0100 0200" PAIR("00", "04") "ffffffffffffffff 0400000000000000",
		 32,
		 {1, 2, 9, 9}},
		/* fill is little-endian on the decoded side, whatever the inner chunks are */
		{"[" SHARDING("[2]", BIG, LITTLE, "") "]", "0001 0002" PAIR("00", "04") NONE, 32, {1, 2, 9, 9}},
		{"[" SHARDING("[4]", LITTLE, LITTLE, "") "]", NONE, 16, {9, 9, 9, 9}},
		{"[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":[" LITTLE
		 "],\"index_codecs\":[" LITTLE "]}}]",
		 DATA PAIR("00", "04") PAIR("04", "04"),
		 32,
		 {1, 2, 3, 4}},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pipeline *pipeline = open_good(rows[i].json, &four);
		const struct sharding *sharding = pipeline_sharding(pipeline);
		uint8_t bytes[200];
		uint16_t out[4];
		size_t n = from_hex(rows[i].hex, bytes);
		ck_assert_ptr_nonnull(sharding);
		ck_assert_uint_eq(sharding_index_bytes(sharding), rows[i].index_bytes);
		ck_assert_msg(pipeline_decode(pipeline, bytes, n, out) == 0, "%s: %s", rows[i].hex, err_message());
		ck_assert_msg(memcmp(out, rows[i].right, sizeof(out)) == 0, "%s", rows[i].hex);
		pipeline_close(pipeline);
	}
}
END_TEST

/* zarr-format section 1.11: int16, two inner chunks at the array's edge are absent. */
START_TEST(a_real_shard_reads_entry_by_entry)
{
	const struct repr shard = {.ndim = 2, .shape = {2, 2}, .item_size = 2, .swap_unit = 2, .fill_value = nine};
	struct pipeline *pipeline =
		open_good("[" SHARDING("[1,1]", LITTLE ",\"gzip\"", LITTLE ",\"crc32c\"", "") "]", &shard);
	const struct sharding *sharding = pipeline_sharding(pipeline);
	uint8_t index[68];
	struct shard_entry entries[4];
	from_hex(PAIR("00", "16") PAIR("16", "16") NONE NONE "c80cb5c7", index);
	ck_assert_uint_eq(sharding_entries(sharding), 4);
	ck_assert_uint_eq(sharding_index_bytes(sharding), 68);
	ck_assert(sharding_index_at_end(sharding));
	ck_assert_uint_eq(sharding_grid(sharding)[0], 2);
	ck_assert_uint_eq(sharding_grid(sharding)[1], 2);
	ck_assert_uint_eq(pipeline_decoded_bytes(sharding_inner(sharding)), 2);
	ck_assert_int_eq(sharding_decode_index(sharding, index, entries), 0);
	ck_assert_int_eq(sharding_check_entry(sharding, &entries[0], 112), 1);
	ck_assert_uint_eq(entries[1].offset, 22);
	ck_assert_uint_eq(entries[1].size, 22);
	ck_assert_int_eq(sharding_check_entry(sharding, &entries[2], 112), 0);
	ck_assert_int_eq(sharding_check_entry(sharding, &entries[3], 112), 0);

	struct buf *again;
	ck_assert_int_eq(sharding_encode_index(sharding, entries, &again), 0);
	ck_assert_uint_eq(again->size, sizeof(index));
	ck_assert_mem_eq(again->data, index, sizeof(index));
	buf_unref(again);

	index[5] ^= 1;
	ck_assert_int_eq(sharding_decode_index(sharding, index, entries), -EIO);
	ck_assert_msg(strncmp(err_message(), "shard index: crc32c: checksum", 29) == 0, "%s", err_message());
	pipeline_close(pipeline);
}
END_TEST

/* Case O-19, in a shard of 100 bytes whose inner chunks have 4. */
START_TEST(entries_are_checked_one_by_one)
{
	static const struct {
		struct shard_entry entry;
		int rc;
	} rows[] = {
		{{0, 4}, 1},
		{{96, 4}, 1},
		{{40, 60}, 1}, /* of a wrong size: its decode will tell */
		{{97, 4}, -EIO},
		{{100, 1}, -EIO},
		{{4, 0}, -EIO},
		{{0, 0}, -EIO},
		{{5, UINT64_C(1) << 63}, -EIO},
		{{UINT64_C(1) << 63, 4}, -EIO},
		{{UINT64_MAX - 7, 16}, -EIO},
		{{UINT64_MAX - 1, 4}, -EIO},
		{{4, UINT64_MAX}, -EIO},
		{{SHARD_ABSENT, SHARD_ABSENT}, 0},
		{{SHARD_ABSENT, 4}, 0},
		{{SHARD_ABSENT, 0}, 0},
	};
	struct pipeline *pipeline = open_good("[" SHARDING("[2]", LITTLE, LITTLE, "") "]", &four);
	const struct sharding *sharding = pipeline_sharding(pipeline);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		int rc = sharding_check_entry(sharding, &rows[i].entry, 100);
		ck_assert_msg(rc == rows[i].rc, "(%ju, %ju): %d", (uintmax_t)rows[i].entry.offset,
					  (uintmax_t)rows[i].entry.size, rc);
	}
	uint64_t bound = pipeline_encoded_bound(sharding_inner(sharding));
	ck_assert_int_eq(sharding_check_entry(sharding, &(struct shard_entry){0, bound}, UINT64_C(1) << 40), 1);
	ck_assert_int_eq(sharding_check_entry(sharding, &(struct shard_entry){0, bound + 1}, UINT64_C(1) << 40), -EIO);
	pipeline_close(pipeline);
}
END_TEST

START_TEST(damaged_shards_fail_whole)
{
	static const char *const rows[] = {
		"",
		"0100",
		PAIR("00", "04") "000000000000000000000000000000", /* 31 bytes */
		DATA PAIR("05", "04") PAIR("25", "04"),			   /* past the end */
		DATA PAIR("00", "04") PAIR("04", "03"),			   /* an inner chunk of 3 bytes */
		DATA PAIR("00", "04") PAIR("04", "05"),
		DATA PAIR("00", "04") PAIR("04", "00"),
		DATA PAIR("00", "04") "f8ffffffffffffff 1000000000000000",
	};
	struct pipeline *pipeline = open_good("[" SHARDING("[2]", LITTLE, LITTLE, "") "]", &four);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t bytes[200];
		uint16_t out[4];
		size_t n = from_hex(rows[i], bytes);
		autofree uint8_t *exact = malloc(n + 1);
		memcpy(exact, bytes, n);
		ck_assert_msg(pipeline_decode(pipeline, exact, n, out) == -EIO, "%s", rows[i]);
	}
	pipeline_close(pipeline);
}
END_TEST

/* Case O-20: int32 [4, 6], transpose [1, 0], inner [3, 2] in the transposed frame. */
START_TEST(a_transpose_before_the_sharding_turns_the_frame)
{
	const struct repr chunk = {.ndim = 2, .shape = {4, 6}, .item_size = 4, .swap_unit = 4, .fill_value = nine};
	static const int32_t inner[2][6] = {{0, 6, 1, 7, 2, 8}, {12, 18, 13, 19, 14, 20}};
	struct pipeline *pipeline = open_good(
		"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," SHARDING("[3,2]", LITTLE, LITTLE, "") "]",
		&chunk);
	struct buf *encoded;
	int32_t values[24], decoded[24];
	for (int i = 0; i < 24; i++)
		values[i] = i;
	ck_assert_ptr_null(pipeline_sharding(pipeline)); /* whole shards */
	ck_assert_int_eq(pipeline_encode(pipeline, values, &encoded), 0);
	ck_assert_uint_eq(encoded->size, 4 * 24 + 4 * 16);
	ck_assert_mem_eq(encoded->data, inner, sizeof(inner));
	ck_assert_int_eq(pipeline_decode(pipeline, encoded->data, encoded->size, decoded), 0);
	ck_assert_mem_eq(values, decoded, sizeof(values));
	buf_unref(encoded);
	pipeline_close(pipeline);
}
END_TEST

START_TEST(a_transpose_of_axes_of_one_keeps_ranges_only_where_the_axes_agree)
{
	const struct repr moved = {.ndim = 2, .shape = {1, 4}, .item_size = 2, .swap_unit = 2, .fill_value = nine};
	const struct repr same = {.ndim = 2, .shape = {4, 4}, .item_size = 2, .swap_unit = 2, .fill_value = nine};
	struct pipeline *pipeline = open_good(
		"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," SHARDING("[2,1]", LITTLE, LITTLE, "") "]",
		&moved);
	ck_assert_ptr_null(pipeline_sharding(pipeline));
	pipeline_close(pipeline);
	pipeline = open_good(
		"[{\"name\":\"transpose\",\"configuration\":{\"order\":[0,1]}}," SHARDING("[2,1]", LITTLE, LITTLE, "") "]",
		&same);
	ck_assert_ptr_nonnull(pipeline_sharding(pipeline));
	pipeline_close(pipeline);
}
END_TEST

#define CRC LITTLE ",\"crc32c\""
#define INNER_ZSTD LITTLE ",\"zstd\""

START_TEST(whole_shards_give_the_chunk_back)
{
	static const char *const chains[] = {
		"[" SHARDING("[2,3,4]", INNER_ZSTD, CRC, "") "]",
		"[" SHARDING("[2,3,4]", BIG ",\"lz4\",\"crc32c\"", CRC, AT_START) "]",
		"[" SHARDING("[1,1,8]", LITTLE, CRC, "") "]",
		"[" SHARDING("[1,6,8]", LITTLE, CRC, "") "]",
		"[" SHARDING("[4,6,8]", LITTLE, BIG, "") "]",
		"[" SHARDING("[1,1,1]", LITTLE, CRC, "") "]",
		"[" SHARDING("[2,3,4]", INNER_ZSTD, CRC, "") ",\"zstd\",\"crc32c\"]",
		"[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,2,0]}}," SHARDING("[3,4,2]", INNER_ZSTD, CRC,
																					"") ",\"gzip\"]",
		"[" SHARDING("[2,6,4]", "{\"name\":\"transpose\",\"configuration\":{\"order\":\"F\"}}," INNER_ZSTD, CRC,
					 "") "]",
		"[" SHARDING("[2,6,4]", SHARDING("[1,3,2]", INNER_ZSTD, CRC, AT_START), CRC, "") "]",
		"[" SHARDING("[2,6,4]",
					 "{\"name\":\"transpose\",\"configuration\":{\"order\":[2,0,1]}}," SHARDING(
						 "[2,1,3]", SHARDING("[1,1,1]", BIG ",\"zlib\"", BIG, ""), CRC, AT_START) ",\"zstd\"",
					 CRC, "") ",\"lz4\"]",
	};
	const struct repr chunk = {.ndim = 3, .shape = {4, 6, 8}, .item_size = 4, .swap_unit = 4, .fill_value = nine};
	uint64_t state = test_seed();
	for (size_t i = 0; i < ARRAY_LEN(chains); i++) {
		struct pipeline *pipeline = open_good(chains[i], &chunk);
		struct buf *encoded;
		uint32_t values[192], decoded[192] = {0};
		for (size_t k = 0; k < ARRAY_LEN(values); k++)
			values[k] = (uint32_t)test_random(&state);
		ck_assert_msg(pipeline_encode(pipeline, values, &encoded) == 0, "%s: %s", chains[i], err_message());
		ck_assert_uint_le(encoded->size, pipeline_encoded_bound(pipeline));
		ck_assert_msg(pipeline_decode(pipeline, encoded->data, encoded->size, decoded) == 0, "%s: %s", chains[i],
					  err_message());
		ck_assert_msg(memcmp(values, decoded, sizeof(values)) == 0, "%s", chains[i]);
		ck_assert_uint_gt(pipeline_decode_ns(pipeline), 0);
		/* no damage writes outside, or takes memory that a header asks for (the sanitizer watches) */
		autofree uint8_t *damaged = malloc(encoded->size);
		for (int round = 0; round < 300; round++) {
			memcpy(damaged, encoded->data, encoded->size);
			for (int flips = 0; flips < 3; flips++)
				damaged[test_random(&state) % encoded->size] ^= (uint8_t)(1u << test_random(&state) % 8);
			int rc = pipeline_decode(pipeline, damaged, test_random(&state) % 4 ? encoded->size : encoded->size / 2,
									 decoded);
			ck_assert_msg(rc == 0 || rc == -EIO, "%s: %d", chains[i], rc);
		}
		buf_unref(encoded);
		pipeline_close(pipeline);
	}
}
END_TEST

START_TEST(a_scalar_can_be_sharded)
{
	const struct repr scalar = {.ndim = 0, .item_size = 4, .swap_unit = 4, .fill_value = nine};
	struct pipeline *pipeline = open_good("[" SHARDING("[]", LITTLE, CRC, "") "]", &scalar);
	struct buf *encoded;
	uint32_t value = 42, decoded = 0;
	ck_assert_uint_eq(sharding_entries(pipeline_sharding(pipeline)), 1);
	ck_assert_int_eq(pipeline_encode(pipeline, &value, &encoded), 0);
	ck_assert_uint_eq(encoded->size, 4 + 16 + 4);
	ck_assert_int_eq(pipeline_decode(pipeline, encoded->data, encoded->size, &decoded), 0);
	ck_assert_uint_eq(decoded, 42);
	buf_unref(encoded);
	pipeline_close(pipeline);
}
END_TEST

START_TEST(absent_entries_are_fill_through_transposes_and_nesting)
{
	const struct repr chunk = {.ndim = 2, .shape = {4, 6}, .item_size = 2, .swap_unit = 2, .fill_value = nine};
	struct pipeline *pipeline = open_good("[{\"name\":\"transpose\",\"configuration\":{\"order\":[1,0]}}," SHARDING(
											  "[3,4]", SHARDING("[1,2]", BIG, LITTLE, ""), LITTLE, "") "]",
										  &chunk);
	/* Two inner shards: the first has its first inner chunk only, the second is absent. */
	uint8_t shard[4 + 6 * 16 + 2 * 16];
	uint16_t out[24];
	size_t n = from_hex("0001 0002" PAIR("00", "04") NONE NONE NONE NONE NONE PAIR("00", "64") NONE, shard);
	ck_assert_uint_eq(n, sizeof(shard));
	ck_assert_msg(pipeline_decode(pipeline, shard, n, out) == 0, "%s", err_message());
	for (int i = 0; i < 24; i++) /* the inner chunk is row 0 of the turned frame, its first two columns */
		ck_assert_uint_eq(out[i], i == 0 ? 1 : i == 6 ? 2 : 9);
	pipeline_close(pipeline);
}
END_TEST

START_TEST(configurations_that_cannot_be)
{
	static const struct {
		const char *json;
		int rc;
		const char *message;
	} rows[] = {
		{"[" SHARDING("[3]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape[0]: 3 does not divide"},
		{"[" SHARDING("[0]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape[0]"},
		{"[" SHARDING("[8]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape[0]"},
		{"[" SHARDING("[2,1]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape: 2 axes"},
		{"[" SHARDING("[]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape: 0 axes"},
		{"[" SHARDING("2", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape"},
		{"[" SHARDING("[-2]", LITTLE, LITTLE, "") "]", -EIO, "codecs[0]: chunk_shape[0]"},
		{"[" SHARDING("[2]", LITTLE, LITTLE, ",\"index_location\":\"middle\"") "]", -EIO, "codecs[0]: index_location"},
		{"[" SHARDING("[2]", LITTLE, LITTLE, ",\"index_location\":7") "]", -EIO, "codecs[0]: index_location"},
		{"[" SHARDING("[2]", "", LITTLE, "") "]", -ENOTSUP, "codecs[0]: codecs"},
		{"[" SHARDING("[2]", LITTLE, "", "") "]", -ENOTSUP, "codecs[0]: "},
		{"[" SHARDING("[2]", "\"zstd\"", LITTLE, "") "]", -ENOTSUP, "codecs[0]: codecs[0]: "},
		{"[" SHARDING("[2]", LITTLE ",\"foo\"", LITTLE, "") "]", -ENOTSUP,
		 "codecs[0]: codecs[1]: unknown codec \"foo\""},
		{"[" SHARDING("[2]", LITTLE ",3", LITTLE, "") "]", -EIO, "codecs[0]: codecs[1]"},
		{"[" SHARDING("[2]", LITTLE ",{}", LITTLE, "") "]", -EIO, "codecs[0]: codecs[1]"},
		{"[" SHARDING("[2]", LITTLE ",{\"name\":\"zstd\",\"configuration\":5}", LITTLE, "") "]", -EIO,
		 "codecs[0]: codecs[1].configuration"},
		{"[" SHARDING("[2]", LITTLE, LITTLE ",\"gzip\"", "") "]", -ENOTSUP, "codecs[0]: index_codecs: "},
		{"[" SHARDING("[2]", LITTLE, SHARDING("[1,2]", LITTLE, LITTLE, ""), "") "]", -ENOTSUP,
		 "codecs[0]: index_codecs"},
		{"[" SHARDING("[2]", LITTLE, "\"bytes\"", "") "]", -EIO, "codecs[0]: index_codecs[0]: "},
		{"[" SHARDING("[2]", LITTLE, LITTLE, "") "," SHARDING("[2]", LITTLE, LITTLE, "") "]", -ENOTSUP, "codecs[1]: "},
		{"[\"sharding_indexed\"]", -EIO, "codecs[0]: chunk_shape"},
		{"[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":[" LITTLE "]}}]", -EIO,
		 "codecs[0]: index_codecs"},
		{"[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"index_codecs\":[" LITTLE "]}}]",
		 -EIO, "codecs[0]: codecs"},
		{"[{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":{},\"index_codecs\":[]}}]",
		 -EIO, "codecs[0]: codecs"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct pipeline *pipeline;
		int rc = open_chain(rows[i].json, &four, &pipeline);
		ck_assert_msg(rc == rows[i].rc, "%s: %d %s", rows[i].json, rc, rc ? err_message() : "");
		ck_assert_msg(strncmp(err_message(), rows[i].message, strlen(rows[i].message)) == 0, "%s: %s", rows[i].json,
					  err_message());
	}
}
END_TEST

START_TEST(limits_at_their_value_and_one_past)
{
	struct pipeline *pipeline;
	struct repr chunk = {.ndim = 1, .shape = {LIMIT_SHARD_ENTRIES}, .item_size = 1, .swap_unit = 1, .fill_value = nine};
	ck_assert_int_eq(open_chain("[" SHARDING("[1]", LITTLE, CRC, "") "]", &chunk, &pipeline), 0);
	ck_assert_uint_eq(sharding_entries(pipeline_sharding(pipeline)), LIMIT_SHARD_ENTRIES);
	pipeline_close(pipeline);
	chunk.shape[0]++;
	ck_assert_int_eq(open_chain("[" SHARDING("[1]", LITTLE, CRC, "") "]", &chunk, &pipeline), -EFBIG);
	chunk.shape[0] = UINT64_C(1) << 60;
	ck_assert_int_eq(open_chain("[" SHARDING("[1]", LITTLE, CRC, "") "]", &chunk, &pipeline), -EFBIG);

	for (int levels = LIMIT_SHARD_LEVELS; levels <= LIMIT_SHARD_LEVELS + 1; levels++) {
		autostr(json);
		str_append(&json, "[");
		for (int i = 0; i < levels; i++)
			str_append(&json,
					   "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"index_codecs\":[" LITTLE
					   "],\"codecs\":[");
		str_append(&json, LITTLE);
		for (int i = 0; i < levels; i++)
			str_append(&json, "]}}");
		str_append(&json, "]");
		int rc = open_chain(json.text, &four, &pipeline);
		ck_assert_msg(rc == (levels == LIMIT_SHARD_LEVELS ? 0 : -EFBIG), "%d: %s", levels, err_message());
		if (rc == 0)
			pipeline_close(pipeline);
	}
}
END_TEST

START_TEST(as_many_axes_as_an_array_may_have)
{
	struct repr chunk = {.ndim = LIMIT_DIMS, .item_size = 2, .swap_unit = 2, .fill_value = nine};
	struct pipeline *pipeline;
	struct buf *encoded;
	uint16_t values[4] = {1, 2, 3, 4}, decoded[4];
	autostr(json);
	for (int i = 0; i < LIMIT_DIMS; i++)
		chunk.shape[i] = 1;
	chunk.shape[0] = chunk.shape[LIMIT_DIMS - 1] = 2;
	str_append(&json, "[{\"name\":\"sharding_indexed\",\"configuration\":{\"index_codecs\":[" CRC
					  "],\"codecs\":[" LITTLE "],\"chunk_shape\":[1");
	for (int i = 1; i < LIMIT_DIMS; i++)
		str_append(&json, ",1");
	str_append(&json, "]}}]");
	ck_assert_msg(open_chain(json.text, &chunk, &pipeline) == 0, "%s", err_message());
	ck_assert_int_eq(pipeline_encode(pipeline, values, &encoded), 0);
	ck_assert_uint_eq(encoded->size, 8 + 64 + 4);
	ck_assert_int_eq(pipeline_decode(pipeline, encoded->data, encoded->size, decoded), 0);
	ck_assert_mem_eq(values, decoded, sizeof(values));
	buf_unref(encoded);
	pipeline_close(pipeline);
}
END_TEST

START_TEST(a_chain_prints_its_inner_chain_in_brackets)
{
	autostr(printed);
	struct pipeline *pipeline =
		open_good("[" SHARDING("[2]", SHARDING("[1]", INNER_ZSTD, CRC, ""), CRC, "") ",\"gzip\"]", &four);
	pipeline_print(pipeline, &printed);
	ck_assert_str_eq(printed.text, "sharding_indexed[sharding_indexed[bytes zstd]] gzip");
	pipeline_close(pipeline);
}
END_TEST

static Suite *sharding_suite(void)
{
	Suite *suite = suite_create("sharding");
	TCase *tcase = tcase_create("sharding");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, shards_of_other_writers);
	tcase_add_test(tcase, a_real_shard_reads_entry_by_entry);
	tcase_add_test(tcase, entries_are_checked_one_by_one);
	tcase_add_test(tcase, damaged_shards_fail_whole);
	tcase_add_test(tcase, a_transpose_before_the_sharding_turns_the_frame);
	tcase_add_test(tcase, a_transpose_of_axes_of_one_keeps_ranges_only_where_the_axes_agree);
	tcase_add_test(tcase, whole_shards_give_the_chunk_back);
	tcase_add_test(tcase, a_scalar_can_be_sharded);
	tcase_add_test(tcase, absent_entries_are_fill_through_transposes_and_nesting);
	tcase_add_test(tcase, configurations_that_cannot_be);
	tcase_add_test(tcase, limits_at_their_value_and_one_past);
	tcase_add_test(tcase, as_many_axes_as_an_array_may_have);
	tcase_add_test(tcase, a_chain_prints_its_inner_chain_in_brackets);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(sharding_suite)
