/*
 * test_crc32c.c: the checksum against published values and against a bit-by-bit computation, and the codec's two layouts.
 */
#include <check.h>
#include <errno.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/codec_impl.h"
#include "codec/crc32c.h"

/* RFC 3720 appendix B.4, and zarr-format section 5.6. */
START_TEST(published_values_come_out)
{
	uint8_t zeros[32] = {0}, ones[32], up[32], bytes[1024];
	memset(ones, 0xff, sizeof(ones));
	for (size_t i = 0; i < sizeof(up); i++)
		up[i] = (uint8_t)i;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	const struct {
		const void *bytes;
		size_t size;
		uint32_t sum;
	} rows[] = {
		{"", 0, 0},
		{"123456789", 9, 0xe3069283},
		{"abcde", 5, 0xc450d697},
		{"abcdefgh", 8, 0x0a9421b7},
		{zeros, 32, 0x8a9136aa},
		{ones, 32, 0x62a8ab43},
		{up, 32, 0x46dd794e},
		{bytes, 1024, 0x2cdf6e8f},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		ck_assert_uint_eq(crc32c(rows[i].bytes, rows[i].size), rows[i].sum);
		ck_assert_uint_eq(crc32c_portable(rows[i].bytes, rows[i].size), rows[i].sum);
	}
}
END_TEST

static uint32_t bit_by_bit(const uint8_t *p, size_t size)
{
	uint32_t crc = ~0u;
	for (size_t i = 0; i < size; i++) {
		crc ^= p[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
	}
	return ~crc;
}

START_TEST(every_size_and_alignment_agrees_with_the_definition)
{
	uint64_t state = test_seed();
	uint8_t bytes[300];
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)test_random(&state);
	for (size_t start = 0; start < 9; start++) {
		for (size_t size = 0; size + start <= sizeof(bytes); size += 1 + size / 16) {
			uint32_t sum = bit_by_bit(bytes + start, size);
			ck_assert_uint_eq(crc32c(bytes + start, size), sum);
			ck_assert_uint_eq(crc32c_portable(bytes + start, size), sum);
		}
	}
}
END_TEST

static struct codec *open_codec(const char *config, bool v2, struct json **ret_json)
{
	struct codec *codec;
	ck_assert_int_eq(json_parse(config, strlen(config), 1000, NULL, ret_json), 0);
	ck_assert_int_eq(crc32c_codec_ops.open(*ret_json, v2, NULL, &codec), 0);
	return codec;
}

START_TEST(the_checksum_stands_where_location_says)
{
	static const struct {
		const char *config;
		bool v2;
		const char *encoded;
	} rows[] = {
		{"{}", false, "123456789\x83\x92\x06\xe3"},
		{"{}", true, "123456789\x83\x92\x06\xe3"},
		{"{\"location\":\"end\"}", true, "123456789\x83\x92\x06\xe3"},
		{"{\"location\":null}", true, "123456789\x83\x92\x06\xe3"},
		{"{\"location\":\"start\"}", true,
		 "\x83\x92\x06\xe3"
		 "123456789"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json *json;
		struct buf *buf;
		char out[9];
		size_t size = 0;
		struct codec *codec = open_codec(rows[i].config, rows[i].v2, &json);
		ck_assert_int_eq(crc32c_codec_ops.encode(codec, "123456789", 9, &buf), 0);
		ck_assert_uint_eq(buf->size, 13);
		ck_assert_mem_eq(buf->data, rows[i].encoded, 13);
		ck_assert_int_eq(crc32c_codec_ops.decode(codec, buf->data, 13, out, 9, &size), 0);
		ck_assert_uint_eq(size, 9);
		ck_assert_mem_eq(out, "123456789", 9);
		buf_unref(buf);
		crc32c_codec_ops.close(codec);
		json_free(json);
	}
}
END_TEST

START_TEST(an_unknown_location_is_malformed)
{
	static const char *const configs[] = {"{\"location\":\"middle\"}", "{\"location\":1}"};
	for (size_t i = 0; i < ARRAY_LEN(configs); i++) {
		struct json *json;
		struct codec *codec;
		ck_assert_int_eq(json_parse(configs[i], strlen(configs[i]), 1000, NULL, &json), 0);
		ck_assert_int_eq(crc32c_codec_ops.open(json, true, NULL, &codec), -EIO);
		json_free(json);
	}
}
END_TEST

START_TEST(a_wrong_checksum_is_told_with_both_values)
{
	struct json *json;
	char out[9];
	size_t size;
	struct codec *codec = open_codec("{}", false, &json);
	ck_assert_int_eq(crc32c_codec_ops.decode(codec, "123456780\x83\x92\x06\xe3", 13, out, 9, &size), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "e3069283"));
	ck_assert_int_eq(crc32c_codec_ops.decode(codec, "123", 3, out, 9, &size), -EIO);
	crc32c_codec_ops.close(codec);
	json_free(json);
}
END_TEST

static Suite *crc32c_suite(void)
{
	Suite *suite = suite_create("crc32c");
	TCase *tcase = tcase_create("crc32c");
	tcase_add_test(tcase, published_values_come_out);
	tcase_add_test(tcase, every_size_and_alignment_agrees_with_the_definition);
	tcase_add_test(tcase, the_checksum_stands_where_location_says);
	tcase_add_test(tcase, an_unknown_location_is_malformed);
	tcase_add_test(tcase, a_wrong_checksum_is_told_with_both_values);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(crc32c_suite)
