/*
 * test_blosc.c: the codec blosc and its BloscLZ decoder. libblosc, where it was found, encodes what ours must decode; by hand
 * are made the chunks that it would never write.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if defined(HAVE_BLOSC)
#include <blosc.h>
#endif

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"
#include "codec/blosclz.h"
#include "codec/codec_impl.h"

#define GUARD 64
#define GUARD_BYTE 0xa5
#define UNTOUCHED ((size_t)-1)

static struct codec *codec_of(const char *text)
{
	struct json *root = NULL;
	struct codec *codec;
	if (text)
		ck_assert_int_eq(json_parse(text, strlen(text), 4096, NULL, &root), 0);
	ck_assert_msg(blosc_codec_ops.open(root, false, NULL, &codec) == 0, "%s: %s", text, err_message());
	json_free(root);
	return codec;
}

/* Decodes from memory that ends where src ends into `room` bytes with a guard behind; the caller frees *ret_dst. */
static int decode(const struct codec *codec, const uint8_t *src, size_t size, size_t room, uint8_t **ret_dst,
				  size_t *ret_size)
{
	autofree uint8_t *copy = malloc(MAX(size, 1));
	uint8_t *dst = malloc(room + GUARD);
	memcpy(copy, src, size);
	memset(dst, GUARD_BYTE, room + GUARD);
	*ret_size = UNTOUCHED;
	int rc = blosc_codec_ops.decode(codec, copy, size, dst, room, ret_size);
	for (size_t i = 0; i < GUARD; i++)
		ck_assert_msg(dst[room + i] == GUARD_BYTE, "wrote behind the destination");
	if (rc) {
		ck_assert_msg(*ret_size == UNTOUCHED, "an output was touched on failure");
		ck_assert_msg(*err_message() != '\0', "a failure without a message");
	}
	*ret_dst = dst;
	return rc;
}

static int decode_rc(const struct codec *codec, const uint8_t *src, size_t size, size_t room)
{
	size_t got;
	autofree uint8_t *dst = NULL;
	return decode(codec, src, size, room, &dst, &got);
}

/*
 * Two blocks of 128 items of two bytes, shuffled, split in two streams each, all stored plainly:
 * header, starts {24, 288}, then 4 x (128, 128 bytes).
 */
#define MADE_PLAIN 512
#define MADE_BYTES 552
#define MADE_BLOCK0 24
#define MADE_BLOCK1 288

static void chunk_make(uint8_t *chunk, uint8_t *plain)
{
	static const uint8_t header[] = {2, 1, 0x21, 2, 0, 2, 0, 0, 0, 1, 0, 0, 0x28, 2, 0, 0};
	memcpy(chunk, header, sizeof(header));
	store_le32(chunk + 16, MADE_BLOCK0);
	store_le32(chunk + 20, MADE_BLOCK1);
	for (size_t i = 0; i < MADE_PLAIN; i++)
		plain[i] = (uint8_t)(i * 37 + i / 256 + 5);
	for (size_t block = 0; block < 2; block++) {
		for (size_t k = 0; k < 2; k++) {
			uint8_t *stream = chunk + MADE_BLOCK0 + (2 * block + k) * 132;
			store_le32(stream, 128);
			for (size_t i = 0; i < 128; i++)
				stream[4 + i] = plain[block * 256 + 2 * i + k];
		}
	}
}

START_TEST(a_chunk_made_by_hand_is_decoded)
{
	uint8_t chunk[MADE_BYTES], plain[MADE_PLAIN];
	chunk_make(chunk, plain);
	struct codec *codec = codec_of(NULL);
	size_t got;
	autofree uint8_t *dst = NULL;
	ck_assert_int_eq(decode(codec, chunk, sizeof(chunk), MADE_PLAIN, &dst, &got), 0);
	ck_assert_uint_eq(got, MADE_PLAIN);
	ck_assert_int_eq(memcmp(dst, plain, MADE_PLAIN), 0);
	blosc_codec_ops.close(codec);
}
END_TEST

