/*
 * bz2.c: the codec `bz2`: bzip2 streams one after the other (numcodecs "bz2"; "numcodecs.bz2" in v3). What stands behind
 * the last one is ignored, as numcodecs does.
 *
 * libbz2 takes some 4 MB for a stream at level 9, whatever its header says. Every block carries a CRC, and the stream another.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <bzlib.h>

#include "base/err.h"
#include "codec/codec_impl.h"

#define LEVEL_DEFAULT 1 /* numcodecs' */
#define DECODER_BYTES                                                                                                  \
	((uint64_t)3700 << 10) /* bzip2(1), "Memory management": 100 KiB and four bytes for each of 900,000 */

struct bz2 {
	struct codec codec;
	int level;
};

static int bz2_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t level;
	int rc = codec_option(config, "level", 1, 9, LEVEL_DEFAULT, &level);
	if (rc)
		return rc;
	struct bz2 *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->level = (int)level;
	*ret_codec = &self->codec;
	return 0;
}

/* Of libbz2's manual, BZ2_bzBuffToBuffCompress. */
static uint64_t bz2_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = false;
	return decoded + decoded / 100 + 600;
}

static uint64_t bz2_decode_scratch(const struct codec *codec, uint64_t decoded)
{
	return DECODER_BYTES;
}

static int failure(int code, const bz_stream *stream, size_t room)
{
	switch (code) {
	case BZ_MEM_ERROR:
		return err_set(ENOMEM, "no memory to decode");
	case BZ_DATA_ERROR_MAGIC:
		return err_set(EIO, "no bzip2 stream");
	case BZ_OK: /* it wants what is not there */
		if (stream->avail_out == 0)
			return err_set(EIO, "decodes to more than the expected bytes (%zu left to fill)", room);
		return err_set(EIO, "cut short");
	default:
		return err_set(EIO, "damaged");
	}
}

/* One stream, in steps of what libbz2 can count. */
static int decode_stream(const uint8_t *src, size_t size, uint8_t *dst, size_t room, size_t *ret_used, size_t *ret_size)
{
	bz_stream stream = {0};
	size_t used = 0, filled = 0;
	int code = BZ2_bzDecompressInit(&stream, 0, 0);
	if (code != BZ_OK)
		return err_set(ENOMEM, "no memory to decode");
	for (bool moved = true; code == BZ_OK && moved;) {
		unsigned in = (unsigned)MIN(size - used, UINT_MAX), out = (unsigned)MIN(room - filled, UINT_MAX);
		stream.next_in = (char *)src + used; /* only read */
		stream.next_out = (char *)dst + filled;
		stream.avail_in = in;
		stream.avail_out = out;
		code = BZ2_bzDecompress(&stream);
		used += in - stream.avail_in;
		filled += out - stream.avail_out;
		moved = stream.avail_in < in || stream.avail_out < out;
	}
	int rc = code == BZ_STREAM_END ? 0 : failure(code, &stream, room);
	BZ2_bzDecompressEnd(&stream);
	if (rc)
		return rc;
	*ret_used = used;
	*ret_size = filled;
	return 0;
}

static bool is_bz2(const uint8_t *p, size_t size)
{
	return size >= 4 && memcmp(p, "BZh", 3) == 0 && p[3] >= '1' && p[3] <= '9';
}

static int bz2_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	const uint8_t *in = src;
	size_t filled = 0;
	do {
		size_t used = 0, got = 0;
		int rc = decode_stream(in, size, (uint8_t *)dst + filled, room - filled, &used, &got);
		if (rc)
			return rc;
		in += used;
		size -= used;
		filled += got;
	} while (is_bz2(in, size));
	*ret_size = filled;
	return 0;
}

static int bz2_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct bz2 *self = container_of(codec, const struct bz2, codec);
	bool fixed;
	uint64_t bound = bz2_encoded_size(codec, size, &fixed);
	if (bound > UINT_MAX)
		return err_set(EFBIG, "%zu bytes, libbz2 encodes less than 4 GiB at once", size);
	struct buf *buf;
	int rc = buf_new(bound, &buf);
	if (rc)
		return rc;
	unsigned n = (unsigned)bound;
	int code = BZ2_bzBuffToBuffCompress((char *)buf->data, &n, (char *)src, (unsigned)size, self->level, 0, 0);
	if (code != BZ_OK) {
		buf_unref(buf);
		return err_set(ENOMEM, "libbz2 fails with %d", code); /* with room for the bound nothing else can fail */
	}
	buf_shrink(buf, n);
	*ret_buf = buf;
	return 0;
}

static const char *bz2_library(void)
{
	return "bzip2 1.0"; /* all of them: the header has no version */
}

const struct codec_ops bz2_codec_ops = {
	.v2_id = "bz2",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 30,
	.open = bz2_open,
	.close = codec_close_plain,
	.encoded_size = bz2_encoded_size,
	.decode_scratch = bz2_decode_scratch,
	.decode = bz2_decode,
	.encode = bz2_encode,
	.library = bz2_library,
};
