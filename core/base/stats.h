/*
 * stats.h: named counters, relaxed and monotonic but for the two gauges at the end; shown in .zarrfs/stats.json.
 * Any thread. To add a counter, add a row.
 */
#ifndef ZARRFS_STATS_H
#define ZARRFS_STATS_H

#include <stdatomic.h>
#include <stdint.h>

#define STATS_ROWS(ROW)                                                                                                \
	ROW(reads)			 /* read requests answered */                                                                  \
	ROW(read_bytes)		 /* bytes answered */                                                                          \
	ROW(read_errors)	 /* read requests answered with an errno */                                                    \
	ROW(timeouts)		 /* requests answered by their deadline */                                                     \
	ROW(detached)		 /* requests that left the thread they came in */                                              \
	ROW(cache_hits)		 /* chunks found decoded */                                                                    \
	ROW(cache_misses)	 /* chunks that had to be loaded */                                                            \
	ROW(cache_joins)	 /* chunks found while somebody was loading them */                                            \
	ROW(cache_evictions) /* chunks dropped for room */                                                                 \
	ROW(store_opens)	 /* values opened */                                                                           \
	ROW(store_bytes)	 /* bytes read from the store */                                                               \
	ROW(indexes_read)	 /* shard indexes read */                                                                      \
	ROW(chunks_decoded)	 /* chunks decoded */                                                                          \
	ROW(decoded_bytes)	 /* bytes of decoded chunks */                                                                 \
	ROW(ahead_loads)	 /* chunks loaded by read-ahead */                                                             \
	ROW(ahead_used)		 /* of those, chunks that a read asked for later */                                            \
	ROW(cache_bytes)	 /* gauge: bytes of the budget in use */                                                       \
	ROW(stuck_loads)	 /* gauge: loads past their deadline */

enum stats_id {
#define ROW(name) STATS_##name,
	STATS_ROWS(ROW)
#undef ROW
		STATS_COUNT
};

extern _Atomic uint64_t stats_values[STATS_COUNT];

#define stats_add(name, n) atomic_fetch_add_explicit(&stats_values[STATS_##name], (uint64_t)(n), memory_order_relaxed)
#define stats_get(name) atomic_load_explicit(&stats_values[STATS_##name], memory_order_relaxed)

/* The name and value of row i, 0 <= i < STATS_COUNT. */
const char *stats_name(int i);
uint64_t stats_value(int i);

#endif
