/*
 * write.c: array_write. Strip after strip goes round a ring:
 *
 *     fill    the caller's thread reads the source into the strip
 *     encode  each unit is a task: gathered and padded, encoded; a chunk that is a value by itself is stored by its task
 *     drain   the caller's thread appends the units to the shard in order; behind its last strip the index, and a task commits
 *
 * While one strip is drained the others are encoded. The first failure stops everything; what is open is aborted.
 */
#include "array/write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array/strips.h"
#include "base/err.h"
#include "base/ndcopy.h"

#define STRIP_BYTES ((uint64_t)8 << 20)
#define RING 4	  /* strips at once, at most */
#define COMMITS 4 /* shards that are being made durable at once */

struct writer {
	struct array *array;
	struct strips strips;
	struct shard *shard;  /* the one whose strips are being filled */
	struct shard *shards; /* all that are open */
	pthread_mutex_t lock;
	pthread_cond_t progress; /* of a strip or a commit */
	int commits;			 /* under way */
	int rc;					 /* the first failure of a task, and its message */
	struct err_text message;
};

/* A shard that is being written. */
struct shard {
	struct task task;
	struct shard *next;
	struct writer *writer;
	struct store_write *write;
	struct shard_entry *entries;
	uint64_t size; /* bytes appended */
};

struct unit {
	struct task task;
	struct strip *strip;
	uint64_t number;	 /* in the container */
	struct buf *encoded; /* NULL: outside the array, or stored already */
};

struct strip {
	struct writer *writer;
	struct shard *shard;
	struct strip_box box;
	struct buf *bytes;
	struct unit *units;
	int open; /* units that are not finished */
	bool is_full;
};

static void writer_fail(struct writer *writer, int rc)
{
	autolock(&writer->lock);
	if (writer->rc)
		return;
	writer->rc = rc;
	err_save(&writer->message);
}

/* The first failure, with its message. */
static int writer_check(struct writer *writer)
{
	autolock(&writer->lock);
	if (writer->rc)
		err_restore(&writer->message);
	return writer->rc;
}

/* ---------------------------------------------------------------- encode */

static void unit_finish(struct unit *unit, int rc)
{
	struct strip *strip = unit->strip;
	struct writer *writer = strip->writer;
	if (rc)
		writer_fail(writer, rc);
	autolock(&writer->lock);
	if (--strip->open == 0)
		pthread_cond_broadcast(&writer->progress);
}

/* The elements of the unit that the array has, among fill values where it ends inside. */
static int gather(const struct unit *unit, struct buf **ret_buf)
{
	const struct strip *strip = unit->strip;
	const struct strips *strips = &strip->writer->strips;
	const struct array_meta *meta = strips->meta;
	uint64_t coords[LIMIT_DIMS], start[LIMIT_DIMS], count[LAYOUT_AXES];
	int64_t to[LAYOUT_AXES], from[LAYOUT_AXES];
	struct buf *buf;
	int rc = buf_new(pipeline_decoded_bytes(strips->pipeline), &buf);
	if (rc)
		return rc;
	strips_unit(strips, &strip->box, unit->number, coords, start, count);
	count[meta->ndim] = meta->dtype.size;
	strips_strides(meta, strips->unit, to);
	strips_strides(meta, strip->box.count, from);
	const uint8_t *src = strip->bytes->data;
	bool is_whole = true;
	for (int a = 0; a < meta->ndim; a++) {
		src += (start[a] - strip->box.start[a]) * (uint64_t)from[a];
		is_whole &= count[a] == strips->unit[a];
	}
	if (!is_whole)
		fill_elements(buf->data, meta->fill_value, meta->dtype.size, buf->size / meta->dtype.size);
	ndcopy(buf->data, to, src, from, count, meta->ndim + 1);
	*ret_buf = buf;
	return 0;
}

static int store_value(struct store *store, const char *key, const struct buf *buf)
{
	struct store_write *write;
	int rc = store_write_begin(store, key, &write);
	if (rc)
		return rc;
	rc = store_write_append(write, buf->data, buf->size);
	if (!rc)
		return store_write_commit(write);
	store_write_abort(write);
	return rc;
}