static const struct {
	const char *what;
	size_t offset;
	int bytes;
	uint32_t value;
	int rc;
} lies[] = {
	{"format version 1", 0, 1, 1, -EIO},
	{"format version of Blosc 2", 0, 1, 5, -EIO},
	{"version of the compressor", 1, 1, 2, -EIO},
	{"reserved flag", 2, 1, 0x29, -EIO},
	{"compressor 5", 2, 1, 0xa1, -EIO},
	{"compressor 7", 2, 1, 0xe1, -EIO},
	{"snappy, whose streams are plain", 2, 1, 0x41, 0},
	{"memcpyed with a larger body", 2, 1, 0x23, -EIO},
	{"not split", 2, 1, 0x31, -EIO},
	{"typesize 0", 3, 1, 0, -EIO},
	{"typesize 255", 3, 1, 255, -EIO},
	{"nbytes over the room", 4, 4, 513, -EIO},
	{"nbytes INT32_MAX", 4, 4, INT32_MAX, -EIO},
	{"nbytes -1", 4, 4, UINT32_MAX, -EIO},
	{"blocksize 0", 8, 4, 0, -EIO},
	{"blocksize 1: more starts than bytes", 8, 4, 1, -EIO},
	{"blocksize no multiple of typesize", 8, 4, 257, -EIO},
	{"blocksize over nbytes", 8, 4, 513, -EIO},
	{"blocksize INT32_MIN", 8, 4, 0x80000000, -EIO},
	{"blocksize -1", 8, 4, UINT32_MAX, -EIO},
	{"cbytes 0", 12, 4, 0, -EIO},
	{"cbytes without the header", 12, 4, 15, -EIO},
	{"cbytes without the starts", 12, 4, 20, -EIO},
	{"cbytes one too few", 12, 4, MADE_BYTES - 1, -EIO},
	{"cbytes one too many", 12, 4, MADE_BYTES + 1, -EIO},
	{"cbytes -1", 12, 4, UINT32_MAX, -EIO},
	{"start in the header", 16, 4, 0, -EIO},
	{"start in the starts", 16, 4, 20, -EIO},
	{"start inside a stream", 16, 4, 30, -EIO},
	{"start in the last bytes", 16, 4, MADE_BYTES - 3, -EIO},
	{"start at the end", 16, 4, MADE_BYTES, -EIO},
	{"start behind the end", 16, 4, MADE_BYTES + 1000, -EIO},
	{"start INT32_MAX", 16, 4, INT32_MAX, -EIO},
	{"start -1", 20, 4, UINT32_MAX, -EIO},
	{"start -4", 20, 4, UINT32_MAX - 3, -EIO},
	{"stream of 0 bytes", MADE_BLOCK0, 4, 0, -EIO},
	{"stream of 1 byte", MADE_BLOCK0, 4, 1, -EIO},
	{"stream one too long", MADE_BLOCK1 + 132, 4, 129, -EIO},
	{"stream INT32_MAX", MADE_BLOCK0, 4, INT32_MAX, -EIO},
	{"stream INT32_MIN", MADE_BLOCK0, 4, 0x80000000, -EIO},
	{"stream -1", MADE_BLOCK0, 4, UINT32_MAX, -EIO},
	{"stream -4", MADE_BLOCK0, 4, UINT32_MAX - 3, -EIO},
};

