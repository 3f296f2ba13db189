/*
 * input.h: numbers and texts from a fuzzer's input, one after the other; what is missing is 0.
 */
#ifndef ZARRFS_TEST_INPUT_H
#define ZARRFS_TEST_INPUT_H

#include <string.h>

#include "base/base.h"
#include "base/endian.h"

struct input {
	const uint8_t *p, *end;
};

static inline uint64_t take(struct input *in, size_t bytes)
{
	uint8_t value[8] = {0};
	size_t n = MIN(bytes, (size_t)(in->end - in->p));
	memcpy(value, in->p, n);
	in->p += n;
	return load_le64(value);
}

static inline unsigned take_below(struct input *in, unsigned limit)
{
	return (unsigned)take(in, 1) % limit;
}

/* Up to and without `end`, or all that is left. */
static inline size_t take_until(struct input *in, char end, const uint8_t **ret_text)
{
	size_t left = (size_t)(in->end - in->p);
	const uint8_t *found = left ? memchr(in->p, end, left) : NULL;
	size_t n = found ? (size_t)(found - in->p) : left;
	*ret_text = in->p;
	in->p += n + (found != NULL);
	return n;
}

#endif
