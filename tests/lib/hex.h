/*
 * hex.h: bytes that a test writes as text: "0a0b 0c", spaces where a reader wants them.
 */
#ifndef ZARRFS_TEST_HEX_H
#define ZARRFS_TEST_HEX_H

#include <check.h>
#include <stdint.h>
#include <stdio.h>

/* Returns their number; ret_bytes has room. */
static inline size_t from_hex(const char *hex, uint8_t *ret_bytes)
{
	size_t n = 0;
	unsigned byte;
	for (; *hex; hex += *hex == ' ' ? 1 : 2) {
		if (*hex == ' ')
			continue;
		ck_assert_int_eq(sscanf(hex, "%2x", &byte), 1);
		ret_bytes[n++] = (uint8_t)byte;
	}
	return n;
}

#endif
