/*
 * str.c: a growing string, escaping, and keys.
 */
#include "base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/limits.h"

/* What an str that owns nothing points to; never written, as `capacity` is 0. */
static char str_nothing[1];

void str_init(struct str *str)
{
	*str = (struct str){.text = str_nothing};
}

void str_finish(struct str *str)
{
	if (str->capacity > 0)
		free(str->text);
	str_init(str);
}

/* Room for `more` bytes and the NUL behind them. */
static bool str_reserve(struct str *str, size_t more)
{
	if (str->failed)
		return false;
	size_t needed;
	if (__builtin_add_overflow(str->size, more, &needed) || needed >= SIZE_MAX / 2) {
		str->failed = true;
		return false;
	}
	if (needed < str->capacity)
		return true;
	size_t capacity = MAX(needed + 1, MAX(str->capacity * 2, (size_t)64));
	char *text = realloc(str->capacity > 0 ? str->text : NULL, capacity);
	if (!text) {
		str->failed = true;
		return false;
	}
	str->text = text;
	str->capacity = capacity;
	return true;
}

void str_append_bytes(struct str *str, const void *bytes, size_t size)
{
	if (size == 0 || !str_reserve(str, size))
		return;
	memcpy(str->text + str->size, bytes, size);
	str->size += size;
	str->text[str->size] = '\0';
}

void str_append(struct str *str, const char *text)
{
	str_append_bytes(str, text, strlen(text));
}

void str_appendf(struct str *str, const char *fmt, ...)
{
	va_list args, again;
	va_start(args, fmt);
	va_copy(again, args);
	char small[128];
	int printed = vsnprintf(small, sizeof(small), fmt, args);
	if (printed < 0)
		str->failed = true;
	else if ((size_t)printed < sizeof(small))
		str_append_bytes(str, small, (size_t)printed);
	else if (str_reserve(str, (size_t)printed)) {
		vsnprintf(str->text + str->size, (size_t)printed + 1, fmt, again);
		str->size += (size_t)printed;
	}
	va_end(again);
	va_end(args);
}

/*
 * Well-formed sequences (Unicode, table 3-7): the second byte's range depends on the first, which excludes overlong
 * forms, surrogates and what lies beyond U+10FFFF.
 */
size_t str_utf8_length(const char *text, size_t size)
{
	const uint8_t *p = (const uint8_t *)text;
	if (size == 0)
		return 0;
	if (p[0] < 0x80)
		return 1;
	if (p[0] < 0xc2 || p[0] > 0xf4)
		return 0;
	size_t length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	if (size < length)
		return 0;
	uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
	uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

void str_append_escaped(struct str *str, const char *text, size_t size)
{
	size_t length;
	for (size_t i = 0; i < size; i += length) {
		uint8_t byte = (uint8_t)text[i];
		length = str_utf8_length(text + i, size - i);
		if (length > 1 || (byte >= 0x20 && byte < 0x7f && byte != '\\'))
			str_append_bytes(str, text + i, length);
		else {
			str_appendf(str, "\\x%02x", byte);
			length = 1;
		}
	}
}

/* The two-character escapes of RFC 8259, section 7; the rest of the control characters are \u00XX. */
static void str_append_json_escape(struct str *str, uint8_t byte)
{
	static const char *const shorts[] = {['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
										 ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
	if (byte < ARRAY_LEN(shorts) && shorts[byte])
		str_append(str, shorts[byte]);
	else
		str_appendf(str, "\\u%04x", byte);
}

void str_append_json(struct str *str, const char *text, size_t size)
{
	str_append_bytes(str, "\"", 1);
	size_t plain = 0; /* bytes [plain, i) go as they are */
	for (size_t i = 0; i < size;) {
		uint8_t byte = (uint8_t)text[i];
		size_t length = str_utf8_length(text + i, size - i);
		if (length > 1 || (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\')) {
			i += length;
			continue;
		}
		str_append_bytes(str, text + plain, i - plain);
		if (length == 0)
			str_append(str, "\xef\xbf\xbd");
		else
			str_append_json_escape(str, byte);
		plain = ++i;
	}
	str_append_bytes(str, text + plain, size - plain);
	str_append_bytes(str, "\"", 1);
}

int str_take(struct str *str, char **ret_text)
{
	char *text = NULL;
	if (!str->failed && str->capacity > 0) {
		text = str->text;
		str_init(str);
	} else if (!str->failed)
		text = strdup("");
	str_finish(str);
	if (!text)
		return -ENOMEM;
	*ret_text = text;
	return 0;
}

char *str_join_key(const char *prefix, const char *suffix)
{
	size_t before = strlen(prefix), behind = strlen(suffix);
	size_t slash = before > 0 && behind > 0;
	char *key = malloc(before + slash + behind + 1);
	if (!key)
		return NULL;
	memcpy(key, prefix, before);
	memcpy(key + before, "/", slash);
	memcpy(key + before + slash, suffix, behind + 1);
	return key;
}

bool str_is_name(const char *name, size_t size)
{
	if (size == 0 || size > LIMIT_NAME_BYTES)
		return false;
	if (memchr(name, '/', size) || memchr(name, '\0', size))
		return false;
	return !(name[0] == '.' && (size == 1 || (size == 2 && name[1] == '.')));
}
