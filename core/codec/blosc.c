/*
 * blosc.c: the codec `blosc`: one Blosc 1 chunk (zarr-extensions "blosc"; numcodecs "blosc"; c-blosc, README_CHUNK_FORMAT.rst).
 *
 *   header, 16 bytes   format version, codec's version, flags, typesize, nbytes, blocksize, cbytes
 *   bstarts            one int32 a block: where it begins, from the start of the chunk; in any order
 *   blocks             each one or `typesize` streams: int32 csize, csize bytes; as many as decoded means stored plainly
 *
 * Each block is shuffled by itself. A chunk describes itself, so the configuration is only for encoding. We decode it
 * ourselves: c-blosc 1.21.3 writes out of bounds on a crafted chunk that its own validation accepts. Every number of the
 * header and of the streams is a size_t that is compared with what is there before it is used, and the streams of all
 * blocks together may not be longer than the chunk, so blocks that share bytes cannot multiply work.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#if defined(HAVE_BLOSC)
#include <blosc.h>
#endif
#include <lz4.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/zstd_context.h"
#include "codec/blosclz.h"
#include "codec/codec_impl.h"
#include "codec/deflate.h"
#include "codec/shuffle.h"
#include "codec/snappy.h"

#define HEADER_BYTES 16
#define FORMAT_VERSION 2
#define CODEC_VERSION 1 /* of every codec so far */

#define FLAG_SHUFFLE 0x01
#define FLAG_MEMCPYED 0x02
#define FLAG_BITSHUFFLE 0x04
#define FLAG_RESERVED 0x08
#define FLAG_DONT_SPLIT 0x10
#define FLAGS_FORMAT_SHIFT 5

#define SPLIT_TYPESIZE_MAX 16
#define SPLIT_STREAM_MIN 128 /* bytes of one stream */

#define SCRATCH_SLOT 2
#define CNAME_BYTES 16

enum stream_format { FORMAT_BLOSCLZ, FORMAT_LZ4, FORMAT_SNAPPY, FORMAT_ZLIB, FORMAT_ZSTD };

struct blosc {
	struct codec codec;
	char cname[CNAME_BYTES];
	int clevel, shuffle; /* shuffle: 0 none, 1 bytes, 2 bits */
	size_t typesize, blocksize;
};

/* A chunk whose header has been checked. */
struct chunk {
	const uint8_t *src;
	unsigned flags;
	enum stream_format format;
	size_t typesize, nbytes, blocksize, cbytes;
	size_t begin;  /* of the first block: behind the header and bstarts */
	size_t unread; /* bytes that streams may still use */
};

/* The members of the header alone; nbytes 0 or a memcpyed chunk says nothing of blocks. */
static int header_parse(const uint8_t *src, size_t size, size_t room, struct chunk *ret_chunk)
{
	if (size < HEADER_BYTES)
		return err_set(EIO, "%zu bytes, a header has %d", size, HEADER_BYTES);
	if (src[0] != FORMAT_VERSION)
		return err_set(EIO, "format version %d, expected %d", src[0], FORMAT_VERSION);
	struct chunk chunk = {
		.src = src,
		.flags = src[2],
		.format = src[2] >> FLAGS_FORMAT_SHIFT,
		.typesize = src[3],
		.nbytes = load_le32(src + 4),
		.blocksize = load_le32(src + 8),
		.cbytes = load_le32(src + 12),
	};
	if (chunk.nbytes > room)
		return err_set(EIO, "decodes to %zu bytes, expected %zu", chunk.nbytes, room);
	if (chunk.cbytes < HEADER_BYTES || chunk.cbytes > size || chunk.cbytes > INT32_MAX || chunk.nbytes > INT32_MAX)
		return err_set(EIO, "claims to be %zu bytes for %zu decoded ones, there are %zu", chunk.cbytes, chunk.nbytes,
					   size);
	if (chunk.flags & FLAG_RESERVED)
		return err_set(EIO, "flags 0x%02x are reserved", chunk.flags);
	*ret_chunk = chunk;
	return 0;
}

