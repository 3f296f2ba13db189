/*
 * request.c: requests that complete exactly once, and the thread that answers the late ones.
 *
 * Every armed request is on one list, in the order of its deadline (all have the same time-out, so that is the order of
 * arming). `refs` counts the open parts as one, and the deadline thread's look at it as one.
 */
#include "pool/request.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/stats.h"

struct deadlines {
	uint64_t timeout_ns;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct request list; /* head of a ring: only prev and next are used */
	pthread_t thread;
	bool runs, stop;
};

static void request_unref(struct request *request)
{
	if (atomic_fetch_sub(&request->refs, 1) == 1)
		request->release(request);
}

/* The last part: the deadline may have been first. */
static void request_answer(struct request *request, int rc)
{
	if (!atomic_exchange(&request->answered, true))
		request->complete(request, rc);
}

void request_init(struct request *request, struct deadlines *deadlines, void (*complete)(struct request *, int),
				  void (*release)(struct request *))
{
	*request = (struct request){.complete = complete, .release = release, .deadlines = deadlines};
	atomic_init(&request->parts, 1);
	atomic_init(&request->refs, 1);
}

void request_add(struct request *request)
{
	atomic_fetch_add_explicit(&request->parts, 1, memory_order_relaxed);
}

static void request_disarm(struct request *request)
{
	if (!request->armed)
		return;
	autolock(&request->deadlines->lock);
	request->prev->next = request->next;
	request->next->prev = request->prev;
	request->armed = false;
}

void request_finish_part(struct request *request, int rc)
{
	if (rc < 0) {
		int none = 0;
		/* the first failure's message; written before the count falls, so the last part sees it */
		if (atomic_compare_exchange_strong(&request->error, &none, rc))
			err_save(&request->message);
	}
	if (atomic_fetch_sub(&request->parts, 1) != 1)
		return;
	request_disarm(request);
	int error = atomic_load(&request->error);
	if (error)
		err_restore(&request->message);
	request_answer(request, error);
	request_unref(request);
}

bool request_is_answered(const struct request *request)
{
	return atomic_load_explicit(&request->answered, memory_order_relaxed);
}

bool request_is_open(const struct request *request)
{
	return atomic_load(&request->parts) > 1;
}

void request_arm(struct request *request)
{
	struct deadlines *deadlines = request->deadlines;
	if (request->detached)
		return;
	request->detached = true;
	stats_add(detached, 1);
	if (!deadlines || !deadlines->runs)
		return;
	autolock(&deadlines->lock);
	request->deadline_ns = monotonic_ns() + deadlines->timeout_ns;
	request->armed = true;
	struct request *head = &deadlines->list;
	request->prev = head->prev;
	request->next = head;
	bool first = head->next == head;
	head->prev->next = request;
	head->prev = request;
	if (first)
		pthread_cond_signal(&deadlines->wake);
}

/* The first request if it is late, with a reference, off the list; or NULL and when to look again (0: none). */
static struct request *take_late(struct deadlines *deadlines, uint64_t *ret_next)
{
	struct request *head = &deadlines->list, *request = head->next;
	*ret_next = 0;
	if (request == head)
		return NULL;
	if (request->deadline_ns > monotonic_ns()) {
		*ret_next = request->deadline_ns;
		return NULL;
	}
	head->next = request->next;
	request->next->prev = head;
	/* stays armed in a ring of its own, so that request_disarm needs no second flag */
	request->prev = request->next = request;
	atomic_fetch_add(&request->refs, 1);
	return request;
}

static void answer_late(struct request *request, double seconds)
{
	if (atomic_exchange(&request->answered, true))
		return;
	stats_add(timeouts, 1);
	request->complete(request, err_set(ETIMEDOUT, "the store did not answer within %.3g s", seconds));
}

static void *deadlines_main(void *arg)
{
	struct deadlines *deadlines = arg;
	pthread_mutex_lock(&deadlines->lock);
	while (!deadlines->stop) {
		uint64_t next;
		struct request *late = take_late(deadlines, &next);
		if (late) {
			pthread_mutex_unlock(&deadlines->lock);
			answer_late(late, (double)deadlines->timeout_ns / 1e9);
			request_unref(late);
			pthread_mutex_lock(&deadlines->lock);
		} else if (next) {
			struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
			pthread_cond_timedwait(&deadlines->wake, &deadlines->lock, &at);
		} else {
			pthread_cond_wait(&deadlines->wake, &deadlines->lock);
		}
	}
	pthread_mutex_unlock(&deadlines->lock);
	return NULL;
}

int deadlines_new(uint64_t timeout_ns, struct deadlines **ret_deadlines)
{
	struct deadlines *deadlines = calloc(1, sizeof(*deadlines));
	if (!deadlines)
		return err_set(ENOMEM, "no memory for deadlines");
	deadlines->timeout_ns = timeout_ns;
	deadlines->list.prev = deadlines->list.next = &deadlines->list;
	pthread_mutex_init(&deadlines->lock, NULL);
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&deadlines->wake, &attr);
	pthread_condattr_destroy(&attr);
	if (timeout_ns) {
		sigset_t all, old;
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
		int rc = pthread_create(&deadlines->thread, NULL, deadlines_main, deadlines);
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		if (rc) {
			deadlines_free(deadlines);
			return err_set(rc, "cannot start a thread");
		}
		deadlines->runs = true;
	}
	*ret_deadlines = deadlines;
	return 0;
}

void deadlines_free(struct deadlines *deadlines)
{
	if (!deadlines)
		return;
	if (deadlines->runs) {
		pthread_mutex_lock(&deadlines->lock);
		deadlines->stop = true;
		pthread_cond_signal(&deadlines->wake);
		pthread_mutex_unlock(&deadlines->lock);
		pthread_join(deadlines->thread, NULL);
	}
	pthread_cond_destroy(&deadlines->wake);
	pthread_mutex_destroy(&deadlines->lock);
	free(deadlines);
}
