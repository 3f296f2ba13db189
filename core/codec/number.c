/*
 * number.c: one loop for each pair of C types; halves go through singles, as in numpy.
 */
#include "codec/number.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "base/half.h"

static const struct {
	const char *name, *descr;
} names[] = {
	{"bool", "|b1"},	{"int8", "|i1"},	{"int16", "<i2"},  {"int32", "<i4"},	 {"int64", "<i8"},
	{"uint8", "|u1"},	{"uint16", "<u2"},	{"uint32", "<u4"}, {"uint64", "<u8"},	 {"float16", "<f2"},
	{"float32", "<f4"}, {"float64", "<f8"}, {"float", "<f8"},  {"complex64", "<c8"}, {"complex128", "<c16"},
};

/* "i4" is "<i4", and "u1" is "|u1": numpy takes typestrings without an order as our own. */
static const char *complete(const char *text, char *buffer, size_t size)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (!strcmp(text, names[i].name))
			return names[i].descr;
	if (*text == '\0' || strchr("<>|=", *text))
		return text;
	snprintf(buffer, size, "%c%s", !strcmp(text + 1, "1") ? '|' : '<', text);
	return buffer;
}

/* What C has a type for: not bfloat16 or int4, whose descr is that of opaque bytes or of another type. */
static bool is_number(const struct dtype *dtype)
{
	return dtype->descr[0] != '\0' && strchr("biufcmM", dtype->descr[1]) && dtype->bits == 0 && dtype->size > 0 &&
		   dtype->size <= NUMBER_BYTES;
}

static struct number make_number(enum dtype_kind kind, uint32_t size)
{
	return (struct number){.kind = kind, .size = size, .swap_unit = 1};
}

bool number_is_time(const struct number *number)
{
	return number->kind == DTYPE_DATETIME || number->kind == DTYPE_TIMEDELTA;
}

bool number_of_dtype(const struct dtype *dtype, struct number *ret_number)
{
	if (!is_number(dtype))
		return false;
	struct number number = make_number(dtype->kind, dtype->size);
	if (number_is_time(&number))
		snprintf(number.unit, sizeof(number.unit), "%s", dtype->descr + strlen("<M8"));
	*ret_number = number;
	return true;
}

int number_parse(const struct json *config, const char *member, const struct number *fallback,
				 struct number *ret_number)
{
	const struct json *json = json_get(config, member);
	const char *text;
	char buffer[DTYPE_NAME_BYTES];
	struct dtype dtype;
	bool big;
	if (!json || json_type(json) == JSON_NULL) {
		if (!fallback)
			return err_set(EIO, "%s: missing", member);
		*ret_number = *fallback;
		return 0;
	}
	int rc = json_string(json, member, &text, NULL);
	if (rc)
		return rc;
	rc = dtype_parse_descr(complete(text, buffer, sizeof(buffer)), &dtype, &big);
	if (rc)
		return err_prefix(rc, "%s", member);
	if (!number_of_dtype(&dtype, ret_number))
		return err_set(ENOTSUP, "%s: \"%s\" is no number", member, dtype.descr);
	if (big)
		ret_number->swap_unit = dtype.swap_unit;
	return 0;
}

/* Out of range and NaN: the CPU's "integer indefinite", as numpy's compiled casts give on x86. */
static int32_t int32_of(double x)
{
	return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN;
}

static int64_t int64_of(double x)
{
	return x >= -0x1p63 && x < 0x1p63 ? (int64_t)x : INT64_MIN;
}

static uint64_t uint64_of(double x)
{
	return x >= 0x1p63 ? (uint64_t)int64_of(x - 0x1p63) ^ UINT64_C(1) << 63 : (uint64_t)int64_of(x);
}

/* X(name, C type, conversion from a float) */
#define REAL_TYPES(X)                                                                                                  \
	X(BOOL, uint8_t, v != 0)                                                                                           \
	X(INT8, int8_t, (int8_t)int32_of((double)v))                                                                       \
	X(INT16, int16_t, (int16_t)int32_of((double)v))                                                                    \
	X(INT32, int32_t, int32_of((double)v))                                                                             \
	X(INT64, int64_t, int64_of((double)v))                                                                             \
	X(UINT8, uint8_t, (uint8_t)int32_of((double)v))                                                                    \
	X(UINT16, uint16_t, (uint16_t)int32_of((double)v))                                                                 \
	X(UINT32, uint32_t, (uint32_t)int64_of((double)v))                                                                 \
	X(UINT64, uint64_t, uint64_of((double)v))                                                                          \
	X(FLOAT32, float, (float)v)                                                                                        \
	X(FLOAT64, double, (double)v)

