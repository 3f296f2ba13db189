/*
 * array.h: an opened array; the heart of zarrfs. Metadata, grid, pipeline and the read unit are decided at open; after that
 * everything is const but the cache and pool it borrows. Any thread.
 */
#ifndef ZARRFS_ARRAY_H
#define ZARRFS_ARRAY_H

#include "cache/cache.h"
#include "codec/codec.h"
#include "layout/layout.h"
#include "meta/meta.h"
#include "pool/pool.h"
#include "pool/request.h"
#include "store/store.h"

/* What arrays of one mount share; outlives them. */
struct array_env {
	struct store *store;
	struct cache *cache;
	struct pool *pool;
	uint64_t max_chunk; /* decoded bytes of one chunk that are served */
};

struct array;
struct readahead;

/*
 * Opens the array of the document `meta` at `path` ("" is the root); borrows meta, which must outlive it. Checks the codec
 * chain: ENOTSUP, EIO, EFBIG (a chunk over max_chunk), ENOMEM, with a message that names the member.
 */
int array_open(const struct array_env *env, const char *path, const struct array_meta *meta, struct array **ret_array);

/* Waits for nothing: no read of it may be under way. NULL is legal. */
void array_close(struct array *array);

const struct array_meta *array_meta(const struct array *array);
const struct pipeline *array_pipeline(const struct array *array); /* of the whole grid chunk */

/* The read unit: the smallest piece that is decoded by itself. Its grid, shape by axis, and decoded bytes. */
const struct layout_grid *array_grid(const struct array *array);
uint64_t array_chunk_bytes(const struct array *array);

/* Chunks of the row that a sequential reader of `layout` revisits, in bytes: the cache should hold twice this. */
uint64_t array_working_set(const struct array *array, const struct layout *layout);

/*
 * Reads payload bytes [offset, offset + size) of a layout of the array into dst; they must lie inside. Chunks in the cache
 * are copied at once; short loads that cannot wait are done here; the rest is loaded by the pool, and each load finishes its own
 * part of `request` (the planner's part stays the caller's). dst must live as long as the request. `readahead` may be NULL.
 */
void array_read(struct array *array, const struct layout *layout, uint64_t offset, size_t size, uint8_t *dst,
				struct request *request, struct readahead *readahead);

/* The same, waiting; for `zarrfs cat` and tests. */
int array_read_wait(struct array *array, const struct layout *layout, uint64_t offset, size_t size, uint8_t *dst);

/*
 * An open file's pattern of reads. Any thread (it has its own lock). `once`: what was read is not asked for again soon,
 * because the kernel's page cache keeps it: a sequential reader's chunks are given up behind it.
 */
int readahead_new(bool once, struct readahead **ret_readahead);
void readahead_free(struct readahead *readahead);

#endif
