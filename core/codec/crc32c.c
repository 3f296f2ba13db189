/*
 * crc32c.c: the checksum CRC-32C and the codec `crc32c`: payload, then the checksum as u32 little-endian (Zarr v3
 * codecs, "crc32c"). numcodecs can also put it in front (`location`).
 */
#include "codec/crc32c.h"

#include <errno.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/endian.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define CRC32C_BYTES 4
#define CRC32C_POLYNOMIAL 0x82f63b78u /* Castagnoli's, reflected */

/* Slicing by eight: table[k][b] is the remainder of byte b followed by k zero bytes. */
static uint32_t table[8][256];

static void make_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
}

static uint32_t update_portable(uint32_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 8; p += 8, size -= 8) {
		uint64_t v = load_le64(p) ^ crc;
		crc = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^ table[5][v >> 16 & 0xff] ^ table[4][v >> 24 & 0xff] ^
			  table[3][v >> 32 & 0xff] ^ table[2][v >> 40 & 0xff] ^ table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
	}
	for (; size > 0; p++, size--)
		crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
	return crc;
}

#if defined(__x86_64__)

#define HAVE_INSTRUCTION

static bool cpu_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t update_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
	uint64_t wide = crc;
	for (; size >= 8; p += 8, size -= 8)
		wide = __builtin_ia32_crc32di(wide, load_le64(p));
	crc = (uint32_t)wide;
	for (; size > 0; p++, size--)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}

#elif defined(__aarch64__)

#define HAVE_INSTRUCTION

static bool cpu_has_instruction(void)
{
	return getauxval(AT_HWCAP) & (1 << 7); /* HWCAP_CRC32 */
}

__attribute__((target("+crc"))) static uint32_t update_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 8; p += 8, size -= 8)
		crc = __builtin_aarch64_crc32cx(crc, load_le64(p));
	for (; size > 0; p++, size--)
		crc = __builtin_aarch64_crc32cb(crc, *p);
	return crc;
}

#endif

static uint32_t (*update)(uint32_t crc, const uint8_t *p, size_t size) = update_portable;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
	make_table();
#ifdef HAVE_INSTRUCTION
	if (cpu_has_instruction())
		update = update_instruction;
#endif
}

uint32_t crc32c(const void *bytes, size_t size)
{
	pthread_once(&once, choose);
	return ~update(~0u, bytes, size);
}

uint32_t crc32c_portable(const void *bytes, size_t size)
{
	pthread_once(&once, choose);
	return ~update_portable(~0u, bytes, size);
}

struct crc32c_codec {
	struct codec codec;
	bool at_start; /* else behind the payload */
};

static int crc32c_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	bool at_start = false;
	const struct json *location = v2 ? json_get(config, "location") : NULL;
	if (location && json_type(location) != JSON_NULL) {
		const char *text;
		int rc = json_string(location, "location", &text, NULL);
		if (rc)
			return rc;
		at_start = strcmp(text, "start") == 0;
		if (!at_start && strcmp(text, "end") != 0)
			return err_set(EIO, "location: neither \"start\" nor \"end\"");
	}
	struct crc32c_codec *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->at_start = at_start;
	*ret_codec = &self->codec;
	return 0;
}

static const struct crc32c_codec *crc32c_of(const struct codec *codec)
{
	return container_of(codec, const struct crc32c_codec, codec);
}

static uint64_t crc32c_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = true;
	return decoded + CRC32C_BYTES;
}

static int crc32c_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						 size_t *ret_size)
{
	if (size < CRC32C_BYTES)
		return err_set(EIO, "%zu bytes, too few for a checksum", size);
	const uint8_t *payload = src;
	const uint8_t *stored = payload + size - CRC32C_BYTES;
	size -= CRC32C_BYTES;
	if (crc32c_of(codec)->at_start) {
		stored = payload;
		payload += CRC32C_BYTES;
	}
	if (size > room)
		return err_set(EIO, "decodes to %zu bytes, expected %zu", size, room);
	uint32_t sum = crc32c(payload, size);
	if (sum != load_le32(stored))
		return err_set(EIO, "checksum %08x, stored is %08x", sum, load_le32(stored));
	memcpy(dst, payload, size);
	*ret_size = size;
	return 0;
}

static int crc32c_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	struct buf *buf;
	int rc = buf_new(size + CRC32C_BYTES, &buf);
	if (rc)
		return rc;
	bool at_start = crc32c_of(codec)->at_start;
	memcpy(buf->data + (at_start ? CRC32C_BYTES : 0), src, size);
	store_le32(buf->data + (at_start ? 0 : size), crc32c(src, size));
	*ret_buf = buf;
	return 0;
}

const struct codec_ops crc32c_codec_ops = {
	.name = "crc32c",
	.v2_id = "crc32c",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 6000,
	.open = crc32c_open,
	.close = codec_close_plain,
	.encoded_size = crc32c_encoded_size,
	.decode = crc32c_decode,
	.encode = crc32c_encode,
};
