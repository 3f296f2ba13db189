/*
 * zstd.c: the codec `zstd`: Zstandard frames one after the other, RFC 8878 (zarr-extensions "zstd"; numcodecs "zstd").
 *
 * Each frame is decoded in one call straight into dst, so that a frame without content size needs no window beside it,
 * however large a window it claims: nothing is ever allocated from a header. Skippable frames are skipped; frames of
 * versions before 0.8 are refused, their decoders are too old to be trusted.
 */
#include <errno.h>

#include <zstd.h>
#include <zstd_errors.h>

#include "base/endian.h"
#include "base/err.h"
#include "base/zstd_context.h"
#include "codec/codec_impl.h"

struct zstd {
	struct codec codec;
	int level;
	bool checksum;
};

static int zstd_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t level;
	bool checksum = false;
	const struct json *json = json_get(config, "checksum");
	int rc = codec_option(config, "level", ZSTD_minCLevel(), ZSTD_maxCLevel(), ZSTD_CLEVEL_DEFAULT, &level);
	if (!rc && json && json_type(json) != JSON_NULL)
		rc = json_bool(json, "checksum", &checksum);
	if (rc)
		return rc;
	struct zstd *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->level = (int)level;
	self->checksum = checksum;
	*ret_codec = &self->codec;
	return 0;
}

static uint64_t zstd_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = false;
	return ZSTD_compressBound(decoded);
}

static int decode_frame(ZSTD_DCtx *context, const uint8_t *frame, size_t size, uint8_t *dst, size_t room,
						size_t *ret_size)
{
	unsigned long long claimed = ZSTD_getFrameContentSize(frame, size);
	if (claimed != ZSTD_CONTENTSIZE_UNKNOWN && claimed != ZSTD_CONTENTSIZE_ERROR && claimed > room)
		return err_set(EIO, "a frame of %llu bytes, expected %zu", claimed, room);
	size_t got = ZSTD_decompressDCtx(context, dst, room, frame, size);
	if (ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall)
		return err_set(EIO, "decodes to more than the expected bytes (%zu left to fill)", room);
	if (ZSTD_isError(got))
		return err_set(EIO, "%s", ZSTD_getErrorName(got));
	*ret_size = got;
	return 0;
}

static int zstd_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_size)
{
	ZSTD_DCtx *context = zstd_context();
	if (!context)
		return err_set(ENOMEM, "no memory to decode");
	const uint8_t *in = src;
	size_t filled = 0;
	if (size == 0)
		return err_set(EIO, "no bytes where a frame is expected");
	while (size > 0) {
		uint32_t magic = size >= 4 ? load_le32(in) : 0;
		bool skippable = (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
		if (magic != ZSTD_MAGICNUMBER && !skippable)
			return err_set(EIO, "no Zstandard frame");
		size_t frame = ZSTD_findFrameCompressedSize(in, size);
		if (ZSTD_isError(frame))
			return err_set(EIO, "%s", ZSTD_getErrorName(frame));
		if (!skippable) {
			size_t got = 0;
			int rc = decode_frame(context, in, frame, (uint8_t *)dst + filled, room - filled, &got);
			if (rc)
				return rc;
			filled += got;
		}
		in += frame;
		size -= frame;
	}
	*ret_size = filled;
	return 0;
}

static int zstd_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct zstd *self = container_of(codec, const struct zstd, codec);
	size_t bound = ZSTD_compressBound(size);
	ZSTD_CCtx *context = ZSTD_createCCtx();
	struct buf *buf;
	int rc = context ? buf_new(bound, &buf) : err_set(ENOMEM, "no memory to encode");
	if (!rc) {
		ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, self->level);
		ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, self->checksum);
		size_t n = ZSTD_compress2(context, buf->data, bound, src, size);
		if (ZSTD_isError(n)) {
			buf_unref(buf);
			rc = err_set(ENOMEM, "%s", ZSTD_getErrorName(n)); /* with room for the bound nothing else can fail */
		} else {
			buf_shrink(buf, n);
			*ret_buf = buf;
		}
	}
	ZSTD_freeCCtx(context);
	return rc;
}

static const char *zstd_library(void)
{
	return "zstd " ZSTD_VERSION_STRING;
}

const struct codec_ops zstd_codec_ops = {
	.name = "zstd",
	.v2_id = "zstd",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 1000,
	.open = zstd_open,
	.close = codec_close_plain,
	.encoded_size = zstd_encoded_size,
	.decode = zstd_decode,
	.encode = zstd_encode,
	.library = zstd_library,
};