/* What a chunk of compressed blocks must hold beside that. */
static int blocks_check(struct chunk *chunk)
{
	if (chunk->format > FORMAT_ZSTD || chunk->src[1] != CODEC_VERSION)
		return err_set(EIO, "compressor format %d, version %d is unknown", (int)chunk->format, chunk->src[1]);
	if (chunk->typesize == 0 || chunk->blocksize == 0 || chunk->blocksize > chunk->nbytes)
		return err_set(EIO, "typesize %zu and blocksize %zu of %zu bytes are impossible", chunk->typesize,
					   chunk->blocksize, chunk->nbytes);
	size_t starts = 4 * ceil_div(chunk->nbytes, chunk->blocksize); /* of 31-bit numbers: cannot overflow */
	if (starts > chunk->cbytes - HEADER_BYTES)
		return err_set(EIO, "ends inside the starts of its blocks");
	chunk->begin = HEADER_BYTES + starts;
	chunk->unread = chunk->cbytes - chunk->begin;
	return 0;
}

/* One stream of csize bytes, which must decode to exactly `size`. */
static int stream_decode(enum stream_format format, const uint8_t *src, size_t csize, uint8_t *dst, size_t size)
{
	size_t got = 0, used;
	ZSTD_DCtx *context;
	int rc = 0, n;
	switch (format) {
	case FORMAT_BLOSCLZ:
		rc = blosclz_decode(src, csize, dst, size, &got);
		break;
	case FORMAT_LZ4:
		n = LZ4_decompress_safe((const char *)src, (char *)dst, (int)csize, (int)size);
		if (n < 0)
			return err_set(EIO, "lz4: damaged near byte %d of a stream", -n);
		got = (size_t)n;
		break;
	case FORMAT_SNAPPY:
		rc = snappy_decode(src, csize, dst, size, &got);
		break;
	case FORMAT_ZLIB:
		rc = deflate_decode_one(DEFLATE_ZLIB, src, csize, dst, size, &used, &got);
		break;
	case FORMAT_ZSTD:
		context = zstd_context();
		if (!context)
			return err_set(ENOMEM, "no memory to decode");
		got = ZSTD_decompressDCtx(context, dst, size, src, csize);
		if (ZSTD_isError(got))
			return err_set(EIO, "zstd: %s", ZSTD_getErrorName(got));
		break;
	}
	if (!rc && got != size)
		return err_set(EIO, "a stream decodes to %zu bytes, expected %zu", got, size);
	return rc;
}

/* The stream at *offset of the chunk; moves *offset behind it. */
static int stream_find(struct chunk *chunk, size_t *offset, const uint8_t **ret_src, size_t *ret_csize)
{
	if (*offset < chunk->begin || *offset > chunk->cbytes || chunk->cbytes - *offset < 4)
		return err_set(EIO, "a stream at byte %zu of %zu", *offset, chunk->cbytes);
	size_t csize = load_le32(chunk->src + *offset);
	if (csize == 0 || csize > chunk->cbytes - *offset - 4)
		return err_set(EIO, "a stream of %zu bytes at byte %zu of %zu", csize, *offset, chunk->cbytes);
	if (chunk->unread < 4 + csize)
		return err_set(EIO, "its streams are more than the chunk: they overlap");
	chunk->unread -= 4 + csize;
	*ret_src = chunk->src + *offset + 4;
	*ret_csize = csize;
	*offset += 4 + csize;
	return 0;
}

static bool is_byte_shuffled(const struct chunk *chunk)
{
	return (chunk->flags & FLAG_SHUFFLE) && chunk->typesize > 1;
}

