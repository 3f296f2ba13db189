/*
 * checked.h: arithmetic that fails instead of wrapping, for every number that comes from a store.
 *
 * Each returns true on success and stores the result; false when it does not fit, *ret is then unspecified.
 */
#ifndef ZARRFS_CHECKED_H
#define ZARRFS_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool checked_add(uint64_t a, uint64_t b, uint64_t *ret)
{
	return !__builtin_add_overflow(a, b, ret);
}

static inline bool checked_sub(uint64_t a, uint64_t b, uint64_t *ret)
{
	return !__builtin_sub_overflow(a, b, ret);
}

static inline bool checked_mul(uint64_t a, uint64_t b, uint64_t *ret)
{
	return !__builtin_mul_overflow(a, b, ret);
}

/* The product of n factors; 1 for n = 0. */
static inline bool checked_product(const uint64_t *factors, int n, uint64_t *ret)
{
	uint64_t product = 1;
	for (int i = 0; i < n; i++)
		if (!checked_mul(product, factors[i], &product))
			return false;
	*ret = product;
	return true;
}

/* The smallest multiple of `b` units that holds `a`, in units; b > 0. Cannot overflow. */
static inline uint64_t ceil_div(uint64_t a, uint64_t b)
{
	return a / b + (a % b != 0);
}

#endif
