/*
 * check.c: array_check: the walk over the stored values of an array, and over the indexes of its shards.
 *
 *     keys of the store --> a chunk: a job                     shard:  [ ####  ######   ### ## ##index ]
 *                       --> a shard: opened here, its index    entries in the order of their offsets: two that share
 *                           read here, a job each entry;       bytes stand next to each other
 *                           shards inside it likewise
 *
 * The walk waits for the store in its own thread; meanwhile jobs that were begun go on.
 */
#include "array/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "array/check_jobs.h"
#include "array/stored_keys.h"
#include "base/err.h"
#include "base/stats.h"
#include "base/str.h"

/* The index of a shard, while the walk is in it. */
struct index {
	const struct sharding *sharding;
	struct shard_entry *entries;
	uint32_t *order; /* numbers of the entries that are present, by offset */
	uint32_t n;
	uint64_t begin, end; /* of the encoded index in the shard */
};

/* Bytes of the shard or index that the walk has read; whose failure is the store's, or the bytes' own. */
static int read_bytes(const struct opened *opened, uint64_t offset, uint64_t size, struct buf **ret_buf)
{
	if (opened->whole)
		return buf_slice(opened->whole, offset, size, ret_buf);
	size_t got;
	struct buf *buf;
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	rc = value_read(opened->value, (struct range){.offset = offset, .length = size}, STORE_WAIT, buf->data, &got);
	if (!rc && got != size)
		rc = err_set(EIO, "ends after %zu of %" PRIu64 " bytes", got, size);
	if (rc)
		buf_unref(buf);
	else
		*ret_buf = buf;
	return rc;
}

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct shard_entry *entries = arg, *x = &entries[*(const uint32_t *)a], *y = &entries[*(const uint32_t *)b];
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return (x->size > y->size) - (x->size < y->size);
}

/* The piece that an entry is of; its coordinates in the whole array. */
static struct piece piece_of_entry(const struct check *check, const struct piece *shard, const struct index *index,
								   uint32_t number)
{
	const struct shard_entry *entry = &index->entries[number];
	struct piece piece = {.level = shard->level + 1, .offset = shard->offset + entry->offset, .size = entry->size};
	for (int a = check->array->meta->ndim - 1; a >= 0; a--) {
		uint64_t n = sharding_grid(index->sharding)[a];
		piece.coords[a] = shard->coords[a] * n + number % n;
		number /= (uint32_t)n;
	}
	return piece;
}

/* Entries that are out of range are told, those that are present are put in order. */
static int sort_entries(struct check *check, const struct piece *shard, struct index *index)
{
	for (uint32_t i = 0; i < sharding_entries(index->sharding); i++) {
		int present = sharding_check_entry(index->sharding, &index->entries[i], shard->size);
		if (present > 0) {
			index->order[index->n++] = i;
		} else if (present < 0) {
			struct piece piece = piece_of_entry(check, shard, index, i);
			int rc = check_tell(check, &piece, CHECK_CORRUPT, present);
			if (rc)
				return rc;
		}
	}
	qsort_r(index->order, index->n, sizeof(*index->order), compare_entries, index->entries);
	return 0;
}

static int overlap(const struct check *check, const struct piece *shard, const struct index *index, uint32_t other)
{
	struct piece piece = piece_of_entry(check, shard, index, other);
	autostr(place);
	for (int a = 0; a < check->array->meta->ndim; a++)
		str_appendf(&place, "%s%" PRIu64, a ? ", " : "", piece.coords[a]);
	return err_set(EIO, "shard index: its bytes overlap those of (%s)", place.text);
}

static int check_shard(struct check *check, const struct piece *shard, const struct opened *opened);

/* Each piece in turn. `last` reaches furthest into the shard of those before. */
static int check_entries(struct check *check, const struct piece *shard, const struct index *index,
						 const struct opened *opened)
{
	const struct shard_entry *last = NULL;
	for (uint32_t i = 0; i < index->n; i++) {
		uint32_t number = index->order[i];
		const struct shard_entry *entry = &index->entries[number];
		struct piece piece = piece_of_entry(check, shard, index, number);
		int rc;
		if (shard->level == 0)
			check->counts->part = (unsigned)((uint64_t)i * 1000 / index->n);
		bool is_shared = last && entry->offset == last->offset && entry->size == last->size;
		if (entry->offset < index->end && entry->offset + entry->size > index->begin)
			rc = check_tell(check, &piece, CHECK_CORRUPT,
							err_set(EIO, "shard index: its bytes overlap those of the index"));
		else if (last && !is_shared && entry->offset < last->offset + last->size)
			rc = check_tell(check, &piece, CHECK_CORRUPT,
							overlap(check, shard, index, (uint32_t)(last - index->entries)));
		else if (piece.level < check->array->n_levels)
			rc = check_shard(check, &piece, opened);
		else
			rc = check_start(check, &piece, opened);
		if (rc)
			return rc;
		if (!last || entry->offset + entry->size > last->offset + last->size)
			last = entry;
	}
	return 0;
}