/* A block of that size is stored as planes. When both flags are set, bytes win, as in c-blosc. */
static bool is_shuffled(const struct chunk *chunk, size_t size)
{
	return is_byte_shuffled(chunk) || ((chunk->flags & FLAG_BITSHUFFLE) && shuffle_bits_apply(chunk->typesize, size));
}

static void block_unshuffle(const struct chunk *chunk, size_t size, const uint8_t *src, uint8_t *dst)
{
	if (is_byte_shuffled(chunk))
		shuffle_undo_bytes(shuffle_best(), chunk->typesize, size, src, dst);
	else
		shuffle_undo_bits(shuffle_best(), chunk->typesize, size, src, dst);
}

static size_t block_streams(const struct chunk *chunk, size_t size)
{
	bool split = !(chunk->flags & FLAG_DONT_SPLIT) && chunk->typesize <= SPLIT_TYPESIZE_MAX &&
				 chunk->blocksize / chunk->typesize >= SPLIT_STREAM_MIN && size == chunk->blocksize;
	return split ? chunk->typesize : 1;
}

/* Decodes a block of `size` bytes at `offset` into dst, by way of scratch where it is shuffled. */
static int block_decode(struct chunk *chunk, size_t offset, size_t size, uint8_t *scratch, uint8_t *dst)
{
	size_t streams = block_streams(chunk, size);
	size_t part = size / streams;
	bool shuffled = is_shuffled(chunk, size);
	uint8_t *out = shuffled ? scratch : dst;
	if (part * streams != size)
		return err_set(EIO, "blocksize %zu is no multiple of typesize %zu", size, streams);
	for (size_t i = 0; i < streams; i++) {
		const uint8_t *src = NULL;
		size_t csize = 0;
		int rc = stream_find(chunk, &offset, &src, &csize);
		if (rc)
			return rc;
		if (csize == part && shuffled && streams == 1) {
			block_unshuffle(chunk, size, src, dst);
			return 0;
		}
		if (csize == part)
			memcpy(out + i * part, src, part);
		else
			rc = stream_decode(chunk->format, src, csize, out + i * part, part);
		if (rc)
			return rc;
	}
	if (shuffled)
		block_unshuffle(chunk, size, scratch, dst);
	return 0;
}

static int blocks_decode(struct chunk *chunk, uint8_t *dst)
{
	uint8_t *scratch = NULL;
	if (chunk->flags & (FLAG_SHUFFLE | FLAG_BITSHUFFLE) && !(scratch = codec_scratch(SCRATCH_SLOT, chunk->blocksize)))
		return err_set(ENOMEM, "no memory to decode");
	const uint8_t *start = chunk->src + HEADER_BYTES;
	for (size_t at = 0; at < chunk->nbytes; at += chunk->blocksize, start += 4) {
		size_t size = MIN(chunk->blocksize, chunk->nbytes - at);
		int rc = block_decode(chunk, load_le32(start), size, scratch, dst + at);
		if (rc)
			return err_prefix(rc, "block %zu", at / chunk->blocksize);
	}
	return 0;
}

static int blosc_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						size_t *ret_size)
{
	struct chunk chunk = {0};
	int rc = header_parse(src, size, room, &chunk);
	if (rc)
		return rc;
	if (chunk.flags & FLAG_MEMCPYED) {
		if (chunk.cbytes - HEADER_BYTES != chunk.nbytes)
			return err_set(EIO, "%zu plain bytes, expected %zu", chunk.cbytes - HEADER_BYTES, chunk.nbytes);
		memcpy(dst, chunk.src + HEADER_BYTES, chunk.nbytes);
	} else if (chunk.nbytes > 0) {
		rc = blocks_check(&chunk);
		if (!rc)
			rc = blocks_decode(&chunk, dst);
		if (rc)
			return rc;
	}
	*ret_size = chunk.nbytes;
	return 0;
}

/* Header without any block: what cannot be compressed is stored plainly. */
static uint64_t blosc_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	uint64_t bound;
	*ret_fixed = false;
	return checked_add(decoded, HEADER_BYTES, &bound) ? bound : UINT64_MAX;
}

