/*
 * stored.h: what of an array's chunk grid is in the store: a listing, and the size of each value in it.
 */
#ifndef ZARRFS_STORED_H
#define ZARRFS_STORED_H

#include "meta/meta.h"
#include "store/store.h"

struct stored {
	uint64_t bytes;	  /* of the values present */
	uint64_t present; /* chunks of the grid (shards of a sharded array) that are there */
	uint64_t total;	  /* of the grid; UINT64_MAX when it does not fit */
};

/* Lists the array at `path`, with a progress bar. Values that are no chunk of the grid do not count. ENOTSUP: no listing. */
int stored_count(struct store *store, const char *path, const struct array_meta *meta, struct stored *ret_stored);

#endif
