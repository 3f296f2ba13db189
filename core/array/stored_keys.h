/*
 * stored_keys.h: which keys of an array's chunks are in its store.
 */
#ifndef ZARRFS_STORED_KEYS_H
#define ZARRFS_STORED_KEYS_H

#include "meta/meta.h"
#include "store/store.h"

/* What is done with each key. A negative errno ends the walk. */
struct stored_keys_visitor {
	/* The key of the chunk (the shard of a sharded array) at `coords` of the grid. */
	int (*chunk)(void *arg, const char *key, const uint64_t *coords);
	/* [A value whose name looks like a chunk's, and that is none of the grid's] */
	int (*stray)(void *arg, const char *key);
	/* [What lies below a prefix is not known: rc with this thread's message.] NULL: the walk ends with it. */
	int (*unlisted)(void *arg, const char *prefix, int rc);
	void *arg;
};

/*
 * Visits the chunks' keys of the array at `path`, sorted as the store's listings are. A store that cannot list gives every key
 * of the grid, stored or not. One listing is in memory for each prefix on the way. Errors: those of the visitor and the
 * store's, ENOMEM.
 */
int stored_keys_walk(struct store *store, const char *path, const struct array_meta *meta,
					 const struct stored_keys_visitor *visitor);

/* Places of the grid; UINT64_MAX when the number does not fit. */
uint64_t stored_keys_grid(const struct array_meta *meta);

#endif
