/*
 * band.c: what a sequential reader asks for next, put together before it asks.
 *
 *          taken         band          band
 *     ──────────────┼─────────────┼─────────────┼────────>  file
 *                      ^ the reader: a worker puts the next band together
 *
 * The page cache asks for 128 KiB at a time, and each such piece touches all chunks of a row. A band of eight pieces looks
 * every chunk up once and copies longer runs of it; and a worker does that while the reader copies what it got, so that a
 * request finds its bytes ready. Bands begin and end where requests do: a request that no band has whole starts over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "fs/file.h"
#include "fs/fs_impl.h"

#define BAND_BYTES (UINT64_C(1) << 20)
/* Read in a row before the first band. */
#define SEQUENTIAL_BYTES (UINT64_C(384) << 10)
/* Smaller requests are no reader of whole files; one of half a band or more is answered as it is. */
#define REQUEST_BYTES (UINT64_C(32) << 10)
/*
 * All bands of a mount. They are not charged to the cache's budget: a band waits for loads, which wait for memory there, and what
 * waits must hold none of it.
 */
#define ALL_BYTES (UINT64_C(32) << 20)
/* When that is used up, files whose reader has been away for so long give theirs back; who looks for such does so every so often. */
#define IDLE_NS UINT64_C(1000000000)
#define TRIM_NS UINT64_C(100000000)

/* A read that waits for the band. */
struct band_waiter {
	struct band_waiter *next;
	struct request *request;
	uint64_t offset; /* in the file */
	size_t size;
	uint8_t *dst;
};

struct band {
	atomic_int refs; /* its slot's, its request's */
	struct task task;
	struct request request;
	struct fs_file *file;
	uint64_t offset, size; /* in the file */
	/* under the file's lock */
	bool is_ready; /* else it is being put together */
	bool is_slow;  /* it waits for the store: who comes waits for its own chunks only */
	uint64_t left; /* bytes not taken */
	struct band_waiter *waiters;
	struct buf *buf; /* [size] */
};

static void band_unref(struct band *band, struct fs *fs)
{
	if (!band || atomic_fetch_sub(&band->refs, 1) != 1)
		return;
	buf_unref(band->buf);
	atomic_fetch_sub(&fs->band_bytes, band->size);
	free(band);
}

static bool has(const struct band *band, uint64_t offset, size_t size)
{
	return band && offset >= band->offset && offset + size <= band->offset + band->size;
}

static struct band **find(struct bands *bands, uint64_t offset, size_t size)
{
	for (int i = 0; i < FS_BANDS; i++)
		if (has(bands->slots[i], offset, size))
			return &bands->slots[i];
	return NULL;
}

static void drop(struct bands *bands, struct band **slot, struct fs *fs)
{
	struct band *band = *slot;
	*slot = NULL;
	band_unref(band, fs);
}

/* A failed band may have had good bytes too, and a slow one has: each waiter reads its own. */
static void tell_waiters(struct band *band, struct band_waiter *waiters, bool ready)
{
	while (waiters) {
		struct band_waiter *waiter = waiters;
		waiters = waiter->next;
		if (ready)
			memcpy(waiter->dst, band->buf->data + (waiter->offset - band->offset), waiter->size);
		else
			view_read(band->file->view, waiter->offset, waiter->size, waiter->dst, waiter->request, NULL);
		request_finish_part(waiter->request, 0);
		free(waiter);
	}
}

static struct band_waiter *take_waiters(struct band *band)
{
	struct band_waiter *waiters = band->waiters;
	band->waiters = NULL;
	return waiters;
}

static void band_complete(struct request *request, int rc)
{
	struct band *band = container_of(request, struct band, request);
	struct bands *bands = &band->file->bands;
	pthread_mutex_lock(&bands->lock);
	band->is_ready = !rc; /* a failed one leaves its slot here */
	struct band_waiter *waiters = take_waiters(band);
	for (int i = 0; i < FS_BANDS && (rc || !band->left); i++)
		if (bands->slots[i] == band)
			drop(bands, &bands->slots[i], band->file->fs);
	pthread_mutex_unlock(&bands->lock);
	tell_waiters(band, waiters, !rc);
}

static void band_release(struct request *request)
{
	struct band *band = container_of(request, struct band, request);
	struct fs_file *file = band->file;
	band_unref(band, file->fs);
	fs_file_unref(file);
}

/*
 * Runs behind the loads that the band has queued: what is still open waits for the store, perhaps for long, and who needs other
 * chunks of the band must not wait with it.
 */
static void look_again(struct task *task)
{
	struct band *band = container_of(task, struct band, task);
	struct bands *bands = &band->file->bands;
	if (request_is_open(&band->request)) {
		pthread_mutex_lock(&bands->lock);
		band->is_slow = true;
		struct band_waiter *waiters = take_waiters(band);
		pthread_mutex_unlock(&bands->lock);
		tell_waiters(band, waiters, false);
	}
	request_finish_part(&band->request, 0);
}

static void put_together(struct task *task)
{
	struct band *band = container_of(task, struct band, task);
	view_read(band->file->view, band->offset, band->size, band->buf->data, &band->request, band->file->readahead);
	if (request_is_open(&band->request)) {
		band->task.run = look_again;
		pool_submit(band->file->fs->env.pool, POOL_DECODE, POOL_DEMAND, &band->task);
	} else {
		request_finish_part(&band->request, 0);
	}
}

static bool charge(struct fs *fs, uint64_t bytes)
{
	if (atomic_fetch_add(&fs->band_bytes, bytes) + bytes <= ALL_BYTES)
		return true;
	atomic_fetch_sub(&fs->band_bytes, bytes);
	return false;
}

