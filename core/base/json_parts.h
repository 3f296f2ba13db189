/*
 * json_parts.h: what json.c and json_*.c share; nobody else includes it.
 *
 * json_scan.c checks a document and rewrites it for cJSON, json.c keeps the tree, json_number.c gives numbers, json_string.c reads
 * strings where there is no tree.
 */
#ifndef ZARRFS_JSON_PARTS_H
#define ZARRFS_JSON_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

/*
 * In the rewritten text, a string value may hold JSON_MARK and a letter: what cJSON cannot keep. Raw control characters
 * never come from the document (RFC 8259 forbids them), and an escaped one that equals the mark is rewritten itself.
 */
#define JSON_MARK '\x01'
#define JSON_MARK_NUL '0'	 /* \u0000 */
#define JSON_MARK_SELF '1'	 /* \u0001 */
#define JSON_MARK_NUMBER 'n' /* first in a string: the rest is a number's spelling */

struct json_scan {
	char *text; /* the document for cJSON */
	size_t size;
	struct json_span *members; /* the values of the root object in the document's order, duplicates too */
	size_t member_count;
};

/* Checks the whole document and rewrites it; the caller finishes *ret_scan. EIO, EFBIG, ENOMEM as json_parse. */
int json_scan(const char *text, size_t size, struct json_scan *ret_scan);
void json_scan_finish(struct json_scan *scan);

/* The value of four hexadecimal digits, -1 when they are not. */
int json_hex4(const char *p, const char *end);

/* -EIO with "what: not a string but an array", or "what: missing" when `json` is NULL. `wanted` is "a string". */
int json_wrong_type(const struct json *json, const char *what, const char *wanted);

#endif
