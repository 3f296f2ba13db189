/*
 * fs_impl.h: what the files of fs/ share.
 */
#ifndef ZARRFS_FS_IMPL_H
#define ZARRFS_FS_IMPL_H

#include "fs/fs.h"
#include "fs/inode.h"

struct fs {
	struct array_env env;
	struct hierarchy *hierarchy;
	struct deadlines *deadlines;
	struct inode_table *inodes;
	struct node *root_alone; /* the root, where it is no group: the only child that its directory shows */
	unsigned listed;		 /* views that are listed, as bits by row */
	pthread_mutex_t files_lock;
	struct fs_file *files; /* open ones: a kernel that is cut off releases none */
};

/* Closes the files that are still open. */
void fs_close_files(struct fs *fs);

#endif
