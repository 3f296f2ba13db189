/*
 * test_request.c: requests complete exactly once: by their last part, or by their deadline.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"
#include "../lib/until.h"

#include "base/base.h"
#include "base/stats.h"
#include "pool/request.h"

#define MS UINT64_C(1000000)

/* A request that notes what happens to it, and is not freed by itself. */
struct noted {
	struct request request;
	atomic_int completed, released, rc;
	atomic_int released_early; /* before completion, or while parts were open */
	atomic_int open;		   /* parts, as the test counts them */
	atomic_int place;		   /* in the order of completion */
	char message[ERR_TEXT_BYTES];
};

static atomic_int completions;

static void noted_complete(struct request *request, int rc)
{
	struct noted *noted = container_of(request, struct noted, request);
	atomic_store(&noted->rc, rc);
	atomic_store(&noted->place, atomic_fetch_add(&completions, 1));
	snprintf(noted->message, sizeof(noted->message), "%s", rc ? err_message() : "");
	atomic_fetch_add(&noted->completed, 1);
}

static void noted_release(struct request *request)
{
	struct noted *noted = container_of(request, struct noted, request);
	atomic_store(&noted->released_early, !atomic_load(&noted->completed) || atomic_load(&noted->open));
	atomic_fetch_add(&noted->released, 1);
}

static void note(struct noted *noted, struct deadlines *deadlines, int parts)
{
	memset(noted, 0, sizeof(*noted));
	request_init(&noted->request, deadlines, noted_complete, noted_release);
	atomic_store(&noted->open, parts + 1);
	for (int i = 0; i < parts; i++)
		request_add(&noted->request);
}

static void end_part(struct noted *noted, int rc, const char *message)
{
	if (rc)
		err_set(-rc, "%s", message);
	atomic_fetch_sub(&noted->open, 1);
	request_finish_part(&noted->request, rc);
}

static void check_answer(struct noted *noted, int rc, const char *message)
{
	ck_assert_int_eq(atomic_load(&noted->completed), 1);
	ck_assert_int_eq(atomic_load(&noted->rc), rc);
	ck_assert_str_eq(noted->message, message);
}

static void check_release(struct noted *noted)
{
	ck_assert_int_eq(atomic_load(&noted->completed), 1);
	ck_assert_int_eq(atomic_load(&noted->released), 1);
	ck_assert_int_eq(atomic_load(&noted->released_early), 0);
}

static struct deadlines *make_deadlines(uint64_t timeout_ns)
{
	struct deadlines *deadlines;
	ck_assert_int_eq(deadlines_new(timeout_ns, &deadlines), 0);
	return deadlines;
}

/* Results in the order in which parts end; the planner's is the one at `planner`. */
static const struct {
	int n, planner;
	int rcs[4];
	int rc;
	const char *message;
} ends[] = {
	{1, 0, {0}, 0, ""},
	{1, 0, {-EIO}, -EIO, "part 0"},
	{3, 2, {0, 0, 0}, 0, ""},
	{3, 0, {0, 0, 0}, 0, ""},
	{4, 1, {-EIO, -EINVAL, 0, 0}, -EIO, "part 0"},
	{4, 3, {0, -ESTALE, -EIO, -ENOMEM}, -ESTALE, "part 1"},
	{4, 0, {0, 0, 0, -EACCES}, -EACCES, "part 3"},
};

START_TEST(the_last_part_completes_and_the_first_error_wins_with_its_message)
{
	struct noted noted;
	note(&noted, NULL, ends[_i].n - 1);
	ck_assert_int_eq(request_is_open(&noted.request), ends[_i].n > 1);
	for (int i = 0; i < ends[_i].n; i++) {
		char message[24];
		snprintf(message, sizeof(message), "part %d", i);
		ck_assert_int_eq(atomic_load(&noted.completed), 0);
		ck_assert(!request_is_answered(&noted.request));
		end_part(&noted, ends[_i].rcs[i], message);
		err_set(EIO, "of something else");
	}
	check_answer(&noted, ends[_i].rc, ends[_i].message);
	check_release(&noted);
}
END_TEST

