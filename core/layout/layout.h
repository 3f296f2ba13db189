/*
 * layout.h: geometry on integers only: a byte range of a payload -> the chunks it touches -> slabs.
 *
 * A layout is an array seen through an axis permutation, a box and steps; its payload is the view's elements in C order.
 * The element size is the innermost axis, so a range that begins or ends inside an element is no special case:
 *
 *     payload bytes [first, last)  =  at most 2n - 1 boxes, each contiguous in C order     (n axes with the byte axis)
 *     chunk of the grid            -> its share of each box: a slab (origin in the chunk, extent, place in the reply)
 *
 * Chunks come in the C order of the view's axes, each once, with all its slabs. Pure arithmetic: no allocation; any thread.
 */
#ifndef ZARRFS_LAYOUT_H
#define ZARRFS_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"

#define LAYOUT_AXES (LIMIT_DIMS + 1) /* with the byte axis */

struct layout {
	int ndim;					  /* axes of the view = axes of the array */
	uint64_t shape[LAYOUT_AXES];  /* of the view; shape[ndim] is the element size */
	int axis[LIMIT_DIMS];		  /* the array's axis that each view axis runs along */
	uint64_t start[LIMIT_DIMS];	  /* by view axis: the array index of view index 0 */
	uint64_t step[LIMIT_DIMS];	  /* by view axis: array indexes from one view index to the next, >= 1 */
	uint64_t bytes;				  /* of the payload */
	uint64_t stride[LAYOUT_AXES]; /* payload bytes from one view index to the next */
};

/* The array as it is: no permutation, whole box. false when the payload is over INT64_MAX. */
bool layout_init(struct layout *layout, int ndim, const uint64_t *shape, uint32_t item_size);

/* View axis i runs along array axis order[i] of what the layout was. */
void layout_permute(struct layout *layout, const int *order);

/* Restricts a view axis to `count` indexes from `start` in steps of `step`; they must lie inside. */
void layout_slice(struct layout *layout, int view_axis, uint64_t start, uint64_t step, uint64_t count);

/* The grid that the slabs are for, in array axes: of chunks, which begin at index 0. */
struct layout_grid {
	uint64_t chunk[LIMIT_DIMS]; /* chunk shape, each >= 1 */
};

/* One chunk's share of one box. Axes are the view's; axis ndim is bytes. All strides are bytes. */
struct slab {
	uint64_t extent[LAYOUT_AXES]; /* elements in each view axis; bytes in the last */
	uint64_t chunk_offset;		  /* of the first byte in the decoded chunk */
	int64_t chunk_stride[LAYOUT_AXES];
	uint64_t reply_offset; /* of the first byte in the reply: payload offset - first */
	uint64_t item_first;   /* the byte of the element that the last axis begins with (fills need it) */
};

#define LAYOUT_BOXES (2 * LAYOUT_AXES)

/* A box of the view, contiguous in the payload. */
struct layout_box {
	uint64_t start[LAYOUT_AXES], count[LAYOUT_AXES];
};

/* The boxes of payload bytes [first, first + size), which must lie inside the payload. Returns their number. */
int layout_boxes(const struct layout *layout, uint64_t first, uint64_t size, struct layout_box *ret_boxes);

/*
 * One box's share of the chunk at `coords` (array axes); false when they do not meet. The box is of a range that begins at
 * payload byte `first`.
 */
bool layout_slab(const struct layout *layout, const struct layout_grid *grid, const struct layout_box *box,
				 const uint64_t *coords, uint64_t first, struct slab *ret_slab);

/* Walks the chunks that some boxes touch, each once. */
struct layout_walk {
	const struct layout *layout;
	const struct layout_grid *grid;
	const struct layout_box *boxes;
	int n;
	/* per box: the chunk it stands at, by view axis; done when exhausted; whether it is the chunk given last */
	uint64_t at[LAYOUT_BOXES][LIMIT_DIMS];
	bool done[LAYOUT_BOXES];
	bool given[LAYOUT_BOXES];
	uint64_t coords[LIMIT_DIMS]; /* of the chunk given last, by array axis */
};

/* Begins a walk; layout, grid and boxes must outlive it. */
void layout_walk_begin(struct layout_walk *walk, const struct layout *layout, const struct layout_grid *grid,
					   const struct layout_box *boxes, int n);

/* The next chunk's coordinates by array axis; NULL at the end. */
const uint64_t *layout_walk_next(struct layout_walk *walk);

/* Chunks that a sequential reader of the payload revisits together: one row of chunks (all axes but the outermost that is cut). */
uint64_t layout_row_chunks(const struct layout *layout, const struct layout_grid *grid);

/* Payload bytes of such a row: how far a sequential reader goes before it needs the next row. */
uint64_t layout_row_bytes(const struct layout *layout, const struct layout_grid *grid);

#endif
