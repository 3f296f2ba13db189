/*
 * floats.c: the text of a floating point number <-> its bits, for every binary format that Zarr names: doubles, singles,
 * halves, bfloat16 and the ones of a byte and less (zarr-format, section 1.5). Rounding is to nearest, ties to even, of the
 * decimal as it is written.
 */
#include <fenv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/endian.h"
#include "meta/meta_impl.h"

const struct float_format float_formats[FLOAT_FORMATS] = {
	[FLOAT16] = {2, 5, 10, 15, FLOAT_IEEE},			  [FLOAT32] = {4, 8, 23, 127, FLOAT_IEEE},
	[FLOAT64] = {8, 11, 52, 1023, FLOAT_IEEE},		  [BFLOAT16] = {2, 8, 7, 127, FLOAT_IEEE},
	[FLOAT8_E3M4] = {1, 3, 4, 3, FLOAT_IEEE},		  [FLOAT8_E4M3] = {1, 4, 3, 7, FLOAT_IEEE},
	[FLOAT8_E4M3B11FNUZ] = {1, 4, 3, 11, FLOAT_FNUZ}, [FLOAT8_E4M3FN] = {1, 4, 3, 7, FLOAT_FN},
	[FLOAT8_E4M3FNUZ] = {1, 4, 3, 8, FLOAT_FNUZ},	  [FLOAT8_E5M2] = {1, 5, 2, 15, FLOAT_IEEE},
	[FLOAT8_E5M2FNUZ] = {1, 5, 2, 16, FLOAT_FNUZ},	  [FLOAT8_E8M0FNU] = {1, 8, 0, 127, FLOAT_SCALE},
	[FLOAT6_E2M3FN] = {1, 2, 3, 1, FLOAT_FINITE},	  [FLOAT6_E3M2FN] = {1, 3, 2, 3, FLOAT_FINITE},
	[FLOAT4_E2M1FN] = {1, 2, 1, 1, FLOAT_FINITE},
};

static const char *const names[] = {"NaN", "Infinity", "-Infinity"};

/* The bits below the sign, all ones; a scale has no sign. */
static uint64_t all_ones(const struct float_format *format)
{
	return (UINT64_C(1) << (format->exponent_bits + format->mantissa_bits)) - 1;
}

static uint64_t sign_bit(const struct float_format *format)
{
	return all_ones(format) + 1;
}

static uint64_t infinity(const struct float_format *format)
{
	return all_ones(format) >> format->mantissa_bits << format->mantissa_bits;
}

/* The bits of the largest number. */
static uint64_t largest(const struct float_format *format)
{
	if (format->flavour == FLOAT_IEEE)
		return infinity(format) - 1;
	return all_ones(format) - (format->flavour == FLOAT_FN || format->flavour == FLOAT_SCALE);
}

/* False where there is no NaN. */
static bool canonical_nan(const struct float_format *format, uint64_t *ret_bits)
{
	if (format->flavour == FLOAT_FINITE)
		return false;
	if (format->flavour == FLOAT_IEEE)
		*ret_bits = infinity(format) | UINT64_C(1) << (format->mantissa_bits - 1);
	else
		*ret_bits = format->flavour == FLOAT_FNUZ ? sign_bit(format) : all_ones(format);
	return true;
}

/* The exponent of the smallest normal number; below it the mantissa shifts on, the exponent field stays 0. */
static int lowest_exponent(const struct float_format *format)
{
	return format->flavour == FLOAT_SCALE ? -format->bias : 1 - format->bias;
}

/*
 * The magnitude of a finite double that is not zero; what rounds beyond the largest number is larger than that. The
 * implicit bit and a carry of the rounding both add to the exponent field.
 */
