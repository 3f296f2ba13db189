/*
 * json_scan.c: the one pass over a stranger's JSON text that everything later relies on.
 *
 * A recursive descent over RFC 8259's grammar, plus the bare words NaN, Infinity and -Infinity where a number may stand
 * (Python's json module writes them). It copies the text without white space as it goes, so that cJSON gets
 *
 *      {"a": [1.50, NaN], "b": "x\u0000y"}     as     {"a":["^n1.50","^nNaN"],"b":"x^0y"}      (^ is JSON_MARK)
 *
 * In names U+0000 becomes U+FFFD, because names are C strings; so do lone surrogates everywhere.
 */
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/json_parts.h"
#include "base/limits.h"
#include "base/str.h"

struct scanner {
	const char *start, *p, *end;
	char *out; /* has room: see json_scan; NULL: nothing is written */
	int depth;
	size_t values_left;
	int (*member)(void *arg, struct json_span name, struct json_span value); /* of the root object */
	void *arg;
};

static int scan_value(struct scanner *s);

/* ------------------------------------------------ helpers ------------------------------------------------ */

/* The next character; NUL at the end, which is no character of the grammar either. */
static inline char peek(const struct scanner *s)
{
	return s->p < s->end ? *s->p : '\0';
}

static inline void put(struct scanner *s, const char *text, size_t n)
{
	if (!s->out)
		return;
	memcpy(s->out, text, n);
	s->out += n;
}

static inline void copy(struct scanner *s, size_t n)
{
	put(s, s->p, n);
	s->p += n;
}

static inline void skip_space(struct scanner *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\n' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

static inline bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* -EIO with the place: line and column count from 1, columns in characters. */
static int scan_fail(const struct scanner *s, const char *problem)
{
	size_t line = 1, column = 1;
	for (const char *p = s->start; p < s->p; p++)
		if (*p == '\n') {
			line++;
			column = 1;
		} else if (((uint8_t)*p & 0xc0) != 0x80)
			column++;
	if (s->p == s->end)
		return err_set(EIO, "line %zu, column %zu: the document ends early: %s", line, column, problem);
	return err_set(EIO, "line %zu, column %zu: %s", line, column, problem);
}

/* ------------------------------------------------ strings ------------------------------------------------ */

/* An escape of the form \uXXXX, at the backslash. */
static int scan_unicode(struct scanner *s, bool name)
{
	static const char nul[] = {JSON_MARK, JSON_MARK_NUL}, self[] = {JSON_MARK, JSON_MARK_SELF};
	int unit = json_hex4(s->p + 2, s->end);
	if (unit < 0)
		return scan_fail(s, "\\u needs four hexadecimal digits");
	if (unit >= 0xd800 && unit < 0xdc00 && s->end - s->p >= 12 && s->p[6] == '\\' && s->p[7] == 'u') {
		int low = json_hex4(s->p + 8, s->end);
		if (low >= 0xdc00 && low < 0xe000) {
			copy(s, 12);
			return 0;
		}
	}
	if ((unit >= 0xd800 && unit < 0xe000) || (unit == 0 && name))
		put(s, "\\ufffd", 6);
	else if (unit == 0)
		put(s, nul, sizeof(nul));
	else if (unit == JSON_MARK && !name)
		put(s, self, sizeof(self));
	else
		put(s, s->p, 6);
	s->p += 6;
	return 0;
}

static int scan_escape(struct scanner *s, bool name)
{
	char kind = s->end - s->p >= 2 ? s->p[1] : '\0';
	if (kind == 'u')
		return scan_unicode(s, name);
	if (kind == '\0' || !strchr("\"\\/bfnrt", kind))
		return scan_fail(s, "unknown escape in a string");
	copy(s, 2);
	return 0;
}

static inline bool is_plain(char c)
{
	return (uint8_t)c >= 0x20 && (uint8_t)c < 0x80 && c != '"' && c != '\\';
}

/* A string, at its opening quote. */
static int scan_string(struct scanner *s, bool name)
{
	copy(s, 1);
	for (;;) {
		const char *plain = s->p;
		while (plain < s->end && is_plain(*plain))
			plain++;
		copy(s, (size_t)(plain - s->p));
		if (s->p == s->end)
			return scan_fail(s, "a string has no end");
		if (*s->p == '"') {
			copy(s, 1);
			return 0;
		}
		if (*s->p == '\\') {
			int rc = scan_escape(s, name);
			if (rc < 0)
				return rc;
			continue;
		}
		if ((uint8_t)*s->p < 0x20)
			return scan_fail(s, "control character in a string");
		size_t length = str_utf8_length(s->p, (size_t)(s->end - s->p));
		if (length == 0)
			return scan_fail(s, "not UTF-8");
		copy(s, length);
	}
}

/* ------------------------------------------------ numbers and words ------------------------------------------------ */

/* The end of the digits at `p`. */
static const char *skip_digits(const char *p, const char *end)
{
	while (p < end && is_digit(*p))
		p++;
	return p;
}

/* Whether the text goes on with `word`. */
static bool has_word(const char *p, const char *end, const char *word)
{
	size_t length = strlen(word);
	return (size_t)(end - p) >= length && memcmp(p, word, length) == 0;
}

/* Puts [s->p, end) as a tagged string. */
static void put_number(struct scanner *s, const char *end)
{
	static const char before[] = {'"', JSON_MARK, JSON_MARK_NUMBER};
	put(s, before, sizeof(before));
	copy(s, (size_t)(end - s->p));
	put(s, "\"", 1);
}

/* Fails at `place` instead of at the number's start. */
static int number_fail(struct scanner *s, const char *place)
{
	s->p = place;
	return scan_fail(s, "a digit is missing in a number");
}

/* number = [ minus ] int [ frac ] [ exp ], RFC 8259 section 6, or -Infinity. */
static int scan_number(struct scanner *s)
{
	const char *p = s->p + (*s->p == '-'), *digits = p;
	if (p > s->p && has_word(p, s->end, "Infinity")) {
		put_number(s, p + strlen("Infinity"));
		return 0;
	}
	p = p < s->end && *p == '0' ? p + 1 : skip_digits(p, s->end);
	if (p == digits)
		return number_fail(s, p);
	if (p < s->end && *p == '.') {
		digits = ++p;
		p = skip_digits(p, s->end);
		if (p == digits)
			return number_fail(s, p);
	}
	if (p < s->end && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < s->end && (*p == '+' || *p == '-'))
			p++;
		digits = p;
		p = skip_digits(p, s->end);
		if (p == digits)
			return number_fail(s, p);
	}
	put_number(s, p);
	return 0;
}

