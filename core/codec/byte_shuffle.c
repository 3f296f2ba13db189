/*
 * byte_shuffle.c: the filter `shuffle`: byte k of every element, then byte k + 1 of every element (numcodecs "shuffle").
 * Where no element size is given, it is numcodecs' default in v2, and in v3 that of the array, as in zarr-python.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "codec/codec_impl.h"
#include "codec/shuffle.h"

#define DEFAULT_ELEMENT_BYTES 4

struct byte_shuffle {
	struct codec codec;
	size_t given; /* bytes of an element, or 0 */
};

static int byte_shuffle_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	const struct json *json = json_get(config, "elementsize");
	uint64_t given = 0;
	bool is_given = json && json_type(json) != JSON_NULL;
	int rc = is_given ? json_uint64(json, "elementsize", &given) : 0;
	if (rc)
		return rc;
	if (given > LIMIT_ITEM_SIZE)
		return err_set(EFBIG, "elementsize: %" PRIu64 ", the limit is %u", given, LIMIT_ITEM_SIZE);
	struct byte_shuffle *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	/* numcodecs leaves elements of no bytes as they are too */
	self->given = is_given ? MAX((size_t)given, 1) : 0;
	*ret_codec = &self->codec;
	return 0;
}

static size_t element_bytes(const struct codec *codec)
{
	size_t given = container_of(codec, const struct byte_shuffle, codec)->given;
	if (given)
		return given;
	return codec->item_size ? codec->item_size : DEFAULT_ELEMENT_BYTES;
}

static bool byte_shuffle_is_noop(const struct codec *codec)
{
	return element_bytes(codec) == 1;
}

static int byte_shuffle_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
							   size_t *ret_size)
{
	size_t element = element_bytes(codec);
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
	size_t element = element_bytes(codec), n = size / element;
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
