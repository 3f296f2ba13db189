/*
 * test_filters.c: filters and checksums on vectors that numcodecs made (0.16.6). tests/interop/test_filters.py compares them at
 * large; these are the ones that a reader can follow.
 */
#include <errno.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/codecs.h"
#include "../lib/hex.h"

#include "base/base.h"
#include "base/err.h"

/* One codec of v2 over bytes: encoded -> decoded, both in hex. */
static const struct {
	const char *codec, *encoded, *decoded;
} vectors[] = {
	/* 1000, 1001, 999 as '<i2': an absolute element, then differences; '>i2' the same in its own order */
	{"{\"id\":\"delta\",\"dtype\":\"<i2\"}", "e8030100feff", "e803e903e703"},
	{"{\"id\":\"delta\",\"dtype\":\">i2\"}", "03e80001fffe", "03e803e903e7"},
	/* differences wrap: 250, +10 is 4 */
	{"{\"id\":\"delta\",\"dtype\":\"|u1\"}", "fa0a", "fa04"},
	/* narrow differences of wide elements */
	{"{\"id\":\"delta\",\"dtype\":\"<i4\",\"astype\":\"|i1\"}", "7fff", "7f0000007e000000"},
	/* -0.0 alone stays -0.0 */
	{"{\"id\":\"delta\",\"dtype\":\"<f4\"}", "00000080", "00000080"},
	/* 11 / 10 + 100 = 101.1 */
	{"{\"id\":\"fixedscaleoffset\",\"offset\":100,\"scale\":10,\"dtype\":\"<f8\",\"astype\":\"|u1\"}", "0b",
	 "6666666666465940"},
	/* 301.7 -> 301 */
	{"{\"id\":\"fixedscaleoffset\",\"offset\":1.7,\"scale\":1,\"dtype\":\"<i2\",\"astype\":\"<i2\"}", "2c01", "2d01"},
	/* the scale is halfway between two halves and a little more, which rounding to a single first would lose */
	{"{\"id\":\"fixedscaleoffset\",\"offset\":0,\"scale\":1.0004882821813226,\"dtype\":\"<f2\",\"astype\":\"<f2\"}",
	 "003c0042", "fe3bff41"},
	/* 5, NaT, 1: NaT stays */
	{"{\"id\":\"delta\",\"dtype\":\"<m8[s]\"}", "050000000000000000000000000000800100000000000000",
	 "050000000000000000000000000000800000000000000080"},
	{"{\"id\":\"quantize\",\"digits\":1,\"dtype\":\"<f8\",\"astype\":\"<f4\"}", "0000c03f", "000000000000f83f"},
	{"{\"id\":\"astype\",\"encode_dtype\":\"<f4\",\"decode_dtype\":\"<f8\"}", "0000c03f", "000000000000f83f"},
	/* 300 as a byte */
	{"{\"id\":\"astype\",\"encode_dtype\":\"<i2\",\"decode_dtype\":\"|u1\"}", "2c01", "2c"},
	/* ten bools: six bits of padding, the first bool in the highest bit */
	{"{\"id\":\"packbits\"}", "068140", "01000000000000010001"},
	{"{\"id\":\"shuffle\",\"elementsize\":2}", "010203040a0b0c0d", "010a020b030c040d"},
	{"{\"id\":\"base64\"}", "616263643d3d3d3d", NULL},
	{"{\"id\":\"base64\"}", "7a6172723d3d", NULL},
	{"{\"id\":\"base64\"}", "656d467963673d3d", "7a617272"},
	{"{\"id\":\"crc32\"}", "2639f4cb313233343536373839", "313233343536373839"},
	{"{\"id\":\"crc32\",\"location\":\"end\"}", "3132333435363738392639f4cb", "313233343536373839"},
	{"{\"id\":\"crc32c\"}", "313233343536373839839206e3", "313233343536373839"},
	{"{\"id\":\"crc32c\",\"location\":\"start\"}", "839206e3313233343536373839", "313233343536373839"},
	{"{\"id\":\"adler32\"}", "de011e09313233343536373839", "313233343536373839"},
	{"{\"id\":\"fletcher32\"}", "313233343536373839d509df09", "313233343536373839"},
	{"{\"id\":\"fletcher32\"}", "313233343536373839d509df08", NULL},
	{"{\"id\":\"jenkins_lookup3\"}", "313233343536373839969a5d84", "313233343536373839"},
	{"{\"id\":\"jenkins_lookup3\",\"initval\":1234}", "313233343536373839b0c0cd5e", "313233343536373839"},
};

