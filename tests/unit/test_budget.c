/*
 * test_budget.c: who gets reserved bytes, in which order, and what must be evicted first.
 */
#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "cache/budget.h"

static void set(struct budget *budget, uint64_t limit, uint64_t reserved, uint64_t charged)
{
	budget_init(budget, limit);
	budget_charge(budget, 0, charged);
	budget->reserved = reserved;
}

static const struct {
	const char *what;
	uint64_t reserved, charged; /* of 1000 */
	uint64_t bytes, most;
	bool granted;
	uint64_t missing;
} tries[] = {
	{"nothing", 0, 0, 0, UINT64_MAX, true, 0},
	{"all of an empty budget", 0, 0, 1000, UINT64_MAX, true, 0},
	{"nothing of a full one", 1000, 0, 0, UINT64_MAX, true, 0},
	{"what is left", 300, 400, 300, UINT64_MAX, true, 0},
	{"one more than is left", 300, 400, 301, UINT64_MAX, false, 1},
	{"all, from entries", 0, 1000, 1000, UINT64_MAX, false, 1000},
	{"what entries beside reservations have", 200, 700, 300, UINT64_MAX, false, 200},
	{"what entries beside reservations have in all", 200, 800, 800, UINT64_MAX, false, 800},
	{"more than entries can give", 900, 100, 200, UINT64_MAX, false, 0},
	{"one more than entries can give", 200, 800, 801, UINT64_MAX, false, 0},
	{"beside reservations", 1000, 0, 1, UINT64_MAX, false, 0},
	{"beside an oversize reservation", 5000, 0, 1, UINT64_MAX, false, 0},
	{"beside an oversize entry", 0, 5000, 100, UINT64_MAX, false, 4100},
	{"oversize, alone", 0, 0, 1001, UINT64_MAX, true, 0},
	{"oversize, as large as can be", 0, 0, UINT64_MAX, UINT64_MAX, true, 0},
	{"oversize, beside a reservation", 1, 0, 1001, UINT64_MAX, false, 0},
	{"oversize, beside a reservation and entries", 1, 500, 1001, UINT64_MAX, false, 0},
	{"oversize, beside entries", 0, 700, 1001, UINT64_MAX, false, 700},
	{"read-ahead up to its share", 400, 0, 100, 500, true, 0},
	{"read-ahead past its share", 401, 0, 100, 500, false, 0},
	{"read-ahead beside more than its share", 600, 0, 0, 500, false, 0},
	{"read-ahead larger than its share", 0, 0, 501, 500, false, 0},
	{"read-ahead larger than any number", 400, 0, UINT64_MAX, 500, false, 0},
	{"read-ahead, from entries", 100, 900, 400, 500, false, 400},
};

START_TEST(bytes_are_reserved_where_they_fit_and_else_it_tells_what_is_missing)
{
	struct budget budget;
	uint64_t missing = 77;
	set(&budget, 1000, tries[_i].reserved, tries[_i].charged);
	bool granted = budget_try(&budget, tries[_i].bytes, tries[_i].most, &missing);
	ck_assert_msg(granted == tries[_i].granted, "%s", tries[_i].what);
	ck_assert_msg(missing == tries[_i].missing, "%s: %llu", tries[_i].what, (unsigned long long)missing);
	ck_assert_uint_eq(budget.reserved, tries[_i].reserved + (granted ? tries[_i].bytes : 0));
	ck_assert_uint_eq(budget.charged, tries[_i].charged);
	budget_finish(&budget);
}
END_TEST

START_TEST(evicting_what_is_missing_is_enough_and_not_too_much)
{
	uint64_t random = test_seed();
	for (int i = 0; i < 3000; i++) {
		struct budget budget;
		uint64_t missing, bytes = test_random(&random) % 1500;
		set(&budget, 1000, test_random(&random) % 1200, test_random(&random) % 1200);
		if (!budget_try(&budget, bytes, UINT64_MAX, &missing) && missing) {
			budget_uncharge(&budget, missing - 1);
			uint64_t rest;
			ck_assert(!budget_try(&budget, bytes, UINT64_MAX, &rest));
			ck_assert_uint_eq(rest, 1);
			budget_uncharge(&budget, 1);
			ck_assert(budget_try(&budget, bytes, UINT64_MAX, &rest));
		}
		budget_finish(&budget);
	}
}
END_TEST

