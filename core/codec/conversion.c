/*
 * conversion.c: to floats the CPU converts, and what became infinite is out of range; to integers each element goes through its
 * widest type: int64, uint64 or double.
 */
#include "codec/conversion.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"

static const struct number wide_int = {.kind = DTYPE_INT, .size = 8, .swap_unit = 1},
						   wide_uint = {.kind = DTYPE_UINT, .size = 8, .swap_unit = 1},
						   wide_float = {.kind = DTYPE_FLOAT, .size = 8, .swap_unit = 1};

/* Bits of an integer, or of a float's fraction with its leading one. */
static unsigned precision(const struct number *number)
{
	if (number->kind != DTYPE_FLOAT)
		return number->size * 8 - (number->kind == DTYPE_INT);
	return number->size == 2 ? 11 : number->size == 4 ? 24 : 53;
}

bool conversion_is_exact(const struct number *from, const struct number *to)
{
	return precision(from) <= precision(to);
}

static int refuse(const struct conversion *conversion, const char *what)
{
	return err_set(EIO, "%s, which the %u-bit %s cannot hold", what, conversion->to.size * 8,
				   conversion->to.kind == DTYPE_FLOAT ? "float" : "integer");
}

static double round_to_integer(double value, enum rounding rounding)
{
	switch (rounding) {
	case ROUND_TOWARDS_ZERO:
		return trunc(value);
	case ROUND_TOWARDS_POSITIVE:
		return ceil(value);
	case ROUND_TOWARDS_NEGATIVE:
		return floor(value);
	case ROUND_NEAREST_AWAY:
		return round(value);
	default:
		return rint(value);
	}
}

/* The ends of an integer type, and one past its largest number as a double, which is exact. */
struct limits {
	int64_t low;
	uint64_t high;
	double past;
};

static struct limits limits_of(const struct number *type)
{
	unsigned bits = precision(type);
	return (struct limits){
		.low = type->kind == DTYPE_INT ? -(int64_t)(UINT64_MAX >> (65 - type->size * 8)) - 1 : 0,
		.high = UINT64_MAX >> (64 - bits),
		.past = ldexp(1, (int)bits),
	};
}

/* A whole number modulo 2^64; of a smaller type the low bits are right too. */
static uint64_t wrap(double value)
{
	double rest = fmod(value, 0x1p64);
	return rest < 0 ? -(uint64_t)-rest : (uint64_t)rest;
}

static int integer_of_float(const struct conversion *conversion, const struct limits *limits, double value,
							uint64_t *ret_bits)
{
	if (isnan(value))
		return refuse(conversion, "not a number");
	value = round_to_integer(value, conversion->rounding);
	bool fits = value >= (double)limits->low && value < limits->past;
	if (fits)
		*ret_bits = wrap(value);
	else if (conversion->out_of_range == OUT_OF_RANGE_CLAMP)
		*ret_bits = value < 0 ? (uint64_t)limits->low : limits->high;
	else if (conversion->out_of_range == OUT_OF_RANGE_WRAP && isfinite(value))
		*ret_bits = wrap(value);
	else
		return refuse(conversion, "a number out of range");
	return 0;
}

static int integer_of_integer(const struct conversion *conversion, const struct limits *limits, uint64_t bits,
							  uint64_t *ret_bits)
{
	bool negative = conversion->from.kind == DTYPE_INT && (int64_t)bits < 0;
	bool fits = negative ? (int64_t)bits >= limits->low : bits <= limits->high;
	if (fits || conversion->out_of_range == OUT_OF_RANGE_WRAP)
		*ret_bits = bits;
	else if (conversion->out_of_range == OUT_OF_RANGE_CLAMP)
		*ret_bits = negative ? (uint64_t)limits->low : limits->high;
	else
		return refuse(conversion, "a number out of range");
	return 0;
}

