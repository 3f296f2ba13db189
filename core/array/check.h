/*
 * check.h: everything that is stored of an array is read and decoded once, and what is wrong with it is told.
 */
#ifndef ZARRFS_CHECK_H
#define ZARRFS_CHECK_H

#include "array/array.h"

enum check_kind {
	CHECK_CORRUPT,	   /* the bytes are there, and damaged: a checksum, a decoder, a size or a shard's index says so */
	CHECK_UNREADABLE,  /* the store failed to give or to list them */
	CHECK_UNSUPPORTED, /* they are kept in a way that is not served (a zip's encryption) */
	CHECK_STRAY,	   /* a key that looks like a chunk's, and is none of the grid's: nobody reads it */
};

struct check_finding {
	enum check_kind kind;
	const char *key;	/* of the stored value; a prefix where that could not be listed */
	const char *reason; /* one line */
	bool has_box;		/* false: a stray, or a prefix */
	uint64_t start[LIMIT_DIMS],
		count[LIMIT_DIMS];		 /* the elements that are lost; count 0 along an axis: all outside the array */
	bool is_inner;				 /* it is only a piece of a shard: */
	bool is_shard;				 /* a shard inside, not a chunk */
	uint64_t coords[LIMIT_DIMS]; /* in the grid of such pieces of the whole array */
	uint64_t offset, size;		 /* its bytes in the value, as the index has them: they may lie outside */
};

struct check_counts {
	uint64_t values;								   /* stored values that were there */
	uint64_t stored_bytes;							   /* of them */
	uint64_t chunks;								   /* that were decoded and are right */
	uint64_t decoded_bytes;							   /* of those */
	uint64_t corrupt, unreadable, unsupported, strays; /* findings */
	unsigned part;									   /* of the shard at hand, besides `values`: 0 to 1000 */
};

/* Called in the thread that called array_check, in the order of the keys, and of their place in a shard. */
struct check_sink {
	void (*found)(void *arg, const struct check_finding *finding);
	/* Called at least ten times a second: false stops. */
	bool (*go_on)(void *arg, const struct check_counts *counts);
	void *arg;
};

/*
 * Reads and decodes each stored chunk of the array once, in the pool, and adds to *counts. Each shard is opened once and its
 * index read once; what an index or a listing does not have costs nothing. Beside what is wrong by itself, two inner
 * chunks that share some of their bytes (all of them is legal), or have some of the index's, are corrupt. The cache is passed
 * by; memory stays below its budget, but for a single chunk or index that is larger. Nobody else may use the budget meanwhile.
 * 0: all was looked at, whatever was found; EINTR: stopped; ENOMEM.
 */
int array_check(struct array *array, const struct check_sink *sink, struct check_counts *counts);

#endif
