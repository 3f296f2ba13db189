/*
 * pool.c: lanes of threads. One lock for all lanes: tasks are chunk loads, thousands a second, not millions.
 *
 * A fetch may wait for a dead disk for ever. The monitor thread counts such a thread as stuck and starts another in its
 * place; when the stuck one returns, it ends. So `width` threads of the lane always work.
 */
#include "pool/pool.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"
#include "pool/request.h"

struct worker {
	struct worker *next;
	struct pool *pool;
	enum pool_lane lane;
	pthread_t thread;
	uint64_t started_ns; /* of the task that runs; 0 when none does */
	atomic_int *owner_stuck;
	bool stuck;
	bool ended; /* to be joined */
};

struct queue {
	struct task *head, **tail;
};

struct lane {
	struct queue queues[POOL_PRIORITIES];
	pthread_cond_t work;
	int width;
	int threads; /* alive, stuck ones included */
	int idle;
	int stuck;
	int queued;
};

struct pool {
	pthread_mutex_t lock;
	struct lane lanes[POOL_LANES];
	struct worker *workers; /* those not joined yet */
	uint64_t stuck_ns;
	int max_stuck;
	bool stop;
	pthread_t monitor;
	bool monitor_runs;
	pthread_cond_t monitor_wake;
};

/* Tasks of lanes without threads, in the thread that submitted them. */
static _Thread_local struct {
	struct task *head, **tail;
	bool draining;
} inline_tasks;

static void run_inline(struct task *task)
{
	task->next = NULL;
	if (!inline_tasks.head)
		inline_tasks.tail = &inline_tasks.head;
	*inline_tasks.tail = task;
	inline_tasks.tail = &task->next;
	if (inline_tasks.draining)
		return;

	inline_tasks.draining = true;
	while ((task = inline_tasks.head)) {
		inline_tasks.head = task->next;
		task->run(task);
	}
	inline_tasks.draining = false;
}

static struct task *lane_take(struct lane *lane)
{
	for (int p = 0; p < POOL_PRIORITIES; p++) {
		struct queue *queue = &lane->queues[p];
		struct task *task = queue->head;
		if (!task)
			continue;
		queue->head = task->next;
		if (!queue->head)
			queue->tail = &queue->head;
		lane->queued--;
		return task;
	}
	return NULL;
}

static void begin_task(struct worker *worker, struct task *task)
{
	if (worker->lane != POOL_FETCH || !worker->pool->stuck_ns)
		return;
	worker->owner_stuck = task->stuck;
	worker->started_ns = monotonic_ns();
}

/* Whether the worker must end because another has taken its place. */
static bool end_task(struct worker *worker, struct lane *lane)
{
	worker->started_ns = 0;
	if (!worker->stuck)
		return false;
	worker->stuck = false;
	lane->stuck--;
	stats_add(stuck_loads, -1);
	if (worker->owner_stuck)
		atomic_fetch_sub(worker->owner_stuck, 1);
	return lane->threads - lane->stuck > lane->width;
}