/* NULL when none fits. Floats are compared by value, so that -0 is 0. */
static const struct exception *find_exception(const struct conversion *conversion, const uint8_t *element)
{
	const struct number *from = &conversion->from;
	for (int i = conversion->n_exceptions - 1; i >= 0; i--) {
		const struct exception *exception = &conversion->exceptions[i];
		if (memcmp(exception->from, element, from->size) == 0)
			return exception;
		if (from->kind != DTYPE_FLOAT)
			continue;
		uint8_t pair[2][8] __attribute__((aligned(8))) = {{0}};
		double a, b;
		memcpy(pair[0], exception->from, from->size);
		memcpy(pair[1], element, from->size);
		number_cast(from, &wide_float, pair[0], &a, 1);
		number_cast(from, &wide_float, pair[1], &b, 1);
		if (a == b || (isnan(a) && isnan(b)))
			return exception;
	}
	return NULL;
}

static int to_integers(const struct conversion *conversion, const uint8_t *src, uint8_t *dst, size_t n)
{
	const struct limits limits = limits_of(&conversion->to);
	const struct number *from = &conversion->from, *to = &conversion->to;
	bool is_float = from->kind == DTYPE_FLOAT;
	uint64_t bits[NUMBER_BLOCK];
	double floats[NUMBER_BLOCK];
	if (is_float)
		number_cast(from, &wide_float, src, floats, n);
	else
		number_cast(from, from->kind == DTYPE_INT ? &wide_int : &wide_uint, src, bits, n);
	for (size_t i = 0; i < n; i++) {
		uint8_t element[8] __attribute__((aligned(8)));
		const struct exception *exception = find_exception(conversion, src + i * from->size);
		int rc = 0;
		if (exception) {
			memcpy(element, exception->to, to->size);
			number_cast(to, &wide_uint, element, &bits[i], 1);
		} else if (is_float) {
			rc = integer_of_float(conversion, &limits, floats[i], &bits[i]);
		} else {
			rc = integer_of_integer(conversion, &limits, bits[i], &bits[i]);
		}
		if (rc)
			return rc;
	}
	number_cast(&wide_uint, to, bits, dst, n);
	return 0;
}

/* The largest number of a float type, with the sign of `value`. */
static double clamp_to_float(const struct number *type, double value)
{
	double largest = type->size == 2 ? 65504.0 : type->size == 4 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
	return copysign(largest, value);
}

/* Whether the float is the very number that it was made of: it makes that again. */
static bool is_same(const struct conversion *conversion, const uint8_t *element, const uint8_t *converted)
{
	uint8_t copy[8] __attribute__((aligned(8))) = {0}, back[8] __attribute__((aligned(8))) = {0};
	memcpy(copy, converted, conversion->to.size);
	number_cast(&conversion->to, &conversion->from, copy, back, 1);
	return memcmp(back, element, conversion->from.size) == 0;
}

static int to_floats(const struct conversion *conversion, const uint8_t *src, uint8_t *dst, size_t n)
{
	const struct number *from = &conversion->from, *to = &conversion->to;
	bool any_float = conversion->rounding == ROUND_NEAREST_EVEN || conversion_is_exact(from, to);
	double before[NUMBER_BLOCK], after[NUMBER_BLOCK];
	number_cast(from, to, src, dst, n);
	number_cast(from, &wide_float, src, before, n);
	number_cast(to, &wide_float, dst, after, n);
	for (size_t i = 0; i < n; i++) {
		const struct exception *exception = find_exception(conversion, src + i * from->size);
		if (exception) {
			memcpy(dst + i * to->size, exception->to, to->size);
			continue;
		}
		if (!any_float && !isnan(before[i]) && !is_same(conversion, src + i * from->size, dst + i * to->size))
			return refuse(conversion, "a number between two floats");
		if (!isinf(after[i]) || isinf(before[i]))
			continue;
		if (conversion->out_of_range != OUT_OF_RANGE_CLAMP)
			return refuse(conversion, "a number out of range");
		uint8_t element[8] __attribute__((aligned(8)));
		double largest = clamp_to_float(to, before[i]);
		number_cast(&wide_float, to, &largest, element, 1);
		memcpy(dst + i * to->size, element, to->size);
	}
	return 0;
}

int conversion_run(const struct conversion *conversion, const void *src, void *dst, size_t n)
{
	return conversion->to.kind == DTYPE_FLOAT ? to_floats(conversion, src, dst, n)
											  : to_integers(conversion, src, dst, n);
}
