/*
 * mem.c: a store in memory that can wait and fail: the tests' store.
 *
 * One sorted table of keys under one lock; a key that was only asked for has an entry too, for its counters. A value
 * is a counted buffer that a later put does not touch; the version tells that the key has moved on.
 */
#include "store/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"
#include "store/store_impl.h"

struct mem_entry {
	char *key;
	struct buf *bytes; /* NULL: absent */
	uint64_t version;
	struct mem_counts counts;
};

struct mem_store {
	struct store store;
	pthread_mutex_t lock; /* guards all below, and mem_value.has_waited */
	pthread_cond_t released;
	uint64_t releases;
	uint64_t versions; /* given out so far */
	struct mem_entry *entries;
	size_t n, capacity;
	struct mem_fault *faults;
	int n_faults;
};

struct mem_value {
	struct value value;
	struct buf *bytes;
	bool has_waited;
	char key[];
};

struct mem_write {
	struct store_write write;
	struct str bytes;
	char key[];
};

static const struct store_ops unlisted_ops;

static struct mem_store *mem_of(struct store *store)
{
	return container_of(store, struct mem_store, store);
}

/* The index of the first entry that is not before `key`. Locked. */
static size_t lower_bound(const struct mem_store *mem, const char *key)
{
	size_t low = 0, high = mem->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(mem->entries[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entry of `key`, made if need be; NULL without memory. Valid until the lock is released. Locked. */
static struct mem_entry *entry_of(struct mem_store *mem, const char *key)
{
	size_t i = lower_bound(mem, key);
	if (i < mem->n && strcmp(mem->entries[i].key, key) == 0)
		return &mem->entries[i];
	if (mem->n == mem->capacity) {
		size_t capacity = mem->capacity ? 2 * mem->capacity : 64;
		struct mem_entry *entries = reallocarray(mem->entries, capacity, sizeof(*entries));
		if (!entries)
			return NULL;
		mem->entries = entries;
		mem->capacity = capacity;
	}
	char *copy = strdup(key);
	if (!copy)
		return NULL;
	memmove(&mem->entries[i + 1], &mem->entries[i], (mem->n - i) * sizeof(*mem->entries));
	mem->entries[i] = (struct mem_entry){.key = copy};
	mem->n++;
	return &mem->entries[i];
}

/* The first fault that fits; its key_part must not be used without the lock. Locked. */
static struct mem_fault fault_of(const struct mem_store *mem, const char *key)
{
	for (int i = 0; i < mem->n_faults; i++)
		if (strstr(key, mem->faults[i].key_part))
			return mem->faults[i];
	return (struct mem_fault){0};
}

/* Lets the lock go meanwhile. Locked. */
static void wait_for(struct mem_store *mem, int delay_ms)
{
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += delay_ms / 1000;
	until.tv_nsec += delay_ms % 1000 * 1000000L;
	if (until.tv_nsec >= 1000000000L) {
		until.tv_sec++;
		until.tv_nsec -= 1000000000L;
	}
	uint64_t releases = mem->releases;
	while (mem->releases == releases && pthread_cond_timedwait(&mem->released, &mem->lock, &until) != ETIMEDOUT)
		;
}

static int mem_open(const char *rest, const struct store_options *options, struct store **ret_store)
{
	return err_set(ENOTSUP, "mem: a store in memory is made by tests, not opened");
}

int mem_store_new(const char *name, bool can_list, struct store **ret_store)
{
	struct mem_store *mem = calloc(1, sizeof(*mem));
	autofree char *url = NULL;
	autostr(text);
	str_appendf(&text, "mem://%s", name);
	if (!mem || str_take(&text, &url) < 0 || store_init(&mem->store, can_list ? &mem_store_ops : &unlisted_ops, url)) {
		free(mem);
		return err_set(ENOMEM, "no memory for a store");
	}
	pthread_condattr_t monotonic;
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&mem->released, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pthread_mutex_init(&mem->lock, NULL);
	*ret_store = &mem->store;
	return 0;
}

static void free_faults(struct mem_fault *faults, int n)
{
	for (int i = 0; i < n; i++)
		free((char *)faults[i].key_part);
	free(faults);
}

static void mem_close(struct store *store)
{
	struct mem_store *mem = mem_of(store);
	for (size_t i = 0; i < mem->n; i++) {
		free(mem->entries[i].key);
		buf_unref(mem->entries[i].bytes);
	}
	free(mem->entries);
	free_faults(mem->faults, mem->n_faults);
	pthread_cond_destroy(&mem->released);
	pthread_mutex_destroy(&mem->lock);
	free(mem);
}

int mem_store_put(struct store *store, const char *key, const void *bytes, size_t size)
{
	struct mem_store *mem = mem_of(store);
	struct buf *copy = NULL;
	if (bytes) {
		int rc = buf_new(size, &copy);
		if (rc)
			return rc;
		if (size)
			memcpy(copy->data, bytes, size);
	}
	autolock(&mem->lock);
	struct mem_entry *entry = entry_of(mem, key);
	if (!entry) {
		buf_unref(copy);
		return err_set(ENOMEM, "%s: no memory", key);
	}
	buf_unref(entry->bytes);
	entry->bytes = copy;
	entry->version = ++mem->versions;
	return 0;
}

int mem_store_set_faults(struct store *store, const struct mem_fault *faults, int n)
{
	struct mem_store *mem = mem_of(store);
	struct mem_fault *copies = calloc((size_t)n + 1, sizeof(*copies));
	bool failed = !copies;
	for (int i = 0; i < n && !failed; i++) {
		copies[i] = faults[i];
		if (faults[i].dear) /* tests set it before they read */
			mem->store.recodes = true;
		copies[i].key_part = strdup(faults[i].key_part);
		failed = !copies[i].key_part;
	}
	if (failed) {
		if (copies)
			free_faults(copies, n);
		return err_set(ENOMEM, "no memory for faults");
	}
	autolock(&mem->lock);
	free_faults(mem->faults, mem->n_faults);
	mem->faults = copies;
	mem->n_faults = n;
	return 0;
}

void mem_store_release(struct store *store)
{
	struct mem_store *mem = mem_of(store);
	autolock(&mem->lock);
	mem->releases++;
	pthread_cond_broadcast(&mem->released);
}

struct mem_counts mem_store_counts(struct store *store, const char *key_part)
{
	struct mem_store *mem = mem_of(store);
	struct mem_counts sum = {0};
	autolock(&mem->lock);
	for (size_t i = 0; i < mem->n; i++)
		if (strstr(mem->entries[i].key, key_part)) {
			sum.opens += mem->entries[i].counts.opens;
			sum.reads += mem->entries[i].counts.reads;
			sum.bytes += mem->entries[i].counts.bytes;
		}
	return sum;
}

void mem_store_reset_counts(struct store *store)
{
	struct mem_store *mem = mem_of(store);
	autolock(&mem->lock);
	for (size_t i = 0; i < mem->n; i++)
		mem->entries[i].counts = (struct mem_counts){0};
}

/* The version that the key has when the wait is over. An open that waits is counted when it begins to. */
static int mem_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	struct mem_store *mem = mem_of(store);
	autolock(&mem->lock);
	struct mem_fault fault = fault_of(mem, key);
	if (fault.delay_ms > 0 && how == STORE_TRY)
		return -EAGAIN;
	struct mem_entry *entry = entry_of(mem, key);
	if (!entry)
		return err_set(ENOMEM, "%s: no memory", key);
	entry->counts.opens++;
	if (fault.delay_ms > 0) {
		wait_for(mem, fault.delay_ms);
		entry = &mem->entries[lower_bound(mem, key)]; /* entries move, but never go */
	}
	if (fault.open_errnum)
		return err_set(fault.open_errnum, "%s: a fault: %s", key, strerror(fault.open_errnum));
	if (!entry->bytes)
		return err_set(ENOENT, "%s: no such key", key);
	size_t key_size = strlen(key) + 1;
	struct mem_value *mv = malloc(sizeof(*mv) + key_size);
	if (!mv)
		return err_set(ENOMEM, "%s: no memory for a value", key);
	*mv = (struct mem_value){
		.value.info =
			{
				.size = entry->bytes->size,
				.mtime_ns = (int64_t)entry->version * 1000000000, /* the n-th put is n seconds after the epoch */
				.version = entry->version,
				.ranges_cheap = !fault.dear,
			},
		.bytes = buf_ref(entry->bytes),
	};
	memcpy(mv->key, key, key_size);
	*ret_value = &mv->value;
	return 0;
}

/* Waits and fails as the faults say; *ret_size becomes how much may be read at once. */
static int begin_read(struct mem_store *mem, struct mem_value *mv, enum store_how how, size_t *ret_size)
{
	autolock(&mem->lock);
	struct mem_fault fault = fault_of(mem, mv->key);
	bool waits = fault.delay_ms > 0 && !mv->has_waited;
	if (waits && how == STORE_TRY)
		return -EAGAIN;
	mem->entries[lower_bound(mem, mv->key)].counts.reads++;
	if (waits) {
		wait_for(mem, fault.delay_ms);
		mv->has_waited = true;
	}
	if (fault.read_errnum)
		return err_set(fault.read_errnum, "%s: a fault: %s", mv->key, strerror(fault.read_errnum));
	struct mem_entry *entry = &mem->entries[lower_bound(mem, mv->key)];
	if (entry->version != mv->value.info.version)
		return err_set(ESTALE, "%s: replaced or removed while it was open", mv->key);
	if (fault.short_read > 0)
		*ret_size = MIN(*ret_size, (size_t)fault.short_read);
	entry->counts.bytes += *ret_size;
	return 0;
}

static int mem_read(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how, size_t *ret_size)
{
	struct mem_value *mv = container_of(value, struct mem_value, value);
	int rc = begin_read(mem_of(value->store), mv, how, &size);
	if (rc)
		return rc;
	memcpy(dst, mv->bytes->data + offset, size);
	*ret_size = size;
	return 0;
}

static void mem_close_value(struct value *value)
{
	struct mem_value *mv = container_of(value, struct mem_value, value);
	buf_unref(mv->bytes);
	free(mv);
}

/* A child's keys stand side by side, unless "a/b.x" comes between "a/b" and "a/b/c": store.c merges what comes twice. */
static int mem_list(struct store *store, const char *prefix, int (*emit)(void *arg, const char *name, bool is_prefix),
					void *arg)
{
	struct mem_store *mem = mem_of(store);
	autofree char *start = NULL;
	autostr(text);
	str_appendf(&text, "%s%s", prefix, prefix[0] ? "/" : "");
	if (str_take(&text, &start) < 0)
		return err_set(ENOMEM, "%s: no memory", prefix);
	size_t skip = strlen(start), last_size = 0;
	const char *last = NULL; /* the child before, with its slash */
	bool found = prefix[0] == '\0';
	autolock(&mem->lock);
	for (size_t i = lower_bound(mem, start); i < mem->n && strncmp(mem->entries[i].key, start, skip) == 0; i++) {
		const char *name = mem->entries[i].key + skip;
		size_t size = strcspn(name, "/");
		if (!mem->entries[i].bytes || (last && strncmp(name, last, last_size) == 0))
			continue;
		found = true;
		last = name[size] == '/' ? name : NULL;
		last_size = size + 1;
		autofree char *copy = strndup(name, size);
		int rc = copy ? emit(arg, copy, last != NULL) : err_set(ENOMEM, "%s: no memory", prefix);
		if (rc)
			return rc;
	}
	return found ? 0 : err_set(ENOENT, "%s: no such prefix", prefix);
}

static int mem_write_begin(struct store *store, const char *key, struct store_write **ret_write)
{
	size_t key_size = strlen(key) + 1;
	struct mem_write *mw = malloc(sizeof(*mw) + key_size);
	if (!mw)
		return err_set(ENOMEM, "%s: no memory", key);
	str_init(&mw->bytes);
	memcpy(mw->key, key, key_size);
	*ret_write = &mw->write;
	return 0;
}

static int mem_write_append(struct store_write *write, const void *bytes, size_t size)
{
	struct mem_write *mw = container_of(write, struct mem_write, write);
	str_append_bytes(&mw->bytes, bytes, size);
	return mw->bytes.failed ? err_set(ENOMEM, "%s: no memory", mw->key) : 0;
}

static void mem_write_abort(struct store_write *write)
{
	struct mem_write *mw = container_of(write, struct mem_write, write);
	str_finish(&mw->bytes);
	free(mw);
}

static int mem_write_commit(struct store_write *write)
{
	struct mem_write *mw = container_of(write, struct mem_write, write);
	int rc = mw->bytes.failed ? err_set(ENOMEM, "%s: no memory", mw->key)
							  : mem_store_put(write->store, mw->key, mw->bytes.text, mw->bytes.size);
	mem_write_abort(write);
	return rc;
}

#define MEM_SLOTS                                                                                                      \
	.scheme = "mem", .open = mem_open, .close = mem_close, .open_value = mem_open_value, .read = mem_read,             \
	.close_value = mem_close_value, .write_begin = mem_write_begin, .write_append = mem_write_append,                  \
	.write_commit = mem_write_commit, .write_abort = mem_write_abort

const struct store_ops mem_store_ops = {MEM_SLOTS, .list = mem_list};
static const struct store_ops unlisted_ops = {MEM_SLOTS};