/* A unit that is a value: its key has the coordinates that the unit has in the grid. */
static void run_store(struct task *task)
{
	struct unit *unit = container_of(task, struct unit, task);
	const struct strip *strip = unit->strip;
	const struct array *array = strip->writer->array;
	uint64_t coords[LIMIT_DIMS], start[LIMIT_DIMS], count[LIMIT_DIMS];
	strips_unit(&strip->writer->strips, &strip->box, unit->number, coords, start, count);
	autofree char *key = key_of_chunk(&array->meta->keys, array->path, coords, array->meta->ndim);
	int rc = key ? store_value(array->env.store, key, unit->encoded) : err_set(ENOMEM, "no memory for a key");
	buf_unref(unit->encoded);
	unit->encoded = NULL;
	unit_finish(unit, rc);
}

static void run_encode(struct task *task)
{
	struct unit *unit = container_of(task, struct unit, task);
	struct writer *writer = unit->strip->writer;
	autobuf plain = NULL;
	int rc = writer_check(writer);
	if (!rc)
		rc = gather(unit, &plain);
	if (!rc)
		rc = pipeline_encode(writer->strips.pipeline, plain->data, &unit->encoded);
	if (rc || unit->strip->shard) {
		unit_finish(unit, rc);
		return;
	}
	unit->task.run = run_store;
	pool_submit(writer->array->env.pool, POOL_FETCH, POOL_DEMAND, &unit->task);
}

/* ---------------------------------------------------------------- shards */

static int shard_begin(struct writer *writer, const uint64_t *coords)
{
	const struct array *array = writer->array;
	autofree char *key = key_of_chunk(&array->meta->keys, array->path, coords, array->meta->ndim);
	struct shard *shard = calloc(1, sizeof(*shard));
	uint64_t n = sharding_entries(writer->strips.sharding);
	struct shard_entry *entries = malloc(n * sizeof(*entries));
	int rc = key && shard && entries ? 0 : err_set(ENOMEM, "no memory for a shard");
	if (!rc)
		rc = store_write_begin(array->env.store, key, &shard->write);
	if (rc) {
		free(entries);
		free(shard);
		return rc;
	}
	for (uint64_t i = 0; i < n; i++)
		entries[i] = (struct shard_entry){SHARD_ABSENT, SHARD_ABSENT};
	shard->entries = entries;
	shard->writer = writer;
	shard->next = writer->shards;
	writer->shards = writer->shard = shard;
	return 0;
}

/* It is no longer open. */
static void shard_unlink(struct shard *shard)
{
	struct shard **link = &shard->writer->shards;
	while (*link != shard)
		link = &(*link)->next;
	*link = shard->next;
}

static void shard_free(struct shard *shard)
{
	free(shard->entries);
	free(shard);
}

static void run_commit(struct task *task)
{
	struct shard *shard = container_of(task, struct shard, task);
	struct writer *writer = shard->writer;
	int rc = store_write_commit(shard->write);
	if (rc)
		writer_fail(writer, rc);
	shard_free(shard);
	autolock(&writer->lock);
	writer->commits--;
	pthread_cond_broadcast(&writer->progress);
}

static void wait_for_commits(struct writer *writer, int most)
{
	autolock(&writer->lock);
	while (writer->commits > most)
		pthread_cond_wait(&writer->progress, &writer->lock);
}

static int shard_append(struct shard *shard, struct unit *unit)
{
	const struct buf *encoded = unit->encoded;
	int rc = store_write_append(shard->write, encoded->data, encoded->size);
	if (rc)
		return rc;
	shard->entries[unit->number] = (struct shard_entry){shard->size, encoded->size};
	shard->size += encoded->size;
	return 0;
}

/* The index, and a task that commits. */
static int shard_end(struct shard *shard)
{
	struct writer *writer = shard->writer;
	autobuf index = NULL;
	int rc = sharding_encode_index(writer->strips.sharding, shard->entries, &index);
	if (!rc)
		rc = store_write_append(shard->write, index->data, index->size);
	if (rc)
		return rc;
	wait_for_commits(writer, COMMITS - 1);
	shard_unlink(shard);
	pthread_mutex_lock(&writer->lock);
	writer->commits++;
	pthread_mutex_unlock(&writer->lock);
	shard->task.run = run_commit;
	pool_submit(writer->array->env.pool, POOL_FETCH, POOL_DEMAND, &shard->task);
	return 0;
}

/* ---------------------------------------------------------------- strips */

