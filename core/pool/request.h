/*
 * request.h: one operation that may touch the store. It completes inline, or detaches and is completed exactly once, by
 * its last part or by its deadline.
 *
 *     request_init        the planner's own part is open
 *     request_add         for every load that will finish later
 *     request_finish_part by each of them, and by the planner at last: whoever comes last completes
 *
 * A part may finish after the deadline has answered; so the request, its buffer included, lives until the last part.
 */
#ifndef ZARRFS_REQUEST_H
#define ZARRFS_REQUEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct deadlines; /* the thread that answers late requests with ETIMEDOUT; one a mount */

struct request {
	/* Called once, without a lock, in any thread: rc 0 or a negative errno with its message in err_message(). */
	void (*complete)(struct request *request, int rc);
	/* Called once after it, when no part is left: frees the struct around the request. */
	void (*release)(struct request *request);
	/* private to request.c */
	struct deadlines *deadlines; /* NULL: it waits for ever */
	atomic_int parts;
	atomic_int refs;
	atomic_int error; /* the first failure */
	atomic_bool answered;
	struct err_text message;
	bool detached; /* its clock was started */
	bool armed;	   /* it is on the deadlines' list, or was taken from there as late */
	uint64_t deadline_ns;
	struct request *prev, *next;
};

/* Starts with one part (the planner's). `deadlines` may be NULL. */
void request_init(struct request *request, struct deadlines *deadlines, void (*complete)(struct request *, int),
				  void (*release)(struct request *));

/* One more part, before the planner's own is finished. */
void request_add(struct request *request);

/* A part ends: rc 0, or a negative errno with this thread's message. The last one completes the request. */
void request_finish_part(struct request *request, int rc);

/* Whether parts beside the planner's are open: the request will be completed by others. */
bool request_is_open(const struct request *request);

/* Starts the clock when the request leaves its thread; by the planner, whose part is open. Later calls change nothing. */
void request_arm(struct request *request);

/* Whether it has been answered (by its deadline): a part may skip its work. */
bool request_is_answered(const struct request *request);

/* `timeout_ns` 0: requests never time out, and no thread is started. -ENOMEM, -EAGAIN. */
int deadlines_new(uint64_t timeout_ns, struct deadlines **ret_deadlines);
/* No armed request may be left. NULL is legal. */
void deadlines_free(struct deadlines *deadlines);

/* A request whose owner waits for it: init, start the work, finish the planner's part, then wait. */
struct waited_request {
	struct request request;
	pthread_mutex_t lock;
	pthread_cond_t cond;
	bool done;
	int rc;
	struct err_text message;
	atomic_int owners;
};
int waited_request_new(struct deadlines *deadlines, struct waited_request **ret_request);
/* Waits for completion, restores the message in this thread, gives up the caller's ownership and returns the result. */
int waited_request_wait(struct waited_request *request);

#endif