START_TEST(a_lie_in_any_field_is_an_error)
{
	struct codec *codec = codec_of(NULL);
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		uint8_t chunk[MADE_BYTES], plain[MADE_PLAIN];
		chunk_make(chunk, plain);
		if (lies[i].bytes == 1)
			chunk[lies[i].offset] = (uint8_t)lies[i].value;
		else
			store_le32(chunk + lies[i].offset, lies[i].value);
		int rc = decode_rc(codec, chunk, sizeof(chunk), MADE_PLAIN);
		ck_assert_msg(rc == lies[i].rc, "%s: %d", lies[i].what, rc);
	}
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(a_chunk_cut_short_anywhere_is_an_error)
{
	uint8_t chunk[MADE_BYTES], plain[MADE_PLAIN];
	struct codec *codec = codec_of(NULL);
	for (size_t size = 0; size < MADE_BYTES; size++) {
		chunk_make(chunk, plain);
		ck_assert_int_eq(decode_rc(codec, chunk, size, MADE_PLAIN), -EIO);
		store_le32(chunk + 12, (uint32_t)size);
		ck_assert_msg(decode_rc(codec, chunk, size, MADE_PLAIN) == -EIO, "cut to %zu, which the header admits", size);
	}
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(bytes_behind_the_chunk_are_ignored)
{
	uint8_t chunk[MADE_BYTES + 100] = {0}, plain[MADE_PLAIN];
	chunk_make(chunk, plain);
	struct codec *codec = codec_of(NULL);
	ck_assert_int_eq(decode_rc(codec, chunk, sizeof(chunk), MADE_PLAIN), 0);
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(a_chunk_smaller_than_the_room_says_how_much_it_filled)
{
	uint8_t chunk[MADE_BYTES], plain[MADE_PLAIN];
	chunk_make(chunk, plain);
	struct codec *codec = codec_of(NULL);
	size_t got;
	autofree uint8_t *dst = NULL;
	ck_assert_int_eq(decode(codec, chunk, sizeof(chunk), MADE_PLAIN + 1000, &dst, &got), 0);
	ck_assert_uint_eq(got, MADE_PLAIN);
	ck_assert_int_eq(decode_rc(codec, chunk, sizeof(chunk), MADE_PLAIN - 1), -EIO);
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(a_memcpyed_chunk_is_never_unshuffled)
{
	uint8_t chunk[16 + 100] = {2, 1, 0x23, 4, 100, 0, 0, 0, 100, 0, 0, 0, 116, 0, 0, 0};
	for (size_t i = 0; i < 100; i++)
		chunk[16 + i] = (uint8_t)i;
	struct codec *codec = codec_of(NULL);
	size_t got;
	autofree uint8_t *dst = NULL;
	ck_assert_int_eq(decode(codec, chunk, sizeof(chunk), 100, &dst, &got), 0);
	ck_assert_uint_eq(got, 100);
	ck_assert_int_eq(memcmp(dst, chunk + 16, 100), 0);
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(a_chunk_of_nothing_is_a_header)
{
	static const uint8_t chunk[16] = {2, 1, 0x21, 4, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0};
	struct codec *codec = codec_of(NULL);
	size_t got;
	autofree uint8_t *dst = NULL;
	ck_assert_int_eq(decode(codec, chunk, sizeof(chunk), 8, &dst, &got), 0);
	ck_assert_uint_eq(got, 0);
	blosc_codec_ops.close(codec);
}
END_TEST

/* 256 blocks of one byte that all begin at the same stream: it would be decoded 256 times. */
START_TEST(blocks_that_share_a_stream_cannot_multiply_work)
{
	uint8_t chunk[16 + 4 * 256 + 4 + 100] = {2, 1, 0x70, 1, 0, 1, 0, 0, 1, 0, 0, 0};
	store_le32(chunk + 12, sizeof(chunk));
	for (size_t i = 0; i < 256; i++)
		store_le32(chunk + 16 + 4 * i, 16 + 4 * 256);
	store_le32(chunk + 16 + 4 * 256, 1);
	struct codec *codec = codec_of(NULL);
	ck_assert_int_eq(decode_rc(codec, chunk, sizeof(chunk), 256), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "overlap"));
	blosc_codec_ops.close(codec);
}
END_TEST

/* A stream of BloscLZ and what it decodes to; NULL: EIO. The room is that of the text, or 16. */
#define BYTES(s) (const uint8_t *)(s), sizeof(s) - 1
static const struct {
	const char *what;
	const uint8_t *stream;
	size_t size;
	const char *text;
} blosclz_streams[] = {
	{"nothing", BYTES(""), ""},
	{"literals",
	 BYTES("\x02"
		   "abc"),
	 "abc"},
	{"the first instruction is literal whatever it says",
	 BYTES("\xe2"
		   "abc"),
	 "abc"},
	{"a match of 3 at distance 1",
	 BYTES("\x00"
		   "a\x20\x00"),
	 "aaaa"},
	{"a match that overlaps itself",
	 BYTES("\x01"
		   "ab\x60\x01"),
	 "abababa"},
	{"a match of 8",
	 BYTES("\x01"
		   "ab\xc0\x01"),
	 "ababababab"},
	{"a match of 9",
	 BYTES("\x01"
		   "ab\xe0\x00\x01"),
	 "abababababa"},
	{"a longer match",
	 BYTES("\x02"
		   "abc\xe0\x05\x02\x00z"),
	 "abcabcabcabcabcabz"},
	{"literals behind a match",
	 BYTES("\x00"
		   "a\x20\x00\x01xy"),
	 "aaaaxy"},
	{"ends in literals",
	 BYTES("\x02"
		   "ab"),
	 NULL},
	{"ends before a distance",
	 BYTES("\x00"
		   "a\x20"),
	 NULL},
	{"ends in a length",
	 BYTES("\x00"
		   "a\xe0\xff"),
	 NULL},
	{"ends before a longer match's distance",
	 BYTES("\x00"
		   "a\xe0\x00"),
	 NULL},
	{"ends in a far distance",
	 BYTES("\x00"
		   "a\x3f\xff\x00"),
	 NULL},
	{"begins before the block",
	 BYTES("\x00"
		   "a\x20\x01"),
	 NULL},
	{"begins far before the block",
	 BYTES("\x00"
		   "a\x3f\xff\x00\x00"),
	 NULL},
	{"a match too long for the room",
	 BYTES("\x00"
		   "a\xe0\x07\x00"),
	 NULL},
	{"literals too long for the room",
	 BYTES("\x10"
		   "abcdefghijklmnopq"),
	 NULL},
};

START_TEST(blosclz_instructions_do_what_the_format_says)
{
	for (size_t i = 0; i < ARRAY_LEN(blosclz_streams); i++) {
		const char *text = blosclz_streams[i].text;
		size_t room = text ? strlen(text) : 16, got = UNTOUCHED;
		/* With slack before the end of the room too: that is another way of copying. */
		for (size_t slack = 0; slack <= 64; slack += text ? 64 : 128) {
			autofree uint8_t *src = malloc(MAX(blosclz_streams[i].size, 1));
			autofree uint8_t *dst = malloc(room + slack + 1);
			memcpy(src, blosclz_streams[i].stream, blosclz_streams[i].size);
			int rc = blosclz_decode(src, blosclz_streams[i].size, dst, room + slack, &got);
			ck_assert_msg(rc == (text ? 0 : -EIO), "%s: %d", blosclz_streams[i].what, rc);
			ck_assert_msg(!text || (got == room && memcmp(dst, text, room) == 0), "%s: %.*s", blosclz_streams[i].what,
						  (int)got, (char *)dst);
		}
	}
}
END_TEST

/* "xa", a run of "a" up to 9000 bytes, and 3 bytes from 9000 before. */
START_TEST(blosclz_reaches_beyond_8192_bytes)
{
	uint8_t stream[64] = {0, 'x', 0, 'a', 0xe0}, dst[9003];
	memset(stream + 5, 255, 35); /* 7 + 35 * 255 + 64 + 2 = 8998 */
	memcpy(stream + 40, "\x40\x00\x3f\xff\x03\x28", 6);
	size_t got;
	ck_assert_int_eq(blosclz_decode(stream, 46, dst, sizeof(dst), &got), 0);
	ck_assert_uint_eq(got, sizeof(dst));
	ck_assert_int_eq(memcmp(dst + 8998, "aaxaa", 5), 0);
}
END_TEST

/* Its length, in an int32_t, wraps and passes a check: libblosc 1.21.3 writes out of bounds. */
START_TEST(a_blosclz_length_beyond_2_gib_is_an_error)
{
	size_t size = 8500000;
	autofree uint8_t *chunk = malloc(size);
	memset(chunk, 0xff, size);
	static const uint8_t header[] = {2, 1, 0x10, 1, 0, 0, 1, 0, 0, 0, 1, 0};
	memcpy(chunk, header, sizeof(header));
	store_le32(chunk + 12, (uint32_t)size);
	store_le32(chunk + 16, 20);
	store_le32(chunk + 20, (uint32_t)size - 24);
	memcpy(chunk + 24,
		   "\x00"
		   "a\xe0",
		   3);
	struct codec *codec = codec_of(NULL);
	ck_assert_int_eq(decode_rc(codec, chunk, size, 65536), -EIO);
	memcpy(chunk + size - 2, "\x00\x00", 2);
	ck_assert_int_eq(decode_rc(codec, chunk, size, 65536), -EIO);
	blosc_codec_ops.close(codec);
}
END_TEST

static const struct {
	const char *json;
	int rc;
} configurations[] = {
	{"{}", 0},
	{"{\"cname\":\"zstd\",\"clevel\":5,\"shuffle\":\"bitshuffle\",\"typesize\":4,\"blocksize\":0}", 0},
	{"{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":1,\"blocksize\":0}", 0},
	{"{\"shuffle\":\"noshuffle\"}", 0},
	{"{\"shuffle\":-1}", 0},
	{"{\"shuffle\":0}", 0},
	{"{\"shuffle\":2}", 0},
	{"{\"shuffle\":null}", 0},
	{"{\"cname\":\"snappy\"}", 0},
	{"{\"cname\":\"a compressor of the far future\"}", 0},
	{"{\"clevel\":12}", 0},
	{"{\"typesize\":0}", 0},
	{"{\"typesize\":null}", 0},
	{"{\"shuffle\":\"Shuffle\"}", -EIO},
	{"{\"shuffle\":3}", -EIO},
	{"{\"shuffle\":-2}", -EIO},
	{"{\"shuffle\":true}", -EIO},
	{"{\"cname\":1}", -EIO},
	{"{\"clevel\":\"5\"}", -EIO},
	{"{\"typesize\":[4]}", -EIO},
	{"{\"blocksize\":0.5}", -EIO},
};

START_TEST(the_configuration_is_read_leniently)
{
	for (size_t i = 0; i < ARRAY_LEN(configurations); i++) {
		struct json *root;
		struct codec *codec = NULL;
		const char *text = configurations[i].json;
		ck_assert_int_eq(json_parse(text, strlen(text), 4096, NULL, &root), 0);
		int rc = blosc_codec_ops.open(root, true, NULL, &codec);
		json_free(root);
		ck_assert_msg(rc == configurations[i].rc, "%s: %d %s", text, rc, rc ? err_message() : "");
		ck_assert_msg(!rc == !!codec, "%s: output on failure", text);
		if (codec)
			blosc_codec_ops.close(codec);
	}
}
END_TEST

#if defined(HAVE_BLOSC)

static const char *const cnames[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};

enum pattern { PATTERN_ZERO, PATTERN_RAMP, PATTERN_NOISE, PATTERN_RUNS, PATTERNS };

static void fill(uint8_t *p, size_t size, size_t typesize, enum pattern pattern, uint64_t *state)
{
	uint64_t value = 0;
	for (size_t i = 0; i < size; i++) {
		uint64_t random = test_random(state);
		if (pattern == PATTERN_ZERO)
			p[i] = 0;
		else if (pattern == PATTERN_RAMP)
			p[i] = i % typesize < 2 ? (uint8_t)(i / typesize >> 8 * (i % typesize)) : 7;
		else if (pattern == PATTERN_NOISE)
			p[i] = (uint8_t)random;
		else
			p[i] = (uint8_t)(random % 16 == 0 ? (value = random >> 8) : value);
	}
}

struct job {
	const char *cname;
	int shuffle, clevel;
	size_t typesize, size, blocksize;
	enum pattern pattern;
};

/* What libblosc makes of such data; *ret_plain and *ret_chunk are the caller's. */
static size_t job_encode(const struct job *job, uint64_t *state, uint8_t **ret_plain, uint8_t **ret_chunk)
{
	*ret_plain = malloc(MAX(job->size, 1));
	*ret_chunk = malloc(job->size + BLOSC_MAX_OVERHEAD);
	fill(*ret_plain, job->size, job->typesize, job->pattern, state);
	int n = blosc_compress_ctx(job->clevel, job->shuffle, job->typesize, job->size, *ret_plain, *ret_chunk,
							   job->size + BLOSC_MAX_OVERHEAD, job->cname, job->blocksize, 1);
	ck_assert_int_gt(n, 0);
	return (size_t)n;
}

static void job_check(const struct codec *codec, const struct job *job, uint64_t *state)
{
	autofree uint8_t *plain = NULL, *chunk = NULL, *dst = NULL;
	size_t got, n = job_encode(job, state, &plain, &chunk);
	int rc = decode(codec, chunk, n, job->size, &dst, &got);
	ck_assert_msg(rc == 0 && got == job->size && memcmp(dst, plain, job->size) == 0,
				  "%s, shuffle %d, clevel %d, typesize %zu, %zu bytes, blocksize %zu, pattern %d: %d %s", job->cname,
				  job->shuffle, job->clevel, job->typesize, job->size, job->blocksize, (int)job->pattern, rc,
				  rc ? err_message() : "other bytes");
}

/* Typesizes 1 to 20 and 255; sizes below 128 bytes, multiples of the typesize and not, of several blocks. */
START_TEST(what_libblosc_encodes_is_decoded)
{
	static const size_t sizes[] = {1, 15, 16, 127, 128, 129, 255, 1000, 4096, 5000, 33333, 70000};
	static const size_t blocksizes[] = {0, 0, 128, 500, 1024, 4096, 8192};
	uint64_t state = test_seed();
	struct codec *codec = codec_of(NULL);
	for (size_t c = 0; c < ARRAY_LEN(cnames); c++) {
		for (int shuffle = 0; shuffle <= 2; shuffle++) {
			for (size_t typesize = 1; typesize <= 21; typesize++) {
				for (size_t s = 0; s < ARRAY_LEN(sizes); s++) {
					struct job job = {
						.cname = cnames[c],
						.shuffle = shuffle,
						.clevel = (int)(test_random(&state) % 10),
						.typesize = typesize == 21 ? 255 : typesize,
						.size = sizes[s],
						.blocksize = blocksizes[test_random(&state) % ARRAY_LEN(blocksizes)],
						.pattern = test_random(&state) % PATTERNS,
					};
					job_check(codec, &job, &state);
				}
			}
		}
	}
	blosc_codec_ops.close(codec);
}
END_TEST

/* Beyond a typesize of 16 libblosc cannot decode itself what it then writes. */
START_TEST(split_blocks_of_every_level_are_decoded)
{
	uint64_t state = test_seed();
	struct codec *codec = codec_of(NULL);
	blosc_set_splitmode(BLOSC_ALWAYS_SPLIT);
	for (size_t c = 0; c < ARRAY_LEN(cnames); c++) {
		for (int clevel = 0; clevel <= 9; clevel++) {
			for (size_t typesize = 1; typesize <= 16; typesize++) {
				struct job job = {cnames[c],   (int)(test_random(&state) % 3),	  clevel,
								  typesize,	   20000 + test_random(&state) % 100, 4096 * (test_random(&state) % 3),
								  PATTERN_RAMP};
				job_check(codec, &job, &state);
			}
		}
	}
	blosc_set_splitmode(BLOSC_FORWARD_COMPAT_SPLIT);
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(a_megabyte_of_each_kind_is_decoded)
{
	uint64_t state = test_seed();
	struct codec *codec = codec_of(NULL);
	for (size_t c = 0; c < ARRAY_LEN(cnames); c++) {
		for (int shuffle = 0; shuffle <= 2; shuffle++) {
			struct job job = {cnames[c], shuffle, 5, 4, (1 << 20) + 12, 0, PATTERN_RUNS};
			job_check(codec, &job, &state);
		}
	}
	blosc_codec_ops.close(codec);
}
END_TEST

/* libblosc's threads write blocks in the order in which they are done. */
START_TEST(blocks_may_lie_in_any_order)
{
	uint64_t state = test_seed();
	struct job job = {"zstd", 1, 5, 4, 8192, 1024, PATTERN_RAMP};
	autofree uint8_t *plain = NULL, *chunk = NULL, *dst = NULL;
	size_t got, n = job_encode(&job, &state, &plain, &chunk);
	autofree uint8_t *turned = malloc(n);
	size_t blocks = job.size / load_le32(chunk + 8), at = 16 + 4 * blocks;
	ck_assert_uint_eq(blocks, 8);
	memcpy(turned, chunk, 16);
	for (size_t i = blocks; i-- > 0;) {
		size_t begin = load_le32(chunk + 16 + 4 * i);
		size_t end = i + 1 < blocks ? load_le32(chunk + 20 + 4 * i) : n;
		store_le32(turned + 16 + 4 * i, (uint32_t)at);
		memcpy(turned + at, chunk + begin, end - begin);
		at += end - begin;
	}
	struct codec *codec = codec_of(NULL);
	ck_assert_int_eq(decode(codec, turned, n, job.size, &dst, &got), 0);
	ck_assert_int_eq(memcmp(dst, plain, job.size), 0);
	blosc_codec_ops.close(codec);
}
END_TEST

START_TEST(damaged_chunks_fail_or_decode_but_stay_in_bounds)
{
	uint64_t state = test_seed();
	struct codec *codec = codec_of(NULL);
	for (int i = 0; i < 3000; i++) {
		struct job job = {cnames[test_random(&state) % ARRAY_LEN(cnames)],
						  (int)(test_random(&state) % 3),
						  5,
						  1 + test_random(&state) % 17,
						  1 + test_random(&state) % 5000,
						  1024 * (test_random(&state) % 2),
						  test_random(&state) % PATTERNS};
		autofree uint8_t *plain = NULL, *chunk = NULL;
		size_t n = job_encode(&job, &state, &plain, &chunk);
		for (uint64_t k = test_random(&state) % 3; k < 3; k++)
			chunk[test_random(&state) % (k == 2 ? MIN(n, 64) : n)] = (uint8_t)test_random(&state);
		int rc = decode_rc(codec, chunk, n, job.size);
		ck_assert_msg(rc == 0 || rc == -EIO, "%s: %d", job.cname, rc);
		ck_assert_int_eq(decode_rc(codec, chunk, test_random(&state) % 16, job.size), -EIO);
	}
	blosc_codec_ops.close(codec);
}
END_TEST

static const struct {
	const char *json, *cname;
	size_t typesize;
	int shuffle;
} encodings[] = {
	{NULL, "LZ4", 1, 1},
	{"{\"cname\":\"zstd\",\"clevel\":3,\"shuffle\":\"shuffle\",\"typesize\":4,\"blocksize\":0}", "Zstd", 4, 1},
	{"{\"cname\":\"lz4hc\",\"clevel\":9,\"shuffle\":\"bitshuffle\",\"typesize\":8}", "LZ4", 8, 2},
	{"{\"cname\":\"blosclz\",\"shuffle\":0,\"typesize\":2,\"blocksize\":4096}", "BloscLZ", 2, 0},
	{"{\"cname\":\"zlib\",\"shuffle\":-1,\"typesize\":2}", "Zlib", 2, 1},
	{"{\"cname\":\"zlib\",\"shuffle\":-1,\"typesize\":1}", "Zlib", 1, 2},
};

START_TEST(encoding_is_what_the_configuration_says_and_comes_back)
{
	uint64_t state = test_seed();
	for (size_t i = 0; i < ARRAY_LEN(encodings); i++) {
		struct codec *codec = codec_of(encodings[i].json);
		for (size_t size = 0; size < 300000; size = size * 7 + 1) {
			autofree uint8_t *plain = malloc(size + 1), *theirs = malloc(size + 1), *dst = NULL;
			autobuf buf = NULL;
			bool fixed = true;
			size_t got;
			fill(plain, size, encodings[i].typesize, PATTERN_RAMP, &state);
			ck_assert_int_eq(blosc_codec_ops.encode(codec, plain, size, &buf), 0);
			ck_assert_uint_le(buf->size, blosc_codec_ops.encoded_size(codec, size, &fixed));
			ck_assert(!fixed);
			int rc = decode(codec, buf->data, buf->size, size, &dst, &got);
			ck_assert_msg(rc == 0 && got == size, "%zu bytes: %d %s", size, rc, err_message());
			ck_assert_int_eq(memcmp(dst, plain, size), 0);
			ck_assert_int_eq(blosc_decompress_ctx(buf->data, theirs, size, 1), (int)size);
			ck_assert_str_eq(blosc_cbuffer_complib(buf->data), encodings[i].cname);
			size_t typesize;
			int flags;
			blosc_cbuffer_metainfo(buf->data, &typesize, &flags);
			ck_assert_uint_eq(typesize, encodings[i].typesize);
			ck_assert_int_eq(flags & (BLOSC_DOSHUFFLE | BLOSC_DOBITSHUFFLE),
							 encodings[i].shuffle == 2 ? BLOSC_DOBITSHUFFLE : encodings[i].shuffle);
		}
		blosc_codec_ops.close(codec);
	}
}
END_TEST

START_TEST(encoding_with_an_unknown_compressor_is_not_supported)
{
	struct codec *codec = codec_of("{\"cname\":\"a compressor of the far future\"}");
	struct buf *buf = NULL;
	ck_assert_int_eq(blosc_codec_ops.encode(codec, "abcd", 4, &buf), -ENOTSUP);
	ck_assert_ptr_null(buf);
	blosc_codec_ops.close(codec);
}
END_TEST

#else

START_TEST(encoding_is_not_built_in)
{
	struct codec *codec = codec_of(NULL);
	struct buf *buf = NULL;
	ck_assert_int_eq(blosc_codec_ops.encode(codec, "abcd", 4, &buf), -ENOTSUP);
	ck_assert_ptr_null(buf);
	blosc_codec_ops.close(codec);
}
END_TEST

#endif

static Suite *blosc_suite(void)
{
	Suite *suite = suite_create("blosc");
	TCase *tcase = tcase_create("blosc");
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, a_chunk_made_by_hand_is_decoded);
	tcase_add_test(tcase, a_lie_in_any_field_is_an_error);
	tcase_add_test(tcase, a_chunk_cut_short_anywhere_is_an_error);
	tcase_add_test(tcase, bytes_behind_the_chunk_are_ignored);
	tcase_add_test(tcase, a_chunk_smaller_than_the_room_says_how_much_it_filled);
	tcase_add_test(tcase, a_memcpyed_chunk_is_never_unshuffled);
	tcase_add_test(tcase, a_chunk_of_nothing_is_a_header);
	tcase_add_test(tcase, blocks_that_share_a_stream_cannot_multiply_work);
	tcase_add_test(tcase, blosclz_instructions_do_what_the_format_says);
	tcase_add_test(tcase, blosclz_reaches_beyond_8192_bytes);
	tcase_add_test(tcase, a_blosclz_length_beyond_2_gib_is_an_error);
	tcase_add_test(tcase, the_configuration_is_read_leniently);
#if defined(HAVE_BLOSC)
	tcase_add_test(tcase, what_libblosc_encodes_is_decoded);
	tcase_add_test(tcase, split_blocks_of_every_level_are_decoded);
	tcase_add_test(tcase, a_megabyte_of_each_kind_is_decoded);
	tcase_add_test(tcase, blocks_may_lie_in_any_order);
	tcase_add_test(tcase, damaged_chunks_fail_or_decode_but_stay_in_bounds);
	tcase_add_test(tcase, encoding_is_what_the_configuration_says_and_comes_back);
	tcase_add_test(tcase, encoding_with_an_unknown_compressor_is_not_supported);
#else
	tcase_add_test(tcase, encoding_is_not_built_in);
#endif
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(blosc_suite)
