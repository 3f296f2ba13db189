/*
 * nvcomp.c: the codec `nvcomp_batch` of kvikIO (python/kvikio, NvCompBatchCodec): a chunk that a GPU compressed as one item
 * of a batch. `algorithm` says with what, in any case:
 *
 *   lz4       numcodecs' lz4: u32 little-endian decoded size, then a block; with options.has_header false the block alone
 *   zstd      a Zstandard frame
 *   snappy    a Snappy block
 *   deflate   RFC 1951 without a wrapper
 *   gdeflate  a layout that only GPUs' libraries document: refused by name
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include <lz4.h>

#include "base/err.h"
#include "codec/codec_impl.h"
#include "codec/deflate.h"

struct algorithm {
	const char *name;
	const struct codec_ops *ops; /* of the codec with the same layout; NULL: none has it */
};

static const struct algorithm algorithms[] = {
	{"lz4", &lz4_codec_ops},
	{"zstd", &zstd_codec_ops},
	{"snappy", &snappy_codec_ops},
	{"deflate", NULL},
};

struct nvcomp {
	struct codec codec;
	bool bare_lz4;
	struct codec *inner; /* NULL for deflate and bare_lz4 */
};

static int parse_algorithm(const struct json *config, const struct algorithm **ret_algorithm)
{
	const struct json *json = json_get(config, "algorithm");
	const char *name;
	int rc = json ? json_string(json, "algorithm", &name, NULL) : err_set(EIO, "algorithm: missing");
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		if (strcasecmp(algorithms[i].name, name) == 0) {
			*ret_algorithm = &algorithms[i];
			return 0;
		}
	}
	autostr(shown);
	str_append_escaped(&shown, name, strnlen(name, 64));
	return err_set(ENOTSUP, "nvcomp_batch: algorithm \"%s\" is not read (lz4, zstd, snappy, deflate are)", shown.text);
}

static void nvcomp_close(struct codec *codec)
{
	struct nvcomp *self = container_of(codec, struct nvcomp, codec);
	if (self->inner)
		self->inner->ops->close(self->inner);
	free(self);
}

static int nvcomp_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	const struct algorithm *algorithm = NULL;
	const struct json *header = json_get(json_get(config, "options"), "has_header");
	bool has_header = true;
	struct codec *inner = NULL;
	int rc = parse_algorithm(config, &algorithm);
	if (!rc && header)
		rc = json_bool(header, "has_header", &has_header);
	bool bare_lz4 = !rc && algorithm->ops == &lz4_codec_ops && !has_header;
	if (!rc && algorithm->ops && !bare_lz4)
		rc = algorithm->ops->open(NULL, true, NULL, &inner);
	if (rc)
		return rc;
	if (inner) {
		inner->ops = algorithm->ops;
		inner->kind = CODEC_BYTES_BYTES;
	}
	struct nvcomp *self = calloc(1, sizeof(*self));
	if (!self) {
		if (inner)
			inner->ops->close(inner);
		return err_set(ENOMEM, "no memory for a codec");
	}
	self->bare_lz4 = bare_lz4;
	self->inner = inner;
	*ret_codec = &self->codec;
	return 0;
}

/* The most that any of them makes of incompressible bytes: snappy. */
static uint64_t nvcomp_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	return snappy_codec_ops.encoded_size(codec, decoded, ret_fixed);
}

static int decode_bare_lz4(const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	if (size > INT32_MAX)
		return err_set(EIO, "%zu bytes are no LZ4 block", size);
	int got = LZ4_decompress_safe(src, dst, (int)size, (int)MIN(room, INT32_MAX));
	if (got < 0)
		return err_set(EIO, "lz4: damaged, cut short, or more than %zu bytes", room);
	*ret_size = (size_t)got;
	return 0;
}

static int nvcomp_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						 size_t *ret_size)
{
	const struct nvcomp *self = container_of(codec, const struct nvcomp, codec);
	size_t used;
	if (self->inner)
		return self->inner->ops->decode(self->inner, src, size, dst, room, ret_size);
	if (self->bare_lz4)
		return decode_bare_lz4(src, size, dst, room, ret_size);
	return deflate_decode_one(DEFLATE_RAW, src, size, dst, room, &used, ret_size);
}

const struct codec_ops nvcomp_codec_ops = {
	.v2_id = "nvcomp_batch",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 1000,
	.open = nvcomp_open,
	.close = nvcomp_close,
	.encoded_size = nvcomp_encoded_size,
	.decode = nvcomp_decode,
};
