/*
 * test_packed_bits.c: packbits of v3, bit by bit; and numbers narrower than a byte in the codec `bytes`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/err.h"
#include "base/json.h"
#include "codec/codec_impl.h"

static struct json *parse(const char *text)
{
	struct json *json;
	ck_assert_int_eq(json_parse(text, strlen(text), LIMIT_JSON_BYTES, NULL, &json), 0);
	return json;
}

static int open_codec(const char *name, const char *config, const struct dtype *dtype, uint64_t n,
					  struct codec **ret_codec)
{
	struct json *json = parse(config);
	struct repr repr = {
		.ndim = 1, .shape = {n}, .item_size = dtype->size, .swap_unit = dtype->swap_unit, .dtype = dtype};
	struct codec_spec spec = {.name = (char *)name, .config = json, .where = (char *)"codecs[0]"};
	int rc = codec_open(&spec, false, &repr, n * dtype->size, ret_codec);
	json_free(json);
	return rc;
}

static void parse_type(const char *name, struct dtype *ret_dtype)
{
	autostr(text);
	str_appendf(&text, "\"%s\"", name);
	struct json *json = parse(text.text);
	ck_assert_msg(dtype_parse_v3(json, ret_dtype) == 0, "%s", err_message());
	json_free(json);
}

#define BYTES(...) {__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

/* The elements in memory, and what is stored. */
static const struct {
	const char *type, *config;
	uint8_t elements[32];
	size_t size;
	uint8_t stored[32];
	size_t stored_size;
} cases[] = {
	{"bool", "{}", BYTES(1, 0, 0, 1, 1, 0, 0, 0, 1), BYTES(0x19, 0x01)},
	{"bool", "{\"padding_encoding\":\"first_byte\"}", BYTES(1, 1, 1), BYTES(5, 0x07)},
	{"bool", "{\"padding_encoding\":\"end_byte\"}", BYTES(1, 1, 1), BYTES(0x07, 5)},
	{"bool", "{\"padding_encoding\":\"last_byte\"}", BYTES(1, 0, 0, 0, 0, 0, 0, 1), BYTES(0x81, 0)},
	{"uint4", "{}", BYTES(1, 2, 15), BYTES(0x21, 0x0f)},
	{"int4", "{\"padding_encoding\":null}", BYTES(0xf8, 7, 0xff), BYTES(0x78, 0x0f)},
	{"int2", "{}", BYTES(0xfe, 1, 0xff, 0, 1), BYTES(0x36, 0x01)},
	{"uint2", "{}", BYTES(3, 0, 2, 1), BYTES(0x63)},
	{"float6_e3m2fn", "{}", BYTES(0x3f, 0x01), BYTES(0x7f, 0x00)},
	{"complex_float4_e2m1fn", "{}", BYTES(0x0f, 0x01), BYTES(0x1f)},
	{"uint16", "{}", BYTES(0x34, 0x12), BYTES(0x34, 0x12)},
	{"uint16", "{\"first_bit\":0,\"last_bit\":9}", BYTES(0xff, 0x03, 0x01, 0x02), BYTES(0xff, 0x07, 0x08)},
	{"uint16", "{\"start_bit\":4,\"end_bit\":11}", BYTES(0xa0, 0x0b, 0x10, 0x00), BYTES(0xba, 0x01)},
	{"int16", "{\"first_bit\":4,\"last_bit\":7}", BYTES(0x80, 0xff, 0x70, 0x00), BYTES(0x78)},
	{"int64", "{\"first_bit\":null,\"last_bit\":62}", BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	 BYTES(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f)},
	{"complex_float32", "{\"first_bit\":16}", BYTES(0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0), BYTES(0x80, 0x3f, 0, 0xc0)},
};

START_TEST(numbers_are_bits_without_gaps)
{
	struct dtype dtype;
	struct codec *codec;
	uint8_t decoded[32];
	size_t got;
	struct buf *encoded;
	parse_type(cases[_i].type, &dtype);
	ck_assert_int_eq(open_codec("packbits", cases[_i].config, &dtype, cases[_i].size / dtype.size, &codec), 0);
	int rc = codec->ops->encode(codec, cases[_i].elements, cases[_i].size, &encoded);
	ck_assert_int_eq(rc, 0);
	ck_assert_uint_eq(encoded->size, cases[_i].stored_size);
	ck_assert_mem_eq(encoded->data, cases[_i].stored, cases[_i].stored_size);
	rc = codec->ops->decode(codec, encoded->data, encoded->size, decoded, cases[_i].size, &got);
	ck_assert_msg(rc == 0, "%s", err_message());
	ck_assert_uint_eq(got, cases[_i].size);
	ck_assert_mem_eq(decoded, cases[_i].elements, got);
	buf_unref(encoded);
	codec->ops->close(codec);
}
END_TEST

