/*
 * bytes.c: the codec `bytes`: elements in C order, little- or big-endian (Zarr v3 codecs, "bytes").
 *
 * Little-endian is our own order, so that it is nothing at all; big-endian swaps each number in place.
 */
#include "codec/codec_impl.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/ndcopy.h"

struct bytes_codec {
	struct codec codec;
	uint32_t swap_unit; /* 1: nothing to swap */
};

/* Five spellings are legal for a type without byte order: bare, without configuration, empty, endian, endian null. */
static int parse_endian(const struct json *config, uint32_t swap_unit, bool *ret_big)
{
	const struct json *json = json_get(config, "endian");
	if (!json || json_type(json) == JSON_NULL) {
		if (swap_unit > 1)
			return err_set(EIO, "bytes: endian is missing, and an element has several bytes");
		*ret_big = false;
		return 0;
	}
	const char *text;
	int rc = json_string(json, "endian", &text, NULL);
	if (rc)
		return rc;
	if (strcmp(text, "big") != 0 && strcmp(text, "little") != 0)
		return err_set(EIO, "endian: neither \"little\" nor \"big\"");
	*ret_big = strcmp(text, "big") == 0;
	return 0;
}

static int bytes_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	bool big = false;
	int rc = parse_endian(config, decoded->swap_unit, &big);
	if (rc)
		return rc;
	struct bytes_codec *bytes = calloc(1, sizeof(*bytes));
	if (!bytes)
		return err_set(ENOMEM, "no memory for a codec");
	bytes->swap_unit = big ? decoded->swap_unit : 1;
	*ret_codec = &bytes->codec;
	return 0;
}

static const struct bytes_codec *bytes_of(const struct codec *codec)
{
	return container_of(codec, const struct bytes_codec, codec);
}

static bool bytes_is_noop(const struct codec *codec)
{
	return bytes_of(codec)->swap_unit == 1;
}

static int bytes_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						size_t *ret_size)
{
	if (size != room)
		return err_set(EIO, "%zu bytes, expected %zu", size, room);
	swap_bytes(dst, src, size, bytes_of(codec)->swap_unit);
	*ret_size = room;
	return 0;
}

static int bytes_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	struct buf *buf;
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	swap_bytes(buf->data, src, size, bytes_of(codec)->swap_unit);
	*ret_buf = buf;
	return 0;
}

const struct codec_ops bytes_codec_ops = {
	.name = "bytes",
	.kind = CODEC_ARRAY_BYTES,
	.decode_mbps = 8000,
	.in_place = true,
	.open = bytes_open,
	.close = codec_close_plain,
	.is_noop = bytes_is_noop,
	.decode = bytes_decode,
	.encode = bytes_encode,
};