static int scan_word(struct scanner *s)
{
	static const struct {
		const char *text;
		bool number;
	} words[] = {{"true", false}, {"false", false}, {"null", false}, {"NaN", true}, {"Infinity", true}};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (has_word(s->p, s->end, words[i].text)) {
			if (words[i].number)
				put_number(s, s->p + strlen(words[i].text));
			else
				copy(s, strlen(words[i].text));
			return 0;
		}
	return scan_fail(s, "a value is expected");
}

/* ------------------------------------------------ arrays and objects ------------------------------------------------ */

static int scan_array(struct scanner *s)
{
	copy(s, 1);
	skip_space(s);
	if (peek(s) == ']') {
		copy(s, 1);
		return 0;
	}
	for (;;) {
		int rc = scan_value(s);
		if (rc < 0)
			return rc;
		skip_space(s);
		char c = peek(s);
		if (c != ',' && c != ']')
			return scan_fail(s, "',' or ']' is expected");
		copy(s, 1);
		if (c == ']')
			return 0;
	}
}

static struct json_span span_of(const struct scanner *s, const char *from, const char *to)
{
	return (struct json_span){(size_t)(from - s->start), (size_t)(to - from)};
}

/* "name": value */
static int scan_member(struct scanner *s)
{
	skip_space(s);
	if (peek(s) != '"')
		return scan_fail(s, "a member's name is expected");
	const char *name = s->p + 1;
	int rc = scan_string(s, true);
	if (rc < 0)
		return rc;
	struct json_span name_span = span_of(s, name, s->p - 1);
	skip_space(s);
	if (peek(s) != ':')
		return scan_fail(s, "':' is expected");
	copy(s, 1);
	skip_space(s);
	const char *value = s->p;
	rc = scan_value(s);
	return rc == 0 && s->depth == 1 ? s->member(s->arg, name_span, span_of(s, value, s->p)) : rc;
}

