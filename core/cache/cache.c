/*
 * cache.c: entries in stripes, each with its own lock, and the 2Q replacement of Johnson and Shasha (VLDB 1994):
 *
 *     probation  new entries, first in first out; a hit there changes nothing, because a sequential reader hits each chunk
 *                of its row many times and then never again
 *     ghosts     keys of entries that left probation; one that is asked for again was worth keeping:
 *     kept       least recently used goes first; while it is small, probation may fill the whole budget
 *
 * Shard indexes have a stripe of their own, bounded by number too, because each keeps a value open.
 */
#include "cache/cache.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "cache/cache_impl.h"

#define FAILURE_NS UINT64_C(1000000000)

static struct stripe *stripe_of(struct cache *cache, const struct cache_key *key, uint64_t *ret_hash)
{
	*ret_hash = entry_hash(key);
	return &cache->stripes[key->level ? INDEX_STRIPE : *ret_hash % STRIPES];
}

int cache_new(uint64_t budget_bytes, unsigned max_indexes, struct cache **ret_cache)
{
	struct cache *cache = calloc(1, sizeof(*cache));
	if (!cache)
		return err_set(ENOMEM, "no memory for a cache");
	for (int i = 0; i <= STRIPES; i++)
		if (stripe_init(&cache->stripes[i])) {
			while (i-- > 0)
				stripe_finish(&cache->stripes[i]);
			free(cache);
			return err_set(ENOMEM, "no memory for a cache");
		}
	budget_init(&cache->budget, budget_bytes);
	cache->max_indexes = MAX(max_indexes, 1);
	*ret_cache = cache;
	return 0;
}

void cache_set_patience(struct cache *cache, uint64_t patience_ns)
{
	cache->patience_ns = patience_ns;
}

void cache_free(struct cache *cache)
{
	if (!cache)
		return;
	for (int i = 0; i <= STRIPES; i++) {
		stats_add(cache_bytes, -cache->stripes[i].charged);
		stripe_finish(&cache->stripes[i]);
	}
	budget_finish(&cache->budget);
	free(cache);
}

static void add_waiter(struct entry *entry, struct cache_waiter *waiter)
{
	if (!waiter)
		return;
	waiter->next = entry->waiters;
	entry->waiters = waiter;
}

/* Who comes now would wait in vain, and hold memory meanwhile: the kernel asks twice for a page that fails. */
static bool is_overdue(const struct cache *cache, const struct entry *entry)
{
	return cache->patience_ns && monotonic_ns() - entry->since_ns >= cache->patience_ns;
}

static enum cache_answer begin_load(const struct cache *cache, struct entry *entry, bool ahead)
{
	entry->since_ns = cache->patience_ns ? monotonic_ns() : 0;
	entry->ahead = ahead;
	stats_add(ahead_loads, ahead);
	stats_add(cache_misses, !ahead && entry->key.level == 0);
	return CACHE_LOAD;
}

static struct buf *take_hit(struct stripe *stripe, struct entry *entry, bool ahead)
{
	if (!ahead) {
		stripe_touch(stripe, entry);
		stats_add(cache_hits, entry->key.level == 0);
		stats_add(ahead_used, entry->ahead);
		entry->ahead = false;
	}
	return entry->buf ? buf_ref(entry->buf) : NULL;
}

/* *ret_uncharged: what the entry was charged until now, if it is loaded again. */
static enum cache_answer answer_entry(const struct cache *cache, struct stripe *stripe, struct entry *entry, bool ahead,
									  struct cache_waiter *waiter, struct buf **ret_buf, int *ret_rc,
									  uint64_t *ret_uncharged)
{
	switch (entry->state) {
	case ENTRY_READY:
		*ret_buf = take_hit(stripe, entry, ahead);
		return CACHE_HIT;
	case ENTRY_LOADING:
		if (is_overdue(cache, entry)) {
			*ret_rc = err_set(ETIMEDOUT, "the store has not answered for %.3g s", (double)cache->patience_ns / 1e9);
			return CACHE_FAILED;
		}
		add_waiter(entry, waiter);
		if (!ahead) {
			stats_add(cache_joins, 1);
			stats_add(ahead_used, entry->ahead);
			entry->ahead = false;
		}
		return CACHE_JOINED;
	case ENTRY_FAILED:
		if (monotonic_ns() < entry->failed_until) {
			err_restore(entry->message);
			*ret_rc = entry->rc;
			return CACHE_FAILED;
		}
		break;
	case ENTRY_GHOST:
		break;
	}
	*ret_uncharged = entry->charge;
	stripe_begin_load(stripe, entry);
	return begin_load(cache, entry, ahead);
}

static enum cache_answer find_or_insert(const struct cache *cache, struct stripe *stripe, const struct cache_key *key,
										uint64_t hash, bool ahead, struct cache_waiter *waiter, struct buf **ret_buf,
										int *ret_rc, uint64_t *ret_uncharged)
{
	autolock(&stripe->lock);
	struct entry *entry = stripe_find(stripe, key, hash);
	if (entry)
		return answer_entry(cache, stripe, entry, ahead, waiter, ret_buf, ret_rc, ret_uncharged);
	entry = stripe_insert(stripe, key, hash);
	if (!entry) {
		*ret_rc = err_set(ENOMEM, "no memory for a cache entry");
		return CACHE_FAILED;
	}
	return begin_load(cache, entry, ahead);
}

