/*
 * ops.h: the operations of libfuse's low-level API: translate, call fs_*, log once, reply.
 */
#ifndef ZARRFS_OPS_H
#define ZARRFS_OPS_H

#include <fuse_lowlevel.h>

#include "fs/fs.h"

/* When the queue is full no read of any file is delivered, so it must be longer than the reads that can be stuck. */
#define MAX_BACKGROUND 4096

/* What every operation gets as userdata. */
struct mount_context {
	struct fs *fs;
	uid_t uid;
	gid_t gid;
	mode_t umask;
	unsigned max_read;				/* that the kernel was mounted with; 0: its own choice */
	atomic_int open_requests;		/* not answered yet, or answered late and still loading */
	void (*ready)(void *ready_arg); /* the kernel has been answered its first request */
	void *ready_arg;
};

extern const struct fuse_lowlevel_ops zarrfs_ops;

#endif
