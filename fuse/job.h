/*
 * job.h: an operation that leaves the FUSE thread: a metadata operation as a task of the pool, a read as its loads.
 */
#ifndef ZARRFS_JOB_H
#define ZARRFS_JOB_H

#include "fuse/ops.h"

struct job;

/* What a detached metadata operation does: in the pool, where it may wait; then the reply. */
struct job_ops {
	const char *name; /* in the log */
	/* With STORE_TRY in the FUSE thread, with STORE_WAIT in the pool. Fills the job. */
	int (*work)(struct job *job, enum store_how how);
	/* Replies success; false when the kernel did not take it: what work counted is undone then. */
	bool (*reply)(struct job *job);
	/* [Undoes what work counted], when its success could not be replied. */
	void (*undo)(struct job *job);
};

/* Arguments and results; each operation uses its own. */
struct job {
	struct request request;
	struct task task;
	const struct job_ops *ops;
	struct mount_context *context;
	fuse_req_t req;
	uint64_t handle;
	char *name;
	struct fs_attr attr;
	struct fs_file *file;
	struct fuse_file_info fi;
	/* readdir */
	off_t cookie;
	size_t size;
	bool plus;
	char *entries;
	size_t used;
	uint64_t *counted;
	size_t n_counted;
	/* whether work succeeded, and its reply arrived */
	bool worked, delivered;
};

/*
 * Runs an operation: at once if nothing needs to wait, else in the pool with the mount's deadline. `template` is copied; `name`
 * (may be NULL) too.
 */
void job_run(const struct job_ops *ops, const struct job *template, const char *name);

/* Reads and replies, now or later. */
void job_read(struct mount_context *context, fuse_req_t req, uint64_t handle, struct fs_file *file, uint64_t offset,
			  size_t size);

/* Replies an errno, with one log line but for those that are no news (ENOENT, ENODATA). */
void job_reply_error(struct mount_context *context, fuse_req_t req, const char *name, uint64_t handle, int rc);

#endif
