/*
 * transpose.c: the codec `transpose`: a permutation of a chunk's axes (Zarr v3 codecs, "transpose").
 *
 * The direction trap: with order p the encoded shape is B[i] = A[p[i]], and the encoded element at (j0, j1, ...) comes
 * from the chunk's element whose index on axis p[i] is j[i]. So order [1, 2, 0] gives encoded[a][b][c] = chunk[c][a][b].
 * Both directions walk the box in the chunk's axes, with the encoded side's strides permuted to fit.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/ndcopy.h"
#include "codec/codec_impl.h"

struct transpose {
	struct codec codec;
	int ndim;
	uint64_t shape[LIMIT_DIMS];	  /* of the chunk */
	int order[LIMIT_DIMS];		  /* p */
	int64_t plain[LIMIT_DIMS];	  /* byte strides of the chunk, C order */
	int64_t permuted[LIMIT_DIMS]; /* byte strides of the encoded array, by the chunk's axes */
	uint32_t item_size;
};

static int parse_order(const struct json *config, int ndim, int *ret_order)
{
	const struct json *json = json_get(config, "order");
	if (!json)
		return err_set(EIO, "transpose: order is missing");
	if (json_type(json) == JSON_STRING) { /* of drafts; v2's order is spelled so too */
		const char *text;
		int rc = json_string(json, "order", &text, NULL);
		if (rc)
			return rc;
		bool reversed = strcmp(text, "F") == 0;
		if (!reversed && strcmp(text, "C") != 0)
			return err_set(EIO, "order: neither a permutation, \"C\" nor \"F\"");
		for (int i = 0; i < ndim; i++)
			ret_order[i] = reversed ? ndim - 1 - i : i;
		return 0;
	}
	uint64_t order[LIMIT_DIMS];
	bool seen[LIMIT_DIMS] = {false};
	int n;
	int rc = json_uint64_list(json, "order", LIMIT_DIMS, order, &n);
	if (rc)
		return rc;
	if (n != ndim)
		return err_set(EIO, "order: %d axes for an array of %d", n, ndim);
	for (int i = 0; i < n; i++) {
		if (order[i] >= (uint64_t)ndim || seen[order[i]])
			return err_set(EIO, "order[%d]: not a permutation of the axes", i);
		seen[order[i]] = true;
		ret_order[i] = (int)order[i];
	}
	return 0;
}

/* The chunk's bytes are known to fit (repr_bytes), so its strides do. */
static void set_strides(struct transpose *self)
{
	int64_t plain = self->item_size, permuted = self->item_size;
	for (int i = self->ndim - 1; i >= 0; i--) {
		self->plain[i] = plain;
		plain *= (int64_t)MAX(self->shape[i], 1);
		self->permuted[self->order[i]] = permuted;
		permuted *= (int64_t)MAX(self->shape[self->order[i]], 1);
	}
}

static int transpose_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int order[LIMIT_DIMS];
	int rc = parse_order(config, decoded->ndim, order);
	if (rc)
		return rc;
	struct transpose *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->ndim = decoded->ndim;
	self->item_size = decoded->item_size;
	memcpy(self->shape, decoded->shape, sizeof(self->shape));
	memcpy(self->order, order, sizeof(self->order[0]) * (size_t)self->ndim);
	set_strides(self);
	*ret_codec = &self->codec;
	return 0;
}

static const struct transpose *transpose_of(const struct codec *codec)
{
	return container_of(codec, const struct transpose, codec);
}

/* Also when only axes of length 1 change places: the bytes stay where they are. */
static bool transpose_is_noop(const struct codec *codec)
{
	const struct transpose *self = transpose_of(codec);
	for (int i = 0; i < self->ndim; i++)
		if (self->shape[i] > 1 && self->plain[i] != self->permuted[i])
			return false;
	return true;
}

static int transpose_encoded_repr(const struct codec *codec, struct repr *ret_repr)
{
	const struct transpose *self = transpose_of(codec);
	*ret_repr = codec->decoded;
	for (int i = 0; i < self->ndim; i++)
		ret_repr->shape[i] = self->shape[self->order[i]];
	return 0;
}

/*
 * One plane whose rows are contiguous on one side and whose columns on the other, in tiles: an element-wise walk would
 * miss the cache at every element of one side.
 */
struct plane {
	uint64_t rows, columns;			/* dst's rows are contiguous: element (r, c) is at r * dst_stride + c * item */
	int64_t dst_stride, src_stride; /* src: c * src_stride + r * item */
};

#define TILE 32

