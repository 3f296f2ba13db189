/*
 * readahead.c: what a file's reads say of the next ones.
 *
 *        done          next          ahead
 *     ────┼──────────────┼──────────────┼────────>  payload
 *      given up    being read    loaded, or being loaded
 *
 * The unit is a row of chunks: all chunks that a sequential reader revisits together. After two reads in a row the chunks
 * up to the end of the next row are loaded; where rows are short, a window that doubles. Behind the reader rows are given
 * up, and their memory, still warm in the CPU's cache, takes the rows ahead. A read elsewhere starts over. Requests of one
 * sequential reader come slightly out of order, because the kernel sends several at once.
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
/* So many chunks at most: each that is queued costs memory of its own, however small it is. */
#define AHEAD_CHUNKS 16384

struct readahead {
	pthread_mutex_t lock;
	bool once;
	/* payload offsets */
	uint64_t done, next, ahead;
	uint64_t window;
	unsigned streak; /* reads in a row that went on */
};

/* Payload bytes to load, and to give up; either may be empty. */
struct advice {
	uint64_t load_from, load_to;
	uint64_t drop_from, drop_to;
};

int readahead_new(bool once, struct readahead **ret_readahead)
{
	struct readahead *readahead = calloc(1, sizeof(*readahead));
	if (!readahead)
		return err_set(ENOMEM, "no memory for read-ahead");
	pthread_mutex_init(&readahead->lock, NULL);
	readahead->once = once;
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
	readahead->done = offset;
	readahead->next = readahead->ahead = end;
	readahead->window = FIRST_WINDOW;
	return false;
}

/* Payload bytes whose chunks take their share of the cache: all chunks of a row stay until its end. */
static uint64_t affordable(const struct array *array, const struct layout *layout, uint64_t row)
{
	uint64_t budget = cache_budget(array->env.cache) / BUDGET_SHARE;
	uint64_t row_memory = array_working_set(array, layout), row_chunks = layout_row_chunks(layout, array_grid(array));
	return MIN(budget / MAX(row_memory, 1), AHEAD_CHUNKS / row_chunks) * row;
}

/* A row, or half a window, at a time: not one chunk with each read. */
static void advise_load(struct readahead *readahead, const struct array *array, const struct layout *layout,
						uint64_t row, struct advice *advice)
{
	uint64_t most = affordable(array, layout, row), window = MAX(readahead->window, row);
	if (!most || pool_queued(array->env.pool, POOL_DECODE) > AHEAD_CHUNKS)
		return;
	readahead->window = MIN(readahead->window * 2, LAST_WINDOW);
	uint64_t target = MIN(readahead->next + MIN(window, most), layout->bytes);
	target = MIN((target + row - 1) / row * row, layout->bytes);
	uint64_t from = MAX(readahead->ahead, readahead->next);
	if (target <= from || (target < layout->bytes && target - from < MIN(row, window / 2)))
		return;
	advice->load_from = from;
	advice->load_to = readahead->ahead = target;
}

/* Whole rows that even a request out of order no longer reaches. */
static void advise_drop(struct readahead *readahead, uint64_t row, struct advice *advice)
{
	if (!readahead->once || readahead->next < REORDERED)
		return;
	uint64_t from = (readahead->done + row - 1) / row * row, to = (readahead->next - REORDERED) / row * row;
	if (from >= to || to - from < MIN(row, FIRST_WINDOW))
		return;
	advice->drop_from = from;
	advice->drop_to = readahead->done = to;
}

static struct advice advise(struct readahead *readahead, const struct array *array, const struct layout *layout,
							uint64_t offset, uint64_t end)
{
	struct advice advice = {0};
	uint64_t row = layout_row_bytes(layout, array_grid(array));
	autolock(&readahead->lock);
	if (goes_on(readahead, offset, end)) {
		advise_load(readahead, array, layout, row, &advice);
		advise_drop(readahead, row, &advice);
	}
	return advice;
}

static void load_chunk(struct array *array, const uint64_t *coords)
{
	if (!cache_peek(array->env.cache, array_key(array, &array->grid, 0, coords)))
		chunk_load_ahead(array, coords);
}

static void drop_chunk(struct array *array, const uint64_t *coords)
{
	cache_discard(array->env.cache, array_key(array, &array->grid, 0, coords));
}

static void for_chunks(struct array *array, const struct layout *layout, uint64_t from, uint64_t to,
					   void (*act)(struct array *array, const uint64_t *coords))
{
	if (from >= to)
		return;
	struct layout_box boxes[LAYOUT_BOXES];
	struct layout_walk walk;
	const uint64_t *coords;
	layout_walk_begin(&walk, layout, &array->grid, boxes, layout_boxes(layout, from, to - from, boxes));
	while ((coords = layout_walk_next(&walk)))
		act(array, coords);
}

void readahead_note(struct readahead *readahead, struct array *array, const struct layout *layout, uint64_t offset,
					size_t size)
{
	struct advice advice = advise(readahead, array, layout, offset, offset + size);
	for_chunks(array, layout, advice.drop_from, advice.drop_to, drop_chunk);
	for_chunks(array, layout, advice.load_from, advice.load_to, load_chunk);
}