static int decode(const char *codec, const uint8_t *encoded, size_t size, size_t room, uint8_t *dst)
{
	struct test_codecs codecs;
	struct pipeline *pipeline;
	char text[256];
	const struct repr bytes = {
		.ndim = 1, .shape = {room}, .item_size = 1, .swap_unit = 1, .fill_value = (uint8_t[1]){0}};
	snprintf(text, sizeof(text), "[{\"id\":\"bytes\"},%s]", codec);
	ck_assert_int_eq(test_codecs_parse(text, strlen(text), true, &codecs), 0);
	int rc = pipeline_open(&codecs.list, &bytes, &pipeline);
	ck_assert_msg(!rc, "%s: %s", codec, err_message());
	rc = pipeline_decode(pipeline, encoded, size, dst);
	pipeline_close(pipeline);
	test_codecs_finish(&codecs);
	return rc;
}

START_TEST(a_filter_decodes_what_numcodecs_encoded)
{
	uint8_t encoded[64], wanted[64] = {0}, got[64];
	size_t size = from_hex(vectors[_i].encoded, encoded);
	size_t room = vectors[_i].decoded ? from_hex(vectors[_i].decoded, wanted) : 9;
	int rc = decode(vectors[_i].codec, encoded, size, room, got);
	if (!vectors[_i].decoded) {
		ck_assert_int_eq(rc, -EIO);
		return;
	}
	ck_assert_msg(!rc, "%s: %s", vectors[_i].codec, err_message());
	ck_assert_mem_eq(got, wanted, room);
}
END_TEST

START_TEST(cut_or_longer_bytes_are_eio)
{
	uint8_t encoded[64], wanted[64], got[64];
	if (!vectors[_i].decoded)
		return;
	size_t size = from_hex(vectors[_i].encoded, encoded), room = from_hex(vectors[_i].decoded, wanted);
	for (size_t n = 0; n < size + 5; n++) {
		encoded[n] = n < size ? encoded[n] : 0;
		if (n != size)
			ck_assert_msg(decode(vectors[_i].codec, encoded, n, room, got) == -EIO, "%s: %zu of %zu bytes",
						  vectors[_i].codec, n, size);
	}
}
END_TEST

/* Chains of v3 over int32 elements, whose filters say less than in v2, or an order that the array has not. */
static const struct {
	const char *codecs, *encoded;
} chains[] = {
	/* the array's type, and the size of its elements */
	{"[{\"name\":\"numcodecs.delta\"},\"BYTES\"]", "0100000001000000"},
	{"[\"BYTES\",\"numcodecs.shuffle\"]", "0102000000000000"},
	{"[\"BYTES\",{\"name\":\"numcodecs.shuffle\",\"configuration\":{\"elementsize\":null}}]", "0102000000000000"},
	{"[\"BYTES\",{\"name\":\"numcodecs.shuffle\",\"configuration\":{\"elementsize\":2}}]", "0100020000000000"},
	/* zarr-python takes the differences of 0x01000000 and 0x02000000 */
	{"[{\"name\":\"numcodecs.delta\",\"configuration\":{\"dtype\":\">i4\"}},\"BYTES\"]", "0000000100000001"},
	{"[{\"name\":\"numcodecs.astype\",\"configuration\":{\"decode_dtype\":\"<i4\",\"encode_dtype\":\">i2\"}},"
	 "\"BYTES\"]",
	 "01000200"},
};