struct part {
	struct noted *noted;
	int i, rc;
};

static void *end_in_thread(void *arg)
{
	struct part *part = arg;
	char message[24];
	snprintf(message, sizeof(message), "error %d", -part->rc);
	end_part(part->noted, part->rc, message);
	return NULL;
}

START_TEST(parts_may_end_in_any_threads_at_once)
{
	enum { PARTS = 8 };
	for (int round = 0; round < 40; round++) {
		struct noted noted;
		struct part parts[PARTS];
		pthread_t threads[PARTS];
		note(&noted, NULL, PARTS);
		for (int i = 0; i < PARTS; i++) {
			parts[i] = (struct part){&noted, i, _i ? -(i + 1) : 0};
			pthread_create(&threads[i], NULL, end_in_thread, &parts[i]);
		}
		end_part(&noted, 0, NULL);
		for (int i = 0; i < PARTS; i++)
			pthread_join(threads[i], NULL);
		char message[24] = "";
		if (_i)
			snprintf(message, sizeof(message), "error %d", -atomic_load(&noted.rc));
		check_answer(&noted, _i ? atomic_load(&noted.rc) : 0, message);
		check_release(&noted);
	}
}
END_TEST

START_TEST(the_deadline_answers_while_parts_are_open_and_the_last_part_releases)
{
	static const int late_results[] = {0, -EIO};
	struct deadlines *deadlines = make_deadlines(10 * MS);
	struct noted noted;
	uint64_t timeouts = stats_get(timeouts), detached = stats_get(detached);
	note(&noted, deadlines, 2);
	sleep_us(20000); /* the deadlines' thread sleeps, because there are none */
	request_arm(&noted.request);
	end_part(&noted, 0, NULL);
	ck_assert(until(atomic_load(&noted.completed)));
	ck_assert(request_is_answered(&noted.request));
	check_answer(&noted, -ETIMEDOUT, "the store did not answer within 0.01 s");
	end_part(&noted, late_results[_i], "too late");
	sleep_us(5000);
	ck_assert_int_eq(atomic_load(&noted.released), 0);
	end_part(&noted, 0, NULL);
	/* the deadline's thread may be the last to let go */
	ck_assert(until(atomic_load(&noted.released)));
	check_answer(&noted, -ETIMEDOUT, "the store did not answer within 0.01 s");
	check_release(&noted);
	ck_assert_uint_eq(stats_get(timeouts), timeouts + 1);
	ck_assert_uint_eq(stats_get(detached), detached + 1);
	deadlines_free(deadlines);
}
END_TEST

START_TEST(the_deadline_leaves_alone_what_ended_in_time)
{
	struct deadlines *deadlines = make_deadlines(200 * MS);
	struct noted noted;
	uint64_t timeouts = stats_get(timeouts);
	note(&noted, deadlines, 1);
	request_arm(&noted.request);
	end_part(&noted, 0, NULL);
	end_part(&noted, -EIO, "in time");
	check_release(&noted);
	sleep_us(300000);
	check_answer(&noted, -EIO, "in time");
	check_release(&noted);
	ck_assert_uint_eq(stats_get(timeouts), timeouts);
	deadlines_free(deadlines);
}
END_TEST

START_TEST(without_a_deadline_a_request_waits)
{
	/* no deadlines; a time-out of 0; a clock that was not started */
	struct deadlines *deadlines = _i ? make_deadlines(_i == 1 ? 0 : MS) : NULL;
	struct noted noted;
	note(&noted, deadlines, 1);
	if (_i < 2)
		request_arm(&noted.request);
	end_part(&noted, 0, NULL);
	sleep_us(20000);
	ck_assert_int_eq(atomic_load(&noted.completed), 0);
	end_part(&noted, 0, NULL);
	check_answer(&noted, 0, "");
	check_release(&noted);
	deadlines_free(deadlines);
}
END_TEST

