/*
 * json.h: JSON documents from strangers (RFC 8259), with typed getters whose messages name the member.
 *
 * cJSON keeps numbers as doubles, rejects bare NaN, returns the first of duplicate keys and ends strings at \u0000. So
 * the text is scanned first (size, depth, UTF-8, duplicate keys: the last wins), and every number and every bare NaN,
 * Infinity or -Infinity reaches cJSON as a tagged string that keeps its spelling. This is the only file that sees cJSON.
 *
 * A parsed tree is const: any thread. A getter fails with EIO and a message such as `shape[2]: not an integer`; the
 * caller prefixes the file's name.
 */
#ifndef ZARRFS_JSON_H
#define ZARRFS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

struct json; /* any value of a parsed document; lives as long as its root */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/*
 * Parses a whole document of at most `max_bytes` bytes, LIMIT_JSON_DEPTH levels and LIMIT_JSON_VALUES values (more in a
 * long one: see limits.h). A byte order mark and trailing white space or NULs are skipped; anything else behind the value is an error. Errors: EIO (malformed: says line and column),
 * EFBIG (over a limit), ENOMEM. *ret_duplicates, unless NULL, says whether an object had a name twice.
 */
int json_parse(const char *text, size_t size, uint64_t max_bytes, bool *ret_duplicates, struct json **ret_root);

/* A piece of a text. */
struct json_span {
	size_t offset, size;
};

/*
 * Checks a document as json_parse does, but for its size and number of values, and gives the members of its root object one after
 * the other, duplicates too, without a tree: all that it takes is the text. Both are as they are written, the name without its quotes
 * (json_unescape). A failure of emit is passed on. EIO also when the root is no object; EFBIG.
 */
int json_each_member(const char *text, size_t size,
					 int (*emit)(void *arg, struct json_span name, struct json_span value), void *arg);

/*
 * The bytes that the inside of a checked string means; as many as it has at most, and `to` may be the text itself. Lone surrogates
 * become U+FFFD. Returns how many.
 */
size_t json_unescape(const char *text, size_t size, char *to);

/* The library behind it: "cJSON 1.7.15". */
const char *json_library(void);

/* Frees a document by its root; NULL is legal. */
void json_free(struct json *root);

enum json_type json_type(const struct json *json);
const char *json_type_name(enum json_type type); /* "null", "a boolean", "a number" ... for messages */

/* Members and elements. json_get is case-sensitive and gives NULL when absent or when `json` is no object (or NULL). */
const struct json *json_get(const struct json *json, const char *name);
size_t json_count(const struct json *json);
const struct json *json_first(const struct json *json); /* of an array or object; NULL when empty */
const struct json *json_next(const struct json *item);	/* NULL after the last */
const char *json_name(const struct json *item);			/* the member's name; NULL for an array's element */

/* Values. `what` names the value in the message, such as "shape[2]". EIO when the type is another or it does not fit. */
int json_bool(const struct json *json, const char *what, bool *ret);
int json_uint64(const struct json *json, const char *what,
				uint64_t *ret); /* integers only: also 1e3 and 2.0, exactly */
int json_int64(const struct json *json, const char *what, int64_t *ret);
int json_double(const struct json *json, const char *what, double *ret); /* also NaN, Infinity, -Infinity tokens */

/* A string's bytes; *ret_size, unless NULL, counts them (a string may hold NULs: then with NULL it is EIO). */
int json_string(const struct json *json, const char *what, const char **ret_text, size_t *ret_size);

/* A number's own spelling ("-0.0", "1e400", "NaN"); NULL when it is no number. */
const char *json_number_text(const struct json *json);

/* A list of at most `max` unsigned integers. EFBIG when longer. */
int json_uint64_list(const struct json *json, const char *what, int max, uint64_t *ret_values, int *ret_n);

/* Where the value of the root object's member `name` stands in the text that was parsed; false when absent. */
bool json_slice(const struct json *root, const char *name, size_t *ret_offset, size_t *ret_size);

/* The value printed without white space, numbers in their own spelling. The caller frees; NULL without memory. */
char *json_print(const struct json *json);

#endif
