/*
 * blosclz.c: a bounded BloscLZ decoder. A stream is a row of instructions, each begun by a byte `lllhhhhh`:
 *
 *   lll = 0     hhhhh + 1 literal bytes follow (1 to 32)
 *   lll = 1..6  a match of lll + 2 bytes
 *   lll = 7     a match of 9 bytes and more: bytes follow that are added to its length, up to and with the first that is not 255
 *
 * A match then has one byte, and its distance is hhhhh * 256 + byte + 1; but where both are all ones (31 and 255) two more
 * bytes follow, big-endian, and the distance is 8192 + these. The first instruction is a literal whatever its lll says.
 *
 * Every length is a size_t and is compared with what is left before it is used: c-blosc's decoder adds up lengths in an
 * int32_t, which a long run of 255 overflows.
 */
#include "codec/blosclz.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/base.h"
#include "base/endian.h"
#include "base/err.h"

#define FAR_DISTANCE 8192
#define WIDE 16 /* bytes of a fast copy's step */
#define LONG_MATCH 48
#define MAX_LITERALS 32 /* of one instruction */

struct input {
	const uint8_t *at, *end;
};

struct match {
	size_t length, distance;
};

/* The rest of a match's instruction; false when the input ends in it. */
static bool match_read(struct input *in, unsigned control, struct match *ret_match)
{
	size_t length = control >> 5;
	size_t high = control & 31;
	if (length == 7) {
		uint8_t more;
		do {
			if (in->at == in->end)
				return false;
			more = *in->at++;
			length += more;
		} while (more == 255);
	}
	if (in->at == in->end)
		return false;
	size_t low = *in->at++;
	ret_match->length = length + 2;
	ret_match->distance = high * 256 + low + 1;
	if (high == 31 && low == 255) {
		if (in->end - in->at < 2)
			return false;
		ret_match->distance = FAR_DISTANCE + load_be16(in->at);
		in->at += 2;
	}
	return true;
}

/* Each copy doubles what can be copied next, because a pattern repeats with any multiple of its distance too. */
static void repeat_long(uint8_t *out, size_t length, size_t distance)
{
	while (length > distance) {
		memcpy(out, out - distance, distance);
		out += distance;
		length -= distance;
		distance *= 2;
	}
	memcpy(out, out - distance, length);
}

/* In steps, up to step - 1 bytes further than asked; distance >= step. */
static inline void repeat_short(uint8_t *out, size_t length, size_t distance, const size_t step)
{
	for (size_t i = 0; i < length; i += step)
		memcpy(out + i, out + i - distance, step);
}

/* Repeats `length` bytes from `distance` before out; both were checked. */
static inline void match_copy(uint8_t *out, const uint8_t *limit, const struct match *match)
{
	size_t length = match->length, distance = match->distance;
	if (distance == 1)
		memset(out, out[-1], length);
	else if (length >= LONG_MATCH || (size_t)(limit - out) < length + WIDE)
		repeat_long(out, length, distance);
	else if (distance >= WIDE)
		repeat_short(out, length, distance, WIDE);
	else if (distance >= WIDE / 2)
		repeat_short(out, length, distance, WIDE / 2);
	else
		for (size_t i = 0; i < length; i++)
			out[i] = *(out + i - distance);
}

/* 1 to 32 bytes; copies all 32 where both sides have them, because a fixed size is much faster. */
static void literals_copy(uint8_t *out, const uint8_t *limit, const struct input *in, size_t n)
{
	if (limit - out >= MAX_LITERALS && in->end - in->at >= MAX_LITERALS)
		memcpy(out, in->at, MAX_LITERALS);
	else
		memcpy(out, in->at, n);
}

int blosclz_decode(const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	struct input in = {src, (const uint8_t *)src + size};
	uint8_t *out = dst;
	const uint8_t *limit = out + room;
	for (bool first = true; in.at < in.end; first = false) {
		unsigned control = *in.at++;
		if (first)
			control &= 31;
		struct match match;
		if (control < 32) {
			size_t n = control + 1;
			if (n > (size_t)(in.end - in.at))
				return err_set(EIO, "blosclz: ends inside literals");
			if (n > (size_t)(limit - out))
				return err_set(EIO, "blosclz: more than %zu bytes", room);
			literals_copy(out, limit, &in, n);
			in.at += n;
			out += n;
		} else if (!match_read(&in, control, &match)) {
			return err_set(EIO, "blosclz: ends inside a match");
		} else {
			if (match.distance > (size_t)(out - (uint8_t *)dst))
				return err_set(EIO, "blosclz: a match begins before the block");
			if (match.length > (size_t)(limit - out))
				return err_set(EIO, "blosclz: more than %zu bytes", room);
			match_copy(out, limit, &match);
			out += match.length;
		}
	}
	*ret_size = (size_t)(out - (uint8_t *)dst);
	return 0;
}
