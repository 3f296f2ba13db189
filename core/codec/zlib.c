/*
 * zlib.c: the codec `zlib`: one RFC 1950 stream (numcodecs "zlib"; "numcodecs.zlib" in v3). What stands behind it is
 * ignored, as numcodecs does.
 */
#include "codec/deflate.h"

static int zlib_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_size)
{
	size_t used;
	return deflate_decode_one(DEFLATE_ZLIB, src, size, dst, room, &used, ret_size);
}

static int zlib_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	return deflate_encode(codec, DEFLATE_ZLIB, src, size, ret_buf);
}

const struct codec_ops zlib_codec_ops = {
	.v2_id = "zlib",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 600,
	.open = deflate_open,
	.close = codec_close_plain,
	.encoded_size = deflate_encoded_size,
	.decode = zlib_decode,
	.encode = zlib_encode,
};
