/*
 * test_lzma.c: the codec lzma: streams that Python's module lzma wrote, what is wrong with one, configurations, and
 * dictionaries that are larger than anything they are for.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sys/resource.h>

#include <lzma.h>

#include "../lib/check_main.h"
#include "../lib/hex.h"

#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define TEXT "Hello zarrfs"
#define TEXT_BYTES 12
#define BYTES_MAX 256

static int open_codec(const char *text, struct codec **ret_codec)
{
	struct json *root;
	ck_assert_int_eq(json_parse(text, strlen(text), 4096, NULL, &root), 0);
	int rc = lzma_codec_ops.open(root, true, NULL, ret_codec);
	json_free(root);
	return rc;
}

/* Decodes from memory of exactly that size. */
static int decode(const char *config, const uint8_t *bytes, size_t size, void *dst, size_t room, size_t *ret_size)
{
	struct codec *codec;
	autofree uint8_t *copy = malloc(MAX(size, 1));
	memcpy(copy, bytes, size);
	ck_assert_msg(open_codec(config, &codec) == 0, "%s: %s", config, err_message());
	int rc = lzma_codec_ops.decode(codec, copy, size, dst, room, ret_size);
	lzma_codec_ops.close(codec);
	return rc;
}

#define XZ "{\"format\":1}"
#define ALONE "{\"format\":2}"
#define RAW(filters) "{\"format\":3,\"filters\":[" filters "]}"
#define LZMA2 "{\"id\":33,\"preset\":0}"

#define BLOCK "020021010c0000008f98419c 01000b48656c6c6f207a617272667300"
#define XZ_NONE "fd377a585a000000ff12d941 " BLOCK " 00011c0c5da447cf 06729e7a010000000000595a"
#define XZ_CRC32 "fd377a585a0000016922de36 " BLOCK " 0a68c0b9 0001200ca2ddb4bc 9042990d010000000001595a"
#define XZ_CRC64 "fd377a585a000004e6d6b446 " BLOCK " 212622e0fa6a7dfa 0001240ca618d8d8 1fb6f37d010000000004595a"
#define XZ_SHA256                                                                                                      \
	"fd377a585a00000ae1fb0ca1 " BLOCK " 1e795af1c1dd4819efa91fe898bc2e69f0b9a25bf441e6b012fb7a5dc46a9649"              \
	" 00013c0cff80c35a 189b4b9a01000000000a595a"
#define XZ_DELTA                                                                                                       \
	"fd377a585a0000016922de36 020103010121010c66be1aab 01000b4865240703b40b41f811f40100 0a68c0b9 0001200ca2ddb4bc"     \
	" 9042990d010000000001595a"
#define XZ_HELLO                                                                                                       \
	"fd377a585a0000016922de36 020021010c0000008f98419c 01000548656c6c6f20000000 c0fc2dea 00011a06c5eac879"             \
	" 9042990d010000000001595a"
#define XZ_ZARRFS                                                                                                      \
	"fd377a585a0000016922de36 020021010c0000008f98419c 0100057a6172726673000000 77e9c1d3 00011a06c5eac879"             \
	" 9042990d010000000001595a"
#define XZ_EMPTY "fd377a585a0000016922de36 000000001cdf4421 9042990d010000000001595a"
#define LZMA1_DATA "0024194986e7d5e5ed6681f0d9795b8808ffffc4d90000"

