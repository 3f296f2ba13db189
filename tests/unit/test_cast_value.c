/*
 * test_cast_value.c: the codecs cast_value and scale_offset on elements that a reader can follow: every rounding, every rule for
 * what is out of range, exceptions, fill values of shards, and what is refused.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/codecs.h"

#include "base/base.h"
#include "base/err.h"
#include "codec/number.h"

#define ELEMENTS 4

/* Stored elements of a type, and what they are in the array's; NAN stands for itself. A negative number of elements is the errno. */
struct decoding {
	const char *array, *codecs; /* the array's descr; the chain in front of `bytes` */
	const char *stored;			/* descr */
	int n;
	double encoded[ELEMENTS], decoded[ELEMENTS];
};

#define CAST(configuration) "{\"name\":\"cast_value\",\"configuration\":{" configuration "}}"
#define SCALE(configuration) "{\"name\":\"scale_offset\",\"configuration\":{" configuration "}}"
#define ROUND(mode) CAST("\"data_type\":\"float32\",\"rounding\":\"" mode "\"")
#define RANGE(rule) CAST("\"data_type\":\"int16\",\"out_of_range\":\"" rule "\"")
#define MAP "\"scalar_map\":{\"encode\":[[\"NaN\",0]],\"decode\":[[0,7],[0,\"NaN\"],[3,\"-Infinity\"]]}"

static const struct decoding decodings[] = {
	{"<f8", CAST("\"data_type\":\"uint8\""), "|u1", 2, {0, 255}, {0, 255}},
	{"<i4", CAST("\"data_type\":\"float32\""), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {0, 2, -2, -1}},
	{"<i4", ROUND("nearest-even"), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {0, 2, -2, -1}},
	{"<i4", ROUND("nearest-away"), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {1, 2, -3, -1}},
	{"<i4", ROUND("towards-zero"), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {0, 1, -2, 0}},
	{"<i4", ROUND("towards-positive"), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {1, 2, -2, 0}},
	{"<i4", ROUND("towards-negative"), "<f4", 4, {0.5, 1.5, -2.5, -0.75}, {0, 1, -3, -1}},
	{"|u1", CAST("\"data_type\":\"int16\""), "<i2", 2, {0, 255}, {0, 255}},
	{"|u1", RANGE("error"), "<i2", -EIO, {0, 256}, {0}},
	{"|u1", RANGE("error"), "<i2", -EIO, {0, -1}, {0}},
	{"|u1", RANGE("clamp"), "<i2", 3, {-1, 256, 7}, {0, 255, 7}},
	{"|u1", RANGE("wrap"), "<i2", 3, {-1, 256, 7}, {255, 0, 7}},
	{"|i1", RANGE("clamp"), "<i2", 2, {-129, 128}, {-128, 127}},
	{"|i1", RANGE("wrap"), "<i2", 2, {-129, 128}, {127, -128}},
	{"|i1", CAST("\"data_type\":\"uint64\",\"out_of_range\":\"clamp\""), "<u8", 2, {128, 0x1p63}, {127, 127}},
	{"<u8",
	 CAST("\"data_type\":\"float64\""),
	 "<f8",
	 2,
	 {0x1p63, 0x1.fffffffffffffp63},
	 {0x1p63, 0x1.fffffffffffffp63}},
	{"<u8", CAST("\"data_type\":\"float64\""), "<f8", -EIO, {0x1p64}, {0}},
	{"<i8", CAST("\"data_type\":\"float64\""), "<f8", 1, {-0x1p63}, {-0x1p63}},
	{"<i8", CAST("\"data_type\":\"float64\""), "<f8", -EIO, {0x1p63}, {0}},
	{"|u1", CAST("\"data_type\":\"float64\",\"out_of_range\":\"wrap\""), "<f8", 3, {-1, 0x1p60, 300}, {255, 0, 44}},
	{"|u1",
	 CAST("\"data_type\":\"float64\",\"out_of_range\":\"clamp\""),
	 "<f8",
	 3,
	 {1e300, -1e300, INFINITY},
	 {255, 0, 255}},
	{"|u1", CAST("\"data_type\":\"float64\",\"out_of_range\":\"wrap\""), "<f8", -EIO, {INFINITY}, {0}},
	{"|u1", CAST("\"data_type\":\"float64\",\"out_of_range\":\"clamp\""), "<f8", -EIO, {NAN}, {0}},
	{"<f4", CAST("\"data_type\":\"float64\""), "<f8", 4, {NAN, -INFINITY, 0.5, 1e-300}, {NAN, -INFINITY, 0.5, 0}},
	{"<f4", CAST("\"data_type\":\"float64\""), "<f8", -EIO, {1e300}, {0}},
	{"<f2", CAST("\"data_type\":\"float64\",\"out_of_range\":\"clamp\""), "<f8", 2, {1e300, -70000}, {65504, -65504}},
	/* the last pair of a key counts */
	{"<f8", CAST("\"data_type\":\"uint8\"," MAP), "|u1", 3, {0, 3, 5}, {NAN, -INFINITY, 5}},
	{"|i1",
	 CAST("\"data_type\":\"float32\",\"scalar_map\":{\"decode\":[[\"NaN\",-128],[0,1]]}"),
	 "<f4",
	 3,
	 {NAN, -0.0, 2},
	 {-128, 1, 2}},

	{"<f8", SCALE("\"offset\":100,\"scale\":10"), "<f8", 2, {11, -5}, {101.1, 99.5}},
	{"<f8", "\"scale_offset\"", "<f8", 2, {11, -0.5}, {11, -0.5}},
	{"<f8", SCALE("\"scale\":\"0x4024000000000000\""), "<f8", 1, {11}, {1.1}},
	{"<i4", SCALE("\"offset\":-7,\"scale\":3"), "<i4", 3, {9, 0, -3}, {-4, -7, -8}},
	{"<i4", SCALE("\"offset\":-7,\"scale\":3"), "<i4", -EIO, {10}, {0}},
	{"<i4", SCALE("\"scale\":-1"), "<i4", 2, {-0x1p31, 5}, {-0x1p31, -5}},
	/* 5 - 10 was 251 */
	{"|u1", SCALE("\"offset\":10"), "|u1", 2, {251, 0}, {5, 10}},
	{"<f4", SCALE("\"offset\":-5,\"scale\":0.5") "," CAST("\"data_type\":\"uint8\""), "|u1", 2, {3, 0}, {1, -5}},
};

