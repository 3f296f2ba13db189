/*
 * write.h: writing a whole array, the mirror of reading one; and the proof that what was written is what was meant.
 *
 *     source --box of elements--> unit: padded, encoded --> appended to its shard in C order, then the index
 *              (the caller)         (decode workers)          (the caller; commits on fetch slots)
 *
 * Memory: a few strips (strips.h) of some MiB each, plain and encoded, and the index of a shard; never a whole shard, unless
 * its chain makes it one unit.
 */
#ifndef ZARRFS_WRITE_H
#define ZARRFS_WRITE_H

#include "array/array.h"

/* Where the elements come from. */
struct array_source {
	/*
	 * Gives the box of `count` elements from index `start` on, by array axis: C order, little-endian, without gaps. Each
	 * element is asked for once, in the calling thread. A negative errno with its message ends the work (-EINTR to stop it).
	 */
	int (*read)(void *arg, const uint64_t *start, const uint64_t *count, void *dst);
	void *arg;
};

/*
 * Writes every chunk of an array that was opened on a store that takes writes, and that nobody has read. Each value is durable
 * when this returns 0. Chunks and inner chunks wholly outside the array stay absent, what else is outside is the fill value.
 * The metadata document is the caller's. Errors: the source's and the store's; ENOTSUP (a codec that cannot encode),
 * EROFS, ENOMEM. After an error some values are there.
 */
int array_write(struct array *array, const struct array_source *source);

/* Reads every element back and compares it with the source: EIO with the place of the first that differs; a read's errors. */
int array_verify(struct array *array, const struct array_source *source);

#endif
