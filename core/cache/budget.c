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
	uint64_t used = budget->reserved + budget->charged;
	if (bytes <= budget->limit && used <= budget->limit - bytes)
		return true;
	if (budget->charged) {
		uint64_t room = budget->limit > used ? budget->limit - used : 0;
		*ret_missing =
			MIN(bytes - MIN(bytes, room) + (used > budget->limit ? used - budget->limit : 0), budget->charged);
		return false;
	}
	return !budget->reserved;
}

bool budget_try(struct budget *budget, uint64_t bytes, uint64_t *ret_missing)
{
	autolock(&budget->lock);
	*ret_missing = 0;
	if (budget->head || !fits(budget, bytes, ret_missing))
		return false;
	budget->reserved += bytes;
	return true;
}

bool budget_enqueue(struct budget *budget, struct reservation *reservation)
{
	autolock(&budget->lock);
	uint64_t missing;
	if (!budget->head && (fits(budget, reservation->bytes, &missing) || missing))
		return false;
	reservation->next = NULL;
	*budget->tail = reservation;
	budget->tail = &reservation->next;
	return true;
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

uint64_t budget_reserved(const struct budget *budget)
{
	autolock((pthread_mutex_t *)&budget->lock);
	return budget->reserved;
}

uint64_t budget_used(const struct budget *budget)
{
	autolock((pthread_mutex_t *)&budget->lock);
	return budget->reserved + budget->charged;
}
