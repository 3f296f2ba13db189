/*
 * check_jobs.c: see check_jobs.h. A job only tries the store on a worker; where that would wait it goes on in the fetch lane, and
 * comes back to be decoded. Only the walk waits for memory, and jobs need no more than they began with: so there is no cycle.
 */
#include "array/check_jobs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/stats.h"

/* Enough for the fetch lane and the workers; each may hold a value open. */
#define MOST_JOBS 128
#define LOOK_AROUND_NS 50000000

struct job {
	struct task task;
	struct job *next;
	struct check *check;
	bool is_done; /* under the check's lock */
	/* what it is about */
	struct piece piece;
	char *key; /* [of a finding that is no piece] */
	uint64_t memory;
	/* at work */
	struct value *value;
	struct buf *whole, *encoded;
	size_t fetched;
	bool tried_again;
	/* what became of it */
	bool is_absent;
	enum check_kind kind;
	int rc; /* 0: all is well, or the kind's finding */
	struct err_text reason;
};

const struct layout_grid *check_grid(const struct array *array, int level)
{
	return level < array->n_levels ? &array->levels[level].grid : &array->grid;
}

static char *key_of_piece(const struct array *array, const struct piece *piece)
{
	uint64_t coords[LIMIT_DIMS];
	const struct layout_grid *grid = check_grid(array, piece->level), *values = check_grid(array, 0);
	for (int a = 0; a < array->meta->ndim; a++)
		coords[a] = piece->coords[a] / (values->chunk[a] / grid->chunk[a]);
	return key_of_chunk(&array->meta->keys, array->path, coords, array->meta->ndim);
}

enum check_kind check_kind_of(const struct check *check, int rc)
{
	if (rc == -ENOTSUP || rc == -EFBIG)
		return CHECK_UNSUPPORTED;
	return rc == -EIO && store_verifies(check->array->env.store) ? CHECK_CORRUPT : CHECK_UNREADABLE;
}

int check_begin(struct check *check, struct array *array, const struct check_sink *sink, struct check_counts *counts)
{
	*check = (struct check){.array = array, .sink = sink, .counts = counts, .end = &check->first};
	pthread_condattr_t attributes;
	int error = pthread_condattr_init(&attributes);
	if (error)
		return err_set(error, "no memory for a check");
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	error = pthread_cond_init(&check->cond, &attributes);
	pthread_condattr_destroy(&attributes);
	if (error)
		return err_set(error, "no memory for a check");
	pthread_mutex_init(&check->lock, NULL);
	return 0;
}

static void job_free(struct job *job)
{
	value_unref(job->value);
	buf_unref(job->whole);
	buf_unref(job->encoded);
	free(job->key);
	free(job);
}

static void job_end(struct job *job, enum check_kind kind, int rc)
{
	struct check *check = job->check;
	if (rc)
		err_save(&job->reason);
	job->rc = rc;
	job->kind = kind;
	value_unref(job->value);
	buf_unref(job->whole);
	buf_unref(job->encoded);
	job->value = NULL;
	job->whole = job->encoded = NULL;
	autolock(&check->lock);
	check->jobs_memory -= job->memory;
	job->is_done = true;
	pthread_cond_signal(&check->cond);
}

static void run_decode(struct task *task)
{
	struct job *job = container_of(task, struct job, task);
	const struct array *array = job->check->array;
	autobuf chunk = NULL;
	int rc = 0;
	if (atomic_load(&job->check->stopping)) {
		job->is_absent = true;
	} else if (!pipeline_is_identity(array->unit)) {
		rc = buf_new(array->chunk_bytes, &chunk);
		if (!rc)
			rc = pipeline_decode(array->unit, job->encoded->data, job->encoded->size, chunk->data);
		stats_add(chunks_decoded, 1);
	}
	job_end(job, rc == -ENOMEM ? CHECK_UNREADABLE : CHECK_CORRUPT, rc);
}

static int open_value(struct job *job, enum store_how how)
{
	const struct array *array = job->check->array;
	autofree char *key = key_of_piece(array, &job->piece);
	int rc = key ? store_open_value(array->env.store, key, how, &job->value) : err_set(ENOMEM, "no memory for a key");
	job->is_absent = rc == -ENOENT;
	if (!rc)
		job->piece.size = value_info(job->value)->size;
	return job->is_absent ? 0 : rc;
}