static void *worker_main(void *arg)
{
	struct worker *worker = arg;
	struct pool *pool = worker->pool;
	struct lane *lane = &pool->lanes[worker->lane];

	pthread_mutex_lock(&pool->lock);
	for (;;) {
		struct task *task = lane_take(lane);
		if (!task) {
			if (pool->stop)
				break;
			lane->idle++;
			pthread_cond_wait(&lane->work, &pool->lock);
			lane->idle--;
			continue;
		}
		begin_task(worker, task);
		pthread_mutex_unlock(&pool->lock);
		task->run(task);
		pthread_mutex_lock(&pool->lock);
		if (end_task(worker, lane))
			break;
	}
	lane->threads--;
	worker->ended = true;
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

/* A thread that gets no signals: those are the main thread's. */
static int start_thread(pthread_t *thread, void *(*main)(void *), void *arg)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int rc = pthread_create(thread, NULL, main, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc ? err_set(rc, "cannot start a thread") : 0;
}

/* Joins the threads that have ended: each has given up the lock for good, so nobody waits long. */
static void reap_workers(struct pool *pool)
{
	for (struct worker **link = &pool->workers; *link;) {
		struct worker *worker = *link;
		if (!worker->ended) {
			link = &worker->next;
			continue;
		}
		*link = worker->next;
		pthread_join(worker->thread, NULL);
		free(worker);
	}
}

/* Whether one more thread may work: in place of stuck ones too, as long as not too many are. */
static bool has_room(const struct pool *pool, const struct lane *lane)
{
	return lane->threads - lane->stuck < lane->width && lane->threads < lane->width + pool->max_stuck;
}

static int start_worker(struct pool *pool, enum pool_lane which)
{
	reap_workers(pool);
	struct worker *worker = calloc(1, sizeof(*worker));
	if (!worker)
		return err_set(ENOMEM, "no memory for a thread");
	worker->pool = pool;
	worker->lane = which;
	int rc = start_thread(&worker->thread, worker_main, worker);
	if (rc) {
		free(worker);
		return rc;
	}
	worker->next = pool->workers;
	pool->workers = worker;
	pool->lanes[which].threads++;
	return 0;
}

/* Marks workers that are past their time, replaces them, and returns when to look again (0: nothing runs). */
static uint64_t find_stuck(struct pool *pool, uint64_t now)
{
	struct lane *lane = &pool->lanes[POOL_FETCH];
	uint64_t next = 0;
	for (struct worker *worker = pool->workers; worker; worker = worker->next) {
		if (!worker->started_ns || worker->stuck)
			continue;
		uint64_t due = worker->started_ns + pool->stuck_ns;
		if (due > now) {
			next = next ? MIN(next, due) : due;
			continue;
		}
		worker->stuck = true;
		lane->stuck++;
		stats_add(stuck_loads, 1);
		if (worker->owner_stuck)
			atomic_fetch_add(worker->owner_stuck, 1);
		if (has_room(pool, lane))
			start_worker(pool, POOL_FETCH);
	}
	return next;
}

static void *monitor_main(void *arg)
{
	struct pool *pool = arg;
	autolock(&pool->lock);
	while (!pool->stop) {
		uint64_t next = find_stuck(pool, monotonic_ns());
		if (!next)
			next = monotonic_ns() + pool->stuck_ns;
		struct timespec at = {(time_t)(next / 1000000000), (long)(next % 1000000000)};
		pthread_cond_timedwait(&pool->monitor_wake, &pool->lock, &at);
	}
	return NULL;
}

static void init_monotonic_cond(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int pool_new(const struct pool_options *options, struct pool **ret_pool)
{
	struct pool *pool = calloc(1, sizeof(*pool));
	if (!pool)
		return err_set(ENOMEM, "no memory for a pool");
	pthread_mutex_init(&pool->lock, NULL);
	init_monotonic_cond(&pool->monitor_wake);
	for (int i = 0; i < POOL_LANES; i++) {
		struct lane *lane = &pool->lanes[i];
		lane->width = options->width[i];
		pthread_cond_init(&lane->work, NULL);
		for (int p = 0; p < POOL_PRIORITIES; p++)
			lane->queues[p].tail = &lane->queues[p].head;
	}
	pool->stuck_ns = options->stuck_ns;
	pool->max_stuck = options->max_stuck;
	*ret_pool = pool;
	return 0;
}

static struct worker *take_worker(struct pool *pool)
{
	autolock(&pool->lock);
	struct worker *worker = pool->workers;
	if (worker)
		pool->workers = worker->next;
	return worker;
}

void pool_free(struct pool *pool)
{
	if (!pool)
		return;
	pthread_mutex_lock(&pool->lock);
	pool->stop = true;
	for (int i = 0; i < POOL_LANES; i++)
		pthread_cond_broadcast(&pool->lanes[i].work);
	pthread_cond_broadcast(&pool->monitor_wake);
	bool monitor_runs = pool->monitor_runs;
	pthread_mutex_unlock(&pool->lock);

	if (monitor_runs)
		pthread_join(pool->monitor, NULL);
	/* the last tasks may submit others, for which threads start again */
	struct worker *worker;
	while ((worker = take_worker(pool))) {
		pthread_join(worker->thread, NULL);
		free(worker);
	}
	for (int i = 0; i < POOL_LANES; i++)
		pthread_cond_destroy(&pool->lanes[i].work);
	pthread_cond_destroy(&pool->monitor_wake);
	pthread_mutex_destroy(&pool->lock);
	free(pool);
}

void pool_submit(struct pool *pool, enum pool_lane which, enum pool_priority priority, struct task *task)
{
	struct lane *lane = &pool->lanes[which];
	if (!lane->width) {
		run_inline(task);
		return;
	}

	pthread_mutex_lock(&pool->lock);
	if (which == POOL_FETCH && pool->stuck_ns && !pool->monitor_runs && !pool->stop)
		pool->monitor_runs = !start_thread(&pool->monitor, monitor_main, pool);
	bool wanted = lane->queued >= lane->idle && has_room(pool, lane);
	if (wanted && start_worker(pool, which) && !lane->threads) {
		/* not one thread can be had: the work is done here, late rather than never */
		pthread_mutex_unlock(&pool->lock);
		run_inline(task);
		return;
	}
	struct queue *queue = &lane->queues[priority];
	task->next = NULL;
	*queue->tail = task;
	queue->tail = &task->next;
	lane->queued++;
	pthread_cond_signal(&lane->work);
	pthread_mutex_unlock(&pool->lock);
}

int pool_queued(struct pool *pool, enum pool_lane which)
{
	autolock(&pool->lock);
	return pool->lanes[which].queued;
}

int pool_stuck(struct pool *pool)
{
	autolock(&pool->lock);
	return pool->lanes[POOL_FETCH].stuck;
}
