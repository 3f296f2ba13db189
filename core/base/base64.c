/*
 * base64.c: by tables of characters.
 */
#include "base/base64.h"

#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool hex_parse(const char *text, size_t length, uint8_t *bytes, size_t size)
{
	if (length != 2 + 2 * size || text[0] != '0' || text[1] != 'x')
		return false;
	for (size_t i = 0; i < size; i++) {
		int high = hex_digit(text[2 + 2 * i]), low = hex_digit(text[3 + 2 * i]);
		if (high < 0 || low < 0)
			return false;
		bytes[i] = (uint8_t)(high << 4 | low);
	}
	return true;
}

static const char base64_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

bool base64_parse(const char *text, size_t length, uint8_t *bytes, size_t max, size_t *ret_size)
{
	if (length % 4 != 0)
		return false;
	size_t padding = 0, at = 0;
	while (padding < 2 && padding < length && text[length - 1 - padding] == '=')
		padding++;
	uint32_t group = 0;
	for (size_t i = 0; i < length; i++) {
		const char *digit = text[i] ? strchr(base64_digits, text[i]) : NULL;
		if (!digit && i < length - padding)
			return false;
		group = group << 6 | (digit ? (uint32_t)(digit - base64_digits) : 0);
		if (i % 4 != 3)
			continue;
		for (size_t j = 0; j < (i + 1 == length ? 3 - padding : 3); j++) {
			if (at == max)
				return false;
			bytes[at++] = (uint8_t)(group >> (16 - 8 * j));
		}
		group = 0;
	}
	*ret_size = at;
	return true;
}

void base64_print(struct str *str, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i += 3) {
		size_t n = MIN(size - i, 3);
		uint32_t group =
			(uint32_t)bytes[i] << 16 | (n > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (n > 2 ? bytes[i + 2] : 0);
		char text[4] = {base64_digits[group >> 18], base64_digits[group >> 12 & 63],
						n > 1 ? base64_digits[group >> 6 & 63] : '=', n > 2 ? base64_digits[group & 63] : '='};
		str_append_bytes(str, text, sizeof(text));
	}
}
