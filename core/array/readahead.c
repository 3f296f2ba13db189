/*
 * readahead.c: what a file's reads say of the next ones.
 *
 * The unit is a row of chunks: all chunks that a sequential reader revisits together. After two reads in a row the chunks
 * up to the end of the next row are loaded; where rows are short, a window that doubles. A read elsewhere starts over.
 * Requests of one sequential reader come slightly out of order, because the kernel sends several at once.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "array/array_impl.h"
#include "base/err.h"

#define FIRST_WINDOW (UINT64_C(512) << 10)
#define LAST_WINDOW (UINT64_C(8) << 20)
/* How far from the expected offset a read may begin and still count as the next. */
#define REORDERED (UINT64_C(1) << 20)
/* Part of the budget that lies ahead at most. */
#define BUDGET_SHARE 4

struct readahead {
	pthread_mutex_t lock;
	uint64_t next;	/* payload offset where a sequential reader goes on */
	uint64_t ahead; /* loaded, or being loaded, up to here */
	uint64_t window;
	unsigned streak; /* reads in a row that went on */
};

int readahead_new(struct readahead **ret_readahead)
{
	struct readahead *readahead = calloc(1, sizeof(*readahead));
	if (!readahead)
		return err_set(ENOMEM, "no memory for read-ahead");
	pthread_mutex_init(&readahead->lock, NULL);
	*ret_readahead = readahead;
	return 0;
}

void readahead_free(struct readahead *readahead)
{
	if (!readahead)
		return;
	pthread_mutex_destroy(&readahead->lock);
	free(readahead);
}

/* Notes the read; whether it goes on from the ones before. */
static bool goes_on(struct readahead *readahead, uint64_t offset, uint64_t end)
{
	bool near = offset <= readahead->next + REORDERED && offset + REORDERED >= readahead->next;
	if (near && readahead->next) {
		readahead->streak += end > readahead->next;
		readahead->next = MAX(readahead->next, end);
		return readahead->streak >= 2;
	}
	readahead->streak = 0;
	readahead->next = readahead->ahead = end;
	readahead->window = FIRST_WINDOW;
	return false;
}

/* Payload bytes whose chunks take `share` of the cache: all chunks of a row stay until its end. */
static uint64_t affordable(const struct array *array, const struct layout *layout, uint64_t row)
{
	uint64_t budget = cache_budget(array->env.cache) / BUDGET_SHARE;
	uint64_t row_memory = array_working_set(array, layout);
	return row_memory > budget ? 0 : budget / MAX(row_memory, 1) * row;
}

/* The range to load now, [*ret_from, return); empty when nothing is to be done. */
static uint64_t next_range(struct readahead *readahead, const struct array *array, const struct layout *layout,
						   uint64_t offset, uint64_t end, uint64_t *ret_from)
{
	uint64_t row = layout_row_bytes(layout, array_grid(array));
	autolock(&readahead->lock);
	*ret_from = end;
	if (!goes_on(readahead, offset, end))
		return end;
	uint64_t window = MAX(readahead->window, row), most = affordable(array, layout, row);
	if (!most)
		return end;
	readahead->window = MIN(readahead->window * 2, LAST_WINDOW);
	uint64_t target = MIN(end + MIN(window, most), layout->bytes);
	target = MIN((target + row - 1) / row * row, layout->bytes);
	*ret_from = MAX(readahead->ahead, end);
	/* a row, or half a window, at a time: not one chunk with each read */
	if (target <= *ret_from || (target < layout->bytes && target - *ret_from < MIN(row, window / 2)))
		return *ret_from;
	readahead->ahead = target;
	return target;
}

void readahead_note(struct readahead *readahead, struct array *array, const struct layout *layout, uint64_t offset,
					size_t size)
{
	uint64_t from, to = next_range(readahead, array, layout, offset, offset + size, &from);
	if (from >= to)
		return;
	struct layout_box boxes[LAYOUT_BOXES];
	struct layout_walk walk;
	const uint64_t *coords;
	layout_walk_begin(&walk, layout, &array->grid, boxes, layout_boxes(layout, from, to - from, boxes));
	while ((coords = layout_walk_next(&walk)))
		if (!cache_peek(array->env.cache, array_key(array, &array->grid, 0, coords)))
			chunk_load_ahead(array, coords);
}
