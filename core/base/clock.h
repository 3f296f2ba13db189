/*
 * clock.h: the time that deadlines and memories are counted in.
 */
#ifndef ZARRFS_CLOCK_H
#define ZARRFS_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)). */
static inline uint64_t monotonic_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

#endif