START_TEST(who_waits_is_granted_in_order_and_nobody_passes)
{
	struct budget budget;
	struct reservation waiting[] = {{.bytes = 600}, {.bytes = 10}, {.bytes = 390}, {.bytes = 1}};
	uint64_t missing;
	set(&budget, 1000, 1000, 0);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	for (size_t i = 0; i < ARRAY_LEN(waiting); i++)
		budget_enqueue(&budget, &waiting[i]);
	budget_release(&budget, 599);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert_msg(!budget_try(&budget, 1, UINT64_MAX, &missing), "passes those in line");
	ck_assert_uint_eq(missing, 0);
	budget_release(&budget, 1);
	ck_assert_ptr_eq(budget_next(&budget, &missing), &waiting[0]);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	budget_release(&budget, 600);
	for (int i = 1; i < 3; i++)
		ck_assert_ptr_eq(budget_next(&budget, &missing), &waiting[i]);
	ck_assert_uint_eq(missing, 0);
	budget_release(&budget, 400);
	ck_assert_ptr_eq(budget_next(&budget, &missing), &waiting[3]);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert(budget_try(&budget, 599, UINT64_MAX, &missing));
	ck_assert_uint_eq(budget_used(&budget), 1000);

	/* the queue is whole after it was empty */
	budget_enqueue(&budget, &waiting[0]);
	budget_release(&budget, 1000);
	ck_assert_ptr_eq(budget_next(&budget, &missing), &waiting[0]);
	budget_finish(&budget);
}
END_TEST

START_TEST(what_exceeds_the_budget_is_granted_when_all_else_is_gone)
{
	struct budget budget;
	struct reservation large = {.bytes = 5000}, small = {.bytes = 1};
	uint64_t missing;
	set(&budget, 1000, 300, 200);
	budget_enqueue(&budget, &large);
	budget_enqueue(&budget, &small);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert_uint_eq(missing, 0);
	budget_release(&budget, 300);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert_uint_eq(missing, 200);
	budget_uncharge(&budget, 200);
	ck_assert_ptr_eq(budget_next(&budget, &missing), &large);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert_uint_eq(missing, 0);
	budget_charge(&budget, 5000, 4000);
	ck_assert_ptr_null(budget_next(&budget, &missing));
	ck_assert_uint_eq(missing, 3001);
	budget_uncharge(&budget, 4000);
	ck_assert_ptr_eq(budget_next(&budget, &missing), &small);
	budget_finish(&budget);
}
END_TEST

static const struct {
	uint64_t reserved, charged; /* of 1000 */
	uint64_t from, to;
	bool done;
	uint64_t missing;
} charges[] = {
	{500, 0, 500, 500, true, 0},	{500, 0, 500, 1000, true, 0}, {500, 400, 500, 600, true, 0},
	{500, 400, 500, 601, false, 1}, {0, 1000, 0, 50, false, 50},  {0, 20, 0, 1050, false, 20},
	{5000, 0, 5000, 5050, true, 0}, {5000, 30, 0, 50, false, 30}, {5000, 0, 0, 50, true, 0},
	{0, 0, 0, 1001, true, 0},
};

START_TEST(an_entry_is_charged_where_it_fits_or_no_other_is_left)
{
	struct budget budget;
	uint64_t missing = 77;
	set(&budget, 1000, charges[_i].reserved, charges[_i].charged);
	bool done = budget_try_charge(&budget, charges[_i].from, charges[_i].to, &missing);
	ck_assert_int_eq(done, charges[_i].done);
	ck_assert_uint_eq(missing, charges[_i].missing);
	uint64_t used = charges[_i].reserved + charges[_i].charged;
	ck_assert_uint_eq(budget_used(&budget), done ? used - charges[_i].from + charges[_i].to : used);
	budget_finish(&budget);
}
END_TEST

static Suite *budget_suite(void)
{
	Suite *suite = suite_create("budget");
	TCase *tcase = tcase_create("budget");
	tcase_add_loop_test(tcase, bytes_are_reserved_where_they_fit_and_else_it_tells_what_is_missing, 0,
						ARRAY_LEN(tries));
	tcase_add_test(tcase, evicting_what_is_missing_is_enough_and_not_too_much);
	tcase_add_test(tcase, who_waits_is_granted_in_order_and_nobody_passes);
	tcase_add_test(tcase, what_exceeds_the_budget_is_granted_when_all_else_is_gone);
	tcase_add_loop_test(tcase, an_entry_is_charged_where_it_fits_or_no_other_is_left, 0, ARRAY_LEN(charges));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(budget_suite)
