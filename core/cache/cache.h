/*
 * cache.h: key -> counted buffer, with one byte budget for everything that a mount holds (design, section 7).
 *
 * A look-up answers: hit, load it yourself, somebody is loading (you are told when), or it failed a moment ago. Absent is a
 * value: a hit without a buffer. Eviction is an approximate LRU that scans cannot flush: new entries are on probation, and
 * only what is hit again is protected. Any thread; no lock is held while a callback runs, and none of the calls waits.
 */
#ifndef ZARRFS_CACHE_H
#define ZARRFS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct cache;

/* owner: an opened array's number. level 0: decoded chunks; 1 and up: shard indexes, outermost first. number: C order in its grid. */
struct cache_key {
	uint64_t owner;
	uint32_t level;
	uint64_t number;
};

/* Somebody who waits for an entry that is being loaded. `ready` runs once, in the loader's thread; the waiter may free itself. */
struct cache_waiter {
	struct cache_waiter *next;
	/* rc 0: buf (borrowed: ref it to keep it), NULL when absent. rc < 0: failed, message in err_message(). */
	void (*ready)(struct cache_waiter *waiter, struct buf *buf, int rc);
};

enum cache_answer {
	CACHE_HIT,	  /* *ret_buf: a reference of the caller's, NULL when absent */
	CACHE_LOAD,	  /* the caller must end it with cache_fill or cache_fail */
	CACHE_JOINED, /* somebody is loading; the waiter (unless NULL) will be told */
	CACHE_FAILED, /* *ret_rc: it failed less than a second ago, or is overdue; message in err_message() */
};

/* -ENOMEM. `max_indexes`: entries of levels above 0 that are kept (each owns an open value); at least 1. */
int cache_new(uint64_t budget_bytes, unsigned max_indexes, struct cache **ret_cache);

/* Nobody waits for a load that is older: CACHE_FAILED with -ETIMEDOUT. 0: for ever, as at first. Before the first use. */
void cache_set_patience(struct cache *cache, uint64_t patience_ns);

/* No load and no reservation may be under way. NULL is legal. */
void cache_free(struct cache *cache);

/* `ahead`: by read-ahead: counts neither as hit nor as use. Without memory for an entry: CACHE_FAILED with -ENOMEM. */
enum cache_answer cache_get(struct cache *cache, struct cache_key key, bool ahead, struct cache_waiter *waiter,
							struct buf **ret_buf, int *ret_rc);

/* The loader itself waits for the entry too, like those who join: between CACHE_LOAD and the load's end. */
void cache_join(struct cache *cache, struct cache_key key, struct cache_waiter *waiter);

/* Whether the entry is there or being loaded; changes nothing. */
bool cache_peek(struct cache *cache, struct cache_key key);

/*
 * Ends a load. The entry takes its own reference of buf (NULL: absent) and is charged `bytes`, which the caller has
 * reserved and hands over. Then every waiter's `ready` runs here.
 */
void cache_fill(struct cache *cache, struct cache_key key, struct buf *buf, uint64_t bytes);

/*
 * Ends a load with a failure (this thread's message), remembered for a second; not ESTALE, which the next load may find mended.
 * Then every waiter's `ready` runs here.
 */
void cache_fail(struct cache *cache, struct cache_key key, int rc);

/*
 * Gives up a load that read-ahead claimed, without a result: true, and the entry is gone. False when a waiter joined: the load
 * must go on.
 */
bool cache_abandon(struct cache *cache, struct cache_key key);

/* A chunk that its reader has left behind: dropped at once, unless it proved worth keeping. */
void cache_discard(struct cache *cache, struct cache_key key);

/* Drops an entry that nobody is loading: what it says is known to be out of date. */
void cache_drop(struct cache *cache, struct cache_key key);

/* Drops every entry of an owner that nobody is loading. */
void cache_drop_owner(struct cache *cache, uint64_t owner);

/*
 * Memory is a resource like a lock. A load reserves all that it needs at once, and holds nothing while it waits. First come, first
 * served; what does not fit the whole budget is granted when nothing else is reserved.
 */
struct reservation {
	struct reservation *next;
	uint64_t bytes;
	/* Runs once when granted later, in the thread that made room, the waiting one included; only queues work. */
	void (*granted)(struct reservation *reservation);
};

/* True: granted at once. False: it waits in line, and `granted` will run, or has run already. */
bool cache_reserve(struct cache *cache, struct reservation *reservation);

/* Granted at once or not at all, for read-ahead: it takes no more than half of the budget in all, and only what is free or old. */
bool cache_try_reserve(struct cache *cache, uint64_t bytes);

/* Gives reserved bytes back (those not handed to cache_fill), and grants who waits. */
void cache_release(struct cache *cache, uint64_t bytes);

uint64_t cache_budget(const struct cache *cache);
uint64_t cache_used(const struct cache *cache); /* entries and reservations, bytes */

/* A number for a new owner, never used before. */
uint64_t cache_new_owner(struct cache *cache);

#endif