/* Reads the index and goes through it; a finding when it cannot be read. */
static int check_index(struct check *check, const struct piece *shard, const struct opened *opened, struct index *index)
{
	autobuf encoded = NULL;
	int rc = read_bytes(opened, shard->offset + index->begin, index->end - index->begin, &encoded);
	if (rc)
		return check_tell(check, shard, check_kind_of(check, rc), rc);
	rc = sharding_decode_index(index->sharding, encoded->data, index->entries);
	stats_add(indexes_read, 1);
	if (rc)
		return check_tell(check, shard, rc == -ENOMEM ? CHECK_UNREADABLE : CHECK_CORRUPT, rc);
	rc = sort_entries(check, shard, index);
	return rc ? rc : check_entries(check, shard, index, opened);
}

static int check_shard(struct check *check, const struct piece *shard, const struct opened *opened)
{
	const struct sharding *sharding = check->array->levels[shard->level].sharding;
	uint64_t n = sharding_entries(sharding), encoded = sharding_index_bytes(sharding);
	if (shard->size < encoded)
		return check_tell(check, shard, CHECK_CORRUPT,
						  err_set(EIO, "shard of %" PRIu64 " bytes is shorter than its index (%" PRIu64 " bytes)",
								  shard->size, encoded));
	struct index index = {.sharding = sharding};
	index.begin = sharding_index_at_end(sharding) ? shard->size - encoded : 0;
	index.end = index.begin + encoded;
	uint64_t memory = n * (sizeof(*index.entries) + sizeof(*index.order)) + encoded;
	int rc = check_wait(check, memory);
	if (rc)
		return rc;
	autofree struct shard_entry *entries = calloc(n, sizeof(*entries));
	autofree uint32_t *order = calloc(n, sizeof(*order));
	if (!entries || !order)
		return err_set(ENOMEM, "no memory for a shard index");
	index.entries = entries;
	index.order = order;
	check->walk_memory += memory;
	rc = check_index(check, shard, opened, &index);
	check->walk_memory -= memory;
	return rc;
}

/* All of a value whose ranges are dear, as a reader gets it too (index.c). */
static int check_whole(struct check *check, const struct piece *shard, struct opened *opened)
{
	uint64_t most = check->array->env.max_chunk, memory = 2 * shard->size;
	if (shard->size > most)
		return check_tell(check, shard, CHECK_UNSUPPORTED,
						  err_set(EFBIG,
								  "shard of %" PRIu64 " bytes is compressed by the store, and more than "
								  "--max-chunk allows (%" PRIu64 ")",
								  shard->size, most));
	int rc = check_wait(check, memory);
	if (rc)
		return rc;
	check->walk_memory += memory;
	rc = read_bytes(opened, 0, shard->size, &opened->whole);
	rc = rc ? check_tell(check, shard, check_kind_of(check, rc), rc) : check_shard(check, shard, opened);
	/* its jobs hold the shard, which is charged to the walk */
	if (!rc)
		rc = check_settle(check);
	check->walk_memory -= memory;
	buf_unref(opened->whole);
	return rc;
}

/* A stored value that is a shard. */
static int check_sharded(struct check *check, const char *key, struct piece *shard)
{
	struct opened opened = {0};
	int rc = store_open_value(check->array->env.store, key, STORE_WAIT, &opened.value);
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return check_tell(check, shard, check_kind_of(check, rc), rc);
	shard->size = value_info(opened.value)->size;
	if (value_info(opened.value)->ranges_cheap)
		rc = check_shard(check, shard, &opened);
	else
		rc = check_whole(check, shard, &opened);
	check->counts->part = 0;
	check->counts->values++;
	check->counts->stored_bytes += shard->size;
	value_unref(opened.value);
	return rc;
}

static int visit_chunk(void *arg, const char *key, const uint64_t *coords)
{
	struct check *check = arg;
	struct piece piece = {0};
	for (int a = 0; a < check->array->meta->ndim; a++)
		piece.coords[a] = coords[a];
	return check->array->n_levels ? check_sharded(check, key, &piece) : check_start(check, &piece, NULL);
}

static int visit_stray(void *arg, const char *key)
{
	return check_tell_key(arg, key, CHECK_STRAY, "looks like a chunk's key, and is none of the chunk grid's");
}

static int visit_unlisted(void *arg, const char *prefix, int rc)
{
	struct err_text reason;
	err_save(&reason);
	return check_tell_key(arg, prefix, check_kind_of(arg, rc), reason.text);
}

int array_check(struct array *array, const struct check_sink *sink, struct check_counts *counts)
{
	struct check check;
	struct stored_keys_visitor visitor = {visit_chunk, visit_stray, visit_unlisted, &check};
	int rc = check_begin(&check, array, sink, counts);
	if (rc)
		return rc;
	rc = stored_keys_walk(array->env.store, array->path, array->meta, &visitor);
	if (rc)
		atomic_store(&check.stopping, true);
	struct err_text message;
	err_save(&message);
	bool stopped = check_end(&check);
	err_restore(&message);
	if (!rc && stopped)
		return err_set(EINTR, "interrupted");
	return rc;
}
