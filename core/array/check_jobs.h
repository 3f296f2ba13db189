/*
 * check_jobs.h: the pieces of a check that run in the pool, at most so many at once, and what became of them, in order.
 *
 *     walk (check.c)  --check_start-->  fetch, decode (workers)  --check_reap--> findings, counts
 *     one thread, waits for room                                  the same thread, in the order of check_start
 */
#ifndef ZARRFS_CHECK_JOBS_H
#define ZARRFS_CHECK_JOBS_H

#include "array/array_impl.h"
#include "array/check.h"

/* A piece of the array: of the grid of shards at a level, or below those of chunks; level 0 is a stored value. */
struct piece {
	int level;
	uint64_t coords[LIMIT_DIMS];
	uint64_t offset, size; /* in the value */
};

/* A stored value that is open; `whole` has all of it where its ranges are dear, else it is NULL. */
struct opened {
	struct value *value;
	struct buf *whole;
};

struct job;

struct check {
	struct array *array;
	const struct check_sink *sink;
	atomic_bool stopping; /* jobs end without work */
	pthread_mutex_t lock;
	pthread_cond_t cond;  /* a job is done */
	uint64_t jobs_memory; /* of jobs that run, under lock */
	/* the caller's thread only: */
	uint64_t walk_memory; /* of the indexes that the walk is in */
	struct check_counts *counts;
	struct job *first, **end; /* not reaped, in order */
	int n;
};

int check_begin(struct check *check, struct array *array, const struct check_sink *sink, struct check_counts *counts);
/* Ends when every job has: a check that was stopped waits for those at work only. Whether it was. */
bool check_end(struct check *check);

/* Waits until the budget has room for so many bytes, or nothing else has any of it. EINTR: the sink wants no more. */
int check_wait(struct check *check, uint64_t bytes);

/* Waits until no job runs: what they hold is free. -EINTR. */
int check_settle(struct check *check);

/* Fetches and decodes a chunk of an opened value (NULL: the chunk is a value, yet to be opened). EINTR, ENOMEM. */
int check_start(struct check *check, const struct piece *piece, const struct opened *opened);

/* A finding at its place in the order: rc with this thread's message. EINTR, ENOMEM. */
int check_tell(struct check *check, const struct piece *piece, enum check_kind kind, int rc);
/* The same of a key that is no piece of the array; `text` is the reason. */
int check_tell_key(struct check *check, const char *key, enum check_kind kind, const char *text);

/* What it means that the store has failed so. */
enum check_kind check_kind_of(const struct check *check, int rc);

/* The grid that pieces of a level are of. */
const struct layout_grid *check_grid(const struct array *array, int level);

#endif
