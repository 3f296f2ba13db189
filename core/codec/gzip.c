/*
 * gzip.c: the codec `gzip`: RFC 1952 members one after the other (Zarr v3 codecs, "gzip"; numcodecs "gzip").
 *
 * Zero bytes behind the last member are padding. Some writers (z5) put a zlib stream under this name: the first two
 * bytes tell them apart.
 */
#include <errno.h>

#include "base/deflate_context.h"
#include "base/endian.h"
#include "base/err.h"
#include "codec/deflate.h"

static bool is_gzip(const uint8_t *p, size_t size)
{
	return size >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* RFC 1950: method 8, a window of at most 32 KiB, and a header that 31 divides. */
static bool is_zlib(const uint8_t *p, size_t size)
{
	return size >= 2 && (p[0] & 0x0f) == 8 && p[0] >> 4 <= 7 && load_be16(p) % 31 == 0;
}

static bool is_zero(const uint8_t *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static int gzip_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_size)
{
	const uint8_t *in = src;
	uint8_t *out = dst;
	size_t filled = 0;
	enum deflate_wrapper wrapper = is_zlib(in, size) ? DEFLATE_ZLIB : DEFLATE_GZIP;
	do {
		size_t used = 0, got = 0;
		int rc = deflate_decode_one(wrapper, in, size, out + filled, room - filled, &used, &got);
		if (rc)
			return rc;
		in += used;
		size -= used;
		filled += got;
	} while (wrapper == DEFLATE_GZIP && is_gzip(in, size));
	if (!is_zero(in, size))
		return err_set(EIO, "%zu bytes of something else behind the stream", size);
	*ret_size = filled;
	return 0;
}

static int gzip_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	return deflate_encode(codec, DEFLATE_GZIP, src, size, ret_buf);
}

static const char *gzip_library(void)
{
	return "libdeflate " LIBDEFLATE_VERSION_STRING;
}

const struct codec_ops gzip_codec_ops = {
	.name = "gzip",
	.v2_id = "gzip",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 600,
	.open = deflate_open,
	.close = codec_close_plain,
	.encoded_size = deflate_encoded_size,
	.decode = gzip_decode,
	.encode = gzip_encode,
	.library = gzip_library,
};
