/*
 * layout.c: the arithmetic of layouts. Everything is exact: indexes are below 2^63 by construction (layout_init).
 */
#include "layout/layout.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"

static bool set_strides(struct layout *layout)
{
	uint64_t stride = 1;
	for (int i = layout->ndim; i >= 0; i--) {
		layout->stride[i] = stride;
		/* zero-length axes must not hide an overflow of the others' strides */
		if (!checked_mul(stride, MAX(layout->shape[i], 1), &stride) || stride > INT64_MAX)
			return false;
	}
	layout->bytes = 1;
	for (int i = 0; i <= layout->ndim; i++)
		layout->bytes *= layout->shape[i];
	return true;
}

bool layout_init(struct layout *layout, int ndim, const uint64_t *shape, uint32_t item_size)
{
	layout->ndim = ndim;
	for (int i = 0; i < ndim; i++) {
		layout->shape[i] = shape[i];
		layout->axis[i] = i;
		layout->start[i] = 0;
		layout->step[i] = 1;
	}
	layout->shape[ndim] = item_size;
	return set_strides(layout);
}

void layout_permute(struct layout *layout, const int *order)
{
	struct layout old = *layout;
	for (int i = 0; i < layout->ndim; i++) {
		layout->shape[i] = old.shape[order[i]];
		layout->axis[i] = old.axis[order[i]];
		layout->start[i] = old.start[order[i]];
		layout->step[i] = old.step[order[i]];
	}
	set_strides(layout);
}

void layout_slice(struct layout *layout, int view_axis, uint64_t start, uint64_t step, uint64_t count)
{
	layout->start[view_axis] += start * layout->step[view_axis];
	/* one index has no step: products of steps that are never taken would not stay below 2^63 */
	layout->step[view_axis] = count > 1 ? layout->step[view_axis] * step : 1;
	layout->shape[view_axis] = count;
	set_strides(layout);
}

static void index_of(const struct layout *layout, uint64_t offset, uint64_t *index)
{
	for (int i = 0; i <= layout->ndim; i++) {
		index[i] = offset / layout->stride[i];
		offset %= layout->stride[i];
	}
}

/* A box at `index` on the axes before `axis`, [from, to) on it, whole on those after it. */
static void add_box(const struct layout *layout, const uint64_t *index, int axis, uint64_t from, uint64_t to,
					struct layout_box *boxes, int *n)
{
	if (from >= to)
		return;
	struct layout_box *box = &boxes[(*n)++];
	for (int i = 0; i <= layout->ndim; i++) {
		box->start[i] = i < axis ? index[i] : 0;
		box->count[i] = i < axis ? 1 : layout->shape[i];
	}
	box->start[axis] = from;
	box->count[axis] = to - from;
}

/* Carries axes that stand at their end into the axis before, down to the axis after `top`. */
static void carry(const struct layout *layout, uint64_t *index, int from, int top)
{
	for (int i = from; i > top && index[i] == layout->shape[i]; i--) {
		index[i] = 0;
		index[i - 1]++;
	}
}

/*
 * From the first byte's index up to the axis where first and last differ: the rest of each axis (head). On that axis: whole
 * rows (middle). From there down to the last byte's index: the beginning of each axis (tail).
 */
int layout_boxes(const struct layout *layout, uint64_t first, uint64_t size, struct layout_box *ret_boxes)
{
	if (!size)
		return 0;
	uint64_t from[LAYOUT_AXES], to[LAYOUT_AXES];
	int last = layout->ndim, top = 0, n = 0;
	index_of(layout, first, from);
	index_of(layout, first + size - 1, to);
	while (top < last && from[top] == to[top])
		top++;
	to[last]++;
	carry(layout, to, last, top);

	for (int i = last; i > top; i--) {
		if (!from[i])
			continue;
		add_box(layout, from, i, from[i], layout->shape[i], ret_boxes, &n);
		from[i] = layout->shape[i];
		carry(layout, from, i, top);
	}
	add_box(layout, from, top, from[top], to[top], ret_boxes, &n);
	for (int i = top + 1; i <= last; i++)
		add_box(layout, to, i, 0, to[i], ret_boxes, &n);
	return n;
}

/* View indexes [*ret_from, *ret_to) of a view axis that lie in chunk `coord`, cut to [from, to). */
static void indexes_in_chunk(const struct layout *layout, const struct layout_grid *grid, int i, uint64_t coord,
							 uint64_t *from, uint64_t *to)
{
	uint64_t chunk = grid->chunk[layout->axis[i]], start = layout->start[i], step = layout->step[i];
	uint64_t begin = coord * chunk, end = begin + chunk;
	begin = begin > start ? begin - start : 0;
	end = end > start ? end - start : 0;
	if (step > 1) { /* the common step needs no division: this runs for each chunk of each read */
		begin = ceil_div(begin, step);
		end = ceil_div(end, step);
	}
	*from = MAX(*from, begin);
	*to = MIN(*to, end);
}

