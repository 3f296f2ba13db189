/*
 * fixedscaleoffset.c: codecs that stored (element - offset) * scale: numcodecs' `fixedscaleoffset`, which then rounded to
 * another type, and `scale_offset` (zarr-extensions), which stays in the array's.
 *
 * Decoding is numpy's `enc / scale + offset`: in the precision of the stored floats; for stored integers in doubles, but for
 * scale_offset in integers.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/filter.h"

static const struct number wide = {.kind = DTYPE_FLOAT, .size = 8, .swap_unit = 1},
						   single = {.kind = DTYPE_FLOAT, .size = 4, .swap_unit = 1},
						   half = {.kind = DTYPE_FLOAT, .size = 2, .swap_unit = 1};

static int work_wide(const struct filter *filter, struct filter_state *state, const void *stored, void *plain, size_t n)
{
	double values[NUMBER_BLOCK];
	number_cast(&filter->stored, &wide, stored, values, n);
	for (size_t i = 0; i < n; i++)
		values[i] = values[i] / filter->scale + filter->offset;
	number_cast(&wide, &filter->plain, values, plain, n);
	return 0;
}

static int work_single(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
					   size_t n)
{
	const float *in = stored, scale = (float)filter->scale, offset = (float)filter->offset;
	float values[NUMBER_BLOCK];
	for (size_t i = 0; i < n; i++)
		values[i] = in[i] / scale + offset;
	number_cast(&single, &filter->plain, values, plain, n);
	return 0;
}

/* Both steps round to a half, and so do the operands: at once, since a single on the way could fall between two halves. */
static int work_half(const struct filter *filter, struct filter_state *state, const void *stored, void *plain, size_t n)
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
	return 0;
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

/* The sum wraps, as that of zarr-python's encoder did. A remainder says that no element was encoded to this one. */
static int work_integers(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
						 size_t n)
{
	const struct number bits = {.kind = DTYPE_UINT, .size = 8, .swap_unit = 1};
	const uint64_t scale = filter->integer_scale, offset = filter->integer_offset;
	uint64_t values[NUMBER_BLOCK];
	bool is_signed = filter->plain.kind == DTYPE_INT;
	number_cast(&filter->stored, &bits, stored, values, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t value = values[i], quotient;
		if (is_signed && scale == UINT64_MAX) /* -1, by which the CPU cannot divide the smallest */
			quotient = -value;
		else if (is_signed)
			quotient = (uint64_t)((int64_t)value / (int64_t)scale);
		else
			quotient = value / scale;
		if (quotient * scale != value)
			return err_set(EIO, "an element is no multiple of the scale");
		values[i] = quotient + offset;
	}
	number_cast(&bits, &filter->plain, values, plain, n);
	return 0;
}

/* A scalar of a configuration, spelled as the array's fill value is; absent, it is `fallback`. */
static int parse_scalar(const struct json *config, const char *member, const struct dtype *dtype,
						const struct number *type, double fallback, uint8_t *ret_bytes)
{
	uint8_t bytes[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES))) = {0};
	const struct json *json = json_get(config, member);
	bool undefined = false;
	if (json) {
		int rc = dtype_parse_fill(dtype, 3, json, bytes, &undefined);
		if (!rc && undefined)
			rc = err_set(EIO, "null");
		if (rc)
			return err_prefix(rc, "%s", member);
	} else {
		number_cast(&wide, type, &fallback, bytes, 1);
	}
	memcpy(ret_bytes, bytes, sizeof(bytes));
	return 0;
}

static int parse_scalars(struct filter *filter, const struct json *config, const struct dtype *dtype)
{
	const struct number bits = {.kind = DTYPE_UINT, .size = 8, .swap_unit = 1};
	uint8_t offset[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
	uint8_t scale[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
	int rc = parse_scalar(config, "offset", dtype, &filter->plain, 0, offset);
	if (!rc)
		rc = parse_scalar(config, "scale", dtype, &filter->plain, 1, scale);
	if (rc)
		return rc;
	number_cast(&filter->plain, &wide, offset, &filter->offset, 1);
	number_cast(&filter->plain, &wide, scale, &filter->scale, 1);
	if (filter->plain.kind == DTYPE_FLOAT)
		return 0;
	number_cast(&filter->plain, &bits, offset, &filter->integer_offset, 1);
	number_cast(&filter->plain, &bits, scale, &filter->integer_scale, 1);
	return filter->integer_scale ? 0 : err_set(EIO, "scale: 0");
}

/* The array's fill value, encoded. Rounding a double's sum or product to a shorter float is rounding once. */
static void encode_fill(struct filter *filter, const struct repr *decoded)
{
	const struct number bits = {.kind = DTYPE_UINT, .size = 8, .swap_unit = 1}, *type = &filter->plain;
	uint8_t fill[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES))) = {0};
	if (decoded->fill_value)
		memcpy(fill, decoded->fill_value, type->size);
	if (type->kind == DTYPE_FLOAT) {
		double value;
		number_cast(type, &wide, fill, &value, 1);
		value -= filter->offset;
		number_cast(&wide, type, &value, fill, 1);
		number_cast(type, &wide, fill, &value, 1);
		value *= filter->scale;
		number_cast(&wide, type, &value, fill, 1);
	} else {
		uint64_t value;
		number_cast(type, &bits, fill, &value, 1);
		value = (value - filter->integer_offset) * filter->integer_scale;
		number_cast(&bits, type, &value, fill, 1);
	}
	memcpy(filter->encoded_fill, fill, sizeof(fill));
}

static int scale_offset_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	static const char *const members[] = {"offset", "scale", NULL};
	struct number type;
	struct filter *filter;
	int rc = filter_check_members(config, members);
	if (!rc)
		rc = filter_parse_array_type(decoded, &type);
	if (!rc)
		rc = filter_new(&type, &type, decoded, &filter);
	if (rc)
		return rc;
	rc = parse_scalars(filter, config, decoded->dtype);
	if (rc) {
		free(filter);
		return rc;
	}
	filter->encoded.dtype = decoded->dtype;
	encode_fill(filter, decoded);
	filter->work = type.kind != DTYPE_FLOAT ? work_integers
				   : type.size == 8			? work_wide
				   : type.size == 4			? work_single
											: work_half;
	*ret_codec = &filter->codec;
	return 0;
}

const struct codec_ops scale_offset_codec_ops = {
	.name = "scale_offset",
	.kind = CODEC_ARRAY_ARRAY,
	.decode_mbps = 600,
	.open = scale_offset_open,
	.close = codec_close_plain,
	.encoded_repr = filter_encoded_repr,
	.decode = filter_decode,
};