START_TEST(a_chain_of_v3_decodes_what_zarr_python_encoded)
{
	static const struct dtype int32 = {.kind = DTYPE_INT, .size = 4, .swap_unit = 4, .descr = "<i4"};
	const struct repr chunk = {.ndim = 1,
							   .shape = {2},
							   .item_size = 4,
							   .swap_unit = 4,
							   .dtype = &int32,
							   .fill_value = (const uint8_t *)"\0\0\0"};
	const char *mark = strstr(chains[_i].codecs, "\"BYTES\"");
	uint8_t encoded[64], got[8];
	struct test_codecs codecs;
	struct pipeline *pipeline;
	char text[256];
	snprintf(text, sizeof(text), "%.*s{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}%s",
			 (int)(mark - chains[_i].codecs), chains[_i].codecs, mark + strlen("\"BYTES\""));
	ck_assert_int_eq(test_codecs_parse(text, strlen(text), false, &codecs), 0);
	ck_assert_msg(pipeline_open(&codecs.list, &chunk, &pipeline) == 0, "%s: %s", text, err_message());
	size_t size = from_hex(chains[_i].encoded, encoded);
	ck_assert_msg(pipeline_decode(pipeline, encoded, size, got) == 0, "%s: %s", text, err_message());
	ck_assert_mem_eq(got, "\1\0\0\0\2\0\0\0", sizeof(got));
	pipeline_close(pipeline);
	test_codecs_finish(&codecs);
}
END_TEST

START_TEST(a_flipped_bit_anywhere_fails_a_checksum)
{
	static const char *const codecs[] = {"crc32", "crc32c", "adler32"};
	uint8_t encoded[64], got[64];
	for (size_t c = 0; c < ARRAY_LEN(codecs); c++)
		for (size_t v = 0; v < ARRAY_LEN(vectors); v++) {
			char name[64];
			snprintf(name, sizeof(name), "{\"id\":\"%s\"}", codecs[c]);
			if (strcmp(name, vectors[v].codec) != 0)
				continue;
			size_t size = from_hex(vectors[v].encoded, encoded);
			for (size_t bit = 0; bit < 8 * size; bit++) {
				encoded[bit / 8] ^= (uint8_t)(1 << bit % 8);
				ck_assert_int_eq(decode(name, encoded, size, size - 4, got), -EIO);
				ck_assert_ptr_nonnull(strstr(err_message(), "stored is"));
				encoded[bit / 8] ^= (uint8_t)(1 << bit % 8);
			}
		}
}
END_TEST

static const struct {
	const char *codec, *message;
	int rc;
} refusals[] = {
	{"{\"id\":\"delta\"}", "codecs[1]: dtype: missing", -EIO},
	{"{\"id\":\"delta\",\"dtype\":\"<i3\"}", "codecs[1]: dtype: ", -ENOTSUP},
	{"{\"id\":\"delta\",\"dtype\":\"|S4\"}", "is no number", -ENOTSUP},
	{"{\"id\":\"delta\",\"dtype\":\"|b1\"}", "no difference of bools", -ENOTSUP},
	{"{\"id\":\"delta\",\"dtype\":\"<M8[s]\"}", "only sums of timedelta64", -ENOTSUP},
	{"{\"id\":\"delta\",\"dtype\":\"<m8[s]\",\"astype\":\"<i8\"}", "only sums of timedelta64", -ENOTSUP},
	{"{\"id\":\"delta\",\"dtype\":\"<m8[s]\",\"astype\":\"<m8[ms]\"}", "between units", -ENOTSUP},
	{"{\"id\":\"astype\",\"encode_dtype\":\"<M8[s]\",\"decode_dtype\":\"<M8[ns]\"}", "between units", -ENOTSUP},
	{"{\"id\":\"astype\",\"encode_dtype\":\"<m8[s]\",\"decode_dtype\":\"<M8[s]\"}", "between units", -ENOTSUP},
	{"{\"id\":\"fixedscaleoffset\",\"dtype\":\"<m8[s]\",\"offset\":1,\"scale\":1}", "times are not scaled", -ENOTSUP},
	{"{\"id\":\"fixedscaleoffset\",\"dtype\":\"<f4\",\"offset\":1}", "scale: missing", -EIO},
	{"{\"id\":\"astype\",\"encode_dtype\":\"<f4\"}", "decode_dtype: missing", -EIO},
	{"{\"id\":\"crc32\",\"location\":\"middle\"}", "location: neither", -EIO},
	{"{\"id\":\"jenkins_lookup3\",\"initval\":4294967296}", "initval: more than 32 bits", -EIO},
};

