/*
 * half.h: IEEE 754 binary16 <-> float and double, for compilers that have no such type. Rounding is to nearest, ties to even; a
 * NaN keeps its sign and the bits of its payload that fit, as in numpy.
 */
#ifndef ZARRFS_HALF_H
#define ZARRFS_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_to_float(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff, bits;
	float value;
	if (exponent == 0) {
		value = (float)mantissa * 0x1p-24f;
		return sign ? -value : value;
	}
	bits = sign | (exponent == 31 ? 255u << 23 : (exponent + 112) << 23) | mantissa << 13;
	memcpy(&value, &bits, sizeof(value));
	return value;
}

static inline uint16_t half_from_double(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
	if (exponent == 1024 && mantissa) {
		uint16_t payload = (uint16_t)(mantissa >> 42);
		return (uint16_t)(sign | 0x7c00 | (payload ? payload : 1));
	}
	if (exponent > 15)
		return sign | 0x7c00;
	if (exponent < -25)
		return sign;
	/* below 2^-14 halves are subnormal: the mantissa shifts on, the exponent field stays 0 */
	mantissa |= UINT64_C(1) << 52;
	int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
	uint64_t kept = mantissa >> shift, lost = mantissa & ((UINT64_C(1) << shift) - 1), tie = UINT64_C(1) << (shift - 1);
	if (lost > tie || (lost == tie && (kept & 1)))
		kept++;
	/* the implicit bit and a carry of the rounding both add to the exponent field, up to infinity */
	return (uint16_t)(sign | (uint16_t)(kept + (exponent < -14 ? 0 : (uint64_t)(exponent + 14) << 10)));
}

#endif