START_TEST(the_clock_is_started_once)
{
	struct deadlines *deadlines = make_deadlines(200 * MS);
	struct noted twice, other;
	uint64_t detached = stats_get(detached);
	note(&twice, deadlines, 1);
	request_arm(&twice.request);
	request_arm(&twice.request);
	note(&other, deadlines, 1);
	request_arm(&other.request);
	end_part(&other, 0, NULL);
	end_part(&twice, 0, NULL);
	end_part(&twice, 0, NULL);
	ck_assert(until(atomic_load(&other.completed)));
	check_answer(&other, -ETIMEDOUT, "the store did not answer within 0.2 s");
	sleep_us(300000);
	check_answer(&twice, 0, "");
	check_release(&twice);
	ck_assert_uint_eq(stats_get(detached), detached + 2);
	end_part(&other, 0, NULL);
	ck_assert(until(atomic_load(&other.released)));
	deadlines_free(deadlines);
}
END_TEST

START_TEST(late_requests_are_answered_in_the_order_of_their_clocks)
{
	enum { N = 50 };
	struct deadlines *deadlines = make_deadlines(5 * MS);
	static struct noted noted[N];
	int first = atomic_load(&completions), in_time = 0;
	for (int i = 0; i < N; i++) {
		note(&noted[i], deadlines, 1);
		request_arm(&noted[i].request);
		end_part(&noted[i], 0, NULL);
	}
	ck_assert(until(atomic_load(&completions) == first + N));
	for (int i = 0; i < N; i++) {
		ck_assert_int_eq(atomic_load(&noted[i].place), first + i);
		in_time += atomic_load(&noted[i].rc) != -ETIMEDOUT;
		end_part(&noted[i], 0, NULL);
	}
	ck_assert_int_eq(in_time, 0);
	for (int i = 0; i < N; i++)
		ck_assert(until(atomic_load(&noted[i].released) == 1));
	deadlines_free(deadlines);
}
END_TEST

/* Requests whose parts end at about their deadline, in three threads. */
enum { STRESS = 3000, STRESS_THREADS = 3 };

struct stress {
	struct noted *noted;
	_Atomic uint64_t started; /* requests */
	uint64_t seed;
};

struct stress_thread {
	struct stress *stress;
	uint64_t random;
};

static void *end_stress_parts(void *arg)
{
	struct stress_thread *thread = arg;
	for (uint64_t i = 0; i < STRESS; i++) {
		while (i >= atomic_load(&thread->stress->started))
			sleep_us(20);
		if (test_random(&thread->random) % 16 == 0)
			sleep_us(test_random(&thread->random) % 1200);
		end_part(&thread->stress->noted[i], test_random(&thread->random) % 8 ? 0 : -EIO, "by chance");
	}
	return NULL;
}

START_TEST(thousands_of_short_deadlines_are_each_answered_once)
{
	struct deadlines *deadlines = make_deadlines(MS);
	struct stress stress = {.noted = calloc(STRESS, sizeof(struct noted)), .seed = test_seed()};
	struct stress_thread parts[STRESS_THREADS];
	pthread_t threads[STRESS_THREADS];
	uint64_t timeouts = stats_get(timeouts), late = 0;
	for (int i = 0; i < STRESS_THREADS; i++) {
		parts[i] = (struct stress_thread){&stress, stress.seed + (uint64_t)i};
		pthread_create(&threads[i], NULL, end_stress_parts, &parts[i]);
	}
	for (int i = 0; i < STRESS; i++) {
		note(&stress.noted[i], deadlines, STRESS_THREADS);
		request_arm(&stress.noted[i].request);
		atomic_fetch_add(&stress.started, 1);
		end_part(&stress.noted[i], 0, NULL);
		if (i % 8 == 0)
			sleep_us(50);
	}
	for (int i = 0; i < STRESS_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < STRESS; i++) {
		struct noted *noted = &stress.noted[i];
		ck_assert(until(atomic_load(&noted->released)));
		check_release(noted);
		int rc = atomic_load(&noted->rc);
		ck_assert(rc == 0 || rc == -EIO || rc == -ETIMEDOUT);
		ck_assert_int_eq(!rc, !noted->message[0]);
		late += rc == -ETIMEDOUT;
	}
	ck_assert_uint_eq(stats_get(timeouts), timeouts + late);
	deadlines_free(deadlines);
	free(stress.noted);
}
END_TEST

