/*
 * test_ndcopy.c: strided copies and fills against a walk over every byte, on random boxes; and byte swaps.
 */
#include <stdbool.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/limits.h"
#include "base/ndcopy.h"

#define MAX_NDIM 6
#define GUARD 64 /* bytes around a side that must stay as they are */

/* One side of a copy: where its axes lie in memory. */
struct side {
	int64_t strides[LIMIT_DIMS + 1];
	uint8_t *memory;
	size_t size; /* of memory */
	uint8_t *origin;
};

/* A box of random shape: few axes or many, lengths of 0 and 1 among them, the last one an element or a run. */
static int random_shape(uint64_t *state, uint64_t *shape)
{
	static const uint64_t items[] = {1, 2, 3, 4, 5, 8, 12, 16, 24, 32, 33, 100};
	int ndim = 1 + (int)(test_random(state) % MAX_NDIM);
	uint64_t room = 6000;
	for (int i = 0; i < ndim - 1; i++) {
		uint64_t kind = test_random(state) % 8;
		shape[i] = kind == 0 ? 1 : 1 + test_random(state) % (kind == 1 ? 100 : 7);
		shape[i] = MIN(shape[i], MAX(room, (uint64_t)1));
		room /= shape[i];
	}
	shape[ndim - 1] = items[test_random(state) % ARRAY_LEN(items)];
	if (test_random(state) % 50 == 0)
		shape[test_random(state) % (uint64_t)ndim] = 0;
	return ndim;
}

/* Memory for a box whose axes lie in a random order, some with gaps, some backwards. */
static struct side random_side(uint64_t *state, const uint64_t *shape, int ndim)
{
	struct side side = {0};
	int order[MAX_NDIM];
	bool shuffle = test_random(state) % 2, gaps = test_random(state) % 2, backwards = test_random(state) % 3 == 0;
	side.strides[ndim - 1] = 1;
	for (int i = 0; i < ndim - 1; i++)
		order[i] = i;
	for (int i = ndim - 2; shuffle && i > 0; i--) {
		int j = (int)(test_random(state) % (uint64_t)(i + 1)), other = order[i];
		order[i] = order[j];
		order[j] = other;
	}
	int64_t span = (int64_t)MAX(shape[ndim - 1], (uint64_t)1), before = 0;
	for (int k = ndim - 2; k >= 0; k--) {
		int i = order[k];
		int64_t length = (int64_t)MAX(shape[i], (uint64_t)1);
		if (gaps && test_random(state) % 2)
			span += (int64_t)(test_random(state) % 9);
		if (gaps && test_random(state) % 16 == 0 && span < 2048 && length < 8)
			span = 2048;
		side.strides[i] = span;
		if (backwards && test_random(state) % 2) {
			side.strides[i] = -span;
			before += span * (length - 1);
		}
		span *= length;
	}
	side.size = (size_t)span + 2 * GUARD;
	side.memory = malloc(side.size);
	side.origin = side.memory + GUARD + before;
	for (size_t i = 0; i < side.size; i++)
		side.memory[i] = (uint8_t)test_random(state);
	return side;
}

/* The address of a box's byte number n in C order. */
static uint8_t *byte_at(uint8_t *origin, const int64_t *strides, const uint64_t *shape, int ndim, uint64_t n)
{
	for (int i = ndim - 1; i >= 0; i--) {
		origin += strides[i] * (int64_t)(n % shape[i]);
		n /= shape[i];
	}
	return origin;
}

static uint64_t box_bytes(const uint64_t *shape, int ndim)
{
	uint64_t bytes = 1;
	for (int i = 0; i < ndim; i++)
		bytes *= shape[i];
	return bytes;
}

/* A copy of the side's memory, and where the origin is in it. */
static uint8_t *expect_from(const struct side *side, uint8_t **ret_origin)
{
	uint8_t *memory = malloc(side->size);
	memcpy(memory, side->memory, side->size);
	*ret_origin = memory + (side->origin - side->memory);
	return memory;
}

