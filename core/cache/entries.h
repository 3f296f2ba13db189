/*
 * entries.h: one stripe of the cache: a hash table and the three queues of 2Q. The caller holds stripe->lock, unless said.
 */
#ifndef ZARRFS_ENTRIES_H
#define ZARRFS_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "base/err.h"
#include "cache/cache.h"

/* What an entry is charged beside its bytes: itself, and the ghost that it may leave, with their places in the table. */
#define ENTRY_BYTES (2 * (sizeof(struct entry) + 2 * sizeof(void *)))

enum entry_state { ENTRY_LOADING, ENTRY_READY, ENTRY_FAILED, ENTRY_GHOST };
enum entry_queue { QUEUE_NONE, QUEUE_PROBATION, QUEUE_KEPT, QUEUE_GHOSTS, QUEUES };

struct entry {
	struct cache_key key;
	uint64_t hash;
	struct entry *chain;	   /* in its bucket */
	struct entry *prev, *next; /* in its queue */
	enum entry_queue queue;
	enum entry_state state;
	bool was_ghost; /* asked for again after it was dropped: to be kept */
	bool ahead;		/* read ahead, and not asked for yet */
	struct buf *buf;
	uint64_t charge; /* bytes */
	struct cache_waiter *waiters;
	int rc;
	uint64_t failed_until;
	uint64_t since_ns; /* LOADING: when that began */
	struct err_text *message;
};

struct entry_list {
	struct entry *first, *last; /* first: the newest */
	unsigned n;
	uint64_t charged;
};

struct stripe {
	pthread_mutex_t lock;
	struct entry **buckets;
	size_t mask; /* buckets - 1 */
	size_t entries;
	struct entry_list queues[QUEUES];
	uint64_t charged;
	unsigned buffers; /* entries that hold one */
};

uint64_t entry_hash(const struct cache_key *key);

/* Without the lock. -ENOMEM. */
int stripe_init(struct stripe *stripe);
/* Without the lock: frees every entry. */
void stripe_finish(struct stripe *stripe);

struct entry *stripe_find(struct stripe *stripe, const struct cache_key *key, uint64_t hash);
/* A new entry in state LOADING; NULL without memory. */
struct entry *stripe_insert(struct stripe *stripe, const struct cache_key *key, uint64_t hash);
/* A hit. */
void stripe_touch(struct stripe *stripe, struct entry *entry);
/* A ghost or an old failure is loaded again. */
void stripe_begin_load(struct stripe *stripe, struct entry *entry);
/* It is resident from now on, with this charge; takes the caller's reference of `buf`. Its waiters are the caller's. */
void stripe_end_load(struct stripe *stripe, struct entry *entry, enum entry_state state, struct buf *buf,
					 uint64_t charge);

/* Removes and frees an entry, whatever its state. */
void stripe_delete(struct stripe *stripe, struct entry *entry);

/* Drops a resident entry, and remembers it as a ghost if it was on probation; returns its charge. The caller unrefs *ret_buf. */
uint64_t stripe_drop(struct stripe *stripe, struct entry *entry, struct buf **ret_buf);

/*
 * Without the lock: drops one entry; returns its charge, 0 when there is none. It is the oldest on probation where more than
 * `probation_bytes` are; else, if `kept_too`, the least recently used that is kept, or any. The caller unrefs *ret_buf
 * (may be NULL).
 */
uint64_t stripe_evict(struct stripe *stripe, uint64_t probation_bytes, bool kept_too, struct buf **ret_buf);
/* Without the lock. Returns the charges dropped. */
uint64_t stripe_drop_owner(struct stripe *stripe, uint64_t owner);
/* Without the lock: entries that hold a buffer, and the charges of all. */
unsigned stripe_buffers(struct stripe *stripe);
uint64_t stripe_charged(struct stripe *stripe);

#endif