/* Any number of bits at any place of a number survives; the rest is zero, or the sign. */
START_TEST(any_range_of_bits_comes_back)
{
	uint64_t state = test_seed(), numbers[37], decoded[37];
	struct dtype dtype;
	for (int i = 0; i < 37; i++)
		numbers[i] = test_random(&state);
	for (int is_signed = 0; is_signed < 2; is_signed++)
		for (unsigned first = 0; first < 64; first++)
			for (unsigned last = first; last < 64; last += 1 + test_random(&state) % 3) {
				struct codec *codec;
				struct buf *encoded;
				size_t got;
				autostr(config);
				str_appendf(&config, "{\"first_bit\":%u,\"last_bit\":%u}", first, last);
				parse_type(is_signed ? "int64" : "uint64", &dtype);
				ck_assert_int_eq(open_codec("packbits", config.text, &dtype, 37, &codec), 0);
				ck_assert_int_eq(codec->ops->encode(codec, numbers, sizeof(numbers), &encoded), 0);
				ck_assert_uint_eq(encoded->size, ((last - first + 1) * 37 + 7) / 8);
				uint8_t *exact = malloc(encoded->size); /* nothing behind is read */
				memcpy(exact, encoded->data, encoded->size);
				ck_assert_int_eq(codec->ops->decode(codec, exact, encoded->size, decoded, sizeof(decoded), &got), 0);
				for (int i = 0; i < 37; i++) {
					uint64_t high = numbers[i] << (63 - last);
					uint64_t value = is_signed ? (uint64_t)((int64_t)high >> (63 - last)) : high >> (63 - last);
					ck_assert_uint_eq(decoded[i], value >> first << first);
				}
				free(exact);
				buf_unref(encoded);
				codec->ops->close(codec);
			}
}
END_TEST

START_TEST(a_wrong_size_or_count_of_padding_is_eio)
{
	struct dtype dtype;
	struct codec *codec;
	uint8_t decoded[5];
	size_t got;
	parse_type("uint2", &dtype);
	ck_assert_int_eq(open_codec("packbits", "{\"padding_encoding\":\"first_byte\"}", &dtype, 5, &codec), 0);
	ck_assert_int_eq(codec->ops->decode(codec, "\6\0\0", 3, decoded, 5, &got), 0);
	ck_assert_int_eq(codec->ops->decode(codec, "\6\0\0\0", 4, decoded, 5, &got), -EIO);
	ck_assert_int_eq(codec->ops->decode(codec, "\6\0", 2, decoded, 5, &got), -EIO);
	ck_assert_int_eq(codec->ops->decode(codec, "\5\0\0", 3, decoded, 5, &got), -EIO);
	ck_assert_str_eq(err_message(), "5 bits of padding, expected 6");
	codec->ops->close(codec);
}
END_TEST

START_TEST(what_cannot_be_packed_is_refused)
{
	static const struct {
		const char *type, *config;
		int rc;
	} bad[] = {
		{"uint8", "{\"padding_encoding\":\"middle\"}", -EIO},
		{"uint8", "{\"padding_encoding\":1}", -EIO},
		{"uint8", "{\"first_bit\":5,\"last_bit\":4}", -EIO},
		{"uint8", "{\"last_bit\":8}", -EIO},
		{"int4", "{\"last_bit\":4}", -EIO},
		{"bool", "{\"first_bit\":1}", -EIO},
		{"uint8", "{\"first_bit\":-1}", -EIO},
		{"r16", "{}", -ENOTSUP},
	};
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct dtype dtype;
		struct codec *codec;
		parse_type(bad[i].type, &dtype);
		ck_assert_int_eq(open_codec("packbits", bad[i].config, &dtype, 3, &codec), bad[i].rc);
	}
	struct dtype dtype;
	struct codec *codec;
	parse_type("uint64", &dtype);
	ck_assert_int_eq(open_codec("packbits", "{}", &dtype, UINT64_MAX / 8, &codec), -EFBIG);
}
END_TEST

START_TEST(bits_above_a_narrow_number_are_ignored)
{
	static const struct {
		const char *type;
		uint8_t stored[4], expected[4];
	} narrow[] = {
		{"int4", {0x08, 0xf8, 0x97, 0x0f}, {0xf8, 0xf8, 0x07, 0xff}},
		{"int2", {0x02, 0xfd, 0x83, 0x00}, {0xfe, 0x01, 0xff, 0x00}},
		{"uint4", {0x08, 0xf8, 0x97, 0x0f}, {0x08, 0x08, 0x07, 0x0f}},
		{"uint2", {0x02, 0xfd, 0x83, 0x00}, {0x02, 0x01, 0x03, 0x00}},
		{"float4_e2m1fn", {0x0f, 0xff, 0x10, 0x07}, {0x0f, 0x0f, 0x00, 0x07}},
		{"float6_e2m3fn", {0x3f, 0xff, 0x40, 0x07}, {0x3f, 0x3f, 0x00, 0x07}},
		{"float8_e5m2", {0x3f, 0xff, 0x40, 0x07}, {0x3f, 0xff, 0x40, 0x07}},
	};
	for (size_t i = 0; i < ARRAY_LEN(narrow); i++) {
		struct dtype dtype;
		struct codec *codec;
		uint8_t decoded[4];
		size_t got;
		parse_type(narrow[i].type, &dtype);
		ck_assert_int_eq(open_codec("bytes", "{}", &dtype, 4, &codec), 0);
		ck_assert_int_eq(codec->ops->decode(codec, narrow[i].stored, 4, decoded, 4, &got), 0);
		ck_assert_mem_eq(decoded, narrow[i].expected, 4);
		ck_assert_int_eq(codec->ops->is_noop(codec), dtype.bits == 0);
		codec->ops->close(codec);
	}
}
END_TEST

static Suite *packed_bits_suite(void)
{
	Suite *suite = suite_create("packed bits");
	TCase *tcase = tcase_create("packed bits");
	tcase_add_loop_test(tcase, numbers_are_bits_without_gaps, 0, ARRAY_LEN(cases));
	tcase_add_test(tcase, any_range_of_bits_comes_back);
	tcase_add_test(tcase, a_wrong_size_or_count_of_padding_is_eio);
	tcase_add_test(tcase, what_cannot_be_packed_is_refused);
	tcase_add_test(tcase, bits_above_a_narrow_number_are_ignored);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(packed_bits_suite)
