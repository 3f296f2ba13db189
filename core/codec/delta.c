/*
 * delta.c: the filter `delta`: the first element, then differences (numcodecs "delta").
 *
 * Decoding is numpy's cumsum into the decoded type: it adds in the type that both sides promote to, where integers wrap, and
 * converts each sum.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/filter.h"

/* The first element is copied, not added to zero: it may be -0. */
#define SUM(type)                                                                                                      \
	do {                                                                                                               \
		type sum = 0, *at = (void *)values;                                                                            \
		if (state->started)                                                                                            \
			memcpy(&sum, state->sum, sizeof(sum));                                                                     \
		for (size_t i = 0; i < n; i++)                                                                                 \
			at[i] = sum = i || state->started ? (type)(sum + at[i]) : at[i];                                           \
		memcpy(state->sum, &sum, sizeof(sum));                                                                         \
	} while (0)

/* Real and imaginary parts. */
#define SUM_COMPLEX(type)                                                                                              \
	do {                                                                                                               \
		type sum[2] = {0}, *at = (void *)values;                                                                       \
		if (state->started)                                                                                            \
			memcpy(sum, state->sum, sizeof(sum));                                                                      \
		for (size_t i = 0; i < 2 * n; i++)                                                                             \
			at[i] = sum[i % 2] = i > 1 || state->started ? sum[i % 2] + at[i] : at[i];                                 \
		memcpy(state->sum, sum, sizeof(sum));                                                                          \
	} while (0)

static void sum_integers(uint32_t size, struct filter_state *state, void *values, size_t n)
{
	switch (size) {
	case 1:
		SUM(uint8_t);
		break;
	case 2:
		SUM(uint16_t);
		break;
	case 4:
		SUM(uint32_t);
		break;
	default:
		SUM(uint64_t);
		break;
	}
}

/* NaT and anything is NaT. */
static void sum_times(struct filter_state *state, void *values, size_t n)
{
	const uint64_t nat = UINT64_C(1) << 63;
	uint64_t sum = 0, *at = values;
	memcpy(&sum, state->sum, sizeof(sum));
	for (size_t i = 0; i < n; i++)
		at[i] = sum = sum == nat || at[i] == nat ? nat : sum + at[i];
	memcpy(state->sum, &sum, sizeof(sum));
}

/* Each sum is a half again. */
static void sum_halves(struct filter_state *state, uint16_t *halves, size_t n)
{
	float sum = 0, values[NUMBER_BLOCK];
	if (state->started)
		memcpy(&sum, state->sum, sizeof(sum));
	number_from_halves(halves, values, n);
	for (size_t i = 0; i < n; i++) {
		sum = i || state->started ? sum + values[i] : values[i];
		number_to_halves(&sum, &halves[i], 1);
		number_from_halves(&halves[i], &sum, 1);
	}
	memcpy(state->sum, &sum, sizeof(sum));
}

static int delta_work(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
					  size_t n)
{
	uint8_t values[NUMBER_BLOCK * NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
	const struct number *type = &filter->sum;
	number_cast(&filter->stored, type, stored, values, n);
	if (type->kind == DTYPE_COMPLEX && type->size == 8)
		SUM_COMPLEX(float);
	else if (type->kind == DTYPE_COMPLEX)
		SUM_COMPLEX(double);
	else if (number_is_time(type))
		sum_times(state, values, n);
	else if (type->kind != DTYPE_FLOAT)
		sum_integers(type->size, state, values, n);
	else if (type->size == 2)
		sum_halves(state, (uint16_t *)(void *)values, n);
	else if (type->size == 4)
		SUM(float);
	else
		SUM(double);
	number_cast(type, &filter->plain, values, plain, n);
	return 0;
}

/* Of times, numpy adds up timedelta64, and numcodecs writes no others. */
static int check_sums(const struct number *plain, const struct number *stored)
{
	if (plain->kind == DTYPE_DATETIME || number_is_time(plain) != number_is_time(stored))
		return err_set(ENOTSUP, "dtype: of times there are only sums of timedelta64");
	return number_check_cast(stored, plain);
}

static int delta_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct number plain, stored;
	struct filter *filter;
	int rc = filter_parse_types(config, decoded, &plain, &stored);
	if (rc)
		return rc;
	if (plain.kind == DTYPE_BOOL)
		return err_set(ENOTSUP, "dtype: there is no difference of bools");
	rc = check_sums(&plain, &stored);
	if (!rc)
		rc = filter_new(&plain, &stored, decoded, &filter);
	if (rc)
		return rc;
	filter->sum = number_is_time(&plain) ? plain : number_promote(&stored, &plain);
	filter->work = delta_work;
	*ret_codec = &filter->codec;
	return 0;
}

const struct codec_ops delta_codec_ops = {
	.v2_id = "delta",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 800,
	.open = delta_open,
	.close = codec_close_plain,
	.encoded_repr = filter_encoded_repr,
	.encoded_size = filter_encoded_size,
	.decode = filter_decode,
};
