/*
 * packed_bits.c: the codec `packbits` of Zarr v3: numbers as bits without gaps (zarr-extensions, codecs/packbits). Not
 * numcodecs' packbits, whose bits run the other way.
 *
 *     uint4 1, 2, 15     ->     bit string, lowest bit first: 1000 0100 1111 0000     ->     bytes 21 0f
 *
 * Bit i of the string is bit i % 8 of byte i / 8. Of each number (a complex has two) the bits first_bit to last_bit are
 * stored; a byte before or behind the string may say how many bits were added to fill the last byte.
 */
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "codec/codec_impl.h"

enum padding { PADDING_NONE, PADDING_FIRST, PADDING_LAST };

struct packed_bits {
	struct codec codec;
	enum padding padding;
	uint32_t size;			/* bytes of a number in a chunk */
	unsigned first, stored; /* bits of it */
	bool is_signed;
	uint64_t numbers; /* in a chunk */
	uint64_t bytes;	  /* of the bit string */
};

/* A member, or by the name that the registry's schema has for it. */
static const struct json *get_either(const struct json *config, const char *name, const char *other)
{
	const struct json *json = json_get(config, name);
	if (!json)
		json = json_get(config, other);
	return json && json_type(json) != JSON_NULL ? json : NULL;
}

static int parse_padding(const struct json *config, enum padding *ret_padding)
{
	static const struct {
		const char *name;
		enum padding padding;
	} names[] = {
		{"none", PADDING_NONE},		   {"first_byte", PADDING_FIRST}, {"last_byte", PADDING_LAST},
		{"start_byte", PADDING_FIRST}, {"end_byte", PADDING_LAST},
	};
	const struct json *json = json_get(config, "padding_encoding");
	const char *text = "none";
	int rc = json && json_type(json) != JSON_NULL ? json_string(json, "padding_encoding", &text, NULL) : 0;
	if (rc)
		return rc;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(text, names[i].name) == 0) {
			*ret_padding = names[i].padding;
			return 0;
		}
	return err_set(EIO, "padding_encoding: \"%.32s\" is not known", text);
}

/* Numbers in an element, and bits in a number; ENOTSUP for a type that is no number. */
static int count_bits(const struct repr *decoded, uint32_t *ret_numbers, unsigned *ret_bits)
{
	const struct dtype *dtype = decoded->dtype;
	enum dtype_kind kind = dtype && dtype->size == decoded->item_size ? dtype->kind : DTYPE_RAW;
	if (kind > DTYPE_COMPLEX && kind != DTYPE_DATETIME && kind != DTYPE_TIMEDELTA)
		return err_set(ENOTSUP, "packbits of elements that are no numbers");
	*ret_numbers = kind == DTYPE_COMPLEX ? 2 : 1;
	*ret_bits = kind == DTYPE_BOOL ? 1 : dtype->bits ? dtype->bits : 8 * dtype->size / *ret_numbers;
	return 0;
}

static int parse_bits(const struct json *config, unsigned bits, struct packed_bits *self)
{
	const struct json *first = get_either(config, "first_bit", "start_bit");
	const struct json *last = get_either(config, "last_bit", "end_bit");
	uint64_t low = 0, high = bits - 1;
	int rc = first ? json_uint64(first, "first_bit", &low) : 0;
	if (!rc && last)
		rc = json_uint64(last, "last_bit", &high);
	if (rc)
		return rc;
	if (low > high || high >= bits)
		return err_set(EIO, "first_bit, last_bit: not inside a number of %u bits", bits);
	self->first = (unsigned)low;
	self->stored = (unsigned)(high - low + 1);
	return 0;
}

static int parse(const struct json *config, const struct repr *decoded, struct packed_bits *self)
{
	uint32_t numbers = 1;
	unsigned bits = 0;
	uint64_t elements, total;
	int rc = count_bits(decoded, &numbers, &bits);
	if (!rc)
		rc = parse_padding(config, &self->padding);
	if (!rc)
		rc = parse_bits(config, bits, self);
	if (rc)
		return rc;
	self->size = decoded->item_size / numbers;
	enum dtype_kind kind = decoded->dtype->kind;
	self->is_signed = kind == DTYPE_INT || kind == DTYPE_DATETIME || kind == DTYPE_TIMEDELTA;
	if (!checked_product(decoded->shape, decoded->ndim, &elements) || !checked_mul(elements, numbers, &self->numbers) ||
		!checked_mul(self->numbers, self->stored, &total))
		return err_set(EFBIG, "the chunk is too large");
	self->bytes = ceil_div(total, 8);
	return 0;
}

static int packed_bits_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct packed_bits *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	int rc = parse(config, decoded, self);
	if (rc) {
		free(self);
		return rc;
	}
	*ret_codec = &self->codec;
	return 0;
}