START_TEST(a_copy_moves_each_byte_of_the_box_and_no_other)
{
	uint64_t state = test_seed();
	for (int round = 0; round < 1000; round++) {
		uint64_t shape[MAX_NDIM];
		int ndim = random_shape(&state, shape);
		struct side dst = random_side(&state, shape, ndim), src = random_side(&state, shape, ndim);
		uint8_t *origin;
		autofree uint8_t *expected = expect_from(&dst, &origin);
		for (uint64_t i = 0; i < box_bytes(shape, ndim); i++)
			*byte_at(origin, dst.strides, shape, ndim, i) = *byte_at(src.origin, src.strides, shape, ndim, i);
		ndcopy(dst.origin, dst.strides, src.origin, src.strides, shape, ndim);
		ck_assert_msg(memcmp(dst.memory, expected, dst.size) == 0, "round %d", round);
		free(dst.memory);
		free(src.memory);
	}
}
END_TEST

static const uint64_t plane_sides[] = {1, 7, 31, 32, 33, 64, 100, 256};
static const uint64_t plane_items[] = {1, 2, 3, 4, 8, 12, 16, 24};

START_TEST(a_transposed_plane_of_any_size_is_exact)
{
	uint64_t item = plane_items[_i];
	for (size_t r = 0; r < ARRAY_LEN(plane_sides); r++)
		for (size_t c = 0; c < ARRAY_LEN(plane_sides); c++) {
			uint64_t rows = plane_sides[r], columns = plane_sides[c], shape[] = {rows, columns, item};
			int64_t dst[] = {(int64_t)(columns * item), (int64_t)item, 1};
			int64_t src[] = {(int64_t)item, (int64_t)(rows * item), 1};
			size_t size = rows * columns * item;
			autofree uint8_t *from = malloc(size);
			autofree uint8_t *to = malloc(size);
			for (size_t i = 0; i < size; i++)
				from[i] = (uint8_t)(i * 2654435761u >> 13);
			ndcopy(to, dst, from, src, shape, 3);
			for (uint64_t i = 0; i < rows; i++)
				for (uint64_t j = 0; j < columns; j++)
					ck_assert_int_eq(memcmp(to + (i * columns + j) * item, from + (j * rows + i) * item, item), 0);
		}
}
END_TEST

START_TEST(a_box_of_all_dimensions_is_copied)
{
	uint64_t shape[LIMIT_DIMS + 1], bytes = 1;
	int64_t dst[LIMIT_DIMS + 1], src[LIMIT_DIMS + 1];
	uint8_t from[2048], to[2048] = {0};
	/* ten axes of length 2, apart from each other, in opposite orders on both sides */
	for (int i = 0; i <= LIMIT_DIMS; i++)
		shape[i] = i % 3 == 0 && i < 30 ? 2 : 1;
	for (int i = LIMIT_DIMS; i >= 0; i--) {
		dst[i] = (int64_t)bytes;
		bytes *= shape[i];
	}
	ck_assert_uint_eq(bytes, 1024);
	bytes = 1;
	for (int i = 0; i <= LIMIT_DIMS; i++) {
		src[i] = (int64_t)bytes;
		bytes *= shape[i];
	}
	src[LIMIT_DIMS] = 1;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 31 + i / 256);
	ndcopy(to, dst, from, src, shape, LIMIT_DIMS + 1);
	for (uint64_t i = 0; i < 1024; i++)
		ck_assert_int_eq(*byte_at(to, dst, shape, LIMIT_DIMS + 1, i), *byte_at(from, src, shape, LIMIT_DIMS + 1, i));
	ck_assert_int_eq(to[1024], 0);
}
END_TEST

START_TEST(a_fill_writes_its_part_of_the_element_and_no_other_byte)
{
	uint64_t state = test_seed();
	for (int round = 0; round < 1000; round++) {
		uint64_t shape[MAX_NDIM];
		uint8_t item[128], *origin;
		int ndim = random_shape(&state, shape);
		size_t part = shape[ndim - 1], first = test_random(&state) % 3 ? 0 : test_random(&state) % 10;
		size_t behind = test_random(&state) % 3 ? 0 : test_random(&state) % 10;
		size_t item_size = part + first + behind;
		bool same = test_random(&state) % 4 == 0;
		for (size_t i = 0; i < item_size; i++)
			item[i] = same && i > 0 ? item[0] : (uint8_t)test_random(&state);
		struct side dst = random_side(&state, shape, ndim);
		autofree uint8_t *expected = expect_from(&dst, &origin);
		for (uint64_t i = 0; i < box_bytes(shape, ndim); i++)
			*byte_at(origin, dst.strides, shape, ndim, i) = item[first + i % part];
		if (part == item_size)
			ndfill(dst.origin, dst.strides, shape, ndim, item, item_size);
		else
			ndfill_part(dst.origin, dst.strides, shape, ndim, item, item_size, first);
		ck_assert_msg(memcmp(dst.memory, expected, dst.size) == 0, "round %d", round);
		free(dst.memory);
	}
}
END_TEST

