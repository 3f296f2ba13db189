/*
 * checksum.c: codecs that add a 32-bit checksum, little-endian, behind the payload or in front of it: `crc32c` (Zarr v3 codecs,
 * "crc32c"), and numcodecs' crc32, crc32c, adler32, fletcher32 and jenkins_lookup3.
 */
#include <errno.h>
#include <string.h>

#include <libdeflate.h>

#include "base/endian.h"
#include "base/err.h"
#include "codec/codec_impl.h"
#include "codec/crc32c.h"
#include "codec/lookup3.h"

#define CHECKSUM_BYTES 4

struct checksum {
	struct codec codec;
	uint32_t (*sum)(const struct checksum *checksum, const void *bytes, size_t size);
	bool at_start;	  /* else behind the payload */
	uint32_t initial; /* jenkins_lookup3 */
};

static uint32_t sum_crc32(const struct checksum *checksum, const void *bytes, size_t size)
{
	return libdeflate_crc32(0, bytes, size);
}

static uint32_t sum_crc32c(const struct checksum *checksum, const void *bytes, size_t size)
{
	return crc32c(bytes, size);
}

static uint32_t sum_adler32(const struct checksum *checksum, const void *bytes, size_t size)
{
	return libdeflate_adler32(1, bytes, size);
}

static uint32_t sum_lookup3(const struct checksum *checksum, const void *bytes, size_t size)
{
	return lookup3(bytes, size, checksum->initial);
}

/* HDF5's: sums of big-endian 16-bit words, folded every 360 words (that the 32 bits do not overflow); an odd last byte is a high one. */
static uint32_t sum_fletcher32(const struct checksum *checksum, const void *bytes, size_t size)
{
	const uint8_t *p = bytes;
	uint32_t sum1 = 0, sum2 = 0;
	for (size_t words = size / 2; words > 0;) {
		size_t n = MIN(words, 360);
		words -= n;
		for (; n > 0; n--, p += 2) {
			sum1 += load_be16(p);
			sum2 += sum1;
		}
		sum1 = (sum1 & 0xffff) + (sum1 >> 16);
		sum2 = (sum2 & 0xffff) + (sum2 >> 16);
	}
	if (size % 2) {
		sum1 += (uint32_t)*p << 8;
		sum2 += sum1;
		sum1 = (sum1 & 0xffff) + (sum1 >> 16);
		sum2 = (sum2 & 0xffff) + (sum2 >> 16);
	}
	sum1 = (sum1 & 0xffff) + (sum1 >> 16);
	sum2 = (sum2 & 0xffff) + (sum2 >> 16);
	return sum2 << 16 | sum1;
}

/* NULL with a message when there is no memory. */
static struct checksum *checksum_new(uint32_t (*sum)(const struct checksum *, const void *, size_t), bool at_start)
{
	struct checksum *self = calloc(1, sizeof(*self));
	if (self) {
		self->sum = sum;
		self->at_start = at_start;
	} else {
		err_set(ENOMEM, "no memory for a codec");
	}
	return self;
}

/* numcodecs' checksums may say where they are. */
static int open_located(const struct json *config, uint32_t (*sum)(const struct checksum *, const void *, size_t),
						bool at_start, struct codec **ret_codec)
{
	const struct json *location = json_get(config, "location");
	if (location && json_type(location) != JSON_NULL) {
		const char *text;
		int rc = json_string(location, "location", &text, NULL);
		if (rc)
			return rc;
		at_start = strcmp(text, "start") == 0;
		if (!at_start && strcmp(text, "end") != 0)
			return err_set(EIO, "location: neither \"start\" nor \"end\"");
	}
	struct checksum *self = checksum_new(sum, at_start);
	if (!self)
		return -ENOMEM;
	*ret_codec = &self->codec;
	return 0;
}

static int crc32_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	return open_located(config, sum_crc32, true, ret_codec);
}

static int adler32_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	return open_located(config, sum_adler32, true, ret_codec);
}

/* v3's own has no configuration. */
static int crc32c_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	return open_located(v2 ? config : NULL, sum_crc32c, false, ret_codec);
}

static int fletcher32_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	return open_located(NULL, sum_fletcher32, false, ret_codec);
}

static int jenkins_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	const struct json *prefix = json_get(config, "prefix");
	int64_t initial;
	/* numcodecs cannot write one: it is of type bytes, which JSON has not */
	if (prefix && json_type(prefix) != JSON_NULL)
		return err_set(ENOTSUP, "prefix: is not supported");
	int rc = codec_option(config, "initval", INT64_MIN, INT64_MAX, 0, &initial);
	if (!rc && (initial < INT32_MIN || initial > UINT32_MAX))
		rc = err_set(EIO, "initval: more than 32 bits");
	if (rc)
		return rc;
	struct checksum *self = checksum_new(sum_lookup3, false);
	if (!self)
		return -ENOMEM;
	self->initial = (uint32_t)initial;
	*ret_codec = &self->codec;
	return 0;
}

static const struct checksum *checksum_of(const struct codec *codec)
{
	return container_of(codec, const struct checksum, codec);
}

static uint64_t checksum_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = true;
	return decoded + CHECKSUM_BYTES;
}

static int checksum_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						   size_t *ret_size)
{
	const struct checksum *self = checksum_of(codec);
	if (size <= CHECKSUM_BYTES)
		return err_set(EIO, "%zu bytes, too few for a payload and its checksum", size);
	const uint8_t *payload = src;
	const uint8_t *stored = payload + size - CHECKSUM_BYTES;
	size -= CHECKSUM_BYTES;
	if (self->at_start) {
		stored = payload;
		payload += CHECKSUM_BYTES;
	}
	if (size > room)
		return err_set(EIO, "decodes to %zu bytes, expected %zu", size, room);
	uint32_t sum = self->sum(self, payload, size);
	if (sum != load_le32(stored))
		return err_set(EIO, "checksum %08x, stored is %08x", sum, load_le32(stored));
	memcpy(dst, payload, size);
	*ret_size = size;
	return 0;
}

static int checksum_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct checksum *self = checksum_of(codec);
	struct buf *buf;
	int rc = buf_new(size + CHECKSUM_BYTES, &buf);
	if (rc)
		return rc;
	memcpy(buf->data + (self->at_start ? CHECKSUM_BYTES : 0), src, size);
	store_le32(buf->data + (self->at_start ? 0 : size), self->sum(self, src, size));
	*ret_buf = buf;
	return 0;
}

#define CHECKSUM_ROW(id, v3_name, open_function, mbps)                                                                 \
	const struct codec_ops id##_codec_ops = {                                                                          \
		.name = v3_name,                                                                                               \
		.v2_id = #id,                                                                                                  \
		.kind = CODEC_BYTES_BYTES,                                                                                     \
		.decode_mbps = mbps,                                                                                           \
		.open = open_function,                                                                                         \
		.close = codec_close_plain,                                                                                    \
		.encoded_size = checksum_encoded_size,                                                                         \
		.decode = checksum_decode,                                                                                     \
		.encode = checksum_encode,                                                                                     \
	}

CHECKSUM_ROW(adler32, NULL, adler32_open, 6000);
CHECKSUM_ROW(crc32, NULL, crc32_open, 6000);
CHECKSUM_ROW(crc32c, "crc32c", crc32c_open, 6000);
CHECKSUM_ROW(fletcher32, NULL, fletcher32_open, 1500);
CHECKSUM_ROW(jenkins_lookup3, NULL, jenkins_open, 1500);
