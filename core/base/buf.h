/*
 * buf.h: counted bytes.
 *
 * A buffer is written by its only owner, and immutable once a second owner exists; so sharing needs no lock. A slice
 * keeps its parent alive. The last unref gives the memory back to a recycler of size classes, because first-touched
 * pages cost more than a decode. Any thread.
 */
#ifndef ZARRFS_BUF_H
#define ZARRFS_BUF_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/base.h"

struct buf {
	uint8_t *data; /* aligned to 64 bytes unless a slice or wrapped */
	size_t size;
	/* private to buf.c */
	atomic_int refs;
	struct buf *parent;
	void (*release)(void *arg);
	void *arg;
	size_t capacity;
};

/* A buffer of `size` bytes (0 is legal), one reference, contents undefined. -ENOMEM. */
int buf_new(size_t size, struct buf **ret_buf);

/* A buffer over foreign memory; `release(arg)` runs at the last unref (NULL: nothing to do). -ENOMEM. */
int buf_wrap(void *data, size_t size, void (*release)(void *arg), void *arg, struct buf **ret_buf);

/* Bytes [offset, offset + size) of `parent`, which must hold them; takes its own reference. -ENOMEM. */
int buf_slice(struct buf *parent, size_t offset, size_t size, struct buf **ret_buf);

/* One more owner; returns `buf`. */
struct buf *buf_ref(struct buf *buf);

/* One owner less; NULL is legal. */
void buf_unref(struct buf *buf);

/* The only owner makes a new buffer smaller. size <= buf->size. */
void buf_shrink(struct buf *buf, size_t size);

/* Bytes the recycler may keep for reuse; the default is 64 MiB. 0 frees what it holds (leak checkers, end). */
void buf_set_recycled_limit(size_t bytes);

static inline void buf_unref_p(struct buf **buf)
{
	buf_unref(*buf);
}

/* The buffer is unreferenced when the pointer goes out of scope. */
#define autobuf __attribute__((cleanup(buf_unref_p))) struct buf *

#endif