bool layout_slab(const struct layout *layout, const struct layout_grid *grid, const struct layout_box *box,
				 const uint64_t *coords, uint64_t first, struct slab *ret_slab)
{
	int n = layout->ndim;
	uint64_t chunk_stride[LIMIT_DIMS], stride = layout->shape[n];
	for (int a = n - 1; a >= 0; a--) {
		chunk_stride[a] = stride;
		stride *= grid->chunk[a];
	}

	uint64_t chunk_offset = box->start[n], payload_offset = box->start[n];
	for (int i = 0; i < n; i++) {
		int a = layout->axis[i];
		uint64_t from = box->start[i], to = box->start[i] + box->count[i];
		indexes_in_chunk(layout, grid, i, coords[a], &from, &to);
		if (from >= to)
			return false;
		uint64_t index = layout->start[i] + from * layout->step[i];
		chunk_offset += (index - coords[a] * grid->chunk[a]) * chunk_stride[a];
		payload_offset += from * layout->stride[i];
		ret_slab->extent[i] = to - from;
		/* one index: its stride is never used, and may be past what fits */
		ret_slab->chunk_stride[i] = to - from > 1 ? (int64_t)(layout->step[i] * chunk_stride[a]) : 0;
	}
	ret_slab->extent[n] = box->count[n];
	ret_slab->chunk_stride[n] = 1;
	ret_slab->item_first = box->start[n];
	ret_slab->chunk_offset = chunk_offset;
	ret_slab->reply_offset = payload_offset - first;
	return true;
}

/* The chunk coordinate, along view axis i, of view index v. */
static uint64_t coord_of(const struct layout_walk *walk, int i, uint64_t v)
{
	const struct layout *layout = walk->layout;
	return (layout->start[i] + v * layout->step[i]) / walk->grid->chunk[layout->axis[i]];
}

void layout_walk_begin(struct layout_walk *walk, const struct layout *layout, const struct layout_grid *grid,
					   const struct layout_box *boxes, int n)
{
	walk->layout = layout;
	walk->grid = grid;
	walk->boxes = boxes;
	walk->n = n;
	for (int b = 0; b < n; b++) {
		for (int i = 0; i < layout->ndim; i++)
			walk->at[b][i] = coord_of(walk, i, boxes[b].start[i]);
		walk->done[b] = walk->given[b] = false;
	}
}

/* Moves a box to its next chunk, in the C order of the view's axes; chunks between two steps are passed over. */
static void advance(struct layout_walk *walk, int b)
{
	const struct layout_box *box = &walk->boxes[b];
	uint64_t *at = walk->at[b];
	for (int i = walk->layout->ndim - 1; i >= 0; i--) {
		uint64_t from = box->start[i], end = box->start[i] + box->count[i], next = end;
		indexes_in_chunk(walk->layout, walk->grid, i, at[i], &from, &next);
		if (next < end) {
			at[i] = walk->layout->step[i] == 1 ? at[i] + 1 : coord_of(walk, i, next);
			return;
		}
		at[i] = coord_of(walk, i, box->start[i]);
	}
	walk->done[b] = true;
}

static int compare(const uint64_t *a, const uint64_t *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

const uint64_t *layout_walk_next(struct layout_walk *walk)
{
	const uint64_t *least = NULL;
	int n = walk->layout->ndim;
	for (int b = 0; b < walk->n; b++) {
		if (walk->given[b])
			advance(walk, b);
		walk->given[b] = false;
		if (!walk->done[b] && (!least || compare(walk->at[b], least, n) < 0))
			least = walk->at[b];
	}
	if (!least)
		return NULL;
	for (int b = 0; b < walk->n; b++)
		walk->given[b] = !walk->done[b] && !compare(walk->at[b], least, n);
	for (int i = 0; i < n; i++)
		walk->coords[walk->layout->axis[i]] = least[i];
	return walk->coords;
}

/* The most view indexes of axis i that one chunk holds. */
static uint64_t indexes_per_chunk(const struct layout *layout, const struct layout_grid *grid, int i)
{
	return MIN(ceil_div(grid->chunk[layout->axis[i]], layout->step[i]), layout->shape[i]);
}

/* Chunks along axis i that hold an index of the view; 1 for an empty axis. */
static uint64_t chunks_along(const struct layout *layout, const struct layout_grid *grid, int i)
{
	uint64_t chunk = grid->chunk[layout->axis[i]], start = layout->start[i], n = MAX(layout->shape[i], 1);
	if (layout->step[i] >= chunk)
		return n;
	return (start + (n - 1) * layout->step[i]) / chunk - start / chunk + 1;
}

/* The outermost view axis along which a chunk holds more than one index: all chunks inside it are revisited together. */
static int row_axis(const struct layout *layout, const struct layout_grid *grid)
{
	int i = 0;
	while (i < layout->ndim && indexes_per_chunk(layout, grid, i) <= 1)
		i++;
	return i;
}

uint64_t layout_row_chunks(const struct layout *layout, const struct layout_grid *grid)
{
	uint64_t chunks = 1;
	for (int i = row_axis(layout, grid) + 1; i < layout->ndim; i++)
		chunks *= chunks_along(layout, grid, i);
	return chunks;
}

uint64_t layout_row_bytes(const struct layout *layout, const struct layout_grid *grid)
{
	int i = row_axis(layout, grid);
	return i == layout->ndim ? layout->shape[i] : indexes_per_chunk(layout, grid, i) * layout->stride[i];
}