static int read_range(struct job *job, enum store_how how)
{
	size_t size = (size_t)job->piece.size, got = 0;
	if (job->whole)
		return buf_slice(job->whole, job->piece.offset, size, &job->encoded);
	int rc = job->encoded ? 0 : buf_new(size, &job->encoded);
	if (rc)
		return rc;
	struct range rest = {.offset = job->piece.offset + job->fetched, .length = size - job->fetched};
	rc = value_read(job->value, rest, how, job->encoded->data + job->fetched, &got);
	job->fetched += got;
	if (!rc && job->fetched != size)
		return err_set(EIO, "ends after %zu of %zu bytes", job->fetched, size);
	return rc;
}

/* A value that was replaced while it was open is opened anew, once; not a shard, whose index is then another. */
static bool is_to_be_tried_again(struct job *job, int rc)
{
	if (rc != -ESTALE || job->tried_again || job->check->array->n_levels)
		return false;
	job->tried_again = true;
	value_unref(job->value);
	buf_unref(job->encoded);
	job->value = NULL;
	job->encoded = NULL;
	job->fetched = 0;
	return true;
}

/* *ret_kind: of a failure. */
static int fetch(struct job *job, enum store_how how, enum check_kind *ret_kind)
{
	int rc;
	do {
		rc = job->value ? 0 : open_value(job, how);
		if (job->is_absent)
			return 0;
		if (!rc && !job->encoded && (rc = chunk_check_size(job->check->array, job->piece.size)) != 0) {
			*ret_kind = CHECK_CORRUPT;
			return rc;
		}
		if (!rc)
			rc = read_range(job, how);
	} while (is_to_be_tried_again(job, rc));
	*ret_kind = check_kind_of(job->check, rc);
	return rc;
}

static void run_on_slot(struct task *task);

static void run_fetch(struct job *job, enum store_how how)
{
	struct pool *pool = job->check->array->env.pool;
	enum check_kind kind = CHECK_UNREADABLE;
	int rc = 0;
	if (atomic_load(&job->check->stopping))
		job->is_absent = true;
	else
		rc = fetch(job, how, &kind);
	if (rc == -EAGAIN && how == STORE_TRY) {
		job->task.run = run_on_slot;
		pool_submit(pool, POOL_FETCH, POOL_DEMAND, &job->task);
	} else if (rc || job->is_absent) {
		job_end(job, kind, rc);
	} else if (how == STORE_TRY) {
		run_decode(&job->task);
	} else {
		job->task.run = run_decode;
		pool_submit(pool, POOL_DECODE, POOL_DEMAND, &job->task);
	}
}

static void run_on_worker(struct task *task)
{
	run_fetch(container_of(task, struct job, task), STORE_TRY);
}

static void run_on_slot(struct task *task)
{
	run_fetch(container_of(task, struct job, task), STORE_WAIT);
}

static void set_box(const struct array *array, const struct piece *piece, struct check_finding *finding)
{
	const uint64_t *chunk = check_grid(array, piece->level)->chunk;
	for (int a = 0; a < array->meta->ndim; a++) {
		uint64_t shape = array->meta->shape[a];
		finding->start[a] = MIN(piece->coords[a] * chunk[a], shape);
		finding->count[a] = MIN(chunk[a], shape - finding->start[a]);
	}
	finding->has_box = true;
	finding->is_inner = piece->level > 0;
	finding->is_shard = piece->level < array->n_levels;
	finding->offset = piece->offset;
	finding->size = piece->size;
	memcpy(finding->coords, piece->coords, sizeof(finding->coords));
}

static void report(struct check *check, const struct job *job)
{
	uint64_t *const counts[] = {
		[CHECK_CORRUPT] = &check->counts->corrupt,
		[CHECK_UNREADABLE] = &check->counts->unreadable,
		[CHECK_UNSUPPORTED] = &check->counts->unsupported,
		[CHECK_STRAY] = &check->counts->strays,
	};
	autofree char *key = job->key ? strdup(job->key) : key_of_piece(check->array, &job->piece);
	struct check_finding finding = {.kind = job->kind, .key = key ? key : check->array->path};
	const char *reason = job->reason.text;
	size_t n = strlen(finding.key);
	/* The store has named the key already. */
	finding.reason = !strncmp(reason, finding.key, n) && !strncmp(reason + n, ": ", 2) ? reason + n + 2 : reason;
	if (!job->key)
		set_box(check->array, &job->piece, &finding);
	++*counts[job->kind];
	check->sink->found(check->sink->arg, &finding);
}

static void count(struct check *check, const struct job *job)
{
	struct check_counts *counts = check->counts;
	if (job->memory && job->piece.level == 0 && !job->is_absent) {
		counts->values++;
		counts->stored_bytes += job->piece.size;
	}
	if (job->rc) {
		report(check, job);
	} else if (!job->is_absent) {
		counts->chunks++;
		counts->decoded_bytes += check->array->chunk_bytes;
	}
}

