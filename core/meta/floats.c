/*
 * floats.c: the text of a floating point number <-> its bits, for halves, singles and doubles; rounding is to nearest,
 * ties to even, of the decimal as it is written.
 */
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "meta/meta_impl.h"

/* Round to nearest, ties to even, of a double to the bits of a half. */
static uint16_t half_from_double(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
	int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
	uint64_t mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	if (exponent > 15)
		return sign | 0x7c00;
	if (exponent < -25)
		return sign;
	/* Below 2^-14 halves are subnormal: the mantissa shifts on, the exponent field stays 0. */
	int shift = exponent < -14 ? 42 + (-14 - exponent) : 42;
	uint64_t kept = mantissa >> shift, lost = mantissa & ((UINT64_C(1) << shift) - 1), tie = UINT64_C(1) << (shift - 1);
	if (lost > tie || (lost == tie && (kept & 1)))
		kept++;
	/* The implicit bit and a carry of the rounding both add to the exponent field, up to infinity. */
	return (uint16_t)(sign | (uint16_t)(kept + (exponent < -14 ? 0 : (uint64_t)(exponent + 14) << 10)));
}

static double half_to_double(uint16_t half)
{
	int exponent = half >> 10 & 31;
	double mantissa = half & 0x3ff;
	if (exponent == 31)
		return mantissa == 0 ? (half & 0x8000 ? -HUGE_VAL : HUGE_VAL) : NAN;
	double value = exponent == 0 ? ldexp(mantissa, -24) : ldexp(mantissa + 1024, exponent - 25);
	return half & 0x8000 ? -value : value;
}

/*
 * Decimal text to the nearest half. Rounding to a double on the way could fall on the middle between two halves where
 * the text does not; so the double is rounded to odd: towards zero, the last bit set when anything was lost.
 */
static uint16_t half_from_text(const char *text)
{
	int mode = fegetround();
	fesetround(FE_DOWNWARD);
	double down = strtod(text, NULL);
	fesetround(FE_UPWARD);
	double up = strtod(text, NULL);
	fesetround(mode);
	double value = text[0] == '-' ? up : down;
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	bits |= down != up;
	memcpy(&value, &bits, sizeof(bits));
	return half_from_double(value);
}

void float_from_text(const char *text, uint32_t size, uint8_t *bytes)
{
	static const struct {
		const char *name;
		uint64_t half, single, wide;
	} names[] = {
		{"NaN", 0x7e00, 0x7fc00000, UINT64_C(0x7ff8000000000000)},
		{"Infinity", 0x7c00, 0x7f800000, UINT64_C(0x7ff0000000000000)},
		{"-Infinity", 0xfc00, 0xff800000, UINT64_C(0xfff0000000000000)},
	};
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(text, names[i].name) == 0) {
			bits_store(bytes, size, size == 2 ? names[i].half : size == 4 ? names[i].single : names[i].wide);
			return;
		}
	if (size == 2) {
		bits_store(bytes, size, half_from_text(text));
	} else if (size == 4) {
		float value = strtof(text, NULL);
		memcpy(bytes, &value, sizeof(value));
	} else {
		double value = strtod(text, NULL);
		memcpy(bytes, &value, sizeof(value));
	}
}

static double float_to_double(const uint8_t *bytes, uint32_t size)
{
	if (size == 2)
		return half_to_double(load_le16(bytes));
	if (size == 4) {
		float value;
		memcpy(&value, bytes, sizeof(value));
		return value;
	}
	double value;
	memcpy(&value, bytes, sizeof(value));
	return value;
}

void float_print(struct str *str, const uint8_t *bytes, uint32_t size)
{
	uint8_t again[8];
	static const char *const names[] = {"NaN", "Infinity", "-Infinity"};
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		float_from_text(names[i], size, again);
		if (memcmp(again, bytes, size) == 0) {
			str_appendf(str, "\"%s\"", names[i]);
			return;
		}
	}
	double value = float_to_double(bytes, size);
	if (isnan(value)) {
		str_appendf(str, "\"0x%0*" PRIx64 "\"", (int)(2 * size), bits_load(bytes, size));
		return;
	}
	char text[40];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		float_from_text(text, size, again);
		if (memcmp(again, bytes, size) == 0)
			break;
	}
	str_append(str, text);
	if (!strpbrk(text, ".e"))
		str_append(str, ".0");
}
