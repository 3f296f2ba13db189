/*
 * reshape.c: the codec `reshape`: another shape for the same elements in the same order (zarr-extensions, codecs/reshape).
 *
 *     input 4 x 3 x 10, "shape": [[0, 1], -1]     ->     12 x 10
 *
 * Nothing moves; only what the next codec is told changes.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "codec/codec_impl.h"

struct reshape {
	struct codec codec;
	int ndim;
	uint64_t shape[LIMIT_DIMS]; /* of the output */
};

/* A list of input axes that stand for their product; *next keeps them in increasing order over all lists. */
static int take_axes(const struct json *json, const struct repr *input, int *next, uint64_t *ret_length)
{
	uint64_t axes[LIMIT_DIMS], length = 1;
	int n;
	int rc = json_uint64_list(json, "shape", LIMIT_DIMS, axes, &n);
	if (rc)
		return rc;
	for (int i = 0; i < n; i++) {
		if (axes[i] < (uint64_t)*next || axes[i] >= (uint64_t)input->ndim)
			return err_set(EIO, "shape: axis %" PRIu64 " is out of order or not there", axes[i]);
		*next = (int)axes[i] + 1;
		length *= input->shape[axes[i]]; /* a part of the chunk's elements */
	}
	*ret_length = length;
	return 0;
}

/* One length; *ret_open: it is what the others leave. */
static int take_length(const struct json *json, const struct repr *input, int *next, uint64_t *ret_length,
					   bool *ret_open)
{
	const char *text = json_number_text(json);
	*ret_open = text && strcmp(text, "-1") == 0;
	*ret_length = 1;
	if (*ret_open)
		return 0;
	if (json_type(json) == JSON_ARRAY)
		return take_axes(json, input, next, ret_length);
	int rc = json_uint64(json, "shape", ret_length);
	return !rc && *ret_length == 0 ? err_set(EIO, "shape: a length of 0") : rc;
}

/* Where axes are named, what stands before and behind them must be the same on both sides: the codec never transposes. */
static int check_axes(const struct json *list, const struct repr *input, const struct reshape *self)
{
	uint64_t before = 1;
	int i = 0;
	for (const struct json *item = json_first(list); item; item = json_next(item), i++) {
		uint64_t axes[LIMIT_DIMS], input_before = 1, input_to_end = 1;
		int n = 0;
		if (json_type(item) == JSON_ARRAY && json_uint64_list(item, "shape", LIMIT_DIMS, axes, &n))
			return -EIO;
		for (uint64_t axis = 0; n > 0 && axis <= axes[n - 1]; axis++) {
			input_to_end *= input->shape[axis];
			if (axis < axes[0])
				input_before *= input->shape[axis];
		}
		if (n > 0 && (input_before != before || input_to_end != before * self->shape[i]))
			return err_set(EIO, "shape[%d]: its axes are elsewhere in the input", i);
		before *= self->shape[i];
	}
	return 0;
}

static int parse_shape(const struct json *list, const struct repr *input, struct reshape *self)
{
	uint64_t total, product = 1;
	int next = 0, open_axis = -1;
	if (!list || json_type(list) != JSON_ARRAY || json_count(list) > LIMIT_DIMS)
		return err_set(EIO, "shape: no list of at most %d lengths", LIMIT_DIMS);
	if (!checked_product(input->shape, input->ndim, &total) || total == 0)
		return err_set(EFBIG, "the chunk is too large, or empty");
	for (const struct json *item = json_first(list); item; item = json_next(item), self->ndim++) {
		bool is_open;
		int rc = take_length(item, input, &next, &self->shape[self->ndim], &is_open);
		if (rc)
			return rc;
		if (is_open && open_axis >= 0)
			return err_set(EIO, "shape: -1 twice");
		if (is_open)
			open_axis = self->ndim;
		if (!checked_mul(product, self->shape[self->ndim], &product) || product > total)
			return err_set(EIO, "shape: not as many elements as the input");
	}
	if (open_axis >= 0) {
		self->shape[open_axis] = total / product;
		product *= self->shape[open_axis];
	}
	if (product != total)
		return err_set(EIO, "shape: not as many elements as the input");
	return check_axes(list, input, self);
}

static int reshape_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct reshape *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	int rc = parse_shape(json_get(config, "shape"), decoded, self);
	if (rc) {
		free(self);
		return rc;
	}
	*ret_codec = &self->codec;
	return 0;
}

static int reshape_encoded_repr(const struct codec *codec, struct repr *ret_repr)
{
	const struct reshape *self = container_of(codec, const struct reshape, codec);
	*ret_repr = codec->decoded;
	ret_repr->ndim = self->ndim;
	memcpy(ret_repr->shape, self->shape, sizeof(self->shape));
	return 0;
}

const struct codec_ops reshape_codec_ops = {
	.name = "reshape",
	.kind = CODEC_ARRAY_ARRAY,
	.decode_mbps = 10000,
	.in_place = true,
	.open = reshape_open,
	.close = codec_close_plain,
	.encoded_repr = reshape_encoded_repr,
	.is_noop = codec_is_always_noop,
	.decode = codec_copy,
	.encode = codec_copy_encode,
};
