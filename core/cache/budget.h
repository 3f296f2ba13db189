/*
 * budget.h: the bytes that a cache may use: reserved by loads under way, charged by entries; and who waits for some.
 * One leaf lock; nothing here evicts or calls back.
 */
#ifndef ZARRFS_BUDGET_H
#define ZARRFS_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "cache/cache.h"

struct budget {
	pthread_mutex_t lock;
	uint64_t limit;
	uint64_t reserved; /* by loads */
	uint64_t charged;  /* by entries */
	struct reservation *head, **tail;
};

void budget_init(struct budget *budget, uint64_t limit);
void budget_finish(struct budget *budget);

/*
 * Reserves if nobody waits and it fits (or nothing else is reserved and no entry is left). Else false, and *ret_missing is what eviction
 * must free first; 0 when it cannot help because others are in line or hold it.
 */
bool budget_try(struct budget *budget, uint64_t bytes, uint64_t *ret_missing);

/* Puts a reservation in line; false when it would fit now or entries could be evicted for it: try again. */
bool budget_enqueue(struct budget *budget, struct reservation *reservation);

/* Grants the first in line (*ret_missing 0). NULL: nobody, or it does not fit; then *ret_missing is what eviction could free for it. */
struct reservation *budget_next(struct budget *budget, uint64_t *ret_missing);

/* Reserved bytes become charged ones: `reserved` of the first, `charged` of the second. */
void budget_charge(struct budget *budget, uint64_t reserved, uint64_t charged);
void budget_uncharge(struct budget *budget, uint64_t charged);
void budget_release(struct budget *budget, uint64_t reserved);

uint64_t budget_limit(const struct budget *budget);
uint64_t budget_reserved(const struct budget *budget);
uint64_t budget_used(const struct budget *budget);

#endif
