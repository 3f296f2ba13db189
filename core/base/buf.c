/*
 * buf.c: counted bytes, and the recycler that their memory goes back to.
 *
 * Memory of 4 KiB and more has a size class, four to the octave (4096, 5120, 6144, 7168, 8192 ...). A freed block is a
 * spare: its own first bytes link it into the list of its class (newest first, still warm in the CPU cache) and into
 * the list of all spares (oldest first, what goes when the limit is reached):
 *
 *      class 5120   spare <-> spare           all   oldest <-> ... <-> newest
 *      class 8192   spare
 *
 * Under AddressSanitizer nothing is recycled and sizes are exact, so that it sees every use after the end.
 */
#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define BUF_EXACT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define BUF_EXACT 1
#endif
#endif
#ifndef BUF_EXACT
#define BUF_EXACT 0
#endif

#define BUF_ALIGN ((size_t)64)
#define BUF_SMALL ((size_t)4 << 10) /* below: no class, malloc is quick enough */
#define BUF_MAPPED                                                                                                     \
	((size_t)256 << 10)			   /* from here on mapped alone: a free gives the pages back whatever malloc thinks */
#define BUF_HUGE ((size_t)2 << 20) /* from here on aligned to and advised as huge pages */
#define BUF_LARGEST (SIZE_MAX / 4)

struct spare {
	struct spare *class_next, *class_prev;
	struct spare *newer, *older;
	size_t capacity;
};

static struct {
	pthread_mutex_t lock;
	struct spare *classes[4 * 64];
	struct spare *oldest, *newest;
	size_t held, limit;
} recycler = {.lock = PTHREAD_MUTEX_INITIALIZER, .limit = (size_t)64 << 20};

/* The class of a size of BUF_SMALL or more: its index and the bytes of its blocks. */
static int class_of(size_t size, size_t *ret_capacity)
{
	size_t last = size - 1;
	int octave = 63 - __builtin_clzll(last);
	int quarter = (int)(last >> (octave - 2)) - 4;
	*ret_capacity = (size_t)(quarter + 5) << (octave - 2);
	return octave * 4 + quarter;
}