static const struct packed_bits *packed_bits_of(const struct codec *codec)
{
	return container_of(codec, const struct packed_bits, codec);
}

static uint64_t packed_bits_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	const struct packed_bits *self = packed_bits_of(codec);
	*ret_fixed = true;
	return self->bytes + (self->padding != PADDING_NONE);
}

static uint8_t spare_bits(const struct packed_bits *self)
{
	return (uint8_t)(self->bytes * 8 - self->numbers * self->stored);
}

/* `n` bits (1 to 64) from bit `at` of the string on; they may begin in one byte and end in the eighth after it. */
static inline uint64_t load_bits(const uint8_t *string, uint64_t at, unsigned n)
{
	const uint8_t *byte = string + at / 8;
	unsigned shift = at % 8, bytes = (shift + n + 7) / 8;
	uint64_t bits = 0;
	for (unsigned i = 0; i < MIN(bytes, 8); i++)
		bits |= (uint64_t)byte[i] << 8 * i;
	bits >>= shift;
	if (bytes == 9)
		bits |= (uint64_t)byte[8] << (64 - shift);
	return n == 64 ? bits : bits & ((UINT64_C(1) << n) - 1);
}

static inline void store_bits(uint8_t *string, uint64_t at, unsigned n, uint64_t bits)
{
	uint8_t *byte = string + at / 8;
	unsigned shift = at % 8, bytes = (shift + n + 7) / 8;
	for (unsigned i = 0; i < MIN(bytes, 8); i++)
		byte[i] |= (uint8_t)(bits << shift >> 8 * i);
	if (bytes == 9)
		byte[8] |= (uint8_t)(bits >> (64 - shift));
}

static void decode_bools(const uint8_t *string, uint64_t n, uint8_t *dst)
{
	for (uint64_t i = 0; i < n; i++)
		dst[i] = string[i / 8] >> i % 8 & 1;
}

static void decode_numbers(const struct packed_bits *self, const uint8_t *string, uint8_t *dst)
{
	uint64_t sign = self->is_signed ? UINT64_C(1) << (self->stored - 1) : 0, at = 0;
	for (uint64_t i = 0; i < self->numbers; i++, at += self->stored, dst += self->size) {
		uint64_t bits = ((load_bits(string, at, self->stored) ^ sign) - sign) << self->first;
		memcpy(dst, &bits, self->size); /* little-endian, as we are */
	}
}

static int packed_bits_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
							  size_t *ret_size)
{
	const struct packed_bits *self = packed_bits_of(codec);
	const uint8_t *string = src;
	bool fixed;
	uint64_t expected = packed_bits_encoded_size(codec, room, &fixed);
	if (size != expected)
		return err_set(EIO, "%zu bytes, expected %ju", size, (uintmax_t)expected);
	uint8_t padding = self->padding == PADDING_FIRST ? string[0] : string[size - 1];
	if (self->padding != PADDING_NONE && padding != spare_bits(self))
		return err_set(EIO, "%u bits of padding, expected %u", padding, spare_bits(self));
	string += self->padding == PADDING_FIRST;
	if (self->stored == 1 && self->size == 1 && self->first == 0 && !self->is_signed)
		decode_bools(string, self->numbers, dst);
	else
		decode_numbers(self, string, dst);
	*ret_size = room;
	return 0;
}

static int packed_bits_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct packed_bits *self = packed_bits_of(codec);
	struct buf *buf;
	bool fixed;
	int rc = buf_new(packed_bits_encoded_size(codec, size, &fixed), &buf);
	if (rc)
		return rc;
	memset(buf->data, 0, buf->size);
	uint8_t *string = buf->data + (self->padding == PADDING_FIRST);
	const uint8_t *number = src;
	for (uint64_t i = 0; i < self->numbers; i++, number += self->size) {
		uint64_t bits = 0;
		memcpy(&bits, number, self->size);
		bits >>= self->first;
		if (self->stored < 64)
			bits &= (UINT64_C(1) << self->stored) - 1;
		store_bits(string, i * self->stored, self->stored, bits);
	}
	if (self->padding == PADDING_FIRST)
		buf->data[0] = spare_bits(self);
	else if (self->padding == PADDING_LAST)
		buf->data[buf->size - 1] = spare_bits(self);
	*ret_buf = buf;
	return 0;
}

const struct codec_ops packed_bits_codec_ops = {
	.name = "packbits",
	.kind = CODEC_ARRAY_BYTES,
	.decode_mbps = 500,
	.open = packed_bits_open,
	.close = codec_close_plain,
	.encoded_size = packed_bits_encoded_size,
	.decode = packed_bits_decode,
	.encode = packed_bits_encode,
};
