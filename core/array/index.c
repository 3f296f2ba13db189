/*
 * index.c: from chunk coordinates to an extent, through the shard indexes of every level.
 *
 * An index is read by the load that found it missing, never queued behind others; who comes meanwhile waits for it. The cached
 * index owns the open value, so that index and data are of one version; evicting it closes the value, and so does a read that
 * finds the value changed.
 *
 * Where a value's ranges are dear (a deflated member of a zip), a range is not worth less than all of it: the index's load reads the
 * whole value, and the cached index owns that too. Inner chunks are then slices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/load.h"
#include "base/err.h"
#include "base/stats.h"

/* A decoded index as the cache keeps it. It owns the open value, so that index and data are of one version. */
struct shard_index {
	struct value *value;
	struct buf *whole;	   /* of a value whose ranges are dear, with the outermost index; else NULL */
	uint64_t offset, size; /* of the shard in the value */
	struct shard_entry entries[];
};

static struct cache_key key_at(const struct load *load, int level)
{
	const struct layout_grid *grid = &load->array->levels[level].grid;
	uint64_t coords[LIMIT_DIMS];
	load_piece(load, grid, coords);
	return array_key(load->array, grid, (uint32_t)level + 1, coords);
}

static struct cache_key index_key(const struct load *load)
{
	return key_at(load, load->level);
}

static size_t index_memory(const struct load *load)
{
	const struct sharding *sharding = load->array->levels[load->level].sharding;
	return sizeof(struct shard_index) + sharding_entries(sharding) * sizeof(struct shard_entry);
}

static void index_release(void *arg)
{
	struct shard_index *index = arg;
	value_unref(index->value);
	buf_unref(index->whole);
	free(index);
}

/* Whether the load is at the outermost index of a value whose ranges are dear. */
static bool is_whole_needed(const struct load *load)
{
	return load->level == 0 && !load->whole && !value_info(load->value)->ranges_cheap;
}

static int fetch_whole(struct load *load, enum place place)
{
	int rc = load_fetch(load, 0, (size_t)load->size, place);
	if (rc)
		return rc;
	load->whole = load->encoded;
	load->encoded = NULL;
	load->fetched = 0;
	return 0;
}

/* Reads and decodes the index of the shard that the load's extent is. */
static int read_index(struct load *load, enum place place, struct buf **ret_buf)
{
	const struct sharding *sharding = load->array->levels[load->level].sharding;
	size_t encoded_bytes = sharding_index_bytes(sharding);
	if (load->size < encoded_bytes)
		return err_set(EIO, "shard of %" PRIu64 " bytes is shorter than its index (%zu bytes)", load->size,
					   encoded_bytes);
	uint64_t at = load->offset + (sharding_index_at_end(sharding) ? load->size - encoded_bytes : 0);

	bool is_dear = is_whole_needed(load);
	int rc = is_dear ? fetch_whole(load, place) : 0;
	if (!rc)
		rc = load_fetch(load, at, encoded_bytes, place);
	if (rc)
		return rc;
	struct shard_index *index = malloc(index_memory(load));
	if (!index)
		return err_set(ENOMEM, "no memory for a shard index");
	rc = sharding_decode_index(sharding, load->encoded->data, index->entries);
	if (!rc)
		rc = buf_wrap(index, index_memory(load), index_release, index, ret_buf);
	if (rc) {
		free(index);
		return rc;
	}
	index->value = value_ref(load->value);
	index->whole = is_dear ? buf_ref(load->whole) : NULL;
	index->offset = load->offset;
	index->size = load->size;
	stats_add(indexes_read, 1);
	return 0;
}

/* The value that the index is of, and all of it when that is at hand: the cache may have kept indexes of two openings. */
static void follow_value(struct load *load, const struct shard_index *index)
{
	bool is_same = load->value && value_info(load->value)->version == value_info(index->value)->version;
	if (index->whole || !is_same) {
		buf_unref(load->whole);
		load->whole = index->whole ? buf_ref(index->whole) : NULL;
	}
	if (load->value != index->value) {
		value_unref(load->value);
		load->value = value_ref(index->value);
	}
}

/* From an index (NULL: the shard is absent) to the extent of the piece inside. */
static int follow_index(struct load *load, const struct buf *buf)
{
	const struct array *array = load->array;
	const struct shard_level *level = &array->levels[load->level];
	if (!buf) {
		load->absent = true;
		return 0;
	}
	const struct shard_index *index = (const struct shard_index *)buf->data;
	const struct layout_grid *inner =
		load->level + 1 < array->n_levels ? &array->levels[load->level + 1].grid : &array->grid;
	uint64_t coords[LIMIT_DIMS], number = 0;
	load_piece(load, inner, coords);
	for (int a = 0; a < array->meta->ndim; a++) {
		uint64_t n = sharding_grid(level->sharding)[a];
		number = number * n + coords[a] % n;
	}
	const struct shard_entry *entry = &index->entries[number];
	int present = sharding_check_entry(level->sharding, entry, index->size);
	if (present < 0)
		return present;
	load->absent = !present;
	follow_value(load, index);
	load->offset = index->offset + entry->offset;
	load->size = entry->size;
	load->level++;
	return 0;
}

