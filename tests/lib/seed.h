/*
 * seed.h: random numbers that can be had again. The seed is printed once; ZARRFS_TEST_SEED sets it.
 */
#ifndef ZARRFS_SEED_H
#define ZARRFS_SEED_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t test_seed(void)
{
	const char *given = getenv("ZARRFS_TEST_SEED");
	uint64_t seed = given ? strtoull(given, NULL, 0) : (uint64_t)time(NULL);
	printf("ZARRFS_TEST_SEED=%" PRIu64 "\n", seed);
	return seed;
}

/* splitmix64: the next number of a stream. */
static inline uint64_t test_random(uint64_t *state)
{
	uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

#endif
