/* test_shuffle.c: every row of shuffle.c gives back what the definition of the two shuffles, written down naively, stored. */
#include "codec/shuffle.h"

#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"

#define GUARD 64
#define GUARD_BYTE 0xa5

/* Plane k holds byte k of every item; what is behind the last item follows. */
static void store_bytes(size_t item, size_t size, const uint8_t *plain, uint8_t *ret_stored)
{
	size_t n = size / item;
	memcpy(ret_stored, plain, size);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < item; k++)
			ret_stored[k * n + i] = plain[i * item + k];
}

/* Plane 8 * k + b holds bit b of byte k of every item, eight items in a byte. */
static void store_bits(size_t item, size_t size, const uint8_t *plain, uint8_t *ret_stored)
{
	size_t n = size / item;
	memcpy(ret_stored, plain, size);
	if (n % 8 != 0)
		return;
	memset(ret_stored, 0, n * item);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < item; k++)
			for (size_t b = 0; b < 8; b++)
				ret_stored[(8 * k + b) * (n / 8) + i / 8] |= (uint8_t)((plain[i * item + k] >> b & 1) << i % 8);
}

/* The addresses are odd, and everything is exactly as large as it has to be. */
static void check_size(const struct shuffle *shuffle, size_t item, size_t size, uint64_t *state)
{
	autofree uint8_t *plain = malloc(size + 1);
	autofree uint8_t *stored = malloc(size + 1);
	autofree uint8_t *got = malloc(size + 1 + GUARD);
	for (size_t i = 0; i < size; i++)
		plain[i] = (uint8_t)test_random(state);

	for (int bits = 0; bits < 2; bits++) {
		(bits ? store_bits : store_bytes)(item, size, plain, stored + 1);
		memset(got, GUARD_BYTE, size + 1 + GUARD);
		(bits ? shuffle_undo_bits : shuffle_undo_bytes)(shuffle, item, size, stored + 1, got + 1);
		ck_assert_msg(memcmp(got + 1, plain, size) == 0, "%s, %s: item %zu, size %zu", shuffle->name,
					  bits ? "bits" : "bytes", item, size);
		for (size_t i = 0; i < GUARD; i++)
			ck_assert_msg(got[size + 1 + i] == GUARD_BYTE, "%s: item %zu, size %zu: wrote behind the end",
						  shuffle->name, item, size);
	}
}

START_TEST(every_row_undoes_both_shuffles_of_every_item_size)
{
	static const size_t counts[] = {1,	2,	 7,	  8,   15,	16,	 17,  31,  32,	 33,  48,
									64, 127, 128, 136, 255, 256, 264, 520, 1032, 4104};
	uint64_t state = test_seed();
	const struct shuffle *shuffle;
	for (int row = 0; (shuffle = shuffle_row(row)); row++) {
		if (!shuffle->supported())
			continue;
		for (size_t item = 1; item <= 255; item += item < 36 ? 1 : 73) {
			for (size_t c = 0; c < ARRAY_LEN(counts); c++) {
				if (item > 36 && counts[c] > 600)
					continue;
				check_size(shuffle, item, item * counts[c], &state);
				check_size(shuffle, item, item * counts[c] + test_random(&state) % item, &state);
			}
		}
	}
}
END_TEST

START_TEST(a_block_smaller_than_one_item_stays_as_it_is)
{
	uint64_t state = 1;
	const struct shuffle *shuffle;
	for (int row = 0; (shuffle = shuffle_row(row)); row++)
		for (size_t size = 0; shuffle->supported() && size < 16; size++)
			check_size(shuffle, 16, size, &state);
}
END_TEST

START_TEST(bits_are_shuffled_only_where_the_items_are_a_multiple_of_eight)
{
	static const struct {
		size_t item, size;
		bool applies;
	} rows[] = {
		{1, 8, true},  {1, 9, false},	{4, 32, true},	   {4, 35, true}, {4, 36, false},
		{4, 3, false}, {255, 8, false}, {255, 2040, true}, {3, 24, true}, {3, 23, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ck_assert_msg(shuffle_bits_apply(rows[i].item, rows[i].size) == rows[i].applies, "row %zu", i);
}
END_TEST

START_TEST(the_best_row_is_one_that_this_machine_runs)
{
	ck_assert(shuffle_best()->supported());
	ck_assert(shuffle_row(0)->supported());
	ck_assert_str_eq(shuffle_row(0)->name, "scalar");
}
END_TEST

static Suite *shuffle_suite(void)
{
	Suite *suite = suite_create("shuffle");
	TCase *tcase = tcase_create("undo");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, every_row_undoes_both_shuffles_of_every_item_size);
	tcase_add_test(tcase, a_block_smaller_than_one_item_stays_as_it_is);
	tcase_add_test(tcase, bits_are_shuffled_only_where_the_items_are_a_multiple_of_eight);
	tcase_add_test(tcase, the_best_row_is_one_that_this_machine_runs);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(shuffle_suite)
