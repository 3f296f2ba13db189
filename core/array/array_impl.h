/*
 * array_impl.h: what the files of array/ share.
 */
#ifndef ZARRFS_ARRAY_IMPL_H
#define ZARRFS_ARRAY_IMPL_H

#include "array/array.h"

/* One level of sharding that is read by range, outermost first. */
struct shard_level {
	const struct sharding *sharding;
	struct layout_grid grid; /* the shape of its shards */
};

struct array {
	struct array_env env;
	const struct array_meta *meta;
	char *path;
	uint64_t owner; /* in cache keys */
	struct pipeline *pipeline;
	struct shard_level levels[LIMIT_SHARD_LEVELS];
	int n_levels;
	/* the read unit */
	const struct pipeline *unit;
	struct layout_grid grid;
	size_t chunk_bytes;
	uint64_t decode_ns;			 /* a guess */
	atomic_int stuck;			 /* fetches past their deadline */
	atomic_int separator_checks; /* absent chunks looked for under the other separator */
};

/* The cache key of the piece of `grid` at coordinates of that grid. */
struct cache_key array_key(const struct array *array, const struct layout_grid *grid, uint32_t level,
						   const uint64_t *coords);

/*
 * Loads one chunk that cache_get told this thread to load: resolve its extent, reserve, fetch, decode, cache_fill or
 * cache_fail. `here`: try in this thread, as far as nothing waits and the decode is short. Never waits.
 */
void chunk_load(struct array *array, const uint64_t *coords, bool here);

/* Loads a chunk later, at low priority, if by then nobody has, and memory is free. */
void chunk_load_ahead(struct array *array, const uint64_t *coords);

/* What decoding one chunk of so many encoded bytes takes, those included. */
uint64_t chunk_memory(const struct array *array, uint64_t encoded);

/* The size of an encoded chunk against what its codecs can have made: EIO. */
int chunk_check_size(const struct array *array, uint64_t encoded);

/* A read of [offset, offset + size) of the layout was asked for: starts loading what the pattern says comes next. */
void readahead_note(struct readahead *readahead, struct array *array, const struct layout *layout, uint64_t offset,
					size_t size);

#endif
