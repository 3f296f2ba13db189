/*
 * job.c: requests that detach, and their one reply.
 */
#include "fuse/job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"

void job_reply_error(struct mount_context *context, fuse_req_t req, const char *name, uint64_t handle, int rc)
{
	if (rc != -ENOENT && rc != -ENODATA) {
		autofree char *path = fs_path(context->fs, handle);
		log_limited(LOG_LEVEL_ERROR, name, path ? path : "?", "%s: %s: %s", path ? path : "?", name,
					*err_message() ? err_message() : strerror(-rc));
	}
	fuse_reply_err(req, -rc);
}

static void job_complete(struct request *request, int rc)
{
	struct job *job = container_of(request, struct job, request);
	if (rc)
		job_reply_error(job->context, job->req, job->ops->name, job->handle, rc);
	else
		job->delivered = job->ops->reply(job);
}

static void job_release(struct request *request)
{
	struct job *job = container_of(request, struct job, request);
	if (job->worked && !job->delivered && job->ops->undo)
		job->ops->undo(job);
	atomic_fetch_sub(&job->context->open_requests, 1);
	free(job->entries);
	free(job->counted);
	free(job->name);
	free(job);
}

static void job_work(struct task *task)
{
	struct job *job = container_of(task, struct job, task);
	int rc = job->ops->work(job, STORE_WAIT);
	job->worked = !rc;
	request_finish_part(&job->request, rc);
}

void job_run(const struct job_ops *ops, const struct job *template, const char *name)
{
	struct job *job = malloc(sizeof(*job));
	char *copy = name ? strdup(name) : NULL;
	if (!job || (name && !copy)) {
		free(job);
		free(copy);
		fuse_reply_err(template->req, ENOMEM);
		return;
	}
	*job = *template;
	job->ops = ops;
	job->name = copy;
	atomic_fetch_add(&job->context->open_requests, 1);
	request_init(&job->request, fs_deadlines(job->context->fs), job_complete, job_release);
	int rc = ops->work(job, STORE_TRY);
	job->worked = !rc;
	if (rc != -EAGAIN) {
		request_finish_part(&job->request, rc);
		return;
	}
	request_arm(&job->request);
	job->task.run = job_work;
	pool_submit(fs_pool(job->context->fs), POOL_META, POOL_DEMAND, &job->task);
}

/* A read: its parts are its loads. */
struct read_job {
	struct request request;
	struct mount_context *context;
	fuse_req_t req;
	uint64_t handle;
	struct fs_file *file;
	struct buf *reply;
};

static void read_complete(struct request *request, int rc)
{
	struct read_job *job = container_of(request, struct read_job, request);
	stats_add(reads, 1);
	if (rc) {
		stats_add(read_errors, 1);
		job_reply_error(job->context, job->req, "read", job->handle, rc);
	} else {
		stats_add(read_bytes, job->reply->size);
		fuse_reply_buf(job->req, (const char *)job->reply->data, job->reply->size);
	}
}

static void read_release(struct request *request)
{
	struct read_job *job = container_of(request, struct read_job, request);
	buf_unref(job->reply);
	fs_file_unref(job->file);
	atomic_fetch_sub(&job->context->open_requests, 1);
	free(job);
}

/* What was put together before it was asked for. */
static bool reply_taken(fuse_req_t req, struct fs_file *file, uint64_t offset, size_t size)
{
	autobuf reply = fs_take(file, offset, size);
	if (!reply)
		return false;
	stats_add(reads, 1);
	stats_add(read_bytes, size);
	fuse_reply_buf(req, (const char *)reply->data, size);
	return true;
}

void job_read(struct mount_context *context, fuse_req_t req, uint64_t handle, struct fs_file *file, uint64_t offset,
			  size_t size)
{
	size = fs_read_size(file, offset, size);
	if (reply_taken(req, file, offset, size))
		return;
	struct read_job *job = malloc(sizeof(*job));
	struct buf *reply = NULL;
	if (!job || buf_new(size, &reply)) {
		free(job);
		fuse_reply_err(req, ENOMEM);
		return;
	}
	*job =
		(struct read_job){.context = context, .req = req, .handle = handle, .file = fs_file_ref(file), .reply = reply};
	atomic_fetch_add(&context->open_requests, 1);
	request_init(&job->request, fs_deadlines(context->fs), read_complete, read_release);
	if (size)
		fs_read(file, offset, size, reply->data, &job->request);
	request_finish_part(&job->request, 0);
}