static const struct {
	size_t size;
	uint64_t n;
} fills[] = {{1, 0}, {1, 1},	{1, 70000}, {2, 5000},	{3, 1},	   {3, 10007},
			 {8, 2}, {8, 4097}, {16, 3},	{100, 333}, {20000, 3}};

START_TEST(elements_follow_one_another)
{
	size_t size = fills[_i].size, total = size * fills[_i].n;
	autofree uint8_t *item = malloc(size);
	autofree uint8_t *memory = malloc(total + 1);
	for (int same = 0; same < 2; same++) {
		for (size_t i = 0; i < size; i++)
			item[i] = same ? 9 : (uint8_t)(i * 7 + 1);
		memory[total] = 0xee;
		fill_elements(memory, item, size, fills[_i].n);
		for (size_t i = 0; i < total; i++)
			ck_assert_int_eq(memory[i], item[i % size]);
		ck_assert_int_eq(memory[total], 0xee);
	}
}
END_TEST

static const size_t units[] = {1, 2, 3, 4, 5, 8, 16};

START_TEST(swapping_reverses_each_number_also_in_place)
{
	size_t unit = units[_i];
	uint8_t from[16 * 103 + 3], to[sizeof(from)];
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 167 + i / 256);
	for (size_t n = 0; n <= 100; n++) {
		size_t size = n * unit;
		memset(to, 0xee, sizeof(to));
		/* at odd addresses: numbers of a chunk need not be aligned */
		swap_bytes(to + 1, from + 3, size, unit);
		for (size_t i = 0; i < size; i++)
			ck_assert_int_eq(to[1 + i], from[3 + i / unit * unit + unit - 1 - i % unit]);
		ck_assert_int_eq(to[1 + size], 0xee);
		swap_bytes(to + 1, to + 1, size, unit);
		ck_assert_int_eq(memcmp(to + 1, from + 3, size), 0);
		ck_assert_int_eq(to[1 + size], 0xee);
	}
}
END_TEST

START_TEST(spans_are_swapped_in_each_element_and_nothing_else_is)
{
	const struct swap_span spans[] = {{1, 2, 1}, {3, 4, 2}, {12, 8, 1}};
	const uint8_t order[] = {0, 2, 1, 6, 5, 4, 3, 10, 9, 8, 7, 11, 19, 18, 17, 16, 15, 14, 13, 12, 20};
	enum { ITEM = sizeof(order) };
	uint8_t from[ITEM * 50], to[ITEM * 50 + 1];
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 167 + i / 256);
	to[sizeof(from)] = 0xee;
	swap_spans(to, from, sizeof(from), ITEM, spans, ARRAY_LEN(spans));
	for (size_t i = 0; i < sizeof(from); i++)
		ck_assert_int_eq(to[i], from[i / ITEM * ITEM + order[i % ITEM]]);
	swap_spans(to, to, sizeof(from), ITEM, spans, ARRAY_LEN(spans));
	ck_assert_mem_eq(to, from, sizeof(from));
	ck_assert_int_eq(to[sizeof(from)], 0xee);
}
END_TEST

static Suite *ndcopy_suite(void)
{
	Suite *suite = suite_create("ndcopy");
	TCase *tcase = tcase_create("ndcopy");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_copy_moves_each_byte_of_the_box_and_no_other);
	tcase_add_loop_test(tcase, a_transposed_plane_of_any_size_is_exact, 0, ARRAY_LEN(plane_items));
	tcase_add_test(tcase, a_box_of_all_dimensions_is_copied);
	tcase_add_test(tcase, a_fill_writes_its_part_of_the_element_and_no_other_byte);
	tcase_add_loop_test(tcase, elements_follow_one_another, 0, ARRAY_LEN(fills));
	tcase_add_loop_test(tcase, swapping_reverses_each_number_also_in_place, 0, ARRAY_LEN(units));
	tcase_add_test(tcase, spans_are_swapped_in_each_element_and_nothing_else_is);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ndcopy_suite)
