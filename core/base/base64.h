/*
 * base64.h: bytes as text: base64 (RFC 4648, section 4) and hexadecimal.
 */
#ifndef ZARRFS_BASE64_H
#define ZARRFS_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* "0x" and exactly two digits for each of `size` bytes, the first byte first; else false. */
bool hex_parse(const char *text, size_t length, uint8_t *ret_bytes, size_t size);

/* The number of bytes (at most `max`) in *ret_size; false when it is no base64 or is longer. Both write ret_bytes as they go. */
bool base64_parse(const char *text, size_t length, uint8_t *ret_bytes, size_t max, size_t *ret_size);

/* The text without quotes. */
void base64_print(struct str *str, const uint8_t *bytes, size_t size);

#endif
