/*
 * npy_descr.c: numpy's descr as a Python literal, written and read. Reading goes by way of JSON, whose parser has the limits:
 *
 *     [('a', '<i4'), ('b\'s', '<f8', (2,))]     ->     [["a","<i4"],["b's","<f8",[2]]]
 */
#include "view/npy_descr.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"

/* ------------------------------------------------ characters ------------------------------------------------ */

/* The code point of a well-formed sequence of n bytes. */
static uint32_t decode_utf8(const char *text, size_t n)
{
	const uint8_t *bytes = (const uint8_t *)text;
	uint32_t point = n == 1 ? bytes[0] : bytes[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		point = point << 6 | (bytes[i] & 0x3f);
	return point;
}

static void append_utf8(struct str *str, uint32_t point)
{
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	uint8_t text[4];
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, point >>= 6)
		text[i] = (uint8_t)(0x80 | (point & 0x3f));
	text[0] = (uint8_t)(first[n] | point);
	str_append_bytes(str, text, n);
}

bool npy_to_latin1(const struct str *text, struct str *ret_text)
{
	for (size_t at = 0, n; at < text->size; at += n) {
		n = str_utf8_length(text->text + at, text->size - at);
		uint32_t point = n ? decode_utf8(text->text + at, n) : 0x100;
		uint8_t byte = (uint8_t)point;
		if (point > 0xff)
			return false;
		str_append_bytes(ret_text, &byte, 1);
	}
	return true;
}

/* ------------------------------------------------ writing ------------------------------------------------ */

/* Of what repr() escapes: controls, and the blanks and marks that nobody would see. The rest of Unicode is printed. */
static bool is_printable(uint32_t point)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0, 0x1f},		  {0x7f, 0xa0},		{0xad, 0xad},	  {0x2000, 0x200f}, {0x2028, 0x202f},
		{0x205f, 0x206f}, {0x3000, 0x3000}, {0xe000, 0xf8ff}, {0xfeff, 0xfeff}, {0xfff0, 0xfffb},
	};
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (point >= hidden[i].first && point <= hidden[i].last)
			return false;
	return true;
}

static void append_escaped(struct str *str, uint32_t point)
{
	static const char letters[] = "\tt\nn\rr";
	const char *letter = point && point < 0x80 ? strchr(letters, (int)point) : NULL;
	if (letter)
		str_appendf(str, "\\%c", letter[1]);
	else
		str_appendf(str, point > 0xffff ? "\\U%08" PRIx32 : point > 0xff ? "\\u%04" PRIx32 : "\\x%02" PRIx32, point);
}

/* repr() of a string: in single quotes unless only they occur in it. */
static void append_repr(struct str *str, const char *text)
{
	char quote = strchr(text, '\'') && !strchr(text, '"') ? '"' : '\'';
	str_append_bytes(str, &quote, 1);
	for (size_t n, left = strlen(text); left > 0; text += n, left -= n) {
		n = str_utf8_length(text, left);
		uint32_t point = decode_utf8(text, n);
		if (point == (uint32_t)quote || point == '\\')
			str_appendf(str, "\\%c", (char)point);
		else if (is_printable(point))
			str_append_bytes(str, text, n);
		else
			append_escaped(str, point);
	}
	str_append_bytes(str, &quote, 1);
}

static void append_fields(const struct record *record, struct str *str)
{
	for (int i = 0; i < record->n_fields; i++) {
		const struct field *field = &record->fields[i];
		str_append(str, i ? ", (" : "[(");
		append_repr(str, field->name);
		str_append(str, ", ");
		npy_append_descr(&field->dtype, str);
		for (int a = 0; a < field->ndim; a++)
			str_appendf(str, "%s%" PRIu32, a ? ", " : ", (", field->shape[a]);
		str_append(str, field->ndim == 0 ? ")" : field->ndim == 1 ? ",))" : "))");
	}
	str_append(str, "]");
}

void npy_append_descr(const struct dtype *dtype, struct str *str)
{
	if (dtype->record)
		append_fields(dtype->record, str);
	else
		append_repr(str, dtype->descr);
}

/* ------------------------------------------------ reading ------------------------------------------------ */

bool npy_take(struct npy_literal *p, const char *token)
{
	size_t n = strlen(token);
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t'))
		p->at++;
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, token, n))
		return false;
	p->at += n;
	return true;
}

static bool take_hex(struct npy_literal *p, int digits, uint32_t *ret_point)
{
	uint32_t point = 0;
	for (; digits > 0; digits--, p->at++) {
		static const char hex[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = p->at < p->end && *p->at ? strchr(hex, *p->at) : NULL;
		if (!digit)
			return false;
		point = point << 4 | (uint32_t)((digit - hex) % 16);
	}
	*ret_point = point;
	return point > 0 && point <= 0x10ffff && (point < 0xd800 || point > 0xdfff);
}

/* What follows a backslash. */
static bool take_escape(struct npy_literal *p, struct str *text)
{
	static const char letters[] = "t\tn\nr\r\\\\''\"\"";
	uint32_t point;
	if (p->at == p->end)
		return false;
	char c = *p->at++;
	int digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
	if (digits) {
		if (!take_hex(p, digits, &point))
			return false;
		append_utf8(text, point);
		return true;
	}
	for (size_t i = 0; letters[i]; i += 2)
		if (c == letters[i]) {
			str_append_bytes(text, &letters[i + 1], 1);
			return true;
		}
	return false;
}

static bool take_string(struct npy_literal *p, struct str *json)
{
	autostr(text);
	char quote = *p->at++;
	while (p->at < p->end && *p->at != quote) {
		uint8_t c = (uint8_t)*p->at++;
		if (c == '\\' && !take_escape(p, &text))
			return false;
		if (c != '\\' && p->is_latin1)
			append_utf8(&text, c);
		else if (c != '\\')
			str_append_bytes(&text, &c, 1);
	}
	str_append_json(json, text.text, text.size);
	json->failed |= text.failed;
	return p->at < p->end && *p->at++ == quote;
}

/* A string, an integer, or a list or tuple of them, as JSON. */
static bool take_literal(struct npy_literal *p, struct str *json, int depth)
{
	if (npy_take(p, "(") || npy_take(p, "[")) {
		const char *close = p->at[-1] == '(' ? ")" : "]";
		str_append(json, "[");
		for (bool more = !npy_take(p, close), first = true; more; first = false) {
			if (depth == LIMIT_JSON_DEPTH)
				return false;
			str_append(json, first ? "" : ",");
			if (!take_literal(p, json, depth + 1))
				return false;
			bool comma = npy_take(p, ",");
			more = !npy_take(p, close);
			if (more && !comma)
				return false;
		}
		str_append(json, "]");
		return true;
	}
	if (p->at < p->end && (*p->at == '\'' || *p->at == '"'))
		return take_string(p, json);
	const char *start = p->at;
	while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
		p->at++;
	str_append_bytes(json, start, (size_t)(p->at - start));
	return p->at > start;
}

int npy_take_descr(struct npy_literal *p, struct dtype *ret_dtype, bool *ret_big_endian)
{
	autostr(text);
	struct json *json;
	if (!take_literal(p, &text, 0))
		return err_set(EIO, "descr: malformed");
	if (text.failed)
		return err_set(ENOMEM, "descr: no memory");
	int rc = json_parse(text.text, text.size, LIMIT_JSON_BYTES, NULL, &json);
	if (!rc) {
		rc = dtype_parse_descr_json(json, ret_dtype, ret_big_endian);
		json_free(json);
	}
	return rc;
}
