/*
 * test_layout.c: byte ranges -> boxes -> chunks -> slabs, against a reference that knows each view axis as a list of array
 * indexes and looks up every byte by itself.
 */
#include <stdbool.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "base/checked.h"
#include "layout/layout.h"

/* ck_assert writes to a file each time it holds: too slow for each byte. */
#define must(condition)                                                                                                \
	do {                                                                                                               \
		if (!(condition))                                                                                              \
			ck_abort_msg("%s", #condition);                                                                            \
	} while (0)

/* What a view is, the naive way. */
struct view_axis {
	int array_axis;
	uint64_t n;
	uint64_t *index; /* array index of each view index; NULL: itself */
};

struct reference {
	int ndim;
	uint32_t item_size;
	uint64_t chunk[LIMIT_DIMS]; /* by array axis */
	struct view_axis axes[LIMIT_DIMS];
};

/* Where a payload byte lies. */
struct place {
	uint64_t coords[LIMIT_DIMS]; /* of its chunk, by array axis */
	uint64_t chunk_offset;
	uint64_t byte; /* of its element */
};

static struct place place_of(const struct reference *reference, uint64_t payload)
{
	struct place place = {.byte = payload % reference->item_size};
	uint64_t rest = payload / reference->item_size, inner[LIMIT_DIMS];
	for (int i = reference->ndim - 1; i >= 0; i--) {
		const struct view_axis *axis = &reference->axes[i];
		uint64_t v = rest % axis->n, index = axis->index ? axis->index[v] : v;
		rest /= axis->n;
		place.coords[axis->array_axis] = index / reference->chunk[axis->array_axis];
		inner[axis->array_axis] = index % reference->chunk[axis->array_axis];
	}
	for (int a = 0; a < reference->ndim; a++)
		place.chunk_offset = place.chunk_offset * reference->chunk[a] + inner[a];
	place.chunk_offset = place.chunk_offset * reference->item_size + place.byte;
	return place;
}

static uint64_t reference_bytes(const struct reference *reference)
{
	uint64_t bytes = reference->item_size;
	for (int i = 0; i < reference->ndim; i++)
		bytes *= reference->axes[i].n;
	return bytes;
}

static uint64_t below(uint64_t *random, uint64_t n)
{
	return test_random(random) % n;
}

/* Boxes follow each other without a gap; each is whole behind the first axis that is cut. */
static void check_boxes(const struct layout *layout, uint64_t first, uint64_t size, const struct layout_box *boxes,
						int n)
{
	int axes = layout->ndim + 1;
	uint64_t at = first;
	must(n <= 2 * axes - 1);
	for (int b = 0; b < n; b++) {
		uint64_t offset = 0, bytes = 1;
		for (int i = axes - 1; i >= 0; i--) {
			must(boxes[b].count[i] >= 1);
			must(boxes[b].start[i] + boxes[b].count[i] <= layout->shape[i]);
			if (bytes != layout->stride[i])
				must(boxes[b].count[i] == 1);
			offset += boxes[b].start[i] * layout->stride[i];
			bytes *= boxes[b].count[i];
		}
		must(offset == at);
		at += bytes;
	}
	must(at == first + size);
}

/* Every byte of a slab is where the reference says, and nobody was there before. */
static void check_slab(const struct reference *reference, const struct layout *layout, const struct slab *slab,
					   const uint64_t *coords, uint64_t first, uint64_t size, uint8_t *covered)
{
	int axes = layout->ndim + 1;
	uint64_t index[LAYOUT_AXES] = {0};
	for (int i = 0; i >= 0;) {
		uint64_t reply = slab->reply_offset, chunk_offset = slab->chunk_offset;
		for (int a = 0; a < axes; a++) {
			reply += index[a] * layout->stride[a];
			chunk_offset += index[a] * (uint64_t)slab->chunk_stride[a];
		}
		must(reply < size);
		must(covered[reply] == 0);
		covered[reply] = 1;
		struct place place = place_of(reference, first + reply);
		must(chunk_offset == place.chunk_offset);
		must(slab->item_first + index[axes - 1] == place.byte);
		must(!memcmp(coords, place.coords, (size_t)layout->ndim * sizeof(*coords)));
		for (i = axes - 1; i >= 0 && ++index[i] == slab->extent[i]; i--)
			index[i] = 0;
	}
}

/* Whether chunk a comes before chunk b in the C order of the view's axes. */
static bool comes_before(const struct layout *layout, const uint64_t *a, const uint64_t *b)
{
	for (int i = 0; i < layout->ndim; i++)
		if (a[layout->axis[i]] != b[layout->axis[i]])
			return a[layout->axis[i]] < b[layout->axis[i]];
	return false;
}

/* Returns the number of chunks. */
static uint64_t check_range(const struct reference *reference, const struct layout *layout, uint64_t first,
							uint64_t size)
{
	struct layout_grid grid;
	struct layout_box boxes[LAYOUT_BOXES];
	static struct layout_walk walk;
	memcpy(grid.chunk, reference->chunk, sizeof(grid.chunk));
	int n = layout_boxes(layout, first, size, boxes);
	check_boxes(layout, first, size, boxes, n);
	autofree uint8_t *covered = calloc(size + 1, 1);
	uint64_t before[LIMIT_DIMS] = {0}, chunks = 0;
	const uint64_t *coords;
	layout_walk_begin(&walk, layout, &grid, boxes, n);
	for (; (coords = layout_walk_next(&walk)); chunks++) {
		must(!chunks || comes_before(layout, before, coords));
		memcpy(before, coords, (size_t)layout->ndim * sizeof(*coords));
		int slabs = 0;
		for (int b = 0; b < n; b++) {
			struct slab slab;
			if (!layout_slab(layout, &grid, &boxes[b], coords, first, &slab))
				continue;
			check_slab(reference, layout, &slab, coords, first, size, covered);
			slabs++;
		}
		must(slabs >= 1);
	}
	for (uint64_t i = 0; i < size; i++)
		must(covered[i] == 1);
	must(!layout_walk_next(&walk));
	return chunks;
}

static void permute(struct reference *reference, struct layout *layout, uint64_t *random)
{
	int order[LIMIT_DIMS];
	struct view_axis old[LIMIT_DIMS];
	for (int i = 0; i < reference->ndim; i++) {
		int j = (int)below(random, (uint64_t)i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	memcpy(old, reference->axes, sizeof(old));
	for (int i = 0; i < reference->ndim; i++)
		reference->axes[i] = old[order[i]];
	layout_permute(layout, order);
}

static void slice(struct reference *reference, struct layout *layout, int i, uint64_t start, uint64_t step,
				  uint64_t count)
{
	struct view_axis *axis = &reference->axes[i];
	for (uint64_t v = 0; v < count; v++)
		axis->index[v] = axis->index[start + v * step];
	axis->n = count;
	layout_slice(layout, i, start, step, count);
}

static void slice_somehow(struct reference *reference, struct layout *layout, uint64_t *random)
{
	int i = (int)below(random, (uint64_t)reference->ndim);
	uint64_t n = reference->axes[i].n;
	uint64_t start = below(random, n + 1), step = 1 + below(random, 4);
	slice(reference, layout, i, start, step, below(random, ceil_div(n - start, step) + 1));
}

/* Lengths from `shortest` to `longest`; chunks from 1 to one more than the axis. */
static void make(struct reference *reference, struct layout *layout, int ndim, uint64_t shortest, uint64_t longest,
				 uint64_t *random)
{
	uint64_t shape[LIMIT_DIMS];
	*reference = (struct reference){.ndim = ndim, .item_size = (uint32_t)(1 + below(random, 8))};
	for (int a = 0; a < ndim; a++) {
		shape[a] = shortest + below(random, longest - shortest + 1);
		reference->chunk[a] = 1 + below(random, shape[a] + 1);
		reference->axes[a] = (struct view_axis){a, shape[a], malloc((shape[a] + 1) * sizeof(uint64_t))};
		for (uint64_t v = 0; v < shape[a]; v++)
			reference->axes[a].index[v] = v;
	}
	ck_assert(layout_init(layout, ndim, shape, reference->item_size));
}

static void finish(struct reference *reference)
{
	for (int i = 0; i < reference->ndim; i++)
		free(reference->axes[i].index);
}

static void check_some_ranges(const struct reference *reference, const struct layout *layout, uint64_t *random)
{
	ck_assert_uint_eq(layout->bytes, reference_bytes(reference));
	if (!layout->bytes) {
		check_range(reference, layout, 0, 0);
		return;
	}
	check_range(reference, layout, 0, layout->bytes);
	for (int i = 0; i < 4; i++) {
		uint64_t first = below(random, layout->bytes);
		check_range(reference, layout, first, below(random, MIN(layout->bytes - first, 600) + 1));
	}
}

START_TEST(every_byte_of_a_range_is_in_one_slab_of_the_right_chunk_at_the_right_offset)
{
	static const uint64_t longest[] = {0, 40, 12, 7, 5, 4};
	uint64_t random = test_seed() + (uint64_t)_i;
	for (int i = 0; i < 500; i++) {
		struct reference reference;
		struct layout layout;
		make(&reference, &layout, _i, below(&random, 8) != 0, MAX(longest[_i], 1), &random);
		for (uint64_t steps = _i ? below(&random, 4) : 0; steps; steps--) {
			if (below(&random, 2))
				permute(&reference, &layout, &random);
			else
				slice_somehow(&reference, &layout, &random);
		}
		check_some_ranges(&reference, &layout, &random);
		finish(&reference);
	}
}
END_TEST

START_TEST(an_array_may_have_32_dimensions)
{
	uint64_t random = test_seed();
	for (int i = 0; i < 20; i++) {
		struct reference reference;
		struct layout layout;
		make(&reference, &layout, LIMIT_DIMS, 1, 1, &random);
		finish(&reference);
		uint64_t shape[LIMIT_DIMS];
		for (int a = 0; a < LIMIT_DIMS; a++) {
			shape[a] = 1 + (below(&random, 4) == 0);
			uint64_t *index = malloc(2 * sizeof(*index));
			index[0] = 0;
			index[1] = 1;
			reference.axes[a] = (struct view_axis){a, shape[a], index};
		}
		ck_assert(layout_init(&layout, LIMIT_DIMS, shape, reference.item_size));
		permute(&reference, &layout, &random);
		uint64_t first = below(&random, layout.bytes);
		check_range(&reference, &layout, first, MIN(layout.bytes - first, 5000));
		finish(&reference);
	}
}
END_TEST

START_TEST(a_range_has_two_boxes_an_axis_less_one_at_most)
{
	uint64_t shape[LIMIT_DIMS];
	struct layout layout;
	struct layout_box boxes[LAYOUT_BOXES];
	for (int a = 0; a < LIMIT_DIMS; a++)
		shape[a] = 3;
	ck_assert(layout_init(&layout, _i, shape, 3));
	int n = layout_boxes(&layout, 1, layout.bytes - 2, boxes);
	check_boxes(&layout, 1, layout.bytes - 2, boxes, n);
	ck_assert_int_eq(n, 2 * (_i + 1) - 1);
	ck_assert_int_eq(layout_boxes(&layout, 0, layout.bytes, boxes), 1);
	ck_assert_int_eq(layout_boxes(&layout, layout.bytes - 1, 1, boxes), 1);
	ck_assert_int_eq(layout_boxes(&layout, 0, 0, boxes), 0);
}
END_TEST

static const struct {
	int ndim;
	uint64_t shape[3];
	uint32_t item_size;
	bool fits;
	uint64_t bytes;
} sizes[] = {
	{0, {0}, 8, true, 8},
	{1, {INT64_MAX}, 1, true, INT64_MAX},
	{1, {(uint64_t)INT64_MAX + 1}, 1, false, 0},
	{1, {UINT64_MAX}, 8, false, 0},
	{1, {INT64_MAX / 8}, 8, true, INT64_MAX / 8 * 8},
	{1, {INT64_MAX / 8 + 1}, 8, false, 0},
	{2, {UINT64_C(1) << 31, UINT64_C(1) << 31}, 1, true, UINT64_C(1) << 62},
	{2, {UINT64_C(1) << 32, UINT64_C(1) << 31}, 1, false, 0},
	{2, {UINT64_C(1) << 32, UINT64_C(1) << 32}, 1, false, 0},
	{3, {UINT64_C(1) << 32, UINT64_C(1) << 32, 0}, 1, false, 0},
	{2, {0, INT64_MAX}, 1, true, 0},
	{2, {INT64_MAX, 0}, 1, true, 0},
	{3, {5, 0, 7}, 4, true, 0},
};

START_TEST(a_payload_is_at_most_2_to_the_63_less_one_bytes)
{
	struct layout layout;
	ck_assert_int_eq(layout_init(&layout, sizes[_i].ndim, sizes[_i].shape, sizes[_i].item_size), sizes[_i].fits);
	if (sizes[_i].fits)
		ck_assert_uint_eq(layout.bytes, sizes[_i].bytes);
}
END_TEST

/* Ranges at both ends and around some chunk edges of arrays of 2^62 bytes and more. */
static const struct {
	int ndim;
	uint64_t shape[3], chunk[3];
	uint32_t item_size;
	uint64_t first, size;
} far[] = {
	{1, {INT64_MAX}, {1 << 12}, 1, INT64_MAX - 10000, 10000},
	{1, {INT64_MAX}, {INT64_MAX}, 1, INT64_MAX - 5, 5},
	{1, {INT64_MAX}, {UINT64_MAX}, 1, INT64_MAX - 5, 5},
	{1, {INT64_MAX}, {UINT64_C(1) << 62}, 1, (UINT64_C(1) << 62) - 7, 14},
	{2, {UINT64_C(1) << 31, UINT64_C(1) << 31}, {1 << 20, 1 << 20}, 1, (UINT64_C(1) << 62) - 3000, 3000},
	{2, {3, UINT64_C(1) << 60}, {2, 1 << 10}, 2, (UINT64_C(1) << 61) - 2001, 5000},
	{2, {UINT64_C(1) << 60, 3}, {1 << 10, 2}, 2, (UINT64_C(1) << 61) - 2001, 5000},
	{3, {1 << 20, 1 << 20, 1 << 20}, {7, 1 << 20, 1000}, 7, UINT64_C(7) * ((UINT64_C(1) << 60) - 500) + 3, 3494},
};

START_TEST(arrays_near_2_to_the_63_bytes_are_exact)
{
	struct reference reference = {.ndim = far[_i].ndim, .item_size = far[_i].item_size};
	struct layout layout;
	for (int a = 0; a < far[_i].ndim; a++) {
		reference.axes[a] = (struct view_axis){a, far[_i].shape[a], NULL};
		reference.chunk[a] = far[_i].chunk[a];
	}
	ck_assert(layout_init(&layout, far[_i].ndim, far[_i].shape, far[_i].item_size));
	ck_assert_uint_ge(check_range(&reference, &layout, far[_i].first, far[_i].size), 1);
	check_range(&reference, &layout, 0, 1000);
}
END_TEST

static const struct {
	uint64_t start, step, count, chunk;
} wide_steps[] = {
	{0, UINT64_C(1) << 61, 4, 1000},
	{5, UINT64_C(1) << 61, 3, UINT64_C(1) << 61},
	{(UINT64_C(1) << 62) + 1, (UINT64_C(1) << 62) - 3, 2, 1 << 20},
	{INT64_MAX - 1, UINT64_MAX, 1, 1},
	{3, INT64_MAX - 4, 2, UINT64_C(1) << 62},
	{0, (UINT64_C(1) << 62) - 1, 3, (UINT64_C(1) << 62) - 1},
};

START_TEST(steps_may_be_as_wide_as_the_array)
{
	static const uint64_t shape = INT64_MAX;
	uint64_t index[4];
	struct reference reference = {.ndim = 1, .item_size = 1, .chunk = {wide_steps[_i].chunk}};
	struct layout layout;
	for (uint64_t v = 0; v < wide_steps[_i].count; v++)
		index[v] = wide_steps[_i].start + v * wide_steps[_i].step;
	reference.axes[0] = (struct view_axis){0, wide_steps[_i].count, index};
	ck_assert(layout_init(&layout, 1, &shape, 1));
	layout_slice(&layout, 0, wide_steps[_i].start, wide_steps[_i].step, wide_steps[_i].count);
	for (uint64_t first = 0; first < layout.bytes; first++)
		check_range(&reference, &layout, first, layout.bytes - first);
}
END_TEST

START_TEST(the_step_of_a_single_index_is_never_taken)
{
	static const uint64_t shape = INT64_MAX, step = UINT64_C(1) << 40;
	uint64_t index = step;
	struct reference reference = {.ndim = 1, .item_size = 1, .chunk = {1000}, .axes = {{.n = 1, .index = &index}}};
	struct layout layout;
	struct layout_grid grid = {.chunk = {1000}};
	ck_assert(layout_init(&layout, 1, &shape, 1));
	layout_slice(&layout, 0, 0, step, 2);
	layout_slice(&layout, 0, 1, step, 1);
	layout_slice(&layout, 0, 0, step, 1);
	ck_assert_uint_eq(check_range(&reference, &layout, 0, 1), 1);
	ck_assert_uint_eq(layout_row_chunks(&layout, &grid), 1);
	ck_assert_uint_eq(layout_row_bytes(&layout, &grid), 1);
	layout_slice(&layout, 0, 0, UINT64_MAX, 0);
	ck_assert_uint_eq(layout.bytes, 0);
}
END_TEST

static const struct {
	const char *what;
	int ndim;
	uint64_t shape[3];
	uint32_t item_size;
	uint64_t chunk[3];
	bool reversed; /* the view's axes */
	int axis;	   /* sliced, -1: none */
	uint64_t start, step, count;
	uint64_t chunks, bytes;
} rows[] = {
	{"square chunks", 2, {100, 100}, 4, {10, 10}, false, -1, 0, 0, 0, 10, 4000},
	{"pieces of lines", 2, {100, 100}, 4, {1, 10}, false, -1, 0, 0, 0, 1, 40},
	{"whole planes", 3, {365, 721, 1440}, 4, {1, 721, 1440}, false, -1, 0, 0, 0, 1, 4152960},
	{"columns in time", 3, {24, 100, 100}, 2, {24, 10, 10}, false, -1, 0, 0, 0, 100, 480000},
	{"ragged edges", 2, {7, 25}, 1, {3, 10}, false, -1, 0, 0, 0, 3, 75},
	{"one chunk larger than the array", 2, {5, 5}, 1, {8, 8}, false, -1, 0, 0, 0, 1, 25},
	{"a chunk an element", 2, {4, 4}, 8, {1, 1}, false, -1, 0, 0, 0, 1, 8},
	{"no axis", 0, {0}, 8, {0}, false, -1, 0, 0, 0, 1, 8},
	{"an axis of one index", 2, {1, 100}, 1, {10, 10}, false, -1, 0, 0, 0, 1, 10},
	{"Fortran order", 2, {100, 60}, 1, {10, 20}, true, -1, 0, 0, 0, 10, 2000},
	{"an empty outer axis", 2, {0, 100}, 2, {10, 10}, false, -1, 0, 0, 0, 1, 20},
	{"an empty axis", 1, {0}, 2, {10}, false, -1, 0, 0, 0, 1, 2},
	{"steps inside chunks", 2, {10, 100}, 1, {5, 10}, false, 1, 0, 3, 10, 3, 50},
	{"a box across a chunk's edge", 2, {10, 100}, 1, {5, 10}, false, 1, 5, 1, 10, 2, 50},
	{"steps over chunks", 2, {10, 100}, 1, {5, 10}, false, 1, 0, 20, 5, 5, 25},
	{"two indexes in some chunks", 1, {12}, 1, {4}, false, 0, 0, 3, 4, 1, 2},
};

START_TEST(a_row_of_chunks_is_what_a_sequential_reader_revisits)
{
	static const int reversed[] = {1, 0};
	struct layout layout;
	struct layout_grid grid;
	ck_assert(layout_init(&layout, rows[_i].ndim, rows[_i].shape, rows[_i].item_size));
	memcpy(grid.chunk, rows[_i].chunk, sizeof(rows[_i].chunk));
	if (rows[_i].reversed)
		layout_permute(&layout, reversed);
	if (rows[_i].axis >= 0)
		layout_slice(&layout, rows[_i].axis, rows[_i].start, rows[_i].step, rows[_i].count);
	ck_assert_msg(layout_row_chunks(&layout, &grid) == rows[_i].chunks, "%s: %llu chunks", rows[_i].what,
				  (unsigned long long)layout_row_chunks(&layout, &grid));
	ck_assert_msg(layout_row_bytes(&layout, &grid) == rows[_i].bytes, "%s: %llu bytes", rows[_i].what,
				  (unsigned long long)layout_row_bytes(&layout, &grid));
}
END_TEST

START_TEST(the_first_row_touches_as_many_chunks_as_a_row_has)
{
	uint64_t random = test_seed();
	for (int i = 0; i < 500; i++) {
		struct reference reference;
		struct layout layout;
		struct layout_grid grid;
		make(&reference, &layout, 1 + (int)below(&random, 4), 1, 6, &random);
		memcpy(grid.chunk, reference.chunk, sizeof(grid.chunk));
		permute(&reference, &layout, &random);
		ck_assert_uint_eq(check_range(&reference, &layout, 0, layout_row_bytes(&layout, &grid)),
						  layout_row_chunks(&layout, &grid));
		finish(&reference);
	}
}
END_TEST

static Suite *layout_suite(void)
{
	Suite *suite = suite_create("layout");
	TCase *tcase = tcase_create("layout");
	tcase_add_loop_test(tcase, every_byte_of_a_range_is_in_one_slab_of_the_right_chunk_at_the_right_offset, 0, 6);
	tcase_add_test(tcase, an_array_may_have_32_dimensions);
	tcase_add_loop_test(tcase, a_range_has_two_boxes_an_axis_less_one_at_most, 0, LIMIT_DIMS + 1);
	tcase_add_loop_test(tcase, a_payload_is_at_most_2_to_the_63_less_one_bytes, 0, ARRAY_LEN(sizes));
	tcase_add_loop_test(tcase, arrays_near_2_to_the_63_bytes_are_exact, 0, ARRAY_LEN(far));
	tcase_add_loop_test(tcase, steps_may_be_as_wide_as_the_array, 0, ARRAY_LEN(wide_steps));
	tcase_add_test(tcase, the_step_of_a_single_index_is_never_taken);
	tcase_add_loop_test(tcase, a_row_of_chunks_is_what_a_sequential_reader_revisits, 0, ARRAY_LEN(rows));
	tcase_add_test(tcase, the_first_row_touches_as_many_chunks_as_a_row_has);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(layout_suite)
