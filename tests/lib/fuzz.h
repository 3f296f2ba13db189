/*
 * fuzz.h: what fuzz targets share: an invariant that ends the process, silence, and ranges of a value against all of it.
 */
#ifndef ZARRFS_TEST_FUZZ_H
#define ZARRFS_TEST_FUZZ_H

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "store/store.h"

static inline void check(bool holds)
{
	if (!holds)
		abort();
}

/* A log sink. */
static inline void discard_line(enum log_level level, const char *line, void *arg)
{
}

/* Ranges of a value, its end among them, are parts of the whole. */
static inline void check_parts(struct value *value, const struct buf *whole)
{
	uint8_t part[64];
	for (size_t i = 0; i < 3; i++) {
		struct range range = {.offset = whole->size / 3 * i, .length = 1 + 20 * i, .suffix = i == 2};
		size_t size, n = MIN(range.length, whole->size);
		size_t at = range.suffix ? whole->size - n : MIN((size_t)range.offset, whole->size);
		check(value_read(value, range, STORE_WAIT, part, &size) == 0);
		check(size == MIN(n, whole->size - at) && (size == 0 || memcmp(part, whole->data + at, size) == 0));
	}
}

#endif
