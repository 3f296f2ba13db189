/*
 * entries.c: the hash table and the queues of one stripe.
 */
#include "cache/entries.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/stats.h"

#define FIRST_BUCKETS 64

uint64_t entry_hash(const struct cache_key *key)
{
	uint64_t h = key->number * UINT64_C(0x9e3779b97f4a7c15) ^ (key->owner << 8 | key->level);
	h = (h ^ h >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ h >> 32;
}

int stripe_init(struct stripe *stripe)
{
	stripe->buckets = calloc(FIRST_BUCKETS, sizeof(*stripe->buckets));
	if (!stripe->buckets)
		return -ENOMEM;
	stripe->mask = FIRST_BUCKETS - 1;
	pthread_mutex_init(&stripe->lock, NULL);
	return 0;
}

/* Out of the lock where it has a buffer, whose release may call anything. */
static void entry_free(struct entry *entry)
{
	buf_unref(entry->buf);
	free(entry->message);
	free(entry);
}

void stripe_finish(struct stripe *stripe)
{
	for (size_t i = 0; i <= stripe->mask; i++)
		while (stripe->buckets[i]) {
			struct entry *entry = stripe->buckets[i];
			stripe->buckets[i] = entry->chain;
			entry_free(entry);
		}
	free(stripe->buckets);
	pthread_mutex_destroy(&stripe->lock);
}

static void queue_remove(struct stripe *stripe, struct entry *entry)
{
	struct entry_list *list = &stripe->queues[entry->queue];
	if (entry->queue == QUEUE_NONE)
		return;
	*(entry->prev ? &entry->prev->next : &list->first) = entry->next;
	*(entry->next ? &entry->next->prev : &list->last) = entry->prev;
	list->n--;
	list->charged -= entry->charge;
	entry->queue = QUEUE_NONE;
}

static void queue_push(struct stripe *stripe, struct entry *entry, enum entry_queue queue)
{
	struct entry_list *list = &stripe->queues[queue];
	entry->queue = queue;
	entry->prev = NULL;
	entry->next = list->first;
	*(list->first ? &list->first->prev : &list->last) = entry;
	list->first = entry;
	list->n++;
	list->charged += entry->charge;
}

struct entry *stripe_find(struct stripe *stripe, const struct cache_key *key, uint64_t hash)
{
	struct entry *entry = stripe->buckets[(hash >> 8) & stripe->mask];
	while (entry && (entry->hash != hash || entry->key.number != key->number || entry->key.owner != key->owner ||
					 entry->key.level != key->level))
		entry = entry->chain;
	return entry;
}

/* Twice the buckets; without memory the chains only grow longer. */
static void grow(struct stripe *stripe)
{
	size_t buckets = (stripe->mask + 1) * 2;
	struct entry **wider = calloc(buckets, sizeof(*wider));
	if (!wider)
		return;
	for (size_t i = 0; i <= stripe->mask; i++)
		while (stripe->buckets[i]) {
			struct entry *entry = stripe->buckets[i];
			stripe->buckets[i] = entry->chain;
			struct entry **bucket = &wider[(entry->hash >> 8) & (buckets - 1)];
			entry->chain = *bucket;
			*bucket = entry;
		}
	free(stripe->buckets);
	stripe->buckets = wider;
	stripe->mask = buckets - 1;
}

struct entry *stripe_insert(struct stripe *stripe, const struct cache_key *key, uint64_t hash)
{
	struct entry *entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	entry->key = *key;
	entry->hash = hash;
	entry->state = ENTRY_LOADING;
	if (++stripe->entries > stripe->mask)
		grow(stripe);
	struct entry **bucket = &stripe->buckets[(hash >> 8) & stripe->mask];
	entry->chain = *bucket;
	*bucket = entry;
	return entry;
}

static void unlink_entry(struct stripe *stripe, struct entry *entry)
{
	struct entry **link = &stripe->buckets[(entry->hash >> 8) & stripe->mask];
	while (*link != entry)
		link = &(*link)->chain;
	*link = entry->chain;
	queue_remove(stripe, entry);
	stripe->charged -= entry->charge;
	stripe->buffers -= entry->buf != NULL;
	stripe->entries--;
}

void stripe_delete(struct stripe *stripe, struct entry *entry)
{
	unlink_entry(stripe, entry);
	entry_free(entry);
}

void stripe_touch(struct stripe *stripe, struct entry *entry)
{
	/* indexes are few and asked for once a chunk: for them plain LRU is right */
	if (entry->queue != QUEUE_KEPT || stripe->queues[QUEUE_KEPT].first == entry)
		return;
	queue_remove(stripe, entry);
	queue_push(stripe, entry, QUEUE_KEPT);
}

void stripe_begin_load(struct stripe *stripe, struct entry *entry)
{
	entry->was_ghost = entry->state == ENTRY_GHOST;
	stripe->charged -= entry->charge;
	queue_remove(stripe, entry);
	free(entry->message);
	entry->message = NULL;
	entry->charge = 0;
	entry->state = ENTRY_LOADING;
}

void stripe_end_load(struct stripe *stripe, struct entry *entry, enum entry_state state, struct buf *buf,
					 uint64_t charge)
{
	entry->state = state;
	entry->waiters = NULL;
	entry->buf = buf;
	entry->charge = charge;
	stripe->charged += charge;
	stripe->buffers += buf != NULL;
	queue_push(stripe, entry, entry->was_ghost || entry->key.level ? QUEUE_KEPT : QUEUE_PROBATION);
}

/* As many ghosts as residents; the oldest go for nothing. */
static void make_ghost(struct stripe *stripe, struct entry *entry)
{
	entry->state = ENTRY_GHOST;
	queue_push(stripe, entry, QUEUE_GHOSTS);
	struct entry_list *ghosts = &stripe->queues[QUEUE_GHOSTS];
	unsigned resident = stripe->queues[QUEUE_PROBATION].n + stripe->queues[QUEUE_KEPT].n;
	while (ghosts->n > 16 + resident)
		stripe_delete(stripe, ghosts->last);
}

uint64_t stripe_drop(struct stripe *stripe, struct entry *entry, struct buf **ret_buf)
{
	uint64_t charge = entry->charge;
	bool remember = entry->queue == QUEUE_PROBATION && entry->state == ENTRY_READY;
	stripe->charged -= charge;
	stripe->buffers -= entry->buf != NULL;
	*ret_buf = entry->buf;
	entry->buf = NULL;
	queue_remove(stripe, entry);
	entry->charge = 0;
	if (remember)
		make_ghost(stripe, entry);
	else
		stripe_delete(stripe, entry);
	return charge;
}

uint64_t stripe_evict(struct stripe *stripe, uint64_t probation_bytes, bool kept_too, struct buf **ret_buf)
{
	autolock(&stripe->lock);
	struct entry_list *probation = &stripe->queues[QUEUE_PROBATION], *kept = &stripe->queues[QUEUE_KEPT];
	*ret_buf = NULL;
	bool from_probation = probation->charged > probation_bytes || (kept_too && !kept->n);
	struct entry *victim = from_probation ? probation->last : kept_too ? kept->last : NULL;
	if (!victim)
		return 0;
	stats_add(cache_evictions, victim->state == ENTRY_READY);
	return stripe_drop(stripe, victim, ret_buf);
}

uint64_t stripe_drop_owner(struct stripe *stripe, uint64_t owner)
{
	struct entry *dropped = NULL;
	uint64_t freed = 0;
	pthread_mutex_lock(&stripe->lock);
	for (int q = QUEUE_PROBATION; q < QUEUES; q++)
		for (struct entry *entry = stripe->queues[q].first, *next; entry; entry = next) {
			next = entry->next;
			if (entry->key.owner != owner)
				continue;
			freed += entry->charge;
			unlink_entry(stripe, entry);
			entry->chain = dropped;
			dropped = entry;
		}
	pthread_mutex_unlock(&stripe->lock);
	while (dropped) {
		struct entry *entry = dropped;
		dropped = entry->chain;
		entry_free(entry);
	}
	return freed;
}

unsigned stripe_buffers(struct stripe *stripe)
{
	autolock(&stripe->lock);
	return stripe->buffers;
}

uint64_t stripe_charged(struct stripe *stripe)
{
	autolock(&stripe->lock);
	return stripe->charged;
}