/* A name in v3, an integer in numcodecs; writers mix them. -1 leaves it to the size of an element. */
static int shuffle_parse(const struct json *json, size_t typesize, int *ret_shuffle)
{
	/* Zarr's names, then GDAL's */
	static const char *const names[] = {"noshuffle", "shuffle", "bitshuffle", "NONE", "BYTE", "BIT"};
	static const int modes = 3;
	int64_t value = 1;
	if (json && json_type(json) == JSON_STRING) {
		const char *name;
		int rc = json_string(json, "shuffle", &name, NULL);
		if (rc)
			return rc;
		for (value = 0; value < (int64_t)ARRAY_LEN(names) && strcmp(names[value], name) != 0; value++)
			;
		value = value < (int64_t)ARRAY_LEN(names) ? value % modes : modes;
	} else if (json && json_type(json) != JSON_NULL) {
		int rc = json_int64(json, "shuffle", &value);
		if (rc)
			return rc;
	}
	if (value < -1 || value >= modes)
		return err_set(EIO, "shuffle: neither noshuffle, shuffle, bitshuffle nor -1 to 2");
	*ret_shuffle = value >= 0 ? (int)value : typesize == 1 ? 2 : 1;
	return 0;
}

static int blosc_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	int64_t clevel, typesize, blocksize;
	int shuffle = 0;
	const char *cname = "lz4";
	const struct json *json = json_get(config, "cname");
	int rc = json ? json_string(json, "cname", &cname, NULL) : 0;
	if (!rc)
		rc = codec_option(config, "clevel", 0, 9, 5, &clevel);
	if (!rc)
		rc = codec_option(config, "typesize", 1, INT32_MAX, 1, &typesize);
	if (!rc)
		rc = codec_option(config, "blocksize", 0, INT32_MAX, 0, &blocksize);
	if (!rc)
		rc = shuffle_parse(json_get(config, "shuffle"), (size_t)typesize, &shuffle);
	if (rc)
		return rc;
	struct blosc *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->clevel = (int)clevel;
	self->shuffle = shuffle;
	self->typesize = (size_t)typesize;
	self->blocksize = (size_t)blocksize;
	memcpy(self->cname, cname, strnlen(cname, CNAME_BYTES - 1)); /* no longer name is known: encode refuses it */
	*ret_codec = &self->codec;
	return 0;
}

static int blosc_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
#if defined(HAVE_BLOSC)
	const struct blosc *self = container_of(codec, const struct blosc, codec);
	struct buf *buf;
	if (blosc_compname_to_compcode(self->cname) < 0)
		return err_set(ENOTSUP, "cname: libblosc has no compressor \"%s\"", self->cname);
	if (size > BLOSC_MAX_BUFFERSIZE)
		return err_set(EFBIG, "%zu bytes, a Blosc chunk holds at most %d", size, BLOSC_MAX_BUFFERSIZE);
	int rc = buf_new(size + BLOSC_MAX_OVERHEAD, &buf);
	if (rc)
		return rc;
	int n = blosc_compress_ctx(self->clevel, self->shuffle, self->typesize, size, src, buf->data, buf->size,
							   self->cname, self->blocksize, 1);
	if (n <= 0) {
		buf_unref(buf);
		return err_set(EIO, "libblosc fails with %d", n);
	}
	buf_shrink(buf, (size_t)n);
	*ret_buf = buf;
	return 0;
#else
	return err_set(ENOTSUP, "encoding blosc is not built in");
#endif
}

const struct codec_ops blosc_codec_ops = {
	.name = "blosc",
	.v2_id = "blosc",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 2500,
	.open = blosc_open,
	.close = codec_close_plain,
	.encoded_size = blosc_encoded_size,
	.decode = blosc_decode,
	.encode = blosc_encode,
};