static struct band *band_new(struct fs_file *file, uint64_t offset, uint64_t size)
{
	struct band *band = calloc(1, sizeof(*band));
	if (!band || !charge(file->fs, size)) {
		free(band);
		return NULL;
	}
	if (buf_new(size, &band->buf)) {
		atomic_fetch_sub(&file->fs->band_bytes, size);
		free(band);
		return NULL;
	}
	atomic_init(&band->refs, 2);
	band->file = file;
	band->offset = offset;
	band->size = band->left = size;
	band->task.run = put_together;
	request_init(&band->request, file->fs->deadlines, band_complete, band_release);
	return band;
}

/*
 * With the lock: the next band, if it is time for it and there is room. The caller submits it. One after another, so that
 * read-ahead sees them in order.
 */
static struct band *begin_band(struct fs_file *file, size_t request_size)
{
	struct bands *bands = &file->bands;
	uint64_t end = bands->next;
	struct band **slot = NULL;
	for (int i = 0; i < FS_BANDS; i++) {
		const struct band *band = bands->slots[i];
		if (band && !band->is_ready)
			return NULL;
		if (band)
			end = MAX(end, band->offset + band->size);
		else
			slot = &bands->slots[i];
	}
	uint64_t most = MAX(BAND_BYTES / request_size, 1) * request_size;
	uint64_t size = MIN(bands->grown ? bands->grown * 2 : request_size * 2, most);
	size = MIN(size, file->size - end);
	if (!slot || !size || end - bands->next >= most)
		return NULL;
	*slot = band_new(file, end, size);
	if (*slot) {
		fs_file_ref(file);
		bands->grown = size;
	}
	return *slot;
}

/* A request that no band has whole: late by one, the next one, or one of another place. */
static void note_miss(struct fs_file *file, uint64_t offset, size_t size)
{
	struct bands *bands = &file->bands;
	uint64_t end = offset + size;
	if (end <= bands->next && end + size >= bands->next)
		bands->sequential += size;
	else if (!bands->grown && bands->sequential && offset >= bands->next && offset <= bands->next + size) {
		bands->sequential += size;
		bands->next = end;
	} else {
		for (int i = 0; i < FS_BANDS; i++)
			drop(bands, &bands->slots[i], file->fs);
		bands->grown = 0;
		/* one read is no row of them, however large */
		bands->sequential = MIN(size, SEQUENTIAL_BYTES - 1);
		bands->next = end;
	}
}

/* Makes room where nobody reads any more. */
static void trim(struct fs *fs)
{
	uint64_t now = monotonic_ns(), next = atomic_load(&fs->next_trim_ns);
	if (now < next || !atomic_compare_exchange_strong(&fs->next_trim_ns, &next, now + TRIM_NS))
		return;
	autolock(&fs->files_lock);
	for (struct fs_file *file = fs->files; file; file = file->next) {
		struct bands *bands = &file->bands;
		if (pthread_mutex_trylock(&bands->lock))
			continue;
		for (int i = 0; bands->used_ns + IDLE_NS < now && i < FS_BANDS; i++)
			if (bands->slots[i] && bands->slots[i]->is_ready)
				drop(bands, &bands->slots[i], fs);
		pthread_mutex_unlock(&bands->lock);
	}
}

struct buf *fs_take(struct fs_file *file, uint64_t offset, size_t size)
{
	struct bands *bands = &file->bands;
	struct buf *taken = NULL;
	struct band *begun = NULL;
	if (!file->view || !size)
		return NULL;
	pthread_mutex_lock(&bands->lock);
	struct band **slot = find(bands, offset, size);
	if (!slot && size >= REQUEST_BYTES) {
		note_miss(file, offset, size);
	} else if (slot) {
		bands->next = MAX(bands->next, offset + size);
		(*slot)->left -= MIN(size, (*slot)->left);
		if ((*slot)->is_ready && buf_slice((*slot)->buf, offset - (*slot)->offset, size, &taken))
			taken = NULL;
		if ((*slot)->is_ready && !(*slot)->left)
			drop(bands, slot, file->fs);
	}
	bands->used_ns = monotonic_ns();
	if (bands->sequential >= SEQUENTIAL_BYTES && size >= REQUEST_BYTES && size <= BAND_BYTES / 2)
		begun = begin_band(file, size);
	pthread_mutex_unlock(&bands->lock);
	if (atomic_load(&file->fs->band_bytes) > ALL_BYTES - BAND_BYTES)
		trim(file->fs);
	if (begun)
		pool_submit(file->fs->env.pool, POOL_DECODE, POOL_DEMAND, &begun->task);
	return taken;
}

bool bands_join(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst, struct request *request)
{
	struct bands *bands = &file->bands;
	{
		autolock(&bands->lock);
		struct band **slot = find(bands, offset, size);
		bool may_wait = slot && !(*slot)->is_ready && !(*slot)->is_slow;
		struct band_waiter *waiter = may_wait ? malloc(sizeof(*waiter)) : NULL;
		if (!waiter)
			return false;
		request_add(request);
		*waiter = (struct band_waiter){(*slot)->waiters, request, offset, size, dst};
		(*slot)->waiters = waiter;
	}
	request_arm(request);
	return true;
}

void bands_finish(struct bands *bands, struct fs *fs)
{
	for (int i = 0; i < FS_BANDS; i++)
		drop(bands, &bands->slots[i], fs);
	pthread_mutex_destroy(&bands->lock);
}