START_TEST(a_configuration_that_says_too_little_is_refused_with_its_member)
{
	struct test_codecs codecs;
	struct pipeline *pipeline;
	char text[256];
	const struct repr bytes = {.ndim = 1, .shape = {8}, .item_size = 1, .swap_unit = 1, .fill_value = (uint8_t[1]){0}};
	snprintf(text, sizeof(text), "[{\"id\":\"bytes\"},%s]", refusals[_i].codec);
	ck_assert_int_eq(test_codecs_parse(text, strlen(text), true, &codecs), 0);
	int rc = pipeline_open(&codecs.list, &bytes, &pipeline);
	ck_assert_msg(rc == refusals[_i].rc, "%s: %d: %s", refusals[_i].codec, rc, err_message());
	ck_assert_msg(strstr(err_message(), refusals[_i].message), "%s", err_message());
	test_codecs_finish(&codecs);
}
END_TEST

#define TIMES_8 "{\"id\":\"astype\",\"encode_dtype\":\"<f8\",\"decode_dtype\":\"|u1\"}"
#define TIMES_2 "{\"id\":\"astype\",\"encode_dtype\":\"<c16\",\"decode_dtype\":\"<c8\"}"
#define TIMES_4 "{\"id\":\"astype\",\"encode_dtype\":\"<f4\",\"decode_dtype\":\"|u1\"}"

/* A chunk of 4 MiB: 16 times as many bytes, and what is an encoded chunk's slack, may be made of it. */
START_TEST(filters_may_not_make_any_number_of_bytes)
{
	static const struct {
		const char *filters;
		int rc;
	} rows[] = {
		{TIMES_8, 0},
		{TIMES_8 "," TIMES_2, 0},
		{TIMES_8 "," TIMES_4, -EFBIG},
		{TIMES_8 "," TIMES_8 "," TIMES_8, -EFBIG},
		{TIMES_8 "," TIMES_2 ",{\"id\":\"crc32c\"}", 0},
		{TIMES_8 "," TIMES_2 "," TIMES_2, -EFBIG},
	};
	const struct repr bytes = {
		.ndim = 1, .shape = {4 << 20}, .item_size = 1, .swap_unit = 1, .fill_value = (uint8_t[1]){0}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct test_codecs codecs;
		struct pipeline *pipeline;
		char text[512];
		snprintf(text, sizeof(text), "[{\"id\":\"bytes\"},%s]", rows[i].filters);
		ck_assert_int_eq(test_codecs_parse(text, strlen(text), true, &codecs), 0);
		int rc = pipeline_open(&codecs.list, &bytes, &pipeline);
		ck_assert_msg(rc == rows[i].rc, "%s: %d: %s", rows[i].filters, rc, err_message());
		if (rc)
			ck_assert_ptr_nonnull(strstr(err_message(), "more than 16 times as many bytes of a chunk"));
		else
			pipeline_close(pipeline);
		test_codecs_finish(&codecs);
	}
}
END_TEST

static Suite *filters_suite(void)
{
	Suite *suite = suite_create("filters");
	TCase *tcase = tcase_create("filters");
	tcase_add_loop_test(tcase, a_filter_decodes_what_numcodecs_encoded, 0, ARRAY_LEN(vectors));
	tcase_add_loop_test(tcase, cut_or_longer_bytes_are_eio, 0, ARRAY_LEN(vectors));
	tcase_add_loop_test(tcase, a_chain_of_v3_decodes_what_zarr_python_encoded, 0, ARRAY_LEN(chains));
	tcase_add_test(tcase, a_flipped_bit_anywhere_fails_a_checksum);
	tcase_add_loop_test(tcase, a_configuration_that_says_too_little_is_refused_with_its_member, 0, ARRAY_LEN(refusals));
	tcase_add_test(tcase, filters_may_not_make_any_number_of_bytes);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(filters_suite)
