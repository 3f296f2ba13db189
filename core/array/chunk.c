/*
 * chunk.c: loading one chunk, as a state machine that never waits for a lock, a queue or memory in a thread:
 *
 *     index    for each level of sharding: get the index from the cache, or read it here (it is never queued behind others)
 *     reserve  decoded, encoded and scratch bytes at once; a load that waits for memory holds nothing
 *     fetch    the encoded bytes
 *     decode   then the cache takes the chunk, and whoever waits for it copies
 *
 * It starts where the caller is or on a decode worker, and only tries the store; where that would wait it goes on as a task
 * of the fetch lane. Decoding is done by workers, or here when it is short.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/load.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/str.h"

/* A decode that is done in the thread that asks: a wake across CPUs costs about 25 us (design, section 6). */
#define INLINE_DECODE_NS 30000
/* So many fetches of one array past their deadline, and it is given up until one returns. */
#define MAX_STUCK 64
#define MAX_SEPARATOR_CHECKS 64

static void run_on_worker(struct task *task)
{
	load_run(container_of(task, struct load, task), PLACE_WORKER);
}

/* Whether so many fetches of this array hang that another would only hang too. */
static bool is_given_up(struct array *array)
{
	int stuck = atomic_load_explicit(&array->stuck, memory_order_relaxed);
	return stuck &&
		   (stuck >= MAX_STUCK || (uint64_t)stuck > cache_budget(array->env.cache) / 4 / MAX(array->chunk_bytes, 1));
}

static int give_up(struct array *array)
{
	return err_set(ETIMEDOUT, "%s: the store does not answer (%d reads hang)", array->path, atomic_load(&array->stuck));
}

/* Those that were queued before the array was given up must not take the slots of other arrays either. */
static void run_on_slot(struct task *task)
{
	struct load *load = container_of(task, struct load, task);
	if (is_given_up(load->array))
		load_fail(load, give_up(load->array));
	else
		load_run(load, PLACE_SLOT);
}

void load_submit(struct load *load, enum pool_lane lane)
{
	struct array *array = load->array;
	load->task.run = lane == POOL_DECODE ? run_on_worker : run_on_slot;
	load->task.stuck = &array->stuck;
	pool_submit(array->env.pool, lane, POOL_DEMAND, &load->task);
}

static void granted(struct reservation *reservation)
{
	load_submit(container_of(reservation, struct load, reservation), POOL_DECODE);
}

/* True: the bytes are reserved. False: `granted` continues. */
bool load_reserve(struct load *load, uint64_t bytes)
{
	load->reservation.bytes = bytes;
	load->reservation.granted = granted;
	load->reserved = bytes;
	return cache_reserve(load->array->env.cache, &load->reservation);
}

void load_unreserve(struct load *load, uint64_t bytes)
{
	load->reserved -= bytes;
	if (bytes)
		cache_release(load->array->env.cache, bytes);
}

static enum store_how how(enum place place)
{
	return place == PLACE_SLOT ? STORE_WAIT : STORE_TRY;
}

/* The coordinates of the piece of a level that holds the chunk. */
void load_piece(const struct load *load, const struct layout_grid *grid, uint64_t *ret_coords)
{
	const struct array *array = load->array;
	for (int a = 0; a < array->meta->ndim; a++)
		ret_coords[a] = load->coords[a] / (grid->chunk[a] / array->grid.chunk[a]);
}

static char *stored_key(const struct load *load)
{
	const struct array *array = load->array;
	uint64_t coords[LIMIT_DIMS];
	load_piece(load, array->n_levels ? &array->levels[0].grid : &array->grid, coords);
	return key_of_chunk(&array->meta->keys, array->path, coords, array->meta->ndim);
}

/* Opens the stored value; *ret_absent when it is proved that there is none. */
int load_open_value(struct load *load, enum place place, bool *ret_absent)
{
	*ret_absent = false;
	autofree char *key = stored_key(load);
	if (!key)
		return err_set(ENOMEM, "no memory for a key");
	int rc = store_open_value(load->array->env.store, key, how(place), &load->value);
	if (rc != -ENOENT)
		return rc;
	*ret_absent = true;
	return 0;
}

int load_fetch(struct load *load, uint64_t offset, size_t size, enum place place)
{
	if (load->whole)
		return buf_slice(load->whole, offset, size, &load->encoded);
	size_t got = 0;
	int rc = load->encoded ? 0 : buf_new(size, &load->encoded);
	if (rc)
		return rc;
	struct range rest = {.offset = offset + load->fetched, .length = size - load->fetched};
	rc = value_read(load->value, rest, how(place), load->encoded->data + load->fetched, &got);
	if (rc && rc != -EAGAIN)
		return rc;
	load->fetched += got;
	if (!rc && load->fetched != size)
		return err_set(EIO, "ends after %zu of %zu bytes", load->fetched, size);
	return rc;
}

void load_drop_encoded(struct load *load)
{
	buf_unref(load->encoded);
	load->encoded = NULL;
	load->fetched = 0;
}