#define INTEGER_TYPES(X)                                                                                               \
	X(BOOL, uint8_t)                                                                                                   \
	X(INT8, int8_t)                                                                                                    \
	X(INT16, int16_t)                                                                                                  \
	X(INT32, int32_t)                                                                                                  \
	X(INT64, int64_t)                                                                                                  \
	X(UINT8, uint8_t)                                                                                                  \
	X(UINT16, uint16_t)                                                                                                \
	X(UINT32, uint32_t)                                                                                                \
	X(UINT64, uint64_t)

enum c_type {
#define ROW(name, type, of_float) TYPE_##name,
	REAL_TYPES(ROW)
#undef ROW
};

static enum c_type type_of(const struct number *number)
{
	static const enum c_type ints[] = {TYPE_INT8, TYPE_INT16, TYPE_INT32, TYPE_INT64};
	static const enum c_type uints[] = {TYPE_UINT8, TYPE_UINT16, TYPE_UINT32, TYPE_UINT64};
	int power = __builtin_ctz(number->size);
	switch (number->kind) {
	case DTYPE_BOOL:
		return TYPE_BOOL;
	case DTYPE_UINT:
		return uints[power];
	case DTYPE_FLOAT:
		return number->size == 4 ? TYPE_FLOAT32 : TYPE_FLOAT64;
	case DTYPE_COMPLEX:
		return number->size == 8 ? TYPE_FLOAT32 : TYPE_FLOAT64;
	default:
		return ints[power];
	}
}

/* From one C type to each. */
#define LOOP_OF_INTEGER(name, type, of_float)                                                                          \
	case TYPE_##name:                                                                                                  \
		for (size_t i = 0; i < n; i++)                                                                                 \
			((type *)dst)[i] = TYPE_##name == TYPE_BOOL ? in[i] != 0 : (type)in[i];                                    \
		break;
#define LOOP_OF_FLOAT(name, type, of_float)                                                                            \
	case TYPE_##name:                                                                                                  \
		for (size_t i = 0; i < n; i++) {                                                                               \
			const __typeof__(*in) v = in[i];                                                                           \
			((type *)dst)[i] = of_float;                                                                               \
		}                                                                                                              \
		break;

#define CAST_INTEGER(from, from_type)                                                                                  \
	static void cast_##from(enum c_type to, const void *src, void *dst, size_t n)                                      \
	{                                                                                                                  \
		const from_type *in = src;                                                                                     \
		switch (to) {                                                                                                  \
			REAL_TYPES(LOOP_OF_INTEGER)                                                                                \
		}                                                                                                              \
	}
INTEGER_TYPES(CAST_INTEGER)

#define CAST_FLOAT(from, from_type)                                                                                    \
	static void cast_##from(enum c_type to, const void *src, void *dst, size_t n)                                      \
	{                                                                                                                  \
		const from_type *in = src;                                                                                     \
		switch (to) {                                                                                                  \
			REAL_TYPES(LOOP_OF_FLOAT)                                                                                  \
		}                                                                                                              \
	}
CAST_FLOAT(FLOAT32, float)
CAST_FLOAT(FLOAT64, double)

static void (*const casts[])(enum c_type to, const void *src, void *dst, size_t n) = {
#define ROW(name, type, of_float) [TYPE_##name] = cast_##name,
	REAL_TYPES(ROW)
#undef ROW
};

void number_from_halves(const uint16_t *src, float *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = half_to_float(src[i]);
}

void number_to_halves(const float *src, uint16_t *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = half_from_double((double)src[i]);
}

/* At once: rounding to a single on the way could fall on the middle between two halves. */
static void halves_of_doubles(const double *src, uint16_t *dst, size_t n)
{
	for (size_t i = 0; i < n; i++)
		dst[i] = half_from_double(src[i]);
}

