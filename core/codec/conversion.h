/*
 * conversion.h: numbers of one type as the same numbers of another, in the sense of the codec `cast_value` (zarr-extensions,
 * "cast_value"): not numpy's astype, but values that are kept, rounded as was said, or refused.
 * Const after it was filled: any thread.
 */
#ifndef ZARRFS_CONVERSION_H
#define ZARRFS_CONVERSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/number.h"

enum rounding {
	ROUND_NEAREST_EVEN,
	ROUND_TOWARDS_ZERO,
	ROUND_TOWARDS_POSITIVE,
	ROUND_TOWARDS_NEGATIVE,
	ROUND_NEAREST_AWAY,
};

enum out_of_range {
	OUT_OF_RANGE_ERROR,
	OUT_OF_RANGE_CLAMP, /* to the type's smallest or largest number */
	OUT_OF_RANGE_WRAP,	/* integers only */
};

/* An element of `from` that becomes a certain one of `to`, whatever their values; each in its type. A NaN means every NaN. */
struct exception {
	uint8_t from[8], to[8];
};

#define CONVERSION_EXCEPTIONS 32

struct conversion {
	struct number from, to; /* integers and floats */
	enum rounding rounding; /* of floats to integers */
	enum out_of_range out_of_range;
	int n_exceptions;
	struct exception exceptions[CONVERSION_EXCEPTIONS]; /* the last that fits */
};

/* Whether every integer or float of `from` is a float of `to`. */
bool conversion_is_exact(const struct number *from, const struct number *to);

/*
 * n elements (at most NUMBER_BLOCK) in our byte order and aligned. EIO for one that has no counterpart, or one between two floats
 * unless rounding is to the nearest.
 */
int conversion_run(const struct conversion *conversion, const void *src, void *dst, size_t n);

#endif
