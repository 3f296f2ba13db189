/*
 * load.h: one chunk being loaded: its state, and what the two files of the state machine (chunk.c, index.c) share.
 */
#ifndef ZARRFS_LOAD_H
#define ZARRFS_LOAD_H

#include "array/array_impl.h"

enum stage { STAGE_INDEX, STAGE_RESERVE, STAGE_FETCH, STAGE_DECODE, STAGE_DONE };

/* Where a stage runs: in the thread that asked, on a decode worker, or on a fetch slot. */
enum place { PLACE_HERE, PLACE_WORKER, PLACE_SLOT };

struct load {
	struct task task;
	struct reservation reservation;
	struct cache_waiter index_waiter;
	struct array *array;
	enum stage stage;
	bool ahead;			/* read-ahead, which gives up where it would have to wait for memory */
	bool index_claimed; /* the cache told this load to read the index of `level` */
	bool absent;
	bool tried_again;	   /* the value had changed once */
	int level;			   /* of the index that comes next */
	struct value *value;   /* that the extent lies in, once known */
	uint64_t offset, size; /* the extent of the shard or chunk in the value */
	struct buf *whole;	   /* all of the value, where its ranges are dear */
	uint64_t whole_size;   /* of such a value: what its index is reserved with; 0 until it is known */
	uint64_t reserved;	   /* bytes */
	struct buf *encoded;   /* of the index, then of the chunk */
	size_t fetched;		   /* bytes of it that are there */
	uint64_t coords[];	   /* of the chunk */
};

/*
 * A stage ends with 0, a negative errno (-EAGAIN: would wait, go on as a fetch), or one of these, which no store can give:
 * something else continues it; the cache has forgotten it.
 */
#define LOAD_WAITS 1
#define LOAD_ABANDONED 2

/* Goes on with a load at its stage, until it ends or something else continues it. */
void load_run(struct load *load, enum place place);

/* Goes on in a lane of the pool. */
void load_submit(struct load *load, enum pool_lane lane);

/* Ends a load without a chunk. */
void load_fail(struct load *load, int rc);

/* Resolves the extent through the indexes of every level. 0, -errno, -EAGAIN or LOAD_WAITS. */
int load_resolve(struct load *load, enum place place);

/* The indexes that led the load into a value that has changed are no longer cached. */
void load_drop_indexes(const struct load *load);

/* Ends the index that the load has claimed: with an index, absent (NULL, rc 0), or failed. The message stays this thread's. */
void load_end_index(struct load *load, struct buf *index, int rc);

/* What reading so many bytes takes beside them: as many again where the store decompresses. */
uint64_t load_read_scratch(const struct load *load, uint64_t bytes);

/* True: the bytes are reserved. False: they will be, and the load then goes on. */
bool load_reserve(struct load *load, uint64_t bytes);
void load_unreserve(struct load *load, uint64_t bytes);

/* The coordinates of the piece of a grid (of a shard level, or of chunks) that holds the chunk. */
void load_piece(const struct load *load, const struct layout_grid *grid, uint64_t *ret_coords);

/* Opens the stored value; *ret_absent when it is proved that there is none. */
int load_open_value(struct load *load, enum place place, bool *ret_absent);

/*
 * Fills load->encoded (made with `size` bytes at the first call) from the value, or from all of it that is at hand. -EAGAIN: with
 * what was read; the next call goes on from there.
 */
int load_fetch(struct load *load, uint64_t offset, size_t size, enum place place);
/* The encoded bytes are no longer needed. */
void load_drop_encoded(struct load *load);

#endif
