/*
 * test_pool.c: lanes, priorities, threads that start when needed, stuck fetches, the end of a pool.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"
#include "../lib/until.h"

#include "base/base.h"
#include "base/stats.h"
#include "pool/pool.h"

#define MS UINT64_C(1000000)

static struct pool *make_pool(int meta, int fetch, int decode, uint64_t stuck_ns, int max_stuck)
{
	struct pool_options options = {{meta, fetch, decode}, stuck_ns, max_stuck};
	struct pool *pool;
	ck_assert_int_eq(pool_new(&options, &pool), 0);
	return pool;
}

static void submit(struct pool *pool, enum pool_lane lane, struct task *task)
{
	pool_submit(pool, lane, POOL_DEMAND, task);
}

/* A task that begins, waits until its gate opens, and ends. */
struct gated {
	struct task task;
	atomic_bool *gate;
	atomic_int *begun, *ended;
};

static void run_gated(struct task *task)
{
	struct gated *gated = container_of(task, struct gated, task);
	atomic_fetch_add(gated->begun, 1);
	while (gated->gate && !atomic_load(gated->gate))
		sleep_us(200);
	atomic_fetch_add(gated->ended, 1);
}

struct gates {
	atomic_bool gate;
	atomic_int begun, ended, stuck;
	struct gated tasks[16];
};

static struct task *gated_task(struct gates *gates, int i, bool waits)
{
	gates->tasks[i] = (struct gated){
		.task = {.run = run_gated, .stuck = &gates->stuck},
		.gate = waits ? &gates->gate : NULL,
		.begun = &gates->begun,
		.ended = &gates->ended,
	};
	return &gates->tasks[i].task;
}

/* A task that notes its place in the order. */
struct order {
	pthread_mutex_t lock;
	int n, depth, deepest;
	int names[64];
	pthread_t thread;
};

struct named {
	struct task task;
	struct order *order;
	int name;
	struct pool *pool; /* it submits two more, `children` */
	struct named *children;
};

static void run_named(struct task *task)
{
	struct named *named = container_of(task, struct named, task);
	struct order *order = named->order;
	pthread_mutex_lock(&order->lock);
	order->names[order->n++] = named->name;
	order->thread = pthread_self();
	order->depth++;
	order->deepest = MAX(order->deepest, order->depth);
	pthread_mutex_unlock(&order->lock);
	for (int i = 0; named->children && i < 2; i++)
		submit(named->pool, i ? POOL_FETCH : POOL_DECODE, &named->children[i].task);
	pthread_mutex_lock(&order->lock);
	order->depth--;
	pthread_mutex_unlock(&order->lock);
}

START_TEST(width_0_runs_tasks_in_the_caller_in_order_and_never_inside_each_other)
{
	struct order order = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct pool *pool = make_pool(0, 0, 0, MS, 1);
	struct named tasks[7];
	for (int i = 0; i < 7; i++)
		tasks[i] = (struct named){{.run = run_named}, &order, i, pool, i < 3 ? &tasks[2 * i + 1] : NULL};
	submit(pool, POOL_META, &tasks[0].task);
	ck_assert_int_eq(order.n, 7);
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(order.names[i], i);
	ck_assert_int_eq(order.deepest, 1);
	ck_assert(pthread_equal(order.thread, pthread_self()));
	pool_free(pool);
}
END_TEST

START_TEST(demand_runs_before_ahead_and_in_order_within_each)
{
	static const struct {
		enum pool_priority priority;
		int place;
	} submitted[] = {{POOL_AHEAD, 3}, {POOL_DEMAND, 0}, {POOL_AHEAD, 4}, {POOL_DEMAND, 1}, {POOL_DEMAND, 2}};
	enum pool_lane lane = (enum pool_lane)_i;
	struct order order = {.lock = PTHREAD_MUTEX_INITIALIZER};
	struct gates gates = {0};
	struct named tasks[ARRAY_LEN(submitted)];
	struct pool *pool = make_pool(1, 1, 1, 0, 0);
	submit(pool, lane, gated_task(&gates, 0, true));
	ck_assert(until(atomic_load(&gates.begun) == 1));
	for (size_t i = 0; i < ARRAY_LEN(submitted); i++) {
		tasks[i] = (struct named){{.run = run_named}, &order, submitted[i].place, NULL, NULL};
		pool_submit(pool, lane, submitted[i].priority, &tasks[i].task);
	}
	ck_assert_int_eq(pool_queued(pool, lane), ARRAY_LEN(submitted));
	atomic_store(&gates.gate, true);
	pool_free(pool);
	ck_assert_int_eq(order.n, ARRAY_LEN(submitted));
	for (int i = 0; i < order.n; i++)
		ck_assert_int_eq(order.names[i], i);
}
END_TEST

