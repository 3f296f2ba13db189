/*
 * test_reshape.c: the codecs that only change a chunk's shape: reshape and zarrs.squeeze.
 */
#include <errno.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/err.h"
#include "base/json.h"
#include "codec/codec_impl.h"

static int open_codec(const char *name, const char *config, const struct repr *repr, struct codec **ret_codec)
{
	struct json *json;
	ck_assert_int_eq(json_parse(config, strlen(config), LIMIT_JSON_BYTES, NULL, &json), 0);
	struct codec_spec spec = {.name = (char *)name, .config = json, .where = (char *)"codecs[0]"};
	int rc = codec_open(&spec, false, repr, 1, ret_codec);
	json_free(json);
	return rc;
}

static void assert_shape(const struct codec *codec, int ndim, const uint64_t *shape)
{
	struct repr repr;
	ck_assert_int_eq(codec->ops->encoded_repr(codec, &repr), 0);
	ck_assert_int_eq(repr.ndim, ndim);
	ck_assert_mem_eq(repr.shape, shape, sizeof(*shape) * (size_t)ndim);
	ck_assert_uint_eq(repr.item_size, 2);
	ck_assert(codec->ops->is_noop(codec));
}

static const struct repr input = {.ndim = 4, .shape = {4, 3, 10, 2}, .item_size = 2, .swap_unit = 2};

static const struct {
	const char *config;
	int ndim; /* negative: the error */
	uint64_t shape[5];
} cases[] = {
	{"{\"shape\":[240]}", 1, {240}},
	{"{\"shape\":[-1]}", 1, {240}},
	{"{\"shape\":[12,20]}", 2, {12, 20}},
	{"{\"shape\":[12,-1,5]}", 3, {12, 4, 5}},
	{"{\"shape\":[[0,1],[2],2]}", 3, {12, 10, 2}},
	{"{\"shape\":[[0],[1],[2],[3],1]}", 5, {4, 3, 10, 2, 1}},
	{"{\"shape\":[2,2,[1,2,3]]}", 3, {2, 2, 60}},
	{"{\"shape\":[-1,[2],[]]}", -EIO, {0}}, /* what is behind axis 2 has 2 elements in the input, 1 here */
	{"{\"shape\":[[],-1]}", 2, {1, 240}},
	{"{}", -EIO, {0}},
	{"{\"shape\":5}", -EIO, {0}},
	{"{\"shape\":[]}", -EIO, {0}},
	{"{\"shape\":[12,21]}", -EIO, {0}},
	{"{\"shape\":[12,0,-1]}", -EIO, {0}},
	{"{\"shape\":[-1,-1]}", -EIO, {0}},
	{"{\"shape\":[7,-1]}", -EIO, {0}},
	{"{\"shape\":[-2]}", -EIO, {0}},
	{"{\"shape\":[18446744073709551615,18446744073709551615]}", -EIO, {0}},
	{"{\"shape\":[[1],[0],[2],[3]]}", -EIO, {0}},
	{"{\"shape\":[[1,0],[2],[3]]}", -EIO, {0}},
	{"{\"shape\":[[0,0],-1]}", -EIO, {0}},
	{"{\"shape\":[[4],-1]}", -EIO, {0}},
	{"{\"shape\":[[0,2],-1]}", -EIO, {0}},
	{"{\"shape\":[3,[0],-1]}", -EIO, {0}},
};

START_TEST(a_reshape_gives_the_shape_that_its_configuration_describes)
{
	struct codec *codec;
	int rc = open_codec("reshape", cases[_i].config, &input, &codec);
	ck_assert_msg(rc == MIN(cases[_i].ndim, 0), "%s: %d %s", cases[_i].config, rc, err_message());
	if (!rc) {
		assert_shape(codec, cases[_i].ndim, cases[_i].shape);
		codec->ops->close(codec);
	}
}
END_TEST

START_TEST(one_element_may_lose_and_gain_axes)
{
	const struct repr scalar = {.ndim = 0, .item_size = 2, .swap_unit = 2};
	const struct repr ones = {.ndim = 2, .shape = {1, 1}, .item_size = 2, .swap_unit = 2};
	struct codec *codec;
	ck_assert_int_eq(open_codec("reshape", "{\"shape\":[1,-1]}", &scalar, &codec), 0);
	assert_shape(codec, 2, (uint64_t[]){1, 1});
	codec->ops->close(codec);
	ck_assert_int_eq(open_codec("reshape", "{\"shape\":[]}", &ones, &codec), 0);
	assert_shape(codec, 0, (uint64_t[]){0});
	codec->ops->close(codec);
}
END_TEST

START_TEST(a_squeeze_drops_axes_of_length_one_and_keeps_one_axis)
{
	const struct repr thin = {.ndim = 4, .shape = {1, 3, 1, 2}, .item_size = 2, .swap_unit = 2};
	const struct repr ones = {.ndim = 2, .shape = {1, 1}, .item_size = 2, .swap_unit = 2};
	struct codec *codec;
	ck_assert_int_eq(open_codec("zarrs.squeeze", "{}", &thin, &codec), 0);
	assert_shape(codec, 2, (uint64_t[]){3, 2});
	codec->ops->close(codec);
	ck_assert_int_eq(open_codec("zarrs.squeeze", "{}", &ones, &codec), 0);
	assert_shape(codec, 1, (uint64_t[]){1});
	codec->ops->close(codec);
}
END_TEST

static Suite *reshape_suite(void)
{
	Suite *suite = suite_create("reshape");
	TCase *tcase = tcase_create("reshape");
	tcase_add_loop_test(tcase, a_reshape_gives_the_shape_that_its_configuration_describes, 0, ARRAY_LEN(cases));
	tcase_add_test(tcase, one_element_may_lose_and_gain_axes);
	tcase_add_test(tcase, a_squeeze_drops_axes_of_length_one_and_keeps_one_axis);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(reshape_suite)
