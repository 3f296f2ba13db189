/*
 * pool.h: threads that run tasks, in lanes. A load has two stages, fetch (waits for a device: many threads) and decode
 * (uses a CPU: as many as CPUs); metadata has a lane of its own, so that `ls` answers while a thousand readers wait.
 *
 * Threads start when first needed. Width 0 in a lane: its tasks run in the thread that submits, one after the other in
 * order, never inside each other (deterministic tests, `zarrfs cat` of one chunk). Any thread may submit.
 */
#ifndef ZARRFS_POOL_H
#define ZARRFS_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum pool_lane { POOL_META, POOL_FETCH, POOL_DECODE, POOL_LANES };
enum pool_priority { POOL_DEMAND, POOL_AHEAD, POOL_PRIORITIES };

/* Embedded in the caller's struct; the pool does not touch it after run begins, so run may free it. */
struct task {
	struct task *next;
	void (*run)(struct task *task);
	/* [Counts this owner's stuck tasks] for tasks of POOL_FETCH; must outlive the pool's threads. NULL: not counted. */
	atomic_int *stuck;
};

struct pool_options {
	int width[POOL_LANES];
	uint64_t stuck_ns; /* a fetch that runs longer counts as stuck, and another thread takes its place; 0: never */
	int max_stuck;	   /* no more threads than this are replaced: a lane has at most width + max_stuck */
};

struct pool;

int pool_new(const struct pool_options *options, struct pool **ret_pool);

/* Runs what is queued, and what that submits, then ends every thread; waits for stuck ones too. NULL is legal. */
void pool_free(struct pool *pool);

/* Queues a task. Demand runs before read-ahead; in order within each. */
void pool_submit(struct pool *pool, enum pool_lane lane, enum pool_priority priority, struct task *task);

/* Tasks of one lane that wait for a thread. */
int pool_queued(struct pool *pool, enum pool_lane lane);

/* Fetches that are stuck now. */
int pool_stuck(struct pool *pool);

#endif
