/*
 * budget.c: reservations, first come, first served.
 *
 * Progress: whoever waits in line waits for reserved bytes only (entries are evicted for it), and each reservation ends by itself;
 * when none is left the first in line is granted whatever its size. So there is no cycle.
 */
#include "cache/budget.h"

void budget_init(struct budget *budget, uint64_t limit)
{
	*budget = (struct budget){.limit = limit};
	budget->tail = &budget->head;
	pthread_mutex_init(&budget->lock, NULL);
}

void budget_finish(struct budget *budget)
{
	pthread_mutex_destroy(&budget->lock);
}

/* Whether `bytes` may be reserved now; if not, what evicting entries would have to give (0: it would not help). */
static bool fits(const struct budget *budget, uint64_t bytes, uint64_t *ret_missing)
{
	*ret_missing = 0;
	bool oversize = bytes > budget->limit;
	uint64_t room = oversize ? 0 : budget->limit - bytes; /* for others, entries included */
	if (budget->reserved > room)
		return false;
	if (budget->charged > room - budget->reserved)
		*ret_missing = budget->charged - (room - budget->reserved);
	return !*ret_missing;
}

bool budget_try(struct budget *budget, uint64_t bytes, uint64_t most, uint64_t *ret_missing)
{
	autolock(&budget->lock);
	*ret_missing = 0;
	if (budget->head || bytes > most || budget->reserved > most - bytes || !fits(budget, bytes, ret_missing))
		return false;
	budget->reserved += bytes;
	return true;
}

void budget_enqueue(struct budget *budget, struct reservation *reservation)
{
	autolock(&budget->lock);
	reservation->next = NULL;
	*budget->tail = reservation;
	budget->tail = &reservation->next;
}

struct reservation *budget_next(struct budget *budget, uint64_t *ret_missing)
{
	autolock(&budget->lock);
	*ret_missing = 0;
	struct reservation *first = budget->head;
	if (!first || !fits(budget, first->bytes, ret_missing))
		return NULL;
	budget->head = first->next;
	if (!budget->head)
		budget->tail = &budget->head;
	budget->reserved += first->bytes;
	return first;
}

bool budget_try_charge(struct budget *budget, uint64_t reserved, uint64_t charged, uint64_t *ret_missing)
{
	autolock(&budget->lock);
	uint64_t used = budget->reserved - reserved + budget->charged + charged;
	*ret_missing = used > budget->limit ? MIN(used - budget->limit, budget->charged) : 0;
	if (*ret_missing)
		return false;
	budget->reserved -= reserved;
	budget->charged += charged;
	return true;
}

void budget_charge(struct budget *budget, uint64_t reserved, uint64_t charged)
{
	autolock(&budget->lock);
	budget->reserved -= reserved;
	budget->charged += charged;
}

void budget_uncharge(struct budget *budget, uint64_t charged)
{
	autolock(&budget->lock);
	budget->charged -= charged;
}

void budget_release(struct budget *budget, uint64_t reserved)
{
	autolock(&budget->lock);
	budget->reserved -= reserved;
}

uint64_t budget_limit(const struct budget *budget)
{
	return budget->limit;
}

uint64_t budget_used(const struct budget *budget)
{
	autolock((pthread_mutex_t *)&budget->lock);
	return budget->reserved + budget->charged;
}