static bool is_half(const struct number *number)
{
	return number->kind == DTYPE_FLOAT && number->size == 2;
}

static void cast_real(const struct number *from, const struct number *to, const void *src, void *dst, size_t n)
{
	const struct number single = make_number(DTYPE_FLOAT, 4);
	float singles[NUMBER_BLOCK];
	if (is_half(from) && is_half(to)) {
		memcpy(dst, src, n * 2);
	} else if (is_half(from)) {
		number_from_halves(src, singles, n);
		casts[TYPE_FLOAT32](type_of(to), singles, dst, n);
	} else if (is_half(to) && type_of(from) == TYPE_FLOAT64) {
		halves_of_doubles(src, dst, n);
	} else if (is_half(to)) {
		casts[type_of(from)](type_of(&single), src, singles, n);
		number_to_halves(singles, dst, n);
	} else {
		casts[type_of(from)](type_of(to), src, dst, n);
	}
}

static bool is_complex(const struct number *number)
{
	return number->kind == DTYPE_COMPLEX;
}

int number_check_cast(const struct number *from, const struct number *to)
{
	if (is_complex(from) && !is_complex(to))
		return err_set(ENOTSUP, "complex numbers are not made real");
	if (number_is_time(from) && number_is_time(to) && (from->kind != to->kind || strcmp(from->unit, to->unit) != 0))
		return err_set(ENOTSUP, "times are not converted between units");
	return 0;
}

void number_cast(const struct number *from, const struct number *to, const void *src, void *dst, size_t n)
{
	if (!is_complex(to)) {
		cast_real(from, to, src, dst, n);
		return;
	}
	const struct number part = make_number(DTYPE_FLOAT, to->size / 2);
	uint8_t parts[NUMBER_BLOCK * sizeof(double)] __attribute__((aligned(16)));
	const struct number from_part = is_complex(from) ? make_number(DTYPE_FLOAT, from->size / 2) : *from;
	const uint8_t *in = src;
	uint8_t *out = dst;
	if (is_complex(from)) {
		for (size_t half = 0; half < 2; half++, in += n * from_part.size, out += n * part.size)
			cast_real(&from_part, &part, in, out, n);
		return;
	}
	cast_real(&from_part, &part, src, parts, n);
	memset(dst, 0, n * to->size);
	for (size_t i = 0; i < n; i++)
		memcpy(out + i * to->size, parts + i * part.size, part.size);
}

static bool is_real_float(const struct number *number)
{
	return number->kind == DTYPE_FLOAT;
}

/* The float that holds an integer type, as numpy has it: 8 bits fit a half, 16 a single, and the rest is given a double. */
static uint32_t float_size(const struct number *number)
{
	if (is_complex(number))
		return number->size / 2;
	if (is_real_float(number))
		return number->size;
	return number->kind == DTYPE_BOOL || number->size == 1 ? 2 : number->size == 2 ? 4 : 8;
}

static bool is_unsigned(const struct number *number)
{
	return number->kind == DTYPE_UINT || number->kind == DTYPE_BOOL;
}

struct number number_promote(const struct number *a, const struct number *b)
{
	if (is_complex(a) || is_complex(b)) {
		/* there is no complex of halves */
		uint32_t part = MAX(MAX(float_size(a), float_size(b)), 4);
		return make_number(DTYPE_COMPLEX, 2 * part);
	}
	if (is_real_float(a) || is_real_float(b))
		return make_number(DTYPE_FLOAT, MAX(float_size(a), float_size(b)));
	uint32_t size = MAX(a->size, b->size);
	if (is_unsigned(a) == is_unsigned(b)) {
		bool both_bools = a->kind == DTYPE_BOOL && b->kind == DTYPE_BOOL;
		return make_number(both_bools ? DTYPE_BOOL : is_unsigned(a) ? DTYPE_UINT : DTYPE_INT, size);
	}
	const struct number *no_sign = is_unsigned(a) ? a : b, *sign = is_unsigned(a) ? b : a;
	if (no_sign->kind == DTYPE_BOOL || sign->size > no_sign->size)
		return make_number(DTYPE_INT, size);
	return no_sign->size == 8 ? make_number(DTYPE_FLOAT, 8) : make_number(DTYPE_INT, 2 * no_sign->size);
}