static void describe(const char *descr, struct dtype *ret_dtype, struct number *ret_number)
{
	bool big;
	ck_assert_int_eq(dtype_parse_descr(descr, ret_dtype, &big), 0);
	ck_assert(number_of_dtype(ret_dtype, ret_number));
}

static int open_chain(const char *codecs, const struct dtype *dtype, const uint8_t *fill,
					  struct test_codecs *ret_codecs, struct pipeline **ret_pipeline)
{
	const struct repr chunk = {.ndim = 1,
							   .shape = {ELEMENTS},
							   .item_size = dtype->size,
							   .swap_unit = dtype->swap_unit,
							   .dtype = dtype,
							   .fill_value = fill};
	char text[1024];
	snprintf(text, sizeof(text), "[%s]", codecs);
	ck_assert_msg(test_codecs_parse(text, strlen(text), false, ret_codecs) == 0, "%s", text);
	return pipeline_open(&ret_codecs->list, &chunk, ret_pipeline);
}

#define LITTLE "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"

START_TEST(stored_elements_have_these_values)
{
	static const struct number wide = {.kind = DTYPE_FLOAT, .size = 8, .swap_unit = 1};
	const struct decoding *row = &decodings[_i];
	uint8_t encoded[8 * ELEMENTS] __attribute__((aligned(16))), got[8 * ELEMENTS] __attribute__((aligned(16)));
	uint8_t fill[8] = {0};
	struct dtype array, stored;
	struct number array_number, stored_number;
	struct test_codecs codecs;
	struct pipeline *pipeline;
	double values[ELEMENTS];
	char chain[900];
	describe(row->array, &array, &array_number);
	describe(row->stored, &stored, &stored_number);
	snprintf(chain, sizeof(chain), "%s," LITTLE, row->codecs);
	ck_assert_msg(open_chain(chain, &array, fill, &codecs, &pipeline) == 0, "%s: %s", chain, err_message());
	number_cast(&wide, &stored_number, row->encoded, encoded, ELEMENTS);
	int rc = pipeline_decode(pipeline, encoded, stored.size * ELEMENTS, got);
	ck_assert_msg(rc == (row->n < 0 ? row->n : 0), "%s: %d: %s", row->codecs, rc, err_message());
	if (row->n > 0)
		number_cast(&array_number, &wide, got, values, ELEMENTS);
	for (int i = 0; i < row->n; i++)
		ck_assert_msg(values[i] == row->decoded[i] || (isnan(values[i]) && isnan(row->decoded[i])),
					  "%s: element %d is %.17g, not %.17g", row->codecs, i, values[i], row->decoded[i]);
	pipeline_close(pipeline);
	test_codecs_finish(&codecs);
}
END_TEST

/* A shard without inner chunks shows the fill value that came through the codecs in front of it, and back. */
static const struct {
	const char *codecs;
	float fill, shown;
} fills[] = {
	{SCALE("\"offset\":5,\"scale\":0.5"), 11, 11},
	{SCALE("\"offset\":5,\"scale\":0.5") "," CAST("\"data_type\":\"uint8\",\"rounding\":\"towards-negative\""), 12, 11},
	{CAST("\"data_type\":\"uint8\",\"scalar_map\":{\"encode\":[[\"NaN\",9]],\"decode\":[[9,\"NaN\"]]}"), NAN, NAN},
	{CAST("\"data_type\":\"uint8\",\"out_of_range\":\"clamp\""), -1, 0},
	{CAST("\"data_type\":\"float16\",\"rounding\":\"towards-zero\""), 0.5, 0.5},
};

