/*
 * cache_impl.h: what the two files of the cache share: cache.c has the entries, room.c the memory that they may take.
 */
#ifndef ZARRFS_CACHE_IMPL_H
#define ZARRFS_CACHE_IMPL_H

#include <stdatomic.h>

#include "cache/budget.h"
#include "cache/cache.h"
#include "cache/entries.h"

#define STRIPES 16
#define INDEX_STRIPE STRIPES

struct cache {
	struct stripe stripes[STRIPES + 1];
	struct budget budget;
	unsigned max_indexes;
	uint64_t patience_ns; /* 0: endless */
	atomic_uint next_victim;
	_Atomic uint64_t next_owner;
};

/* Charges an entry before it can be evicted, and makes room for what was not reserved for it. */
void cache_charge(struct cache *cache, uint64_t reserved, uint64_t charged);

/* Bytes of entries that are gone. */
void cache_uncharge(struct cache *cache, uint64_t bytes);

/* Indexes beyond the allowed number go at once: each holds a descriptor. Absent ones hold nothing and do not count. */
void cache_trim_indexes(struct cache *cache);

/* Grants whoever waits and fits, evicting for them. To be called after all that makes room, and by who lines up. */
void cache_grant(struct cache *cache);

#endif