#define PLANE_LOOP(type)                                                                                               \
	do {                                                                                                               \
		for (uint64_t r0 = 0; r0 < plane->rows; r0 += TILE)                                                            \
			for (uint64_t c0 = 0; c0 < plane->columns; c0 += TILE)                                                     \
				for (uint64_t r = r0; r < MIN(r0 + TILE, plane->rows); r++) {                                          \
					const uint8_t *in = src + (int64_t)c0 * plane->src_stride + r * sizeof(type);                      \
					uint8_t *out = dst + (int64_t)r * plane->dst_stride + c0 * sizeof(type);                           \
					uint64_t n = MIN(TILE, plane->columns - c0);                                                       \
					for (uint64_t c = 0; c < n; c++, in += plane->src_stride, out += sizeof(type))                     \
						memcpy(out, in, sizeof(type));                                                                 \
				}                                                                                                      \
	} while (0)

static void copy_plane(const struct plane *plane, uint8_t *dst, const uint8_t *src, uint32_t item_size)
{
	switch (item_size) {
	case 1:
		PLANE_LOOP(uint8_t);
		break;
	case 2:
		PLANE_LOOP(uint16_t);
		break;
	case 4:
		PLANE_LOOP(uint32_t);
		break;
	default:
		PLANE_LOOP(uint64_t);
		break;
	}
}

static bool has_plane_loop(uint32_t item_size)
{
	return item_size == 1 || item_size == 2 || item_size == 4 || item_size == 8;
}

/* The innermost axis of one side, axes of length 1 aside; -1 when there is none. */
static int contiguous_axis(const struct transpose *self, const int64_t *strides)
{
	for (int i = 0; i < self->ndim; i++)
		if (self->shape[i] > 1 && strides[i] == self->item_size)
			return i;
	return -1;
}

/* Every other axis is walked by an odometer, one plane each step. */
static void permute_planes(const struct transpose *self, uint8_t *dst, const int64_t *dst_strides, const uint8_t *src,
						   const int64_t *src_strides, int row_axis, int column_axis)
{
	const struct plane plane = {
		.rows = self->shape[row_axis],
		.columns = self->shape[column_axis],
		.dst_stride = dst_strides[row_axis],
		.src_stride = src_strides[column_axis],
	};
	uint64_t at[LIMIT_DIMS] = {0};
	for (;;) {
		copy_plane(&plane, dst, src, self->item_size);
		int i = self->ndim - 1;
		for (; i >= 0; i--) {
			if (i == row_axis || i == column_axis)
				continue;
			dst += dst_strides[i];
			src += src_strides[i];
			if (++at[i] < self->shape[i])
				break;
			dst -= (int64_t)at[i] * dst_strides[i];
			src -= (int64_t)at[i] * src_strides[i];
			at[i] = 0;
		}
		if (i < 0)
			return;
	}
}

static void permute(const struct transpose *self, void *dst, const int64_t *dst_strides, const void *src,
					const int64_t *src_strides)
{
	int column_axis = contiguous_axis(self, dst_strides);
	int row_axis = contiguous_axis(self, src_strides);
	if (has_plane_loop(self->item_size) && column_axis >= 0 && row_axis >= 0 && column_axis != row_axis) {
		permute_planes(self, dst, dst_strides, src, src_strides, row_axis, column_axis);
		return;
	}
	int64_t to[LIMIT_DIMS + 1], from[LIMIT_DIMS + 1];
	uint64_t shape[LIMIT_DIMS + 1];
	for (int i = 0; i < self->ndim; i++) {
		to[i] = dst_strides[i];
		from[i] = src_strides[i];
		shape[i] = self->shape[i];
	}
	to[self->ndim] = from[self->ndim] = 1;
	shape[self->ndim] = self->item_size;
	ndcopy(dst, to, src, from, shape, self->ndim + 1);
}

static int transpose_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
							size_t *ret_size)
{
	const struct transpose *self = transpose_of(codec);
	if (size != room)
		return err_set(EIO, "%zu bytes, expected %zu", size, room);
	if (room > 0)
		permute(self, dst, self->plain, src, self->permuted);
	*ret_size = room;
	return 0;
}

static int transpose_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct transpose *self = transpose_of(codec);
	struct buf *buf;
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	if (size > 0)
		permute(self, buf->data, self->permuted, src, self->plain);
	*ret_buf = buf;
	return 0;
}

const struct codec_ops transpose_codec_ops = {
	.name = "transpose",
	.kind = CODEC_ARRAY_ARRAY,
	.decode_mbps = 2000,
	.open = transpose_open,
	.close = codec_close_plain,
	.encoded_repr = transpose_encoded_repr,
	.is_noop = transpose_is_noop,
	.decode = transpose_decode,
	.encode = transpose_encode,
};