START_TEST(the_fill_value_of_a_shard_is_encoded_too)
{
	const char *const sharding =
		"{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[2],\"codecs\":[" LITTLE
		"],\"index_codecs\":[" LITTLE "]}}";
	uint8_t index[32], fill[8] = {0};
	float got[ELEMENTS];
	struct dtype dtype;
	struct number number;
	struct test_codecs codecs;
	struct pipeline *pipeline;
	char chain[900];
	describe("<f4", &dtype, &number);
	memset(index, 0xff, sizeof(index));
	memcpy(fill, &fills[_i].fill, sizeof(fills[_i].fill));
	snprintf(chain, sizeof(chain), "%s,%s", fills[_i].codecs, sharding);
	ck_assert_msg(open_chain(chain, &dtype, fill, &codecs, &pipeline) == 0, "%s: %s", chain, err_message());
	ck_assert_msg(pipeline_decode(pipeline, index, sizeof(index), got) == 0, "%s: %s", chain, err_message());
	for (int i = 0; i < ELEMENTS; i++)
		ck_assert_msg(got[i] == fills[_i].shown || (isnan(got[i]) && isnan(fills[_i].shown)), "%s: %g", chain,
					  (double)got[i]);
	pipeline_close(pipeline);
	test_codecs_finish(&codecs);
}
END_TEST

/* Over an array of `array`, whose fill value is NaN or all ones. */
static const struct {
	const char *array, *codecs, *message;
	int rc;
} refusals[] = {
	{"<f4", "\"cast_value\"", "data_type: missing", -EIO},
	{"<f4", CAST("\"data_type\":\"complex64\""), "neither integers nor floats", -ENOTSUP},
	{"<f4", CAST("\"data_type\":\"bfloat16\""), "neither integers nor floats", -ENOTSUP},
	{"<c8", CAST("\"data_type\":\"float64\""), "neither integers nor floats", -ENOTSUP},
	{"|b1", SCALE("\"scale\":2"), "neither integers nor floats", -ENOTSUP},
	{"<f4", CAST("\"data_type\":\"float32\",\"more\":1"), "unknown member \"more\"", -EIO},
	{"<f4", SCALE("\"dtype\":\"<f4\""), "unknown member \"dtype\"", -EIO},
	{"<f4", CAST("\"data_type\":\"float32\",\"rounding\":\"up\""), "rounding: \"up\" is none", -EIO},
	{"<f4", CAST("\"data_type\":\"float32\",\"out_of_range\":\"saturate\""), "out_of_range: \"saturate\" is none",
	 -EIO},
	{"<f4", CAST("\"data_type\":\"float64\",\"rounding\":\"towards-zero\""), "only \"nearest-even\"", -ENOTSUP},
	{"<f4", CAST("\"data_type\":\"uint8\""), "fill_value: not a number", -EIO},
	{"<u2", CAST("\"data_type\":\"uint8\""), "fill_value: a number out of range", -EIO},
	{"<f4", CAST("\"data_type\":\"float32\",\"scalar_map\":{\"decode\":1}"), "scalar_map.decode: a number", -EIO},
	{"<f4", CAST("\"data_type\":\"float32\",\"scalar_map\":{\"decode\":[[1]]}"),
	 "scalar_map.decode: not a list of pairs", -EIO},
	{"<f4", CAST("\"data_type\":\"float32\",\"scalar_map\":{\"encode\":[[1,\"x\"]]}"), "scalar_map.encode: ", -EIO},
	{"<i4", SCALE("\"scale\":0"), "scale: 0", -EIO},
	{"<i4", SCALE("\"scale\":null"), "scale: null", -EIO},
	{"|i1", SCALE("\"offset\":128"), "offset: ", -EIO},
};

START_TEST(what_cannot_be_read_is_refused_with_its_member)
{
	uint8_t fill[16];
	struct dtype dtype;
	bool big;
	struct test_codecs codecs;
	struct pipeline *pipeline;
	char chain[900];
	memset(fill, 0xff, sizeof(fill));
	ck_assert_int_eq(dtype_parse_descr(refusals[_i].array, &dtype, &big), 0);
	snprintf(chain, sizeof(chain), "%s," LITTLE, refusals[_i].codecs);
	int rc = open_chain(chain, &dtype, fill, &codecs, &pipeline);
	ck_assert_msg(rc == refusals[_i].rc, "%s: %d: %s", chain, rc, err_message());
	ck_assert_msg(strstr(err_message(), refusals[_i].message), "%s: %s", chain, err_message());
	test_codecs_finish(&codecs);
}
END_TEST

static Suite *cast_value_suite(void)
{
	Suite *suite = suite_create("cast_value");
	TCase *tcase = tcase_create("cast_value");
	tcase_add_loop_test(tcase, stored_elements_have_these_values, 0, ARRAY_LEN(decodings));
	tcase_add_loop_test(tcase, the_fill_value_of_a_shard_is_encoded_too, 0, ARRAY_LEN(fills));
	tcase_add_loop_test(tcase, what_cannot_be_read_is_refused_with_its_member, 0, ARRAY_LEN(refusals));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(cast_value_suite)
