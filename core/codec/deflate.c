/* deflate.c: one DEFLATE stream in a gzip (RFC 1952) or zlib (RFC 1950) wrapper. */
#include "codec/deflate.h"

#include <errno.h>

#include "base/deflate_context.h"
#include "base/err.h"

#define DEFLATE_LEVEL_DEFAULT 6

int deflate_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t level;
	int rc = codec_option(config, "level", -1, 9, -1, &level);
	if (rc)
		return rc;
	struct deflate *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->level = level < 0 ? DEFLATE_LEVEL_DEFAULT : (int)level;
	*ret_codec = &self->codec;
	return 0;
}

int deflate_decode_one(enum deflate_wrapper wrapper, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_used, size_t *ret_size)
{
	struct libdeflate_decompressor *context = deflate_context();
	if (!context)
		return err_set(ENOMEM, "no memory to decode");
	size_t used, got;
	enum libdeflate_result result = LIBDEFLATE_BAD_DATA;
	switch (wrapper) {
	case DEFLATE_GZIP:
		result = libdeflate_gzip_decompress_ex(context, src, size, dst, room, &used, &got);
		break;
	case DEFLATE_ZLIB:
		result = libdeflate_zlib_decompress_ex(context, src, size, dst, room, &used, &got);
		break;
	case DEFLATE_RAW:
		result = libdeflate_deflate_decompress_ex(context, src, size, dst, room, &used, &got);
		break;
	}
	if (result == LIBDEFLATE_INSUFFICIENT_SPACE)
		return err_set(EIO, "decodes to more than the expected bytes (%zu left to fill)", room);
	if (result != LIBDEFLATE_SUCCESS)
		return err_set(EIO, "damaged or cut short");
	*ret_used = used;
	*ret_size = got;
	return 0;
}

int deflate_encode(const struct codec *codec, enum deflate_wrapper wrapper, const void *src, size_t size,
				   struct buf **ret_buf)
{
	const struct deflate *self = container_of(codec, const struct deflate, codec);
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(self->level);
	if (!compressor)
		return err_set(ENOMEM, "no memory to encode");
	bool gzip = wrapper == DEFLATE_GZIP;
	size_t bound =
		gzip ? libdeflate_gzip_compress_bound(compressor, size) : libdeflate_zlib_compress_bound(compressor, size);
	struct buf *buf;
	int rc = buf_new(bound, &buf);
	if (!rc) {
		size_t n = gzip ? libdeflate_gzip_compress(compressor, src, size, buf->data, bound)
						: libdeflate_zlib_compress(compressor, src, size, buf->data, bound);
		buf_shrink(buf, n);
		*ret_buf = buf;
	}
	libdeflate_free_compressor(compressor);
	return rc;
}

uint64_t deflate_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = false;
	return libdeflate_gzip_compress_bound(NULL, decoded);
}
