/*
 * lzma.c: the codec `lzma` (numcodecs "lzma"; "numcodecs.lzma" in v3). Its `format` is one of Python's module lzma:
 *
 *   1 FORMAT_XZ      .xz streams one after the other (xz.c); padding between them
 *   2 FORMAT_ALONE   .lzma: properties, dictionary's size, decoded size or all ones, then LZMA1 data
 *   3 FORMAT_RAW     no header: the data of the chain `filters`
 *
 * The first two describe themselves, so that `filters` is only looked at in the third, and what stands behind is ignored,
 * as numcodecs does. No dictionary is ever larger than the bytes to decode.
 */
#include <errno.h>
#include <string.h>

#include <lzma.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/err.h"
#include "codec/codec_impl.h"
#include "codec/lzma_chain.h"
#include "codec/xz.h"

enum lzma_format { LZMA_FORMAT_XZ = 1, LZMA_FORMAT_ALONE, LZMA_FORMAT_RAW };

#define ALONE_HEADER_BYTES 13
#define ALONE_DICTIONARY 1 /* where in it */
#define ALONE_SIZE 5

struct lzma {
	struct codec codec;
	enum lzma_format format;
	lzma_check check;
	struct lzma_chain chain; /* of RAW; else what encode uses */
};

/* Only the format, and in RAW the chain, matter to a reader. */
static int parse_config(const struct json *config, struct lzma *self)
{
	int64_t format, check, preset;
	const struct json *filters = json_get(config, "filters");
	int rc = codec_option(config, "format", INT64_MIN, INT64_MAX, LZMA_FORMAT_XZ, &format);
	if (!rc && (format < LZMA_FORMAT_XZ || format > LZMA_FORMAT_RAW))
		rc = err_set(EIO, "format: %jd is none of 1 (xz), 2 (alone), 3 (raw)", (intmax_t)format);
	if (!rc)
		rc = codec_option(config, "check", -1, LZMA_CHECK_ID_MAX, -1, &check);
	if (!rc)
		rc = codec_option(config, "preset", 0, UINT32_MAX, LZMA_PRESET_DEFAULT, &preset);
	if (rc)
		return rc;
	self->format = (enum lzma_format)format;
	self->check = check < 0 ? LZMA_CHECK_CRC64 : (lzma_check)check;
	if (self->format == LZMA_FORMAT_RAW && (!filters || json_type(filters) == JSON_NULL))
		return err_set(EIO, "filters: missing, and format 3 (raw) does not say how to decode");
	return self->format == LZMA_FORMAT_RAW ? lzma_chain_parse(filters, &self->chain)
										   : lzma_chain_preset((uint32_t)preset, &self->chain);
}

static int lzma_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct lzma *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	int rc = parse_config(config, self);
	if (rc) {
		free(self);
		return rc;
	}
	*ret_codec = &self->codec;
	return 0;
}

/* What LZMA's own SDK reserves, and .xz' headers. */
static uint64_t lzma_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	const uint64_t headers = 512;
	*ret_fixed = false;
	return decoded + decoded / 3 + headers;
}

/* The dictionary; the rest of a decoder is less than a tenth of a megabyte. */
static uint64_t lzma_decode_scratch(const struct codec *codec, uint64_t decoded)
{
	return decoded;
}

static bool is_zero(const uint8_t *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (p[i] != 0)
			return false;
	return true;
}

static int decode_xz(const uint8_t *in, size_t size, uint8_t *dst, size_t room, size_t *ret_size)
{
	const size_t padding = 4; /* streams are padded by multiples of it */
	size_t filled = 0, streams = 0;
	do {
		size_t used = 0, got = 0;
		if (++streams > XZ_FREE_BLOCKS + filled / XZ_BLOCK_BYTES)
			return err_set(EIO, "%zu streams of a few bytes", streams);
		int rc = xz_decode_stream(in, size, dst + filled, room - filled, &used, &got);
		if (rc)
			return rc;
		in += used;
		size -= used;
		filled += got;
		for (; size >= padding && is_zero(in, padding); size -= padding)
			in += padding;
	} while (is_xz(in, size));
	*ret_size = filled;
	return 0;
}