/* Maps `capacity` bytes (a multiple of the page) at a multiple of BUF_HUGE: maps more, then cuts both ends off. */
static void *map_huge(size_t capacity)
{
	uint8_t *start = mmap(NULL, capacity + BUF_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (start == MAP_FAILED)
		return NULL;
	size_t before = -(uintptr_t)start % BUF_HUGE;
	if (before > 0)
		munmap(start, before);
	munmap(start + before + capacity, BUF_HUGE - before);
	madvise(start + before, capacity, MADV_HUGEPAGE);
	return start + before;
}

static void *memory_new(size_t capacity)
{
	if (!BUF_EXACT && capacity >= BUF_HUGE)
		return map_huge(capacity);
	if (!BUF_EXACT && capacity >= BUF_MAPPED) {
		void *memory = mmap(NULL, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return memory == MAP_FAILED ? NULL : memory;
	}
	void *memory;
	return posix_memalign(&memory, BUF_ALIGN, MAX(capacity, (size_t)1)) == 0 ? memory : NULL;
}

static void memory_free(void *memory, size_t capacity)
{
	if (!BUF_EXACT && capacity >= BUF_MAPPED)
		munmap(memory, capacity);
	else
		free(memory);
}

/* Takes a spare out of both lists. The lock is held. */
static void recycler_unlink(struct spare *spare, int class)
{
	if (spare->class_prev)
		spare->class_prev->class_next = spare->class_next;
	else
		recycler.classes[class] = spare->class_next;
	if (spare->class_next)
		spare->class_next->class_prev = spare->class_prev;
	*(spare->older ? &spare->older->newer : &recycler.oldest) = spare->newer;
	*(spare->newer ? &spare->newer->older : &recycler.newest) = spare->older;
	recycler.held -= spare->capacity;
}

/* Unlinks the oldest spares until `bytes` are held at most; the list of them, by `newer`. The lock is held. */
static struct spare *recycler_evict(size_t bytes)
{
	struct spare *evicted = NULL;
	while (recycler.held > bytes) {
		struct spare *spare = recycler.oldest;
		size_t capacity;
		recycler_unlink(spare, class_of(spare->capacity, &capacity));
		spare->newer = evicted;
		evicted = spare;
	}
	return evicted;
}

static void spares_free(struct spare *spares)
{
	while (spares) {
		struct spare *next = spares->newer;
		memory_free(spares, spares->capacity);
		spares = next;
	}
}

static void *recycler_get(int class)
{
	autolock(&recycler.lock);
	struct spare *spare = recycler.classes[class];
	if (spare)
		recycler_unlink(spare, class);
	return spare;
}

static void recycler_put(void *memory, size_t capacity)
{
	size_t unused;
	int class = class_of(capacity, &unused);
	struct spare *spare = memory;
	struct spare *evicted;
	pthread_mutex_lock(&recycler.lock);
	if (capacity > recycler.limit) {
		pthread_mutex_unlock(&recycler.lock);
		memory_free(memory, capacity);
		return;
	}
	evicted = recycler_evict(recycler.limit - capacity);
	*spare = (struct spare){.class_next = recycler.classes[class], .older = recycler.newest, .capacity = capacity};
	if (spare->class_next)
		spare->class_next->class_prev = spare;
	recycler.classes[class] = spare;
	*(spare->older ? &spare->older->newer : &recycler.oldest) = spare;
	recycler.newest = spare;
	recycler.held += capacity;
	pthread_mutex_unlock(&recycler.lock);
	spares_free(evicted);
}

void buf_set_recycled_limit(size_t bytes)
{
	pthread_mutex_lock(&recycler.lock);
	recycler.limit = bytes;
	struct spare *evicted = recycler_evict(bytes);
	pthread_mutex_unlock(&recycler.lock);
	spares_free(evicted);
}

/* A struct buf with one reference over nothing yet. */
static struct buf *buf_alloc(void)
{
	struct buf *buf = malloc(sizeof(*buf));
	if (!buf)
		return NULL;
	*buf = (struct buf){0};
	atomic_init(&buf->refs, 1);
	return buf;
}

int buf_new(size_t size, struct buf **ret_buf)
{
	if (size > BUF_LARGEST)
		return -ENOMEM;
	struct buf *buf = buf_alloc();
	if (!buf)
		return -ENOMEM;
	buf->size = size;
	buf->capacity = size;
	if (!BUF_EXACT && size >= BUF_SMALL)
		buf->data = recycler_get(class_of(size, &buf->capacity));
	if (!buf->data)
		buf->data = memory_new(buf->capacity);
	if (!buf->data) {
		free(buf);
		return -ENOMEM;
	}
	*ret_buf = buf;
	return 0;
}

static void buf_release_nothing(void *arg)
{
}

int buf_wrap(void *data, size_t size, void (*release)(void *arg), void *arg, struct buf **ret_buf)
{
	struct buf *buf = buf_alloc();
	if (!buf)
		return -ENOMEM;
	buf->data = data;
	buf->size = size;
	buf->release = release ? release : buf_release_nothing;
	buf->arg = arg;
	*ret_buf = buf;
	return 0;
}

int buf_slice(struct buf *parent, size_t offset, size_t size, struct buf **ret_buf)
{
	assert(offset <= parent->size && size <= parent->size - offset);
	struct buf *buf = buf_alloc();
	if (!buf)
		return -ENOMEM;
	buf->data = parent->data + offset;
	buf->size = size;
	buf->parent = buf_ref(parent->parent ? parent->parent : parent);
	*ret_buf = buf;
	return 0;
}

struct buf *buf_ref(struct buf *buf)
{
	atomic_fetch_add_explicit(&buf->refs, 1, memory_order_relaxed);
	return buf;
}

void buf_unref(struct buf *buf)
{
	if (!buf || atomic_fetch_sub_explicit(&buf->refs, 1, memory_order_acq_rel) > 1)
		return;
	if (buf->parent)
		buf_unref(buf->parent);
	else if (buf->release)
		buf->release(buf->arg);
	else if (!BUF_EXACT && buf->capacity >= BUF_SMALL)
		recycler_put(buf->data, buf->capacity);
	else
		memory_free(buf->data, buf->capacity);
	free(buf);
}

void buf_shrink(struct buf *buf, size_t size)
{
	assert(size <= buf->size);
	buf->size = size;
}
