/*
 * str.h: a growing string, and keys.
 *
 * After a failed allocation a str stays as it is and `failed` is set, so a caller may append many times and check once.
 * One thread at a time.
 */
#ifndef ZARRFS_STR_H
#define ZARRFS_STR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/base.h"

struct str {
	char *text; /* always ended by NUL, "" when empty */
	size_t size;
	bool failed;
	size_t capacity; /* private */
};

/* An empty string; nothing is allocated. */
void str_init(struct str *str);
void str_finish(struct str *str);

void str_append(struct str *str, const char *text);
void str_append_bytes(struct str *str, const void *bytes, size_t size);
void str_appendf(struct str *str, const char *fmt, ...) printf_like(2, 3);

/* Printable ASCII and valid UTF-8 as they are, everything else and the backslash as \xNN: fit for a log line. */
void str_append_escaped(struct str *str, const char *text, size_t size);

/* The text as a JSON string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void str_append_json(struct str *str, const char *text, size_t size);

/* Bytes of the well-formed UTF-8 sequence that `text` begins with; 0 when there is none. */
size_t str_utf8_length(const char *text, size_t size);

/* Takes the text over (free it); -ENOMEM when an append failed. The str is empty afterwards. */
int str_take(struct str *str, char **ret_text);

/* "a/b" from "a" and "b"; no slash when either is empty. The caller frees; NULL without memory. */
char *str_join_key(const char *prefix, const char *suffix);

/* Whether `name` can be one path segment: 1 to 255 bytes, no slash, no NUL, not "." or "..", valid UTF-8 not required. */
bool str_is_name(const char *name, size_t size);

static inline void str_finish_p(struct str *str)
{
	str_finish(str);
}

/* Declares an empty str that is finished at the end of the block. */
#define autostr(name)                                                                                                  \
	__attribute__((cleanup(str_finish_p))) struct str name;                                                            \
	str_init(&name)

#endif