static void strip_wait(struct strip *strip)
{
	autolock(&strip->writer->lock);
	while (strip->open)
		pthread_cond_wait(&strip->writer->progress, &strip->writer->lock);
}

/* Waits for it and empties it. */
static void strip_clear(struct strip *strip)
{
	if (!strip->is_full)
		return;
	strip_wait(strip);
	for (uint64_t i = 0; i < strip->box.n && strip->units; i++)
		buf_unref(strip->units[i].encoded);
	free(strip->units);
	buf_unref(strip->bytes);
	*strip = (struct strip){.writer = strip->writer};
}

static int strip_drain(struct strip *strip)
{
	if (!strip->is_full)
		return 0;
	strip_wait(strip);
	struct shard *shard = strip->shard;
	int rc = writer_check(strip->writer);
	for (uint64_t i = 0; i < strip->box.n && shard && !rc; i++)
		if (strip->units[i].encoded)
			rc = shard_append(shard, &strip->units[i]);
	if (!rc && shard && strip->box.ends)
		rc = shard_end(shard);
	strip_clear(strip);
	return rc;
}

static int strip_fill(struct strip *strip, const struct strip_box *box, const struct array_source *source)
{
	struct writer *writer = strip->writer;
	int rc = 0;
	strip->is_full = true;
	strip->box = *box;
	if (writer->strips.sharding && box->begins)
		rc = shard_begin(writer, box->container);
	if (rc)
		return rc;
	strip->shard = writer->shard;
	strip->units = calloc(box->n, sizeof(*strip->units));
	if (!strip->units)
		return err_set(ENOMEM, "no memory for chunks");
	rc = buf_new(box->bytes, &strip->bytes);
	return rc || !box->bytes ? rc : source->read(source->arg, box->start, box->count, strip->bytes->data);
}

static void strip_encode(struct strip *strip)
{
	struct writer *writer = strip->writer;
	uint64_t coords[LIMIT_DIMS], start[LIMIT_DIMS], count[LIMIT_DIMS];
	/* One more than there are, until all are submitted: a unit may be finished at once. */
	strip->open = 1;
	for (uint64_t i = 0; i < strip->box.n; i++) {
		struct unit *unit = &strip->units[i];
		*unit = (struct unit){.task.run = run_encode, .strip = strip, .number = strip->box.first + i};
		if (!strips_unit(&writer->strips, &strip->box, unit->number, coords, start, count))
			continue;
		pthread_mutex_lock(&writer->lock);
		strip->open++;
		pthread_mutex_unlock(&writer->lock);
		pool_submit(writer->array->env.pool, POOL_DECODE, POOL_DEMAND, &unit->task);
	}
	autolock(&writer->lock);
	strip->open--;
}

static int write_strips(struct writer *writer, struct strip *ring, const struct array_source *source)
{
	struct strip_box box;
	unsigned next = 0, n = (unsigned)strips_at_once(&writer->strips, RING);
	int rc = 0;
	while (!rc && strips_next(&writer->strips, &box)) {
		struct strip *strip = &ring[next++ % n];
		rc = strip_drain(strip);
		if (!rc)
			rc = strip_fill(strip, &box, source);
		if (!rc)
			strip_encode(strip);
	}
	for (unsigned i = 0; i < n && !rc; i++)
		rc = strip_drain(&ring[(next + i) % n]);
	return rc;
}

int array_write(struct array *array, const struct array_source *source)
{
	struct writer writer = {.array = array};
	struct strip ring[RING];
	pthread_mutex_init(&writer.lock, NULL);
	pthread_cond_init(&writer.progress, NULL);
	strips_begin(&writer.strips, array, STRIP_BYTES);
	for (int i = 0; i < RING; i++)
		ring[i] = (struct strip){.writer = &writer};
	int rc = write_strips(&writer, ring, source);
	if (rc)
		writer_fail(&writer, rc);
	for (int i = 0; i < RING; i++)
		strip_clear(&ring[i]);
	wait_for_commits(&writer, 0);
	while (writer.shards) {
		struct shard *shard = writer.shards;
		store_write_abort(shard->write);
		shard_unlink(shard);
		shard_free(shard);
	}
	rc = writer_check(&writer);
	pthread_cond_destroy(&writer.progress);
	pthread_mutex_destroy(&writer.lock);
	return rc;
}