struct waited_part {
	struct waited_request *waited;
	int rc;
	uint64_t us;
};

static void *end_waited_part(void *arg)
{
	struct waited_part *part = arg;
	sleep_us(part->us);
	if (part->rc)
		err_set(-part->rc, "what the part says");
	request_finish_part(&part->waited->request, part->rc);
	return NULL;
}

static const struct {
	uint64_t timeout_ns; /* 0: none */
	uint64_t us;		 /* that the part takes */
	int part_rc, rc;
	const char *message;
} waits[] = {
	{0, 0, 0, 0, "before"},
	{0, 3000, 0, 0, "before"},
	{0, 3000, -EIO, -EIO, "what the part says"},
	{5 * MS, 300000, -EIO, -ETIMEDOUT, "the store did not answer within 0.005 s"},
	{5 * MS, 300000, 0, -ETIMEDOUT, "the store did not answer within 0.005 s"},
};

START_TEST(a_waited_request_gives_its_result_and_message_to_the_thread_that_waits)
{
	struct deadlines *deadlines = waits[_i].timeout_ns ? make_deadlines(waits[_i].timeout_ns) : NULL;
	struct waited_request *waited;
	pthread_t thread;
	ck_assert_int_eq(waited_request_new(deadlines, &waited), 0);
	request_add(&waited->request);
	struct waited_part part = {waited, waits[_i].part_rc, waits[_i].us};
	pthread_create(&thread, NULL, end_waited_part, &part);
	request_arm(&waited->request);
	request_finish_part(&waited->request, 0);
	err_set(EIO, "before");
	ck_assert_int_eq(waited_request_wait(waited), waits[_i].rc);
	ck_assert_str_eq(err_message(), waits[_i].message);
	pthread_join(thread, NULL);
	deadlines_free(deadlines);
}
END_TEST

START_TEST(no_deadlines_are_freed_too)
{
	deadlines_free(NULL);
	deadlines_free(make_deadlines(0));
	deadlines_free(make_deadlines(MS));
}
END_TEST

static Suite *request_suite(void)
{
	Suite *suite = suite_create("request");
	TCase *tcase = tcase_create("request");
	tcase_add_loop_test(tcase, the_last_part_completes_and_the_first_error_wins_with_its_message, 0, ARRAY_LEN(ends));
	tcase_add_loop_test(tcase, parts_may_end_in_any_threads_at_once, 0, 2);
	tcase_add_loop_test(tcase, the_deadline_answers_while_parts_are_open_and_the_last_part_releases, 0, 2);
	tcase_add_test(tcase, the_deadline_leaves_alone_what_ended_in_time);
	tcase_add_loop_test(tcase, without_a_deadline_a_request_waits, 0, 3);
	tcase_add_test(tcase, the_clock_is_started_once);
	tcase_add_test(tcase, late_requests_are_answered_in_the_order_of_their_clocks);
	tcase_add_test(tcase, thousands_of_short_deadlines_are_each_answered_once);
	tcase_add_loop_test(tcase, a_waited_request_gives_its_result_and_message_to_the_thread_that_waits, 0,
						ARRAY_LEN(waits));
	tcase_add_test(tcase, no_deadlines_are_freed_too);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(request_suite)