/* All of them: indexes of several openings may be cached, and the one that is out of date need not be of this load's value. */
void load_drop_indexes(const struct load *load)
{
	for (int level = 0; level < load->level; level++)
		cache_drop(load->array->env.cache, key_at(load, level));
}

void load_end_index(struct load *load, struct buf *index, int rc)
{
	struct cache *cache = load->array->env.cache;
	load->index_claimed = false;
	load_drop_encoded(load);
	if (rc) {
		/* those who wait for the index write messages of their own */
		struct err_text message;
		err_save(&message);
		cache_fail(cache, index_key(load), rc);
		err_restore(&message);
	} else {
		const struct shard_index *made = index ? (const struct shard_index *)index->data : NULL;
		uint64_t kept = made ? index_memory(load) + (made->whole ? made->whole->size : 0) : 0;
		load->reserved -= kept;
		cache_fill(cache, index_key(load), index, kept);
	}
	load_unreserve(load, load->reserved);
}

/* Reserves what reading the index takes, as far as that is known. False: it waits. */
static bool reserve_index(struct load *load)
{
	uint64_t read = load->whole_size ? load->whole_size + load_read_scratch(load, load->whole_size) : 0;
	uint64_t encoded = sharding_index_bytes(load->array->levels[load->level].sharding);
	return load->reserved || load_reserve(load, index_memory(load) + encoded + read);
}

/* The shard turns out to be one that is read whole: closes it and reserves anew, because what waits holds nothing. */
static int expect_whole(struct load *load)
{
	uint64_t most = load->array->env.max_chunk;
	if (load->size > most)
		return err_set(EFBIG,
					   "shard of %" PRIu64
					   " bytes is compressed by the store, and more than --max-chunk allows (%" PRIu64 ")",
					   load->size, most);
	load->whole_size = load->size;
	value_unref(load->value);
	load->value = NULL;
	load_unreserve(load, load->reserved);
	return 0;
}

/* Opens the value that the index is in, with the memory reserved that reading it takes. */
static int open_shard(struct load *load, enum place place, bool *ret_absent)
{
	int rc = 0;
	while (!rc) {
		if (!reserve_index(load))
			return LOAD_WAITS;
		if (load->value)
			return 0;
		rc = load_open_value(load, place, ret_absent);
		if (rc || *ret_absent)
			return rc;
		load->size = value_info(load->value)->size;
		if (is_whole_needed(load) && load->size != load->whole_size)
			rc = expect_whole(load);
	}
	return rc;
}

/* The load that found an index missing reads it. */
static int load_index(struct load *load, enum place place)
{
	bool absent = false;
	autobuf index = NULL;
	int rc = open_shard(load, place, &absent);
	if (!rc && !absent)
		rc = read_index(load, place, &index);
	if (rc == -EAGAIN || rc == LOAD_WAITS)
		return rc;
	load_end_index(load, index, rc);
	return rc ? rc : follow_index(load, index);
}

/* Somebody else has read the index that the load waits for. */
static void index_ready(struct cache_waiter *waiter, struct buf *buf, int rc)
{
	struct load *load = container_of(waiter, struct load, index_waiter);
	if (!rc)
		rc = follow_index(load, buf);
	if (rc)
		load_fail(load, rc);
	else
		load_submit(load, POOL_DECODE);
}

/* Claims the index of the next level, or follows it. *ret_claimed: this load must read it. */
static int get_index(struct load *load, bool *ret_claimed)
{
	autobuf index = NULL;
	int rc = 0;
	*ret_claimed = false;
	load->index_waiter.ready = index_ready;
	switch (cache_get(load->array->env.cache, index_key(load), false, &load->index_waiter, &index, &rc)) {
	case CACHE_HIT:
		return follow_index(load, index);
	case CACHE_JOINED:
		return LOAD_WAITS;
	case CACHE_LOAD:
		*ret_claimed = true;
		return 0;
	case CACHE_FAILED:
		break;
	}
	return rc;
}

int load_resolve(struct load *load, enum place place)
{
	while (load->level < load->array->n_levels && !load->absent) {
		int rc = load->index_claimed ? 0 : get_index(load, &load->index_claimed);
		if (!rc && load->index_claimed)
			rc = load_index(load, place);
		if (rc)
			return rc;
	}
	load->stage = load->absent ? STAGE_DONE : STAGE_RESERVE;
	return 0;
}
