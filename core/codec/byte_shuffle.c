/*
 * byte_shuffle.c: the filter `shuffle`: byte k of every element, then byte k + 1 of every element (numcodecs "shuffle").
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "codec/codec_impl.h"
#include "codec/shuffle.h"

#define DEFAULT_ELEMENT_BYTES 4

struct byte_shuffle {
	struct codec codec;
	size_t element; /* bytes */
};

static int byte_shuffle_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t element;
	int rc = codec_option(config, "elementsize", 1, LIMIT_ITEM_SIZE, DEFAULT_ELEMENT_BYTES, &element);
	if (rc)
		return rc;
	struct byte_shuffle *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->element = (size_t)element;
	*ret_codec = &self->codec;
	return 0;
}

static const struct byte_shuffle *byte_shuffle_of(const struct codec *codec)
{
	return container_of(codec, const struct byte_shuffle, codec);
}

static bool byte_shuffle_is_noop(const struct codec *codec)
{
	return byte_shuffle_of(codec)->element == 1;
}

static int byte_shuffle_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
							   size_t *ret_size)
{
	size_t element = byte_shuffle_of(codec)->element;
	if (size == 0 || size % element)
		return err_set(EIO, "%zu bytes are no elements of %zu", size, element);
	if (size > room)
		return err_set(EIO, "decodes to %zu bytes, expected %zu", size, room);
	shuffle_undo_bytes(shuffle_best(), element, size, src, dst);
	*ret_size = size;
	return 0;
}

static int byte_shuffle_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	size_t element = byte_shuffle_of(codec)->element, n = size / element;
	const uint8_t *in = src;
	struct buf *buf;
	if (size % element)
		return err_set(ENOTSUP, "%zu bytes are no elements of %zu", size, element);
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	for (size_t k = 0; k < element; k++)
		for (size_t i = 0; i < n; i++)
			buf->data[k * n + i] = in[i * element + k];
	*ret_buf = buf;
	return 0;
}

const struct codec_ops byte_shuffle_codec_ops = {
	.v2_id = "shuffle",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 6000,
	.open = byte_shuffle_open,
	.close = codec_close_plain,
	.is_noop = byte_shuffle_is_noop,
	.decode = byte_shuffle_decode,
	.encode = byte_shuffle_encode,
};
