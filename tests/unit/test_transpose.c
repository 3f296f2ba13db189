/*
 * test_transpose.c: the direction of a permutation, against the specification's formula element by element.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/codecs.h"
#include "../lib/seed.h"
#include "base/err.h"
#include "codec/codec_impl.h"

static const uint8_t fill[32];

static int open_order(const char *order, const struct repr *repr, struct json **ret_json, struct codec **ret_codec)
{
	char text[400];
	snprintf(text, sizeof(text), "{\"order\":%s}", order);
	ck_assert_int_eq(json_parse(text, strlen(text), 1000, NULL, ret_json), 0);
	struct codec_spec spec = {.name = (char *)"transpose", .config = *ret_json, .where = (char *)"codecs[0]"};
	uint64_t bytes;
	ck_assert(repr_bytes(repr, &bytes));
	return codec_open(&spec, false, repr, bytes, ret_codec);
}

/* encoded[j] = chunk[i] with i[p[k]] = j[k]: straight from the specification, one element at a time. */
static void encode_naively(const struct repr *repr, const int *p, const uint8_t *chunk, uint8_t *encoded)
{
	uint64_t n = 1;
	for (int k = 0; k < repr->ndim; k++)
		n *= repr->shape[k];
	for (uint64_t to = 0; to < n; to++) {
		uint64_t i[LIMIT_DIMS], rest = to, from = 0;
		for (int k = repr->ndim - 1; k >= 0; k--) {
			i[p[k]] = rest % repr->shape[p[k]];
			rest /= repr->shape[p[k]];
		}
		for (int k = 0; k < repr->ndim; k++)
			from = from * repr->shape[k] + i[k];
		memcpy(encoded + to * repr->item_size, chunk + from * repr->item_size, repr->item_size);
	}
}

static void check_against_naive(const struct repr *repr, const int *p, uint64_t *state)
{
	struct json *json;
	struct codec *codec;
	struct buf *encoded;
	uint64_t bytes;
	size_t got;
	autostr(order);
	for (int k = 0; k < repr->ndim; k++)
		str_appendf(&order, "%s%d", k ? "," : "[", p[k]);
	str_append(&order, repr->ndim ? "]" : "[]");
	ck_assert_int_eq(open_order(order.text, repr, &json, &codec), 0);
	ck_assert(repr_bytes(repr, &bytes));
	autofree uint8_t *chunk = malloc(bytes);
	autofree uint8_t *right = malloc(bytes);
	autofree uint8_t *decoded = malloc(bytes);
	for (uint64_t i = 0; i < bytes; i++)
		chunk[i] = (uint8_t)test_random(state);
	encode_naively(repr, p, chunk, right);
	ck_assert_int_eq(transpose_codec_ops.encode(codec, chunk, bytes, &encoded), 0);
	ck_assert_mem_eq(encoded->data, right, bytes);
	ck_assert_int_eq(transpose_codec_ops.decode(codec, right, bytes, decoded, bytes, &got), 0);
	ck_assert_uint_eq(got, bytes);
	ck_assert_mem_eq(decoded, chunk, bytes);
	if (transpose_codec_ops.is_noop(codec))
		ck_assert_mem_eq(chunk, right, bytes);
	buf_unref(encoded);
	transpose_codec_ops.close(codec);
	json_free(json);
}

START_TEST(order_1_2_0_moves_the_first_axis_to_the_end)
{
	/* encoded[a][b][c] = chunk[c][a][b], zarr-format section 1.11 */
	const struct repr repr = {.ndim = 3, .shape = {2, 3, 4}, .item_size = 1, .swap_unit = 1, .fill_value = fill};
	struct json *json;
	struct codec *codec;
	struct repr encoded_repr;
	struct buf *encoded;
	uint8_t chunk[24];
	for (int i = 0; i < 24; i++)
		chunk[i] = (uint8_t)i;
	ck_assert_int_eq(open_order("[1,2,0]", &repr, &json, &codec), 0);
	ck_assert_int_eq(transpose_codec_ops.encoded_repr(codec, &encoded_repr), 0);
	ck_assert_uint_eq(encoded_repr.shape[0], 3);
	ck_assert_uint_eq(encoded_repr.shape[1], 4);
	ck_assert_uint_eq(encoded_repr.shape[2], 2);
	ck_assert_ptr_eq(encoded_repr.fill_value, fill);
	ck_assert_int_eq(transpose_codec_ops.encode(codec, chunk, 24, &encoded), 0);
	for (int a = 0; a < 3; a++)
		for (int b = 0; b < 4; b++)
			for (int c = 0; c < 2; c++)
				ck_assert_uint_eq(encoded->data[(a * 4 + b) * 2 + c], chunk[(c * 3 + a) * 4 + b]);
	buf_unref(encoded);
	transpose_codec_ops.close(codec);
	json_free(json);
}
END_TEST

