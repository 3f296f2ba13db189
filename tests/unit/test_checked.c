/*
 * test_checked.c: arithmetic that fails instead of wrapping.
 */
#include "../lib/check_main.h"

#include "base/base.h"
#include "base/checked.h"

static const struct {
	uint64_t a, b;
	bool add, sub, mul;
} pairs[] = {
	{0, 0, true, true, true},
	{2, 3, true, false, true},
	{UINT64_MAX, 0, true, true, true},
	{UINT64_MAX, 1, false, true, true},
	{0, UINT64_MAX, true, false, true},
	{UINT64_MAX - 1, 1, true, true, true},
	{UINT64_MAX / 2, 2, true, true, true},
	{UINT64_MAX / 2 + 1, 2, true, true, false},
	{UINT64_C(1) << 32, UINT64_C(1) << 32, true, true, false},
	{UINT64_MAX, UINT64_MAX, false, true, false},
};

START_TEST(a_result_that_does_not_fit_is_refused)
{
	uint64_t a = pairs[_i].a, b = pairs[_i].b, result;
	ck_assert_int_eq(checked_add(a, b, &result), pairs[_i].add);
	if (pairs[_i].add)
		ck_assert_uint_eq(result, a + b);
	ck_assert_int_eq(checked_sub(a, b, &result), pairs[_i].sub);
	if (pairs[_i].sub)
		ck_assert_uint_eq(result, a - b);
	ck_assert_int_eq(checked_mul(a, b, &result), pairs[_i].mul);
	if (pairs[_i].mul)
		ck_assert_uint_eq(result, a * b);
}
END_TEST

static const struct {
	int n;
	uint64_t factors[4];
	bool fits;
	uint64_t product;
} products[] = {
	{0, {0}, true, 1},
	{1, {7}, true, 7},
	{3, {2, 3, 5}, true, 30},
	{3, {2, 0, 5}, true, 0},
	{2, {UINT64_C(1) << 32, UINT64_C(1) << 31}, true, UINT64_C(1) << 63},
	{2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, false, 0},
	{3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, false, 0},
};

START_TEST(a_product_fails_as_soon_as_a_part_of_it_does_not_fit)
{
	uint64_t product;
	ck_assert_int_eq(checked_product(products[_i].factors, products[_i].n, &product), products[_i].fits);
	if (products[_i].fits)
		ck_assert_uint_eq(product, products[_i].product);
}
END_TEST

static const struct {
	uint64_t a, b, quotient;
} divisions[] = {
	{0, 5, 0},
	{1, 5, 1},
	{5, 5, 1},
	{6, 5, 2},
	{UINT64_MAX, 1, UINT64_MAX},
	{UINT64_MAX, 2, UINT64_C(1) << 63},
	{UINT64_MAX, UINT64_MAX, 1},
};

START_TEST(ceil_div_rounds_up_and_never_overflows)
{
	ck_assert_uint_eq(ceil_div(divisions[_i].a, divisions[_i].b), divisions[_i].quotient);
}
END_TEST

static Suite *checked_suite(void)
{
	Suite *suite = suite_create("checked");
	TCase *tcase = tcase_create("checked");
	tcase_add_loop_test(tcase, a_result_that_does_not_fit_is_refused, 0, ARRAY_LEN(pairs));
	tcase_add_loop_test(tcase, a_product_fails_as_soon_as_a_part_of_it_does_not_fit, 0, ARRAY_LEN(products));
	tcase_add_loop_test(tcase, ceil_div_rounds_up_and_never_overflows, 0, ARRAY_LEN(divisions));
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(checked_suite)