enum cache_answer cache_get(struct cache *cache, struct cache_key key, bool ahead, struct cache_waiter *waiter,
							struct buf **ret_buf, int *ret_rc)
{
	uint64_t hash, uncharged = 0;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	enum cache_answer answer = find_or_insert(cache, stripe, &key, hash, ahead, waiter, ret_buf, ret_rc, &uncharged);
	if (uncharged) {
		cache_uncharge(cache, uncharged);
		cache_grant(cache);
	}
	return answer;
}

void cache_join(struct cache *cache, struct cache_key key, struct cache_waiter *waiter)
{
	uint64_t hash;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	autolock(&stripe->lock);
	add_waiter(stripe_find(stripe, &key, hash), waiter);
}

bool cache_peek(struct cache *cache, struct cache_key key)
{
	uint64_t hash;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	autolock(&stripe->lock);
	const struct entry *entry = stripe_find(stripe, &key, hash);
	return entry && (entry->state == ENTRY_READY || entry->state == ENTRY_LOADING);
}

static void tell_waiters(struct cache_waiter *waiters, struct buf *buf, int rc, const struct err_text *message)
{
	while (waiters) {
		struct cache_waiter *waiter = waiters;
		waiters = waiter->next;
		if (rc)
			err_restore(message);
		waiter->ready(waiter, buf, rc);
	}
}

void cache_fill(struct cache *cache, struct cache_key key, struct buf *buf, uint64_t bytes)
{
	uint64_t hash, charge = bytes + ENTRY_BYTES;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	/* for the entry, and for the waiters: the entry may be evicted before they ran */
	for (int i = 0; buf && i < 2; i++)
		buf_ref(buf);
	cache_charge(cache, bytes, charge);
	pthread_mutex_lock(&stripe->lock);
	struct entry *entry = stripe_find(stripe, &key, hash);
	struct cache_waiter *waiters = entry->waiters;
	stripe_end_load(stripe, entry, ENTRY_READY, buf, charge);
	pthread_mutex_unlock(&stripe->lock);

	tell_waiters(waiters, buf, 0, NULL);
	buf_unref(buf);
	if (key.level)
		cache_trim_indexes(cache);
	cache_grant(cache);
}

void cache_fail(struct cache *cache, struct cache_key key, int rc)
{
	uint64_t hash, charge = ENTRY_BYTES + sizeof(struct err_text);
	struct err_text message, *kept = malloc(sizeof(*kept));
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	err_save(&message);
	cache_charge(cache, 0, charge);
	pthread_mutex_lock(&stripe->lock);
	struct entry *entry = stripe_find(stripe, &key, hash);
	struct cache_waiter *waiters = entry->waiters;
	stripe_end_load(stripe, entry, ENTRY_FAILED, NULL, charge);
	if (kept) {
		*kept = message;
		entry->message = kept;
		entry->rc = rc;
		entry->failed_until = rc == -ESTALE ? 0 : monotonic_ns() + FAILURE_NS;
	} else {
		entry->failed_until = 0;
	}
	pthread_mutex_unlock(&stripe->lock);

	tell_waiters(waiters, NULL, rc, &message);
	cache_grant(cache);
}

bool cache_abandon(struct cache *cache, struct cache_key key)
{
	uint64_t hash;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	autolock(&stripe->lock);
	struct entry *entry = stripe_find(stripe, &key, hash);
	if (entry->waiters)
		return false;
	stripe_delete(stripe, entry);
	return true;
}

/* Drops a loaded entry, or only one that is on probation. */
static void drop_entry(struct cache *cache, struct cache_key key, bool kept_too)
{
	uint64_t hash, freed = 0;
	struct buf *dropped = NULL;
	struct stripe *stripe = stripe_of(cache, &key, &hash);
	pthread_mutex_lock(&stripe->lock);
	struct entry *entry = stripe_find(stripe, &key, hash);
	if (entry && entry->state == ENTRY_READY && (kept_too || entry->queue == QUEUE_PROBATION))
		freed = stripe_drop(stripe, entry, &dropped);
	pthread_mutex_unlock(&stripe->lock);
	buf_unref(dropped);
	if (!freed)
		return;
	cache_uncharge(cache, freed);
	cache_grant(cache);
}

void cache_discard(struct cache *cache, struct cache_key key)
{
	drop_entry(cache, key, false);
}

void cache_drop(struct cache *cache, struct cache_key key)
{
	drop_entry(cache, key, true);
}

void cache_drop_owner(struct cache *cache, uint64_t owner)
{
	for (int i = 0; i <= STRIPES; i++)
		cache_uncharge(cache, stripe_drop_owner(&cache->stripes[i], owner));
	cache_grant(cache);
}

uint64_t cache_new_owner(struct cache *cache)
{
	return atomic_fetch_add(&cache->next_owner, 1) + 1;
}
