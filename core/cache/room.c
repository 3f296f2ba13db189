/*
 * room.c: the budget's room: what is evicted for whom, and who waits for it.
 */
#include "base/stats.h"
#include "cache/cache_impl.h"

/* Of the budget: what probation has at least before kept entries go, and what indexes have at most before chunks go. */
#define SHARE 4

void cache_uncharge(struct cache *cache, uint64_t bytes)
{
	budget_uncharge(&cache->budget, bytes);
	stats_add(cache_bytes, -bytes);
}

static uint64_t evict_one(struct cache *cache, struct stripe *stripe, bool kept_too)
{
	struct buf *buf;
	uint64_t freed = stripe_evict(stripe, budget_limit(&cache->budget) / SHARE / STRIPES, kept_too, &buf);
	buf_unref(buf);
	return freed;
}

/* Chunks: one of each stripe in turn, until so many bytes are free or no stripe gives any. */
static uint64_t evict_chunks(struct cache *cache, uint64_t bytes, bool kept_too)
{
	unsigned at = atomic_fetch_add_explicit(&cache->next_victim, 1, memory_order_relaxed);
	uint64_t freed = 0;
	for (int idle = 0; freed < bytes && idle < STRIPES; at++) {
		uint64_t one = evict_one(cache, &cache->stripes[at % STRIPES], kept_too);
		idle = one ? 0 : idle + 1;
		freed += one;
	}
	return freed;
}

/* Indexes, while more than `floor` bytes of them are left. */
static uint64_t evict_indexes(struct cache *cache, uint64_t bytes, uint64_t floor)
{
	struct stripe *stripe = &cache->stripes[INDEX_STRIPE];
	uint64_t freed = 0, one = 1;
	while (one && freed < bytes && stripe_charged(stripe) > floor) {
		one = evict_one(cache, stripe, true);
		freed += one;
	}
	return freed;
}

/*
 * Frees at least `bytes` of entries if there are so many; returns what it freed. Probation goes before what is kept. An
 * index serves all chunks of its shard, so indexes go last, unless they take more than their share.
 *
 * Entries are gone from their stripe before they are uncharged; a thread that looks meanwhile finds nothing to evict and
 * counts on us: so whoever evicts tries the budget afterwards, and on failure calls cache_grant.
 */
static uint64_t evict(struct cache *cache, uint64_t bytes)
{
	uint64_t freed = evict_indexes(cache, bytes, budget_limit(&cache->budget) / SHARE);
	for (int kept_too = 0; kept_too <= 1; kept_too++)
		if (freed < bytes)
			freed += evict_chunks(cache, bytes - freed, kept_too);
	if (freed < bytes)
		freed += evict_indexes(cache, bytes - freed, 0);
	cache_uncharge(cache, freed);
	return freed;
}

void cache_grant(struct cache *cache)
{
	uint64_t missing;
	struct reservation *reservation;
	while ((reservation = budget_next(&cache->budget, &missing)) || missing) {
		if (reservation) {
			stats_add(cache_bytes, reservation->bytes);
			reservation->granted(reservation);
		} else if (!evict(cache, missing)) {
			return;
		}
	}
}

void cache_trim_indexes(struct cache *cache)
{
	struct stripe *stripe = &cache->stripes[INDEX_STRIPE];
	while (stripe_buffers(stripe) > cache->max_indexes)
		cache_uncharge(cache, evict_one(cache, stripe, true));
}

void cache_charge(struct cache *cache, uint64_t reserved, uint64_t charged)
{
	uint64_t missing;
	bool done;
	while (!(done = budget_try_charge(&cache->budget, reserved, charged, &missing)) && evict(cache, missing))
		;
	if (!done)
		budget_charge(&cache->budget, reserved, charged);
	stats_add(cache_bytes, charged - reserved);
}

/* Whether the bytes could be had at once; `most` as for budget_try. Others may take what was evicted: then false. */
static bool reserve_now(struct cache *cache, uint64_t bytes, uint64_t most)
{
	uint64_t missing;
	bool reserved = budget_try(&cache->budget, bytes, most, &missing);
	if (!reserved && missing) {
		evict(cache, missing);
		reserved = budget_try(&cache->budget, bytes, most, &missing);
	}
	if (reserved)
		stats_add(cache_bytes, bytes);
	return reserved;
}

bool cache_reserve(struct cache *cache, struct reservation *reservation)
{
	if (reserve_now(cache, reservation->bytes, UINT64_MAX))
		return true;
	budget_enqueue(&cache->budget, reservation);
	cache_grant(cache);
	return false;
}

bool cache_try_reserve(struct cache *cache, uint64_t bytes)
{
	bool reserved = reserve_now(cache, bytes, budget_limit(&cache->budget) / 2);
	if (!reserved)
		cache_grant(cache);
	return reserved;
}

void cache_release(struct cache *cache, uint64_t bytes)
{
	budget_release(&cache->budget, bytes);
	stats_add(cache_bytes, -bytes);
	cache_grant(cache);
}

uint64_t cache_budget(const struct cache *cache)
{
	return budget_limit(&cache->budget);
}

uint64_t cache_used(const struct cache *cache)
{
	return budget_used(&cache->budget);
}