START_TEST(random_permutations_agree_with_the_formula)
{
	static const uint32_t sizes[] = {1, 2, 3, 4, 8, 12, 16};
	uint64_t state = test_seed();
	for (int round = 0; round < 400; round++) {
		struct repr repr = {.swap_unit = 1, .fill_value = fill};
		int p[LIMIT_DIMS];
		repr.ndim = (int)(test_random(&state) % 6);
		repr.item_size = sizes[test_random(&state) % ARRAY_LEN(sizes)];
		for (int k = 0; k < repr.ndim; k++) {
			repr.shape[k] = 1 + test_random(&state) % 6;
			p[k] = k;
		}
		for (int k = repr.ndim - 1; k > 0; k--) {
			int other = (int)(test_random(&state) % (uint64_t)(k + 1)), kept = p[k];
			p[k] = p[other];
			p[other] = kept;
		}
		check_against_naive(&repr, p, &state);
	}
}
END_TEST

START_TEST(planes_larger_than_a_tile_agree_with_the_formula)
{
	static const uint32_t sizes[] = {1, 2, 4, 8};
	uint64_t state = test_seed();
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const struct repr plane = {
			.ndim = 2, .shape = {67, 100}, .item_size = sizes[i], .swap_unit = 1, .fill_value = fill};
		const struct repr box = {
			.ndim = 3, .shape = {33, 5, 70}, .item_size = sizes[i], .swap_unit = 1, .fill_value = fill};
		check_against_naive(&plane, (const int[]){1, 0}, &state);
		check_against_naive(&box, (const int[]){2, 1, 0}, &state);
		check_against_naive(&box, (const int[]){2, 0, 1}, &state);
		check_against_naive(&box, (const int[]){1, 0, 2}, &state);
	}
}
END_TEST

START_TEST(spellings_of_an_order)
{
	const struct repr scalar = {.ndim = 0, .item_size = 4, .swap_unit = 4, .fill_value = fill};
	const struct repr three = {.ndim = 3, .shape = {2, 3, 4}, .item_size = 4, .swap_unit = 4, .fill_value = fill};
	const struct repr thin = {.ndim = 3, .shape = {1, 3, 1}, .item_size = 4, .swap_unit = 4, .fill_value = fill};
	const struct {
		const char *order;
		const struct repr *repr;
		int rc;
		bool noop;
	} rows[] = {
		{"[]", &scalar, 0, true},			{"\"F\"", &scalar, 0, true},	   {"[0]", &scalar, -EIO, false},
		{"[0,1,2]", &three, 0, true},		{"\"C\"", &three, 0, true},		   {"\"F\"", &three, 0, false},
		{"[2,1,0]", &three, 0, false},		{"[2,1,0]", &thin, 0, true}, /* only axes of length 1 move */
		{"[0,0,1]", &three, -EIO, false},	{"[0,1,3]", &three, -EIO, false},  {"[0,1]", &three, -EIO, false},
		{"[0,1,2,3]", &three, -EIO, false}, {"[-1,0,1]", &three, -EIO, false}, {"[0,1,1.5]", &three, -EIO, false},
		{"\"K\"", &three, -EIO, false},		{"null", &three, -EIO, false},	   {"{}", &three, -EIO, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct json *json;
		struct codec *codec;
		int rc = open_order(rows[i].order, rows[i].repr, &json, &codec);
		ck_assert_msg(rc == rows[i].rc, "%s on %d axes: %d", rows[i].order, rows[i].repr->ndim, rc);
		if (rc == 0) {
			ck_assert_msg(transpose_codec_ops.is_noop(codec) == rows[i].noop, "%s", rows[i].order);
			transpose_codec_ops.close(codec);
		} else {
			ck_assert_msg(strncmp(err_message(), "codecs[0]: ", 11) == 0, "%s", err_message());
		}
		json_free(json);
	}
}
END_TEST

static Suite *transpose_suite(void)
{
	Suite *suite = suite_create("transpose");
	TCase *tcase = tcase_create("transpose");
	tcase_add_test(tcase, order_1_2_0_moves_the_first_axis_to_the_end);
	tcase_add_test(tcase, random_permutations_agree_with_the_formula);
	tcase_add_test(tcase, planes_larger_than_a_tile_agree_with_the_formula);
	tcase_add_test(tcase, spellings_of_an_order);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(transpose_suite)
