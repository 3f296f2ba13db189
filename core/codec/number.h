/*
 * number.h: the element types of numcodecs' filters, and numpy's astype between them.
 *
 * Filters work on a flat run of elements (numcodecs: `ensure_ndarray(buf).view(dtype)`), whose types their configuration
 * names. All of it is stateless: any thread.
 */
#ifndef ZARRFS_NUMBER_H
#define ZARRFS_NUMBER_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "meta/dtype.h"

#define NUMBER_UNIT_BYTES 16

struct number {
	enum dtype_kind kind;		  /* bool, int, uint, float, complex, datetime or timedelta */
	uint32_t size;				  /* bytes */
	uint32_t swap_unit;			  /* bytes that change places between the stored order and ours; 1: none */
	char unit[NUMBER_UNIT_BYTES]; /* of a time: "[10us]", or "" for a generic one */
};

/* Elements that are worked on at a time, on the stack. */
#define NUMBER_BLOCK 256
#define NUMBER_BYTES 16 /* the largest */

/*
 * A member of a configuration: numpy's typestring ("<i4", "f8") or name ("int32"). NULL fallback: the member must be there.
 * EIO when it is missing or malformed, ENOTSUP for a type that is no number.
 */
int number_parse(const struct json *config, const char *member, const struct number *fallback,
				 struct number *ret_number);

/* An array's elements, in our byte order; false when they are no numbers. */
bool number_of_dtype(const struct dtype *dtype, struct number *ret_number);

bool number_is_time(const struct number *number);

/*
 * Whether number_cast can, else ENOTSUP with the reason: not from complex to real numbers, where numpy drops a part, nor between
 * times of different units, where it multiplies.
 */
int number_check_cast(const struct number *from, const struct number *to);

/*
 * n elements (at most NUMBER_BLOCK) in our byte order and aligned, as numpy's `astype` converts them: integers wrap, floats lose
 * their fraction, and what does not fit gives what an x86 CPU gives.
 */
void number_cast(const struct number *from, const struct number *to, const void *src, void *dst, size_t n);

/* The type that numpy computes in when both meet (numpy.promote_types): int32 and float32 meet in float64. */
struct number number_promote(const struct number *a, const struct number *b);

/* n halves <-> singles; rounding to nearest, ties to even. */
void number_from_halves(const uint16_t *src, float *dst, size_t n);
void number_to_halves(const float *src, uint16_t *dst, size_t n);

#endif