/* liblzma reads the header that we give it: with the dictionary that is needed. */
static int feed_alone(lzma_stream *stream, const uint8_t *in, size_t size, uint8_t *dst, size_t room)
{
	uint8_t header[ALONE_HEADER_BYTES];
	memcpy(header, in, sizeof(header));
	store_le32(header + ALONE_DICTIONARY, lzma_dictionary_shrink(load_le32(in + ALONE_DICTIONARY), room));
	stream->next_in = header;
	stream->avail_in = sizeof(header);
	stream->next_out = dst;
	stream->avail_out = room;
	lzma_ret code = lzma_code(stream, LZMA_RUN);
	stream->next_in = in + sizeof(header);
	stream->avail_in = size - sizeof(header);
	while (code == LZMA_OK)
		code = lzma_code(stream, LZMA_FINISH);
	return code == LZMA_STREAM_END ? 0 : lzma_chain_failure(code, room);
}

static int decode_alone(const uint8_t *in, size_t size, uint8_t *dst, size_t room, size_t *ret_size)
{
	if (size < ALONE_HEADER_BYTES)
		return err_set(EIO, "%zu bytes, a header has %d", size, ALONE_HEADER_BYTES);
	uint64_t claimed = load_le64(in + ALONE_SIZE);
	if (claimed != UINT64_MAX && claimed > room)
		return err_set(EIO, "decodes to %ju bytes, expected %zu", (uintmax_t)claimed, room);
	lzma_stream stream = LZMA_STREAM_INIT;
	if (lzma_alone_decoder(&stream, UINT64_MAX) != LZMA_OK)
		return err_set(ENOMEM, "no memory to decode");
	int rc = feed_alone(&stream, in, size, dst, room);
	if (!rc)
		*ret_size = room - stream.avail_out;
	lzma_end(&stream);
	return rc;
}

static int decode_raw(const struct lzma *self, const uint8_t *in, size_t size, uint8_t *dst, size_t room,
					  size_t *ret_size)
{
	struct lzma_chain chain;
	size_t used = 0, filled = 0;
	lzma_chain_shrink(&self->chain, room, &chain);
	lzma_ret code = lzma_raw_buffer_decode(chain.filters, NULL, in, &used, size, dst, &filled, room);
	if (code != LZMA_OK)
		return lzma_chain_failure(code, room);
	*ret_size = filled;
	return 0;
}

static int lzma_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_size)
{
	const struct lzma *self = container_of(codec, const struct lzma, codec);
	switch (self->format) {
	case LZMA_FORMAT_XZ:
		return decode_xz(src, size, dst, room, ret_size);
	case LZMA_FORMAT_ALONE:
		return decode_alone(src, size, dst, room, ret_size);
	default:
		return decode_raw(self, src, size, dst, room, ret_size);
	}
}

static lzma_ret encode_alone(const struct lzma_chain *chain, const uint8_t *src, size_t size, struct buf *buf,
							 size_t *ret_size)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_ret code = lzma_alone_encoder(&stream, &chain->options[0].lzma);
	stream.next_in = src;
	stream.avail_in = size;
	stream.next_out = buf->data;
	stream.avail_out = buf->size;
	while (code == LZMA_OK)
		code = lzma_code(&stream, LZMA_FINISH);
	*ret_size = buf->size - stream.avail_out;
	lzma_end(&stream);
	return code == LZMA_STREAM_END ? LZMA_OK : code;
}

static int lzma_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct lzma *self = container_of(codec, const struct lzma, codec);
	struct lzma_chain chain;
	struct buf *buf;
	bool fixed;
	size_t n = 0;
	lzma_ret code;
	int rc = buf_new(lzma_encoded_size(codec, size, &fixed), &buf);
	if (rc)
		return rc;
	lzma_chain_shrink(&self->chain, size, &chain);
	if (self->format == LZMA_FORMAT_XZ)
		code = lzma_stream_buffer_encode(chain.filters, self->check, NULL, src, size, buf->data, &n, buf->size);
	else if (self->format == LZMA_FORMAT_ALONE)
		code = encode_alone(&chain, src, size, buf, &n);
	else
		code = lzma_raw_buffer_encode(chain.filters, NULL, src, size, buf->data, &n, buf->size);
	if (code != LZMA_OK) {
		buf_unref(buf);
		return code == LZMA_MEM_ERROR ? err_set(ENOMEM, "no memory to encode")
									  : err_set(EIO, "liblzma fails with %d", (int)code);
	}
	buf_shrink(buf, n);
	*ret_buf = buf;
	return 0;
}

static const char *lzma_library(void)
{
	return "liblzma " LZMA_VERSION_STRING;
}

const struct codec_ops lzma_codec_ops = {
	.v2_id = "lzma",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 80,
	.open = lzma_open,
	.close = codec_close_plain,
	.encoded_size = lzma_encoded_size,
	.decode_scratch = lzma_decode_scratch,
	.decode = lzma_decode,
	.encode = lzma_encode,
	.library = lzma_library,
};