/* The first job, if it is done; no longer on the list. */
static struct job *take_done(struct check *check)
{
	struct job *job = check->first;
	if (!job)
		return NULL;
	pthread_mutex_lock(&check->lock);
	bool is_done = job->is_done;
	pthread_mutex_unlock(&check->lock);
	if (!is_done)
		return NULL;
	check->first = job->next;
	if (!check->first)
		check->end = &check->first;
	check->n--;
	return job;
}

static void reap(struct check *check)
{
	struct job *job;
	while ((job = take_done(check))) {
		count(check, job);
		job_free(job);
	}
}

static bool has_room(struct check *check, uint64_t bytes)
{
	uint64_t budget = cache_budget(check->array->env.cache), used = check->walk_memory + check->jobs_memory;
	return check->n < MOST_JOBS && (!check->jobs_memory || (used <= budget && bytes <= budget - used));
}

/* Until some job is done, or a while. */
static void look_around(struct check *check)
{
	uint64_t until = monotonic_ns() + LOOK_AROUND_NS;
	struct timespec time = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
	pthread_cond_timedwait(&check->cond, &check->lock, &time);
}

static bool no_job_runs(struct check *check, uint64_t bytes)
{
	return !check->jobs_memory;
}

static int wait_until(struct check *check, bool (*is_so)(struct check *check, uint64_t bytes), uint64_t bytes)
{
	for (;;) {
		reap(check);
		if (!check->sink->go_on(check->sink->arg, check->counts))
			return err_set(EINTR, "interrupted");
		autolock(&check->lock);
		if (is_so(check, bytes))
			return 0;
		look_around(check);
	}
}

int check_wait(struct check *check, uint64_t bytes)
{
	return wait_until(check, has_room, bytes);
}

int check_settle(struct check *check)
{
	return wait_until(check, no_job_runs, 0);
}

bool check_end(struct check *check)
{
	for (reap(check); check->first; reap(check)) {
		if (!check->sink->go_on(check->sink->arg, check->counts))
			atomic_store(&check->stopping, true);
		autolock(&check->lock);
		if (!check->first->is_done)
			look_around(check);
	}
	pthread_cond_destroy(&check->cond);
	pthread_mutex_destroy(&check->lock);
	return atomic_load(&check->stopping);
}

static struct job *job_add(struct check *check, const struct piece *piece)
{
	struct job *job = calloc(1, sizeof(*job));
	if (!job) {
		err_set(ENOMEM, "no memory for a check");
		return NULL;
	}
	job->check = check;
	if (piece)
		job->piece = *piece;
	*check->end = job;
	check->end = &job->next;
	check->n++;
	return job;
}

int check_start(struct check *check, const struct piece *piece, const struct opened *opened)
{
	const struct array *array = check->array;
	uint64_t encoded = opened ? piece->size : pipeline_encoded_bound(array->unit);
	uint64_t memory = chunk_memory(array, encoded) + (store_recodes(array->env.store) ? encoded : 0);
	int rc = check_wait(check, memory);
	struct job *job = rc ? NULL : job_add(check, piece);
	if (!job)
		return rc ? rc : -ENOMEM;
	if (opened) {
		job->value = value_ref(opened->value);
		job->whole = opened->whole ? buf_ref(opened->whole) : NULL;
	}
	job->memory = memory;
	job->task.run = run_on_worker;
	pthread_mutex_lock(&check->lock);
	check->jobs_memory += memory;
	pthread_mutex_unlock(&check->lock);
	pool_submit(array->env.pool, POOL_DECODE, POOL_DEMAND, &job->task);
	return 0;
}

static int tell(struct check *check, const struct piece *piece, char *key, enum check_kind kind, int failure)
{
	struct err_text reason;
	err_save(&reason);
	int rc = check_wait(check, 0);
	struct job *job = rc ? NULL : job_add(check, piece);
	if (!job) {
		free(key);
		return rc ? rc : -ENOMEM;
	}
	job->key = key;
	err_restore(&reason);
	job_end(job, kind, failure);
	return 0;
}

int check_tell(struct check *check, const struct piece *piece, enum check_kind kind, int rc)
{
	return tell(check, piece, NULL, kind, rc);
}

int check_tell_key(struct check *check, const char *key, enum check_kind kind, const char *text)
{
	char *copy = strdup(key);
	if (!copy)
		return err_set(ENOMEM, "no memory for a key");
	return tell(check, NULL, copy, kind, err_set(EIO, "%s", text));
}
