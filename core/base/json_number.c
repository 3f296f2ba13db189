/*
 * json_number.c: a number's spelling as an integer, exactly, or as a double.
 *
 * Integers are read from the decimal text, never through a double: 18446744073709551615, 1e3 and 2.50e1 are integers,
 * 2.5 is none.
 */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/json_parts.h"

#define SPELLING "%.40s" /* how much of a number a message shows */
#define UINT64_DIGITS 20

/* A spelling taken apart: the digits, without the zeros at both ends, times ten to the exponent. */
struct decimal {
	bool negative;
	const char *digits; /* `count` digits begin here, perhaps with a point among them */
	size_t count;
	int64_t exponent;
};

/* The value of an exponent's digits; beyond what a document of digits could balance it does not matter. */
static int64_t parse_exponent(const char *text)
{
	bool negative = *text == '-';
	int64_t value = 0;
	for (text += *text == '-' || *text == '+'; *text; text++)
		value = MIN(value * 10 + (*text - '0'), INT64_C(1) << 56);
	return negative ? -value : value;
}

/* Takes a spelling that follows the grammar apart. */
static struct decimal decimal_parse(const char *text)
{
	struct decimal decimal = {.negative = *text == '-'};
	size_t zeros = 0; /* behind the last other digit so far */
	bool behind_point = false;
	const char *p = text + decimal.negative;
	for (; *p && *p != 'e' && *p != 'E'; p++) {
		if (*p == '.') {
			behind_point = true;
			continue;
		}
		decimal.exponent -= behind_point;
		if (*p == '0') {
			zeros += decimal.count > 0;
			continue;
		}
		if (decimal.count == 0)
			decimal.digits = p;
		decimal.count += zeros + 1;
		zeros = 0;
	}
	decimal.exponent += (int64_t)zeros;
	if (*p)
		decimal.exponent += parse_exponent(p + 1);
	return decimal;
}

/* The digits times ten to the exponent; false when that does not fit. */
static bool decimal_magnitude(const struct decimal *decimal, uint64_t *ret)
{
	uint64_t value = 0;
	if (decimal->count > UINT64_DIGITS || decimal->exponent > UINT64_DIGITS)
		return false;
	const char *p = decimal->digits;
	for (size_t i = 0; i < decimal->count; p++) {
		if (*p == '.')
			continue;
		if (!checked_mul(value, 10, &value) || !checked_add(value, (uint64_t)(*p - '0'), &value))
			return false;
		i++;
	}
	for (int64_t i = 0; i < decimal->exponent; i++)
		if (!checked_mul(value, 10, &value))
			return false;
	*ret = value;
	return true;
}

/* The sign and magnitude of an integer whose magnitude is at most limit[negative]. */
static int get_integer(const struct json *json, const char *what, const uint64_t limit[2], bool *ret_negative,
					   uint64_t *ret_magnitude)
{
	const char *text = json_number_text(json);
	if (!text)
		return json_wrong_type(json, what, "an integer");
	struct decimal decimal = {0};
	uint64_t magnitude = 0;
	if (strcmp(text, "NaN") == 0 || strstr(text, "Infinity"))
		return err_set(EIO, "%s: not an integer: %s", what, text);
	decimal = decimal_parse(text);
	if (decimal.count > 0) {
		if (decimal.exponent < 0)
			return err_set(EIO, "%s: not an integer: " SPELLING, what, text);
		if (!decimal_magnitude(&decimal, &magnitude) || magnitude > limit[decimal.negative])
			return err_set(EIO, "%s: out of range: " SPELLING, what, text);
	}
	*ret_negative = decimal.negative;
	*ret_magnitude = magnitude;
	return 0;
}

int json_uint64(const struct json *json, const char *what, uint64_t *ret)
{
	static const uint64_t limit[] = {UINT64_MAX, 0};
	bool negative;
	return get_integer(json, what, limit, &negative, ret);
}

int json_int64(const struct json *json, const char *what, int64_t *ret)
{
	static const uint64_t limit[] = {INT64_MAX, (uint64_t)INT64_MAX + 1};
	bool negative;
	uint64_t magnitude;
	int rc = get_integer(json, what, limit, &negative, &magnitude);
	if (rc == 0)
		*ret = (int64_t)(negative ? -magnitude : magnitude);
	return rc;
}

static locale_t c_locale;

static void make_c_locale(void)
{
	c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

int json_double(const struct json *json, const char *what, double *ret)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, make_c_locale);
	const char *text = json_number_text(json);
	if (!text)
		return json_wrong_type(json, what, "a number");
	if (!c_locale)
		return err_set(ENOMEM, "out of memory");
	double value = strtod_l(text, NULL, c_locale);
	if (isinf(value) && !strstr(text, "Infinity"))
		return err_set(EIO, "%s: out of range: " SPELLING, what, text);
	*ret = value;
	return 0;
}

int json_uint64_list(const struct json *json, const char *what, int max, uint64_t *ret_values, int *ret_n)
{
	if (!json || json_type(json) != JSON_ARRAY)
		return json_wrong_type(json, what, "an array");
	if (json_count(json) > (size_t)max)
		return err_set(EFBIG, "%s: %zu elements, at most %d are supported", what, json_count(json), max);
	int n = 0;
	char element[128];
	/* Twice, as nothing is written before all of it is known to be right. */
	for (const struct json *item = json_first(json); item; item = json_next(item)) {
		uint64_t unused;
		snprintf(element, sizeof(element), "%s[%d]", what, n++);
		int rc = json_uint64(item, element, &unused);
		if (rc < 0)
			return rc;
	}
	n = 0;
	for (const struct json *item = json_first(json); item; item = json_next(item))
		json_uint64(item, what, &ret_values[n++]);
	*ret_n = n;
	return 0;
}
