/*
 * lookup3.c: three words of state, twelve bytes a round; the last one to twelve bytes are added and mixed once more.
 */
#include "codec/lookup3.h"

#include <string.h>

#include "base/endian.h"

#define ROUND_BYTES 12

static uint32_t rotate(uint32_t x, int bits)
{
	return x << bits | x >> (32 - bits);
}

static void mix(uint32_t *a, uint32_t *b, uint32_t *c)
{
	static const int bits[] = {4, 6, 8, 16, 19, 4};
	uint32_t *x = a, *y = b, *z = c;
	for (int i = 0; i < 6; i++) {
		*x = (*x - *z) ^ rotate(*z, bits[i]);
		*z += *y;
		uint32_t *first = x;
		x = y;
		y = z;
		z = first;
	}
}

static uint32_t finish(uint32_t a, uint32_t b, uint32_t c)
{
	static const int bits[] = {14, 11, 25, 16, 4, 14, 24};
	uint32_t *x = &c, *y = &b, *z = &a;
	for (int i = 0; i < 7; i++) {
		*x = (*x ^ *y) - rotate(*y, bits[i]);
		uint32_t *first = x;
		x = z;
		z = y;
		y = first;
	}
	return c;
}

uint32_t lookup3(const void *bytes, size_t size, uint32_t initial)
{
	const uint8_t *p = bytes;
	uint32_t a = 0xdeadbeef + (uint32_t)size + initial, b = a, c = a;
	if (size == 0)
		return c;
	for (; size > ROUND_BYTES; size -= ROUND_BYTES, p += ROUND_BYTES) {
		a += load_le32(p);
		b += load_le32(p + 4);
		c += load_le32(p + 8);
		mix(&a, &b, &c);
	}
	uint8_t last[ROUND_BYTES] = {0};
	memcpy(last, p, size);
	return finish(a + load_le32(last), b + load_le32(last + 4), c + load_le32(last + 8));
}
