/*
 * json_string.c: strings as they are written -> bytes (RFC 8259, section 7), for documents that have no tree.
 */
#include <string.h>

#include "base/json_parts.h"

int json_hex4(const char *p, const char *end)
{
	int value = 0;
	if (end - p < 4)
		return -1;
	for (int i = 0; i < 4; i++) {
		char lower = (char)(p[i] | 0x20);
		if (p[i] >= '0' && p[i] <= '9')
			value = value * 16 + (p[i] - '0');
		else if (lower >= 'a' && lower <= 'f')
			value = value * 16 + (lower - 'a' + 10);
		else
			return -1;
	}
	return value;
}

static size_t put_utf8(unsigned code, char *to)
{
	if (code < 0x80) {
		to[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		to[0] = (char)(0xc0 | code >> 6);
		to[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	if (code < 0x10000) {
		to[0] = (char)(0xe0 | code >> 12);
		to[1] = (char)(0x80 | (code >> 6 & 0x3f));
		to[2] = (char)(0x80 | (code & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | code >> 18);
	to[1] = (char)(0x80 | (code >> 12 & 0x3f));
	to[2] = (char)(0x80 | (code >> 6 & 0x3f));
	to[3] = (char)(0x80 | (code & 0x3f));
	return 4;
}

static bool is_high(int unit)
{
	return unit >= 0xd800 && unit < 0xdc00;
}

static bool is_low(int unit)
{
	return unit >= 0xdc00 && unit < 0xe000;
}

/* The character of the escape at `p` ("\\uXXXX", perhaps two of them); moves p behind it. */
static unsigned take_unicode(const char **p, const char *end)
{
	int unit = json_hex4(*p + 2, end), low = -1;
	*p += 6;
	if (is_high(unit) && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u')
		low = json_hex4(*p + 2, end);
	if (is_low(low)) {
		*p += 6;
		return 0x10000 + ((unsigned)(unit - 0xd800) << 10) + (unsigned)(low - 0xdc00);
	}
	return is_high(unit) || is_low(unit) ? 0xfffd : (unsigned)unit;
}

size_t json_unescape(const char *text, size_t size, char *to)
{
	static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
	const char *start = to, *end = text + size;
	while (text < end) {
		const char *escape = memchr(text, '\\', (size_t)(end - text));
		size_t plain = (size_t)((escape ? escape : end) - text);
		memmove(to, text, plain);
		to += plain;
		text += plain;
		if (!escape)
			break;
		if (text[1] == 'u') {
			to += put_utf8(take_unicode(&text, end), to);
		} else {
			*to++ = meant[strchr(letters, text[1]) - letters];
			text += 2;
		}
	}
	return (size_t)(to - start);
}