uint64_t load_read_scratch(const struct load *load, uint64_t bytes)
{
	return store_recodes(load->array->env.store) ? bytes : 0;
}

uint64_t chunk_memory(const struct array *array, uint64_t encoded)
{
	if (pipeline_is_identity(array->unit))
		return array->chunk_bytes;
	return array->chunk_bytes + encoded + pipeline_scratch_bytes(array->unit);
}

static int stage_reserve(struct load *load)
{
	struct cache *cache = load->array->env.cache;
	/* an unsharded chunk's size is known when it is opened: its bound is reserved, and the rest given back then */
	uint64_t encoded = load->value ? load->size : pipeline_encoded_bound(load->array->unit);
	uint64_t bytes = chunk_memory(load->array, encoded) + load_read_scratch(load, encoded);
	load->stage = STAGE_FETCH;
	if (load->ahead && cache_try_reserve(cache, bytes)) {
		load->reserved = bytes;
		return 0;
	}
	if (load->ahead) {
		if (cache_abandon(cache, array_key(load->array, &load->array->grid, 0, load->coords)))
			return LOAD_ABANDONED;
		load->ahead = false;
	}
	return load_reserve(load, bytes) ? 0 : LOAD_WAITS;
}

int chunk_check_size(const struct array *array, uint64_t encoded)
{
	const struct pipeline *unit = array->unit;
	size_t fixed;
	if (pipeline_fixed_size(unit, &fixed) && encoded != fixed)
		return err_set(EIO, "has %" PRIu64 " bytes in place of %zu", encoded, fixed);
	if (encoded > pipeline_encoded_bound(unit))
		return err_set(EIO, "has %" PRIu64 " bytes, more than its codecs can give (%" PRIu64 ")", encoded,
					   pipeline_encoded_bound(unit));
	return 0;
}

/*
 * A v2 document without dimension_separator means "."; old writers left it out and wrote "/". Then every chunk is absent, which is
 * worth a word: the first absent chunks are looked for under the other key.
 */
static int check_separator(const struct load *load, enum place place)
{
	struct array *array = load->array;
	const struct array_meta *meta = array->meta;
	if (!meta->separator_assumed || meta->ndim < 2 || atomic_load(&array->separator_checks) >= MAX_SEPARATOR_CHECKS)
		return 0;
	struct key_encoding other = {meta->keys.kind, '/'};
	struct value *value;
	autofree char *key = key_of_chunk(&other, array->path, load->coords, meta->ndim);
	int rc = key ? store_open_value(array->env.store, key, how(place), &value) : -ENOENT;
	if (rc == -EAGAIN)
		return rc;
	int checks = atomic_fetch_add(&array->separator_checks, rc ? 1 : MAX_SEPARATOR_CHECKS);
	if (rc)
		return 0;
	value_unref(value);
	if (checks < MAX_SEPARATOR_CHECKS)
		log_line(LOG_LEVEL_WARN, "array",
				 "%s/.zarray: no dimension_separator, so \".\" holds and chunks are absent, but there is %s",
				 array->path, key);
	return 0;
}

static int stage_fetch(struct load *load, enum place place)
{
	int rc = 0;
	if (!load->value) {
		rc = load_open_value(load, place, &load->absent);
		if (rc)
			return rc;
		if (load->absent) {
			rc = check_separator(load, place);
			if (!rc)
				load->stage = STAGE_DONE;
			return rc;
		}
		load->size = value_info(load->value)->size;
	}
	if (!load->encoded)
		rc = chunk_check_size(load->array, load->size);
	if (!rc)
		rc = load_fetch(load, load->offset, load->size, place);
	if (rc)
		return rc;
	value_unref(load->value);
	load->value = NULL;
	load_unreserve(load, load->reserved - chunk_memory(load->array, load->size));
	load->stage = STAGE_DECODE;
	return 0;
}

static int stage_decode(struct load *load, enum place place, struct buf **ret_chunk)
{
	const struct array *array = load->array;
	if (place == PLACE_SLOT || (place == PLACE_HERE && array->decode_ns > INLINE_DECODE_NS)) {
		load_submit(load, POOL_DECODE);
		return LOAD_WAITS;
	}
	/* a slice would keep the whole shard in memory */
	if (pipeline_is_identity(array->unit) && !load->whole) {
		*ret_chunk = buf_ref(load->encoded);
	} else {
		int rc = buf_new(array->chunk_bytes, ret_chunk);
		if (!rc)
			rc = pipeline_decode(array->unit, load->encoded->data, load->encoded->size, (*ret_chunk)->data);
		if (rc)
			return rc;
	}
	stats_add(chunks_decoded, 1);
	stats_add(decoded_bytes, array->chunk_bytes);
	load->stage = STAGE_DONE;
	return 0;
}

static void close_stored(struct load *load)
{
	load_drop_encoded(load);
	buf_unref(load->whole);
	load->whole = NULL;
	value_unref(load->value);
	load->value = NULL;
}

/*
 * Goes on as a fetch. The queue may be long, so a chunk of which nothing has come keeps no descriptor there; a shard's is its
 * index's.
 */
