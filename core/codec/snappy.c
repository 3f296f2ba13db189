/*
 * snappy.c: a bounded decoder of Snappy blocks (google/snappy, format_description.txt), and the codec `imagecodecs_snappy`,
 * whose value is one such block; numcodecs has none of its own. A block is its decoded size as a varint of at most 32 bits,
 * then a row of elements, each begun by a byte `nnnnnntt`:
 *
 *   tt = 0   literals. Their number less one is nnnnnn, or for 60 to 63 stands in the 1 to 4 bytes that follow, little-endian
 *   tt = 1   a match of 4 to 11 bytes, n & 7 being 0 to 7; its distance is 11 bits: the upper three bits of n, then a byte
 *   tt = 2   a match of nnnnnn + 1 bytes; its distance is the two bytes that follow, little-endian
 *   tt = 3   the same with four bytes
 *
 * Every length and distance is a size_t and is compared with what is left before it is used.
 */
#include "codec/snappy.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define LITERALS_INLINE_MAX 60
#define VARINT_BYTES_MAX 5

struct input {
	const uint8_t *at, *end;
};

/* An element: `length` bytes of the input, or where distance > 0 of what has been decoded. */
struct element {
	size_t length, distance;
};

static bool read_le(struct input *in, size_t bytes, size_t *ret_value)
{
	if ((size_t)(in->end - in->at) < bytes)
		return false;
	size_t value = 0;
	for (size_t i = 0; i < bytes; i++)
		value |= (size_t)*in->at++ << (8 * i);
	*ret_value = value;
	return true;
}

static bool read_varint32(struct input *in, size_t *ret_value)
{
	uint64_t value = 0;
	for (int i = 0; i < VARINT_BYTES_MAX; i++) {
		if (in->at == in->end)
			return false;
		uint8_t byte = *in->at++;
		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte < 0x80) {
			*ret_value = value;
			return value <= UINT32_MAX;
		}
	}
	return false;
}

/* The head of an element without its literals; false when the input ends in it or a match has no distance. */
static bool read_element(struct input *in, struct element *ret_element)
{
	unsigned tag = *in->at++;
	size_t n = tag >> 2;
	struct element element = {.length = n + 1};
	if ((tag & 3) == 0) {
		size_t more = 0;
		if (n >= LITERALS_INLINE_MAX) {
			if (!read_le(in, n - LITERALS_INLINE_MAX + 1, &more))
				return false;
			element.length = more + 1;
		}
		*ret_element = element;
		return true;
	}
	if ((tag & 3) == 1)
		element.length = 4 + (n & 7);
	if (!read_le(in, (tag & 3) == 3 ? 4 : tag & 3, &element.distance))
		return false;
	if ((tag & 3) == 1)
		element.distance |= n >> 3 << 8;
	*ret_element = element;
	return element.distance > 0;
}

/* Source and target may overlap: what has just been written is read again, so that a short distance repeats itself. */
static void copy_match(uint8_t *dst, size_t distance, size_t length)
{
	const uint8_t *from = dst - distance;
	if (distance >= length) {
		memcpy(dst, from, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		dst[i] = from[i];
}

int snappy_decode(const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	struct input in = {.at = src, .end = (const uint8_t *)src + size};
	uint8_t *out = dst;
	size_t claimed, filled = 0;
	if (!read_varint32(&in, &claimed))
		return err_set(EIO, "snappy: no size at the beginning of %zu bytes", size);
	if (claimed > room)
		return err_set(EIO, "snappy: decodes to %zu bytes, expected %zu", claimed, room);
	while (in.at < in.end) {
		struct element element;
		size_t at = (size_t)(in.at - (const uint8_t *)src);
		bool good = read_element(&in, &element) && element.length <= claimed - filled;
		if (good && element.distance == 0)
			good = element.length <= (size_t)(in.end - in.at);
		else if (good)
			good = element.distance <= filled;
		if (!good)
			return err_set(EIO, "snappy: damaged or cut short at byte %zu", at);
		if (element.distance == 0) {
			memcpy(out + filled, in.at, element.length);
			in.at += element.length;
		} else {
			copy_match(out + filled, element.distance, element.length);
		}
		filled += element.length;
	}
	if (filled != claimed)
		return err_set(EIO, "snappy: %zu bytes of %zu, cut short", filled, claimed);
	*ret_size = filled;
	return 0;
}

static int snappy_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct codec *codec = calloc(1, sizeof(*codec));
	if (!codec)
		return err_set(ENOMEM, "no memory for a codec");
	*ret_codec = codec;
	return 0;
}

/* Of google/snappy's MaxCompressedLength. */
static uint64_t snappy_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = false;
	return 32 + decoded + decoded / 6;
}

static int snappy_codec_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
							   size_t *ret_size)
{
	return snappy_decode(src, size, dst, room, ret_size);
}

const struct codec_ops snappy_codec_ops = {
	.v2_id = "imagecodecs_snappy",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 1000,
	.open = snappy_open,
	.close = codec_close_plain,
	.encoded_size = snappy_encoded_size,
	.decode = snappy_codec_decode,
};