static uint64_t round_magnitude(const struct float_format *format, uint64_t double_bits)
{
	int exponent = (int)(double_bits >> 52 & 0x7ff) - 1023, lowest = lowest_exponent(format);
	uint64_t mantissa = (double_bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	int shift = 52 - format->mantissa_bits + MAX(lowest - exponent, 0);
	if (shift > 54)
		return 0;
	uint64_t kept = mantissa >> shift, lost = mantissa & ((UINT64_C(1) << shift) - 1), tie = UINT64_C(1) << (shift - 1);
	if (lost > tie || (lost == tie && (kept & 1)))
		kept++;
	return kept + ((uint64_t)MAX(exponent - lowest, 0) << format->mantissa_bits);
}

/* `value` has more than twice the precision, or was rounded to odd from what has. */
static bool from_double(const struct float_format *format, double value, uint64_t *ret_bits)
{
	uint64_t bits, magnitude = 0;
	memcpy(&bits, &value, sizeof(bits));
	bool negative = bits >> 63;
	if (value != 0)
		magnitude = round_magnitude(format, bits);
	if (format->flavour == FLOAT_SCALE) { /* its field has no value for zero, so 2^-127 is 0 */
		if (negative || magnitude == 0)
			return false;
		magnitude--;
	}
	if (magnitude > largest(format)) {
		if (format->flavour != FLOAT_IEEE)
			return false;
		magnitude = infinity(format);
	}
	bool has_sign = negative && (magnitude > 0 || format->flavour != FLOAT_FNUZ);
	*ret_bits = magnitude | (has_sign ? sign_bit(format) : 0);
	return true;
}

static double to_double(const struct float_format *format, uint64_t bits)
{
	uint64_t ones = all_ones(format), magnitude = bits & ones, nan = 0;
	bool negative = format->flavour != FLOAT_SCALE && (bits & sign_bit(format));
	if (format->flavour == FLOAT_IEEE && magnitude >= infinity(format))
		return magnitude > infinity(format) ? NAN : negative ? -HUGE_VAL : HUGE_VAL;
	if (canonical_nan(format, &nan) && (bits == nan || (format->flavour == FLOAT_FN && magnitude == ones)))
		return NAN;
	if (format->flavour == FLOAT_SCALE)
		return ldexp(1, (int)magnitude - format->bias);
	int field = (int)(magnitude >> format->mantissa_bits);
	uint64_t mantissa = magnitude - ((uint64_t)field << format->mantissa_bits);
	if (field > 0)
		mantissa |= UINT64_C(1) << format->mantissa_bits;
	double value = ldexp((double)mantissa, MAX(field, 1) - format->bias - format->mantissa_bits);
	return negative ? -value : value;
}

/*
 * Decimal text to a double that still tells how to round: rounding to nearest on the way could fall on the middle between
 * two numbers of the narrower format where the text does not. So it is rounded to odd: towards zero, the last bit set
 * when anything was lost.
 */
static double round_to_odd(const char *text)
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
	return value;
}

static bool from_text(const struct float_format *format, const char *text, uint64_t *ret_bits)
{
	if (strcmp(text, "NaN") == 0)
		return canonical_nan(format, ret_bits);
	if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0) {
		*ret_bits = infinity(format) | (text[0] == '-' ? sign_bit(format) : 0);
		return format->flavour == FLOAT_IEEE;
	}
	if (format->size == 4) {
		float value = strtof(text, NULL);
		uint32_t bits;
		memcpy(&bits, &value, sizeof(bits));
		*ret_bits = bits;
		return true;
	}
	double value = format->size == 8 ? strtod(text, NULL) : round_to_odd(text);
	if (format->size == 8) {
		memcpy(ret_bits, &value, sizeof(value));
		return true;
	}
	return from_double(format, value, ret_bits);
}

bool float_from_text(const struct float_format *format, const char *text, uint8_t *bytes)
{
	uint64_t bits;
	if (!from_text(format, text, &bits))
		return false;
	bits_store(bytes, format->size, bits);
	return true;
}

void float_print(struct str *str, const struct float_format *format, const uint8_t *bytes)
{
	uint64_t bits = bits_load(bytes, format->size), again;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (from_text(format, names[i], &again) && again == bits) {
			str_appendf(str, "\"%s\"", names[i]);
			return;
		}
	double value = to_double(format, bits);
	if (isnan(value)) {
		str_appendf(str, "\"0x%0*" PRIx64 "\"", 2 * format->size, bits);
		return;
	}
	char text[40];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (from_text(format, text, &again) && again == bits)
			break;
	}
	str_append(str, text);
	if (!strpbrk(text, ".e"))
		str_append(str, ".0");
}