static int scan_object(struct scanner *s)
{
	copy(s, 1);
	skip_space(s);
	if (peek(s) == '}') {
		copy(s, 1);
		return 0;
	}
	for (;;) {
		int rc = scan_member(s);
		if (rc < 0)
			return rc;
		skip_space(s);
		char c = peek(s);
		if (c != ',' && c != '}')
			return scan_fail(s, "',' or '}' is expected");
		copy(s, 1);
		if (c == '}')
			return 0;
	}
}

static size_t max_values(size_t size)
{
	return MAX(size / LIMIT_JSON_VALUE_BYTES, (size_t)LIMIT_JSON_VALUES);
}

static int scan_value(struct scanner *s)
{
	skip_space(s);
	if (s->values_left-- == 0)
		return err_set(EFBIG, "more than %zu values", max_values((size_t)(s->end - s->start)));
	char c = peek(s);
	if (c == '"')
		return scan_string(s, false);
	if (c == '-' || is_digit(c))
		return scan_number(s);
	if (c != '{' && c != '[')
		return scan_word(s);
	if (s->depth == LIMIT_JSON_DEPTH)
		return err_set(EFBIG, "nested deeper than %d levels", LIMIT_JSON_DEPTH);
	s->depth++;
	int rc = c == '{' ? scan_object(s) : scan_array(s);
	s->depth--;
	return rc;
}

static const char byte_order_mark[] = "\xef\xbb\xbf";

static int scan_document(struct scanner *s)
{
	if (has_word(s->p, s->end, byte_order_mark))
		s->p += strlen(byte_order_mark);
	int rc = scan_value(s);
	if (rc < 0)
		return rc;
	while (s->p < s->end && (*s->p == '\0' || strchr(" \n\t\r", *s->p)))
		s->p++;
	return s->p == s->end ? 0 : scan_fail(s, "something stands behind the value");
}

struct collector {
	struct json_scan scan;
	size_t capacity;
};

static int collect_value(void *arg, struct json_span name, struct json_span value)
{
	struct collector *collector = arg;
	struct json_scan *scan = &collector->scan;
	if (scan->member_count == collector->capacity) {
		size_t capacity = MAX(collector->capacity * 2, (size_t)16);
		struct json_span *members = realloc(scan->members, capacity * sizeof(*members));
		if (!members)
			return err_set(ENOMEM, "out of memory");
		scan->members = members;
		collector->capacity = capacity;
	}
	scan->members[scan->member_count++] = value;
	return 0;
}

int json_scan(const char *text, size_t size, struct json_scan *ret_scan)
{
	struct collector collector = {0};
	/*
	 * Only numbers grow, by 4 bytes each, and two numbers have a character between them: at most 4 * (size + 1) / 2
	 * bytes more. The pages that are not written cost nothing.
	 */
	if (size > SIZE_MAX / 4)
		return err_set(EFBIG, "document of %zu bytes", size);
	collector.scan.text = malloc(3 * size + 8);
	if (!collector.scan.text)
		return err_set(ENOMEM, "out of memory");
	struct scanner s = {
		.start = text,
		.p = text,
		.end = text + size,
		.out = collector.scan.text,
		.values_left = max_values(size),
		.member = collect_value,
		.arg = &collector,
	};
	int rc = scan_document(&s);
	if (rc < 0) {
		json_scan_finish(&collector.scan);
		return rc;
	}
	collector.scan.size = (size_t)(s.out - collector.scan.text);
	*ret_scan = collector.scan;
	return 0;
}

void json_scan_finish(struct json_scan *scan)
{
	free(scan->text);
	free(scan->members);
	*scan = (struct json_scan){0};
}

int json_each_member(const char *text, size_t size,
					 int (*emit)(void *arg, struct json_span name, struct json_span value), void *arg)
{
	struct scanner s = {
		.start = text, .p = text, .end = text + size, .values_left = SIZE_MAX, .member = emit, .arg = arg};
	if (has_word(s.p, s.end, byte_order_mark))
		s.p += strlen(byte_order_mark);
	skip_space(&s);
	return peek(&s) == '{' ? scan_document(&s) : scan_fail(&s, "not an object");
}