START_TEST(streams_of_python_are_read)
{
	static const struct {
		const char *what, *config, *hex;
	} rows[] = {
		{"no check", XZ, XZ_NONE},
		{"CRC32", XZ, XZ_CRC32},
		{"CRC64", XZ, XZ_CRC64},
		{"SHA-256", XZ, XZ_SHA256},
		{"delta inside, which the configuration need not say", XZ, XZ_DELTA},
		{"the configuration of GDAL", "{\"id\":\"lzma\",\"preset\":6,\"delta\":4}", XZ_CRC64},
		{"a check in the configuration that is another", "{\"format\":1,\"check\":10,\"filters\":null}", XZ_CRC32},
		{"two streams", XZ, XZ_HELLO XZ_ZARRFS},
		{"two streams of different checks, padded", XZ, XZ_HELLO "0000000000000000" XZ_ZARRFS "00000000"},
		{"streams of nothing", XZ, XZ_EMPTY XZ_CRC64 XZ_EMPTY},
		{"bytes behind", XZ, XZ_CRC64 "fd377a"},
		{"alone", ALONE, "5d00000400ffffffffffffffff" LZMA1_DATA},
		{"alone, with the decoded size", ALONE, "5d000004000c00000000000000" LZMA1_DATA},
		{"alone, with a dictionary of 0 bytes", ALONE, "5d00000000ffffffffffffffff" LZMA1_DATA},
		{"alone, bytes behind", ALONE, "5d00000400ffffffffffffffff" LZMA1_DATA "00"},
		{"raw LZMA2", RAW(LZMA2), "01000b48656c6c6f207a617272667300"},
		{"raw LZMA2, options spelled out",
		 RAW("{\"id\":33,\"dict_size\":4096,\"lc\":3,\"lp\":0,\"pb\":2,\"mode\":1,"
			 "\"nice_len\":32,\"mf\":3,\"depth\":null}"),
		 "01000b48656c6c6f207a617272667300"},
		{"raw delta", RAW("{\"id\":3,\"dist\":3}," LZMA2), "01000b48656c240ab40ef252f8050100"},
		{"raw ARM, bytes that are no code", RAW("{\"id\":7}," LZMA2), "01000b48656c6c6f207a617272667300"},
		{"raw LZMA1", RAW("{\"id\":4611686018427387905}"), LZMA1_DATA},
		{"raw LZMA1, with other bits", RAW("{\"id\":4611686018427387905,\"lc\":0,\"lp\":1,\"pb\":3}"),
		 "0024194a05d06cd9343a21f7258c0b8dffffe1848000"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t bytes[BYTES_MAX];
		char out[TEXT_BYTES];
		size_t size = from_hex(rows[i].hex, bytes), got = 0;
		int rc = decode(rows[i].config, bytes, size, out, sizeof(out), &got);
		ck_assert_msg(rc == 0, "%s: %s", rows[i].what, err_message());
		ck_assert_msg(got == TEXT_BYTES && memcmp(out, TEXT, got) == 0, "%s: other bytes", rows[i].what);
	}
}
END_TEST

/* The filter for x86 code makes relative addresses of absolute ones. */
START_TEST(machine_code_is_read)
{
	uint8_t bytes[BYTES_MAX], out[40];
	size_t got = 0;
	size_t size = from_hex("e0002700185d0074053c193df557dee3bc7448278b0fcb1e007b46e0385c0000", bytes);
	ck_assert_int_eq(decode(RAW("{\"id\":4}," LZMA2), bytes, size, out, sizeof(out), &got), 0);
	ck_assert_uint_eq(got, 40);
	for (size_t i = 0; i < 8; i++)
		ck_assert_mem_eq(out + 5 * i, "\xe8\x10\x00\x00\x00", 5);
}
END_TEST

START_TEST(a_flipped_bit_of_a_checked_stream_is_an_error)
{
	uint8_t bytes[BYTES_MAX];
	char out[TEXT_BYTES];
	size_t size = from_hex(XZ_CRC64, bytes), got;
	for (size_t bit = 0; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_msg(decode(XZ, bytes, size, out, sizeof(out), &got) == -EIO, "bit %zu", bit);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}
END_TEST

START_TEST(what_is_wrong_is_told)
{
	static const struct {
		const char *config, *hex, *message;
		size_t room;
	} rows[] = {
		{XZ, XZ_CRC64, "more than the expected bytes", 11},
		{XZ, XZ_CRC64, "more than the expected bytes", 0},
		{XZ, XZ_CRC64 XZ_EMPTY XZ_HELLO, "more than the expected bytes", TEXT_BYTES},
		{XZ, "5d00000400ffffffffffffffff" LZMA1_DATA, "not of the format", TEXT_BYTES},
		{XZ, "fd377a585a00", "6 bytes, a header has 12", TEXT_BYTES},
		{XZ, "fd377a585a000004e6d6b446", "the index is", TEXT_BYTES},
		{XZ, "fd377a585a000004e6d6b446 02002101", "header of a block", TEXT_BYTES},
		{XZ, "fd377a585a0000016922de36 " BLOCK " 0a68c0b9 0001200ca2ddb4bc", "the footer", TEXT_BYTES},
		{XZ, "fd377a585a0000016922de36 " BLOCK " 0a68c0b9 0001200ca2ddb4bc 06729e7a010000000000595a", "the footer",
		 TEXT_BYTES},
		{XZ, "fd377a585a0000016922de36 000000001cdf4421 9042990d010000000001595a fd377a585a0000016922de36",
		 "the index is", TEXT_BYTES},
		{ALONE, "5d00000400", "5 bytes, a header has 13", TEXT_BYTES},
		{ALONE, "5d000004000d00000000000000" LZMA1_DATA, "decodes to 13 bytes, expected 12", TEXT_BYTES},
		{ALONE, "5d000004000b00000000000000" LZMA1_DATA, "damaged", TEXT_BYTES},
		{ALONE, "ff00000400ffffffffffffffff" LZMA1_DATA, "not of the format", TEXT_BYTES},
		{ALONE, "5d00000400ffffffffffffffff" LZMA1_DATA, "more than the expected bytes", 11},
		{RAW(LZMA2), "01000b48656c6c6f207a6172726673", "damaged or cut short", TEXT_BYTES},
		{RAW(LZMA2), "01000b48656c6c6f207a617272667300", "more than the expected bytes", 11},
		{RAW(LZMA2), "ff", "damaged", TEXT_BYTES},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		uint8_t bytes[BYTES_MAX];
		char out[TEXT_BYTES];
		size_t size = from_hex(rows[i].hex, bytes), got;
		int rc = decode(rows[i].config, bytes, size, out, rows[i].room, &got);
		ck_assert_msg(rc == -EIO, "%s %s: %d", rows[i].config, rows[i].hex, rc);
		ck_assert_msg(strstr(err_message(), rows[i].message), "%s %s: %s", rows[i].config, rows[i].hex, err_message());
	}
}
END_TEST

/* An encoder that has all bytes at once says how many they are in the block's header. */
START_TEST(a_block_says_its_size)
{
	struct codec *codec;
	struct buf *buf;
	char out[TEXT_BYTES];
	size_t got;
	ck_assert_int_eq(open_codec(XZ, &codec), 0);
	ck_assert_int_eq(lzma_codec_ops.encode(codec, TEXT, TEXT_BYTES, &buf), 0);
	ck_assert_int_eq(lzma_codec_ops.decode(codec, buf->data, buf->size, out, sizeof(out), &got), 0);
	ck_assert_uint_eq(got, TEXT_BYTES);
	ck_assert_int_eq(lzma_codec_ops.decode(codec, buf->data, buf->size, out, 11, &got), -EIO);
	ck_assert_str_eq(err_message(), "a block of 12 bytes, expected 11");
	buf_unref(buf);
	lzma_codec_ops.close(codec);
}
END_TEST

/* Kinds that the format reserves; liblzma would decode such blocks without looking at their checks. */
START_TEST(a_check_that_cannot_be_verified_is_an_error)
{
	uint8_t bytes[BYTES_MAX];
	char out[TEXT_BYTES];
	size_t size = from_hex(XZ_CRC32, bytes), got;
	bytes[7] = 2; /* as long as CRC32 */
	store_le32(bytes + 8, lzma_crc32(bytes + 6, 2, 0));
	bytes[size - 3] = 2;
	store_le32(bytes + size - 12, lzma_crc32(bytes + size - 8, 6, 0));
	ck_assert_int_eq(decode(XZ, bytes, size, out, sizeof(out), &got), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "a check of kind 2"));
}
END_TEST

START_TEST(configurations_are_checked_where_they_matter)
{
	static const struct {
		const char *json;
		int rc;
		const char *message;
	} rows[] = {
		{"{}", 0, NULL},
		{"{\"id\":\"lzma\",\"format\":1,\"check\":-1,\"preset\":null,\"filters\":null}", 0, NULL},
		{"{\"format\":1,\"filters\":[{\"id\":99}]}", 0, NULL}, /* the stream says */
		{"{\"format\":2,\"filters\":\"none\"}", 0, NULL},
		{"{\"format\":0}", -EIO, "format: 0"},
		{"{\"format\":4}", -EIO, "format: 4"},
		{"{\"format\":\"xz\"}", -EIO, "format"},
		{"{\"preset\":77}", -EIO, "preset"},
		{"{\"format\":3}", -EIO, "filters: missing"},
		{"{\"format\":3,\"filters\":null}", -EIO, "filters: missing"},
		{"{\"format\":3,\"filters\":{}}", -EIO, "filters: "},
		{RAW(""), -EIO, "not a chain"},
		{RAW("{\"id\":3}"), -EIO, "not a chain"},
		{RAW(LZMA2 "," LZMA2), -EIO, "not a chain"},
		{RAW(LZMA2 ",{\"id\":3}"), -EIO, "not a chain"},
		{RAW("{\"id\":3},{\"id\":3},{\"id\":4}," LZMA2), 0, NULL},
		{RAW("{\"id\":3},{\"id\":3},{\"id\":4},{\"id\":3}," LZMA2), -EIO, "filters[4]"},
		{RAW("{\"id\":99}," LZMA2), -ENOTSUP, "filters[0]: filter 99 is unknown"},
		{RAW("33"), -EIO, "filters[0]"},
		{RAW("{\"preset\":1}"), -EIO, "filters[0]"},
		{RAW("{\"id\":\"lzma2\"}"), -EIO, "filters[0]: id"},
		{RAW("{\"id\":-33}"), -EIO, "filters[0]: id"},
		{RAW("{\"id\":3,\"dist\":0}," LZMA2), -EIO, "not a chain"},
		{RAW("{\"id\":3,\"dist\":257}," LZMA2), -EIO, "filters[0]: dist: 257"},
		{RAW("{\"id\":4611686018427387905,\"lc\":3,\"lp\":2}"), -EIO, "not a chain"},
		{RAW("{\"id\":7,\"start_offset\":2}," LZMA2), -EIO, "not a chain"},
		{RAW("{\"id\":33,\"pb\":5}"), -EIO, "filters[0]: pb"},
		{RAW("{\"id\":33,\"preset\":10}"), -EIO, "filters[0]: preset"},
		{RAW("{\"id\":33,\"dict_size\":4294967296}"), -EIO, "filters[0]: dict_size"},
		{RAW("{\"id\":33,\"dict_size\":4294967295}"), 0, NULL},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct codec *codec = NULL;
		int rc = open_codec(rows[i].json, &codec);
		ck_assert_msg(rc == rows[i].rc, "%s: %d %s", rows[i].json, rc, rc ? err_message() : "");
		ck_assert_msg(!rc || (!codec && strstr(err_message(), rows[i].message)), "%s: %s", rows[i].json, err_message());
		if (codec)
			lzma_codec_ops.close(codec);
	}
}
END_TEST

/* Nothing larger than 64 MiB can be allocated until it is undone; not where the sanitizers need the room themselves. */
static void limit_memory(struct rlimit *ret_before)
{
	unsigned long pages = 0;
	autofree char *line = NULL;
	size_t room = 0;
	FILE *statm = fopen("/proc/self/statm", "re");
	ck_assert_ptr_nonnull(statm);
	ck_assert_int_gt(getline(&line, &room, statm), 0);
	fclose(statm);
	pages = strtoul(line, NULL, 10);
	ck_assert_int_eq(getrlimit(RLIMIT_AS, ret_before), 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct rlimit limit = *ret_before;
	limit.rlim_cur = pages * 4096 + (64 << 20);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
#else
	ck_assert_uint_gt(pages, 0);
#endif
}

START_TEST(a_dictionary_takes_no_more_than_what_is_decoded)
{
	uint8_t xz[BYTES_MAX], alone[BYTES_MAX], raw[BYTES_MAX];
	char out[TEXT_BYTES];
	size_t got, xz_size = from_hex(XZ_CRC64, xz);
	xz[16] = 40; /* of the block's filter: 4 GiB - 1 */
	store_le32(xz + 20, lzma_crc32(xz + 12, 8, 0));
	size_t alone_size = from_hex("5dffffffffffffffffffffffff" LZMA1_DATA, alone);
	size_t raw_size = from_hex("01000b48656c6c6f207a617272667300", raw);
	struct rlimit before;
	limit_memory(&before);
	int of_xz = decode(XZ, xz, xz_size, out, sizeof(out), &got);
	int of_alone = decode(ALONE, alone, alone_size, out, sizeof(out), &got);
	int of_raw = decode(RAW("{\"id\":33,\"dict_size\":4294967295}"), raw, raw_size, out, sizeof(out), &got);
	ck_assert_int_eq(setrlimit(RLIMIT_AS, &before), 0);
	ck_assert_int_eq(of_xz, 0);
	ck_assert_int_eq(of_alone, 0);
	ck_assert_int_eq(of_raw, 0);
	ck_assert_mem_eq(out, TEXT, TEXT_BYTES);
	struct codec *codec;
	ck_assert_int_eq(open_codec(XZ, &codec), 0);
	ck_assert_uint_eq(lzma_codec_ops.decode_scratch(codec, TEXT_BYTES), TEXT_BYTES);
	lzma_codec_ops.close(codec);
}
END_TEST

/* An empty stream has 32 bytes; each has a decoder of its own. */
START_TEST(streams_and_blocks_of_a_few_bytes_are_bounded_in_number)
{
	enum { STREAMS = 2000 };
	static uint8_t streams[STREAMS * 32], dst[64];
	uint8_t empty[64] = {0};
	size_t n = 0, got;
	ck_assert_int_eq(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, empty, 0, empty, &n, sizeof(empty)), LZMA_OK);
	ck_assert_uint_eq(n, 32);
	for (int i = 0; i < STREAMS; i++)
		memcpy(streams + (size_t)i * 32, empty, 32);
	ck_assert_int_eq(decode(XZ, streams, 60 * 32, dst, sizeof(dst), &got), 0);
	ck_assert_uint_eq(got, 0);
	ck_assert_int_eq(decode(XZ, streams, sizeof(streams), dst, sizeof(dst), &got), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "streams of a few bytes"));

	static uint8_t blocks[100000];
	lzma_stream stream = LZMA_STREAM_INIT;
	ck_assert_int_eq(lzma_easy_encoder(&stream, 0, LZMA_CHECK_NONE), LZMA_OK);
	stream.next_out = blocks;
	stream.avail_out = sizeof(blocks);
	for (int i = 0; i < 1000; i++) {
		stream.next_in = (const uint8_t *)"x";
		stream.avail_in = 1;
		ck_assert_int_eq(lzma_code(&stream, LZMA_FULL_FLUSH), LZMA_STREAM_END);
	}
	ck_assert_int_eq(lzma_code(&stream, LZMA_FINISH), LZMA_STREAM_END);
	static uint8_t decoded[1000];
	ck_assert_int_eq(decode(XZ, blocks, sizeof(blocks) - stream.avail_out, decoded, sizeof(decoded), &got), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "blocks of a few bytes"));
	lzma_end(&stream);
}
END_TEST

static Suite *lzma_suite(void)
{
	Suite *suite = suite_create("lzma");
	TCase *tcase = tcase_create("lzma");
	tcase_add_test(tcase, streams_of_python_are_read);
	tcase_add_test(tcase, machine_code_is_read);
	tcase_add_test(tcase, a_flipped_bit_of_a_checked_stream_is_an_error);
	tcase_add_test(tcase, what_is_wrong_is_told);
	tcase_add_test(tcase, a_block_says_its_size);
	tcase_add_test(tcase, a_check_that_cannot_be_verified_is_an_error);
	tcase_add_test(tcase, configurations_are_checked_where_they_matter);
	tcase_add_test(tcase, a_dictionary_takes_no_more_than_what_is_decoded);
	tcase_add_test(tcase, streams_and_blocks_of_a_few_bytes_are_bounded_in_number);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(lzma_suite)
