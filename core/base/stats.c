/*
 * stats.c: the counters and their names, both made from STATS_ROWS.
 */
#include "base/stats.h"

_Atomic uint64_t stats_values[STATS_COUNT];

static const char *const stats_names[STATS_COUNT] = {
#define ROW(name) #name,
	STATS_ROWS(ROW)
#undef ROW
};

const char *stats_name(int i)
{
	return stats_names[i];
}

uint64_t stats_value(int i)
{
	return atomic_load_explicit(&stats_values[i], memory_order_relaxed);
}
