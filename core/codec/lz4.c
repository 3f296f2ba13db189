/*
 * lz4.c: the codec `lz4` of numcodecs: u32 little-endian decoded size, then one LZ4 block. It is neither the LZ4 frame format nor
 * lz4-java's block stream, which are told by name when they stand here.
 */
#include <errno.h>
#include <string.h>

#include <lz4.h>

#include "base/endian.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define LZ4_HEADER_BYTES 4
#define LZ4_FRAME_MAGIC 0x184d2204u

struct lz4 {
	struct codec codec;
	int acceleration;
};

static int lz4_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t acceleration;
	int rc = codec_option(config, "acceleration", 1, 65537, 1, &acceleration);
	if (rc)
		return rc;
	struct lz4 *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->acceleration = (int)acceleration;
	*ret_codec = &self->codec;
	return 0;
}

/* LZ4_COMPRESSBOUND without its limit on the input. */
static uint64_t lz4_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = false;
	return LZ4_HEADER_BYTES + decoded + decoded / 255 + 16;
}

static const char *other_format(const uint8_t *src, size_t size)
{
	if (size >= 4 && load_le32(src) == LZ4_FRAME_MAGIC)
		return "an LZ4 frame";
	if (size >= 8 && memcmp(src, "LZ4Block", 8) == 0)
		return "an lz4-java stream";
	return NULL;
}

static int lz4_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	if (size <= LZ4_HEADER_BYTES || size - LZ4_HEADER_BYTES > INT32_MAX)
		return err_set(EIO, "%zu bytes are no size and LZ4 block", size);
	uint32_t claimed = load_le32(src);
	if (claimed > room || claimed > LZ4_MAX_INPUT_SIZE) {
		const char *other = other_format(src, size);
		if (other)
			return err_set(EIO, "%s where a size and an LZ4 block are expected", other);
		return err_set(EIO, "decodes to %u bytes, expected %zu", claimed, room);
	}
	int got =
		LZ4_decompress_safe((const char *)src + LZ4_HEADER_BYTES, dst, (int)(size - LZ4_HEADER_BYTES), (int)claimed);
	if (got < 0)
		return err_set(EIO, "damaged or cut short");
	if ((uint32_t)got != claimed)
		return err_set(EIO, "decodes to %d bytes, its header says %u", got, claimed);
	*ret_size = claimed;
	return 0;
}

static int lz4_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct lz4 *self = container_of(codec, const struct lz4, codec);
	if (size > LZ4_MAX_INPUT_SIZE)
		return err_set(EFBIG, "%zu bytes, LZ4 encodes at most %d", size, LZ4_MAX_INPUT_SIZE);
	int bound = LZ4_compressBound((int)size);
	struct buf *buf;
	int rc = buf_new((size_t)bound + LZ4_HEADER_BYTES, &buf);
	if (rc)
		return rc;
	store_le32(buf->data, (uint32_t)size);
	int n = LZ4_compress_fast(src, (char *)buf->data + LZ4_HEADER_BYTES, (int)size, bound, self->acceleration);
	buf_shrink(buf, (size_t)n + LZ4_HEADER_BYTES);
	*ret_buf = buf;
	return 0;
}

static const char *lz4_library(void)
{
	return "lz4 " LZ4_VERSION_STRING;
}

const struct codec_ops lz4_codec_ops = {
	.v2_id = "lz4",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 3000,
	.open = lz4_open,
	.close = codec_close_plain,
	.encoded_size = lz4_encoded_size,
	.decode = lz4_decode,
	.encode = lz4_encode,
	.library = lz4_library,
};
