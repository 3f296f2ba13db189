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
 * Reserves if nobody waits, it fits (what exceeds the limit fits when nothing else is reserved and no entry is left), and
 * not more than `most` bytes are reserved then. Else false, and *ret_missing is what eviction must free first; 0 when it
 * cannot help because others are in line or hold it.
 */
bool budget_try(struct budget *budget, uint64_t bytes, uint64_t most, uint64_t *ret_missing);

/* Puts a reservation in line. It may fit at once: budget_next tells. */
void budget_enqueue(struct budget *budget, struct reservation *reservation);

/* Grants the first in line (*ret_missing 0). NULL: nobody, or it does not fit; then *ret_missing as above. */
struct reservation *budget_next(struct budget *budget, uint64_t *ret_missing);

/*
 * Reserved bytes become charged ones: `reserved` of the first, `charged` of the second. To try fails when that would
 * exceed the limit and entries are left: *ret_missing is what eviction must free first.
 */
bool budget_try_charge(struct budget *budget, uint64_t reserved, uint64_t charged, uint64_t *ret_missing);
void budget_charge(struct budget *budget, uint64_t reserved, uint64_t charged);
void budget_uncharge(struct budget *budget, uint64_t charged);
void budget_release(struct budget *budget, uint64_t reserved);

uint64_t budget_limit(const struct budget *budget);
uint64_t budget_used(const struct budget *budget);

#endif