static int count_threads(void)
{
	int n = 0;
	DIR *dir = opendir("/proc/self/task");
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

START_TEST(threads_start_when_tasks_need_them)
{
	struct gates gates = {0};
	int before = count_threads();
	struct pool *pool = make_pool(4, 4, 4, 0, 0);
	ck_assert_int_eq(count_threads(), before);
	for (int i = 0; i < 3; i++) {
		submit(pool, POOL_DECODE, gated_task(&gates, i, true));
		ck_assert(until(atomic_load(&gates.begun) == i + 1));
		ck_assert_int_eq(count_threads(), before + i + 1);
	}
	atomic_store(&gates.gate, true);
	pool_free(pool);
	ck_assert(until(count_threads() == before));
}
END_TEST

START_TEST(as_many_tasks_of_a_lane_run_at_once_as_it_is_wide)
{
	struct gates gates = {0};
	struct pool *pool = make_pool(1, 3, 2, 0, 0);
	for (int i = 0; i < 5; i++)
		submit(pool, POOL_FETCH, gated_task(&gates, i, true));
	ck_assert(until(atomic_load(&gates.begun) == 3));
	sleep_us(20000);
	ck_assert_int_eq(atomic_load(&gates.begun), 3);
	ck_assert_int_eq(pool_queued(pool, POOL_FETCH), 2);
	ck_assert_int_eq(pool_queued(pool, POOL_DECODE), 0);

	struct gates others = {0};
	submit(pool, POOL_META, gated_task(&others, 0, false));
	submit(pool, POOL_DECODE, gated_task(&others, 1, false));
	ck_assert_msg(until(atomic_load(&others.ended) == 2), "other lanes wait");
	atomic_store(&gates.gate, true);
	pool_free(pool);
	ck_assert_int_eq(atomic_load(&gates.ended), 5);
}
END_TEST

START_TEST(stuck_fetches_are_counted_and_replaced_so_the_lane_makes_progress)
{
	static const int widths[] = {1, 3};
	int width = widths[_i];
	struct gates gates = {0}, others = {0};
	uint64_t gauge = stats_get(stuck_loads);
	struct pool *pool = make_pool(1, width, 1, 20 * MS, 8);
	for (int i = 0; i < width; i++)
		submit(pool, POOL_FETCH, gated_task(&gates, i, true));
	for (int i = 0; i < 6; i++)
		submit(pool, POOL_FETCH, gated_task(&others, i, false));
	ck_assert_msg(until(atomic_load(&others.ended) == 6), "the lane stands");
	ck_assert_int_eq(atomic_load(&gates.ended), 0);
	ck_assert(until(pool_stuck(pool) == width));
	ck_assert_int_eq(atomic_load(&gates.stuck), width);
	ck_assert_uint_eq(stats_get(stuck_loads), gauge + (uint64_t)width);
	ck_assert_int_eq(atomic_load(&others.stuck), 0);

	atomic_store(&gates.gate, true);
	ck_assert(until(pool_stuck(pool) == 0));
	ck_assert_int_eq(atomic_load(&gates.stuck), 0);
	ck_assert_uint_eq(stats_get(stuck_loads), gauge);
	pool_free(pool);
}
END_TEST

START_TEST(no_more_threads_than_allowed_are_replaced)
{
	struct gates gates = {0}, others = {0};
	struct pool *pool = make_pool(1, 1, 1, 10 * MS, 2);
	for (int i = 0; i < 3; i++)
		submit(pool, POOL_FETCH, gated_task(&gates, i, true));
	ck_assert(until(pool_stuck(pool) == 3));
	submit(pool, POOL_FETCH, gated_task(&others, 0, false));
	submit(pool, POOL_FETCH, gated_task(&others, 1, false));
	sleep_us(50000);
	ck_assert_msg(!atomic_load(&others.begun), "a fourth thread of a lane of 1 + 2");
	ck_assert_int_eq(pool_queued(pool, POOL_FETCH), 2);
	atomic_store(&gates.gate, true);
	ck_assert(until(atomic_load(&others.ended) == 2));
	pool_free(pool);
}
END_TEST

static uint64_t address_space(void)
{
	unsigned long pages;
	FILE *file = fopen("/proc/self/statm", "r");
	ck_assert_int_eq(fscanf(file, "%lu", &pages), 1);
	fclose(file);
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

START_TEST(threads_that_were_replaced_leave_nothing_behind)
{
	enum { ROUNDS = 48 };
	struct pool *pool = make_pool(1, 1, 1, 2 * MS, 4);
	pthread_attr_t attr;
	size_t stack;
	pthread_attr_init(&attr);
	pthread_attr_getstacksize(&attr, &stack);
	pthread_attr_destroy(&attr);
	uint64_t before = 0;
	for (int i = 0; i < ROUNDS; i++) {
		struct gates gates = {0};
		submit(pool, POOL_FETCH, gated_task(&gates, 0, true));
		submit(pool, POOL_FETCH, gated_task(&gates, 1, false));
		ck_assert(until(atomic_load(&gates.ended) == 1));
		atomic_store(&gates.gate, true);
		ck_assert(until(atomic_load(&gates.ended) == 2 && pool_stuck(pool) == 0));
		if (i == ROUNDS / 4)
			before = address_space();
	}
	uint64_t after = address_space();
	ck_assert_msg(after < before + ROUNDS / 2 * stack, "%llu MiB more", (unsigned long long)(after - before) >> 20);
	pool_free(pool);
}
END_TEST

/* Fetch, decode, fetch ...: each link slow, and submitted by the one before. */
struct chain {
	struct task task;
	struct pool *pool;
	int left;
	uint64_t us;
	atomic_int *links;
};

static void run_chain(struct task *task)
{
	struct chain *chain = container_of(task, struct chain, task);
	sleep_us(chain->us);
	atomic_int *links = chain->links;
	if (chain->left--)
		submit(chain->pool, chain->left % 2 ? POOL_FETCH : POOL_DECODE, &chain->task);
	atomic_fetch_add(links, 1);
}

static const struct {
	int chains, links;
	uint64_t us;
	int rounds;
} ends[] = {{1, 1, 30000, 3}, {1, 6, 5000, 2}, {8, 6, 500, 20}, {8, 6, 0, 100}};

START_TEST(the_end_runs_what_is_queued_and_what_that_submits)
{
	for (int round = 0; round < ends[_i].rounds; round++) {
		struct pool *pool = make_pool(1, 2, 2, 1000 * MS, 2);
		struct chain chains[8];
		atomic_int links = 0;
		for (int i = 0; i < ends[_i].chains; i++) {
			chains[i] = (struct chain){{.run = run_chain}, pool, ends[_i].links, ends[_i].us, &links};
			submit(pool, (i + _i) % 2 ? POOL_FETCH : POOL_DECODE, &chains[i].task);
		}
		pool_free(pool);
		ck_assert_int_eq(atomic_load(&links), ends[_i].chains * (ends[_i].links + 1));
	}
}
END_TEST

struct masked {
	struct task task;
	atomic_int signals; /* blocked, plus one */
};

static void run_masked(struct task *task)
{
	sigset_t set;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	int n = sigismember(&set, SIGTERM) + sigismember(&set, SIGINT) + sigismember(&set, SIGHUP);
	atomic_store(&container_of(task, struct masked, task)->signals, n + 1);
}

START_TEST(signals_are_left_to_the_main_thread)
{
	struct masked masked = {{.run = run_masked}, 0};
	struct pool *pool = make_pool(1, 1, 1, 0, 0);
	submit(pool, (enum pool_lane)_i, &masked.task);
	pool_free(pool);
	ck_assert_int_eq(masked.signals, 4);
	sigset_t set;
	pthread_sigmask(SIG_SETMASK, NULL, &set);
	ck_assert(!sigismember(&set, SIGTERM));
}
END_TEST

/* Tasks from many threads, some of them just about as long as the time after which they count as stuck. */
struct burst {
	struct pool *pool;
	uint64_t random;
	atomic_int *ran, *stuck;
};

struct nap {
	struct task task;
	uint64_t us;
	atomic_int *ran;
};

static void run_nap(struct task *task)
{
	struct nap *nap = container_of(task, struct nap, task);
	if (nap->us)
		sleep_us(nap->us);
	atomic_fetch_add(nap->ran, 1);
	free(nap);
}

static void *submit_burst(void *arg)
{
	struct burst *burst = arg;
	for (int i = 0; i < 250; i++) {
		struct nap *nap = malloc(sizeof(*nap));
		enum pool_lane lane = (enum pool_lane)(test_random(&burst->random) % POOL_LANES);
		uint64_t us = lane == POOL_FETCH ? test_random(&burst->random) % 2000 : 0;
		*nap = (struct nap){{.run = run_nap, .stuck = burst->stuck}, us, burst->ran};
		pool_submit(burst->pool, lane, (enum pool_priority)(i % POOL_PRIORITIES), &nap->task);
	}
	return NULL;
}

START_TEST(each_task_runs_once_whoever_submits_and_whoever_is_stuck)
{
	uint64_t seed = test_seed(), gauge = stats_get(stuck_loads);
	atomic_int ran = 0, stuck = 0;
	struct pool *pool = make_pool(1, 4, 2, MS, 6);
	struct burst bursts[4];
	pthread_t threads[4];
	for (int i = 0; i < 4; i++) {
		bursts[i] = (struct burst){pool, seed + (uint64_t)i, &ran, &stuck};
		pthread_create(&threads[i], NULL, submit_burst, &bursts[i]);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ck_assert(until(atomic_load(&ran) == 1000));
	ck_assert(until(pool_stuck(pool) == 0));
	ck_assert_int_eq(atomic_load(&stuck), 0);
	ck_assert_uint_eq(stats_get(stuck_loads), gauge);
	for (int lane = 0; lane < POOL_LANES; lane++)
		ck_assert_int_eq(pool_queued(pool, (enum pool_lane)lane), 0);
	pool_free(pool);
	ck_assert_int_eq(atomic_load(&ran), 1000);
}
END_TEST

START_TEST(no_pool_is_freed_too)
{
	pool_free(NULL);
	pool_free(make_pool(4, 64, 2, MS, 64));
}
END_TEST

static Suite *pool_suite(void)
{
	Suite *suite = suite_create("pool");
	TCase *tcase = tcase_create("pool");
	tcase_add_test(tcase, width_0_runs_tasks_in_the_caller_in_order_and_never_inside_each_other);
	tcase_add_loop_test(tcase, demand_runs_before_ahead_and_in_order_within_each, 0, POOL_LANES);
	tcase_add_test(tcase, threads_start_when_tasks_need_them);
	tcase_add_test(tcase, as_many_tasks_of_a_lane_run_at_once_as_it_is_wide);
	tcase_add_loop_test(tcase, stuck_fetches_are_counted_and_replaced_so_the_lane_makes_progress, 0, 2);
	tcase_add_test(tcase, no_more_threads_than_allowed_are_replaced);
	tcase_add_test(tcase, threads_that_were_replaced_leave_nothing_behind);
	tcase_add_loop_test(tcase, the_end_runs_what_is_queued_and_what_that_submits, 0, ARRAY_LEN(ends));
	tcase_add_loop_test(tcase, signals_are_left_to_the_main_thread, 0, POOL_LANES);
	tcase_add_test(tcase, each_task_runs_once_whoever_submits_and_whoever_is_stuck);
	tcase_add_test(tcase, no_pool_is_freed_too);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(pool_suite)
