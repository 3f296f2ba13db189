/*
 * fixedscaleoffset.c: the filter of that name: (element - offset) * scale, rounded (numcodecs "fixedscaleoffset").
 *
 * Decoding is numpy's `enc / scale + offset`: in the precision of the stored floats, for stored integers in doubles.
 */
#include <errno.h>

#include "base/err.h"
#include "codec/filter.h"

static const struct number wide = {.kind = DTYPE_FLOAT, .size = 8, .swap_unit = 1},
						   single = {.kind = DTYPE_FLOAT, .size = 4, .swap_unit = 1},
						   half = {.kind = DTYPE_FLOAT, .size = 2, .swap_unit = 1};

static void work_wide(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
					  size_t n)
{
	double values[NUMBER_BLOCK];
	number_cast(&filter->stored, &wide, stored, values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] / filter->scale + filter->offset;
	number_cast(&wide, &filter->plain, values, plain, n);
}

static void work_single(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
						size_t n)
{
	const float *in = stored, scale = (float)filter->scale, offset = (float)filter->offset;
	float values[NUMBER_BLOCK];
	for (size_t i = 0; i < n; i++)
		values[i] = in[i] / scale + offset;
	number_cast(&single, &filter->plain, values, plain, n);
}

/* Both steps round to a half, and so do the operands: at once, since a single on the way could fall between two halves. */
static void work_half(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
					  size_t n)
{
	const double exact[2] = {filter->scale, filter->offset};
	float operands[2], values[NUMBER_BLOCK];
	uint16_t halves[NUMBER_BLOCK];
	number_cast(&wide, &half, exact, halves, 2);
	number_from_halves(halves, operands, 2);
	number_from_halves(stored, values, n);
	for (size_t i = 0; i < n; i++)
		values[i] /= operands[0];
	number_to_halves(values, halves, n);
	number_from_halves(halves, values, n);
	for (size_t i = 0; i < n; i++)
		values[i] += operands[1];
	number_to_halves(values, halves, n);
	number_cast(&half, &filter->plain, halves, plain, n);
}

static int parse_operand(const struct json *config, const char *member, double *ret_value)
{
	const struct json *json = json_get(config, member);
	if (!json)
		return err_set(EIO, "%s: missing", member);
	return json_double(json, member, ret_value);
}

static int fixedscaleoffset_open(const struct json *config, bool v2, const struct repr *decoded,
								 struct codec **ret_codec)
{
	struct number plain, stored;
	struct filter *filter;
	double offset = 0, scale = 0;
	int rc = filter_parse_types(config, decoded, &plain, &stored);
	if (!rc)
		rc = parse_operand(config, "offset", &offset);
	if (!rc)
		rc = parse_operand(config, "scale", &scale);
	if (rc)
		return rc;
	if (plain.kind == DTYPE_COMPLEX || stored.kind == DTYPE_COMPLEX)
		return err_set(ENOTSUP, "dtype: complex numbers are not scaled");
	if (number_is_time(&plain) || number_is_time(&stored))
		return err_set(ENOTSUP, "dtype: times are not scaled");
	rc = filter_new(&plain, &stored, decoded, &filter);
	if (rc)
		return rc;
	filter->offset = offset;
	filter->scale = scale;
	filter->work = stored.kind != DTYPE_FLOAT || stored.size == 8 ? work_wide
				   : stored.size == 4							  ? work_single
																  : work_half;
	*ret_codec = &filter->codec;
	return 0;
}

const struct codec_ops fixedscaleoffset_codec_ops = {
	.v2_id = "fixedscaleoffset",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 600,
	.open = fixedscaleoffset_open,
	.close = codec_close_plain,
	.encoded_repr = filter_encoded_repr,
	.encoded_size = filter_encoded_size,
	.decode = filter_decode,
};
