/*
 * until.h: waiting in a test for what other threads do: never for ever, and no sleep that is long enough "in general".
 */
#ifndef ZARRFS_UNTIL_H
#define ZARRFS_UNTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void sleep_us(uint64_t us)
{
	struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
	nanosleep(&t, NULL);
}

/* Whether the condition became true within 20 s. */
#define until(condition)                                                                                               \
	({                                                                                                                 \
		bool until_met = (condition);                                                                                  \
		for (int until_i = 0; !until_met && until_i < 20000; until_i++) {                                              \
			sleep_us(1000);                                                                                            \
			until_met = (condition);                                                                                   \
		}                                                                                                              \
		until_met;                                                                                                     \
	})

#endif
