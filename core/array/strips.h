/*
 * strips.h: an array cut into the parts in which it is written and checked.
 *
 * A unit is what is encoded by itself: an inner chunk where shards are written piece by piece, else a chunk of the grid. A
 * container holds units in C order: a shard, or else the whole grid. A strip is a box of units of one container that follow
 * each other in its C order, whole along its last axes, so that a source in C order is read in long runs:
 *
 *     shard of 4 x 6 units, strips of 12        shard of 4 x 6 units, strips of 4
 *     +-----------------+                       +-----------+-----+
 *     | 0  0  0  0  0  0|                       | 0  0  0  0| 1  1|
 *     | 0  0  0  0  0  0|                       | 2  2  2  2| 3  3|
 *     | 1  1  1  1  1  1|                       | 4  4  4  4| 5  5|
 *     | 1  1  1  1  1  1|                       | 6  6  6  6| 7  7|
 *     +-----------------+                       +-----------+-----+
 *
 * Pure arithmetic; one thread.
 */
#ifndef ZARRFS_STRIPS_H
#define ZARRFS_STRIPS_H

#include "array/array_impl.h"

struct strips {
	const struct array_meta *meta;
	const struct sharding *sharding; /* of the containers; NULL: the container is the grid */
	const struct pipeline *pipeline; /* of a unit */
	uint64_t unit[LIMIT_DIMS];		 /* its shape */
	uint64_t grid[LIMIT_DIMS];		 /* units in a container */
	uint64_t containers[LIMIT_DIMS]; /* in the array */
	int axis;						 /* a strip is one unit before it, whole behind it */
	uint64_t along;					 /* units along it */
	bool done;						 /* where the next strip begins: */
	uint64_t container[LIMIT_DIMS];	 /* its container */
	uint64_t at[LIMIT_DIMS];		 /* unit in it */
	uint64_t number;				 /* C order of that unit */
};

struct strip_box {
	uint64_t container[LIMIT_DIMS];
	uint64_t first, n;			/* units, by C order in the container */
	uint64_t start[LIMIT_DIMS]; /* elements, by array axis */
	uint64_t count[LIMIT_DIMS]; /* of them that the array has: 0 along some axis when all are outside */
	uint64_t bytes;				/* of those elements */
	bool begins, ends;			/* the container */
};

/* Begins at the first strip. A strip has about `bytes` of whole units; more where one unit has, which is then alone. */
void strips_begin(struct strips *strips, const struct array *array, uint64_t bytes);

/* How many strips may be in memory at once, 1 to `most`: fewer where one is large. */
int strips_at_once(const struct strips *strips, int most);

/* The next strip; false at the end. */
bool strips_next(struct strips *strips, struct strip_box *ret_box);

/*
 * A unit by its number in the container of `box`: its coordinates there, its first element, and how many of its elements the
 * array has along each axis; false when that is none.
 */
bool strips_unit(const struct strips *strips, const struct strip_box *box, uint64_t number, uint64_t *ret_coords,
				 uint64_t *ret_start, uint64_t *ret_count);

/* Byte strides of a box of `shape` in C order, with the element's bytes as the last axis. */
void strips_strides(const struct array_meta *meta, const uint64_t *shape, int64_t *ret_strides);

#endif