static void wait_for_slot(struct load *load)
{
	if (!load->array->n_levels && !load->fetched)
		close_stored(load);
	load_submit(load, POOL_FETCH);
}

/* The store has named the key already. */
static void drop_key_of_message(const char *key, int rc)
{
	struct err_text message;
	size_t n = strlen(key);
	err_save(&message);
	if (!strncmp(message.text, key, n) && !strncmp(message.text + n, ": ", 2))
		err_set(-rc, "%s", message.text + n + 2);
}

/* "temp/c/0/1: inner chunk (3, 4): message" */
static void add_place_to_message(const struct load *load, int rc)
{
	const struct array *array = load->array;
	autofree char *key = stored_key(load);
	if (key)
		drop_key_of_message(key, rc);
	if (array->n_levels) {
		autostr(place);
		for (int a = 0; a < array->meta->ndim; a++)
			str_appendf(&place, "%s%" PRIu64, a ? ", " : "", load->coords[a]);
		err_prefix(rc, "inner chunk (%s)", place.text);
	}
	err_prefix(rc, "%s", key ? key : array->path);
}

static void finish(struct load *load, struct buf *chunk, int rc)
{
	struct array *array = load->array;
	struct cache *cache = array->env.cache;
	close_stored(load);
	if (rc == LOAD_ABANDONED) {
		free(load);
		return;
	}
	struct cache_key key = array_key(array, &array->grid, 0, load->coords);
	if (rc) {
		add_place_to_message(load, rc);
		cache_fail(cache, key, rc);
	} else {
		uint64_t kept = chunk ? array->chunk_bytes : 0;
		load->reserved -= kept;
		cache_fill(cache, key, chunk, kept);
	}
	load_unreserve(load, load->reserved);
	free(load);
}

/* A value that was replaced or rewritten while it was open is opened anew, once (reliability: rows L). */
static bool try_again(struct load *load, int rc)
{
	if (rc != -ESTALE || load->tried_again)
		return false;
	load->tried_again = true;
	load_drop_indexes(load);
	close_stored(load);
	load_unreserve(load, load->reserved);
	load->stage = STAGE_INDEX;
	load->level = 0;
	load->offset = load->size = load->whole_size = 0;
	load->absent = false;
	return true;
}

void load_run(struct load *load, enum place place)
{
	autobuf chunk = NULL;
	int rc = 0;
	while (!rc && load->stage != STAGE_DONE) {
		switch (load->stage) {
		case STAGE_INDEX:
			rc = load_resolve(load, place);
			break;
		case STAGE_RESERVE:
			rc = stage_reserve(load);
			break;
		case STAGE_FETCH:
			rc = stage_fetch(load, place);
			break;
		case STAGE_DECODE:
			rc = stage_decode(load, place, &chunk);
			break;
		case STAGE_DONE:
			break;
		}
		if (try_again(load, rc))
			rc = 0;
	}
	if (rc == LOAD_WAITS)
		return;
	if (rc == -EAGAIN)
		wait_for_slot(load);
	else
		finish(load, chunk, rc);
}

void load_fail(struct load *load, int rc)
{
	if (load->index_claimed)
		load_end_index(load, NULL, rc);
	if (try_again(load, rc))
		load_submit(load, POOL_DECODE);
	else
		finish(load, NULL, rc);
}

static struct load *load_new(struct array *array, const uint64_t *coords)
{
	size_t size = (size_t)array->meta->ndim * sizeof(*coords);
	struct load *load = calloc(1, sizeof(*load) + size);
	if (!load)
		return NULL;
	load->array = array;
	memcpy(load->coords, coords, size);
	return load;
}

void chunk_load(struct array *array, const uint64_t *coords, bool here)
{
	struct load *load = load_new(array, coords);
	struct cache_key key = array_key(array, &array->grid, 0, coords);
	if (!load) {
		cache_fail(array->env.cache, key, err_set(ENOMEM, "no memory for a load"));
	} else if (is_given_up(array)) {
		free(load);
		cache_fail(array->env.cache, key, give_up(array));
	} else if (here) {
		load_run(load, PLACE_HERE);
	} else {
		load_submit(load, POOL_DECODE);
	}
}

/* A prefetch claims its chunk when it starts, not when it is queued. */
static void run_ahead(struct task *task)
{
	struct load *load = container_of(task, struct load, task);
	struct array *array = load->array;
	struct buf *found = NULL;
	int rc;
	if (!is_given_up(array) && cache_get(array->env.cache, array_key(array, &array->grid, 0, load->coords), true, NULL,
										 &found, &rc) == CACHE_LOAD) {
		load_run(load, PLACE_WORKER);
		return;
	}
	buf_unref(found);
	free(load);
}

void chunk_load_ahead(struct array *array, const uint64_t *coords)
{
	struct load *load = load_new(array, coords);
	if (!load)
		return;
	load->ahead = true;
	load->task.run = run_ahead;
	pool_submit(array->env.pool, POOL_DECODE, POOL_AHEAD, &load->task);
}
