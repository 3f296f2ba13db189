/*
 * mount.h: mounts an fs through libfuse's low-level API, and serves it until it is unmounted.
 */
#ifndef ZARRFS_MOUNT_H
#define ZARRFS_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

#include "fs/fs.h"

struct mount_options {
	struct fs_options fs;
	const char *mountpoint;
	bool foreground;
	bool debug;				  /* libfuse's trace; implies foreground */
	const char *fuse_options; /* [comma-separated, for the kernel and fusermount3] */
	bool allow_other;
	uid_t uid; /* owner that is shown; (uid_t)-1: the caller */
	gid_t gid;
	mode_t umask;		  /* bits taken from 0444 and 0555 */
	const char *log_file; /* [of the background process] */
};

/*
 * Mounts and, unless `foreground`, returns in the parent once the mount answers. In the serving process it returns after the
 * unmount. 0, or a negative errno with a message (for the parent too). ENOENT: not a Zarr store.
 */
int mount_run(const struct mount_options *options);

/* Unmounts as root or through fusermount3; `lazy`: also when busy. -EINVAL: not a mount point. */
int mount_end(const char *mountpoint, bool lazy);

/* The libfuse that is linked, such as "3.14.0". */
const char *mount_fuse_version(void);

#endif
