/*
 * read.c: array_read in three words.
 *
 *     plan  the range's boxes, and for each chunk they touch ask the cache: hit, copy now; else a share waits for the chunk
 *     load  the chunks that nobody loads yet: here when that is short, else by the pool
 *     copy  each share when its chunk arrives, in the thread that loaded it; the request's last part completes it
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_impl.h"
#include "base/err.h"
#include "base/ndcopy.h"

/* Decoding so long in all is done in the thread that asks. */
#define INLINE_NS 50000

/* What all shares of one array_read need. */
struct read {
	atomic_int refs;
	struct array *array;
	const struct layout *layout;
	uint64_t first;
	uint8_t *dst;
	struct request *request;
	int n;
	struct layout_box boxes[];
};

/* One chunk's part of a read; it is one part of the request. */
struct share {
	struct cache_waiter waiter;
	struct share *next; /* in the list of those that this read must load */
	struct read *read;
	uint64_t coords[];
};

static struct read *read_new(struct array *array, const struct layout *layout, uint64_t first, uint64_t size,
							 uint8_t *dst, struct request *request)
{
	struct layout_box boxes[LAYOUT_BOXES];
	int n = layout_boxes(layout, first, size, boxes);
	struct read *read = malloc(sizeof(*read) + (size_t)n * sizeof(*boxes));
	if (!read)
		return NULL;
	*read = (struct read){.array = array, .layout = layout, .first = first, .dst = dst, .request = request, .n = n};
	atomic_init(&read->refs, 1);
	memcpy(read->boxes, boxes, (size_t)n * sizeof(*boxes));
	return read;
}

static void read_unref(struct read *read)
{
	if (atomic_fetch_sub(&read->refs, 1) == 1)
		free(read);
}

/* The chunk's slabs go to their places in the reply; buf NULL: the fill value does. */
static void copy(const struct read *read, const uint64_t *coords, const struct buf *buf)
{
	const struct layout *layout = read->layout;
	const struct array *array = read->array;
	const int64_t *reply_stride = (const int64_t *)layout->stride;
	int axes = layout->ndim + 1;
	for (int b = 0; b < read->n; b++) {
		struct slab slab;
		if (!layout_slab(layout, &array->grid, &read->boxes[b], coords, read->first, &slab))
			continue;
		uint8_t *to = read->dst + slab.reply_offset;
		if (buf)
			ndcopy(to, reply_stride, buf->data + slab.chunk_offset, slab.chunk_stride, slab.extent, axes);
		else
			ndfill_part(to, reply_stride, slab.extent, axes, array->meta->fill_value, array->meta->dtype.size,
						slab.item_first);
	}
}

static void share_ready(struct cache_waiter *waiter, struct buf *buf, int rc)
{
	struct share *share = container_of(waiter, struct share, waiter);
	struct read *read = share->read;
	if (!rc && !request_is_answered(read->request))
		copy(read, share->coords, buf);
	request_finish_part(read->request, rc);
	read_unref(read);
	free(share);
}

static struct share *share_new(struct read *read)
{
	struct share *share = malloc(sizeof(*share) + (size_t)read->array->meta->ndim * sizeof(uint64_t));
	if (!share)
		return NULL;
	*share = (struct share){.waiter.ready = share_ready, .read = read};
	atomic_fetch_add_explicit(&read->refs, 1, memory_order_relaxed);
	request_add(read->request);
	return share;
}

static void share_drop(struct share *share, int rc)
{
	if (!share)
		return;
	request_finish_part(share->read->request, rc);
	read_unref(share->read);
	free(share);
}

/*
 * Asks for one chunk. A hit is copied and leaves *spare for the next; otherwise *spare is spent: on the list of those to
 * load, or waiting with others.
 */
static void plan_chunk(struct read *read, const uint64_t *coords, struct share **spare, struct share **loads)
{
	struct array *array = read->array;
	struct share *share = *spare;
	struct cache_key key = array_key(array, &array->grid, 0, coords);
	autobuf buf = NULL;
	int rc = 0;
	memcpy(share->coords, coords, (size_t)array->meta->ndim * sizeof(*coords));
	switch (cache_get(array->env.cache, key, false, &share->waiter, &buf, &rc)) {
	case CACHE_HIT:
		copy(read, coords, buf);
		return;
	case CACHE_FAILED:
		*spare = NULL;
		share_drop(share, rc);
		return;
	case CACHE_LOAD:
		share->next = *loads;
		*loads = share;
		break;
	case CACHE_JOINED:
		break;
	}
	*spare = NULL;
}

static struct share *plan(struct read *read)
{
	struct layout_walk walk;
	struct share *spare = NULL, *loads = NULL;
	const uint64_t *coords;
	layout_walk_begin(&walk, read->layout, &read->array->grid, read->boxes, read->n);
	while ((coords = layout_walk_next(&walk))) {
		if (!spare)
			spare = share_new(read);
		if (!spare) {
			request_add(read->request);
			request_finish_part(read->request, err_set(ENOMEM, "no memory for a read"));
			break;
		}
		plan_chunk(read, coords, &spare, &loads);
	}
	share_drop(spare, 0);
	return loads;
}

static void load(struct array *array, struct share *loads)
{
	uint64_t n = 0;
	for (struct share *share = loads; share; share = share->next)
		n++;
	bool here = n && array->decode_ns <= INLINE_NS / n;
	while (loads) {
		struct share *share = loads;
		loads = share->next;
		uint64_t coords[LIMIT_DIMS];
		memcpy(coords, share->coords, (size_t)array->meta->ndim * sizeof(*coords));
		/* the share is gone once the load has ended, so it joins before the load begins */
		cache_join(array->env.cache, array_key(array, &array->grid, 0, coords), &share->waiter);
		chunk_load(array, coords, here);
	}
}

void array_read(struct array *array, const struct layout *layout, uint64_t offset, size_t size, uint8_t *dst,
				struct request *request, struct readahead *readahead)
{
	if (!size)
		return;
	struct read *read = read_new(array, layout, offset, size, dst, request);
	if (!read) {
		request_add(request);
		request_finish_part(request, err_set(ENOMEM, "no memory for a read"));
		return;
	}
	load(array, plan(read));
	if (request_is_open(request))
		request_arm(request);
	if (readahead)
		readahead_note(readahead, array, layout, offset, size);
	read_unref(read);
}

int array_read_wait(struct array *array, const struct layout *layout, uint64_t offset, size_t size, uint8_t *dst)
{
	struct waited_request *waited;
	int rc = waited_request_new(NULL, &waited);
	if (rc)
		return rc;
	array_read(array, layout, offset, size, dst, &waited->request, NULL);
	request_finish_part(&waited->request, 0);
	return waited_request_wait(waited);
}
