/*
 * fs_impl.h: what the files of fs/ share.
 */
#ifndef ZARRFS_FS_IMPL_H
#define ZARRFS_FS_IMPL_H

#include "fs/fs.h"
#include "fs/inode.h"

#define FS_CONTROL_NAME ".zarrfs"
#define FS_STATS_NAME "stats.json"

struct fs {
	struct array_env env;
	struct hierarchy *hierarchy;
	struct deadlines *deadlines;
	struct inode_table *inodes;
	struct node *root_alone; /* the root, where it is no group: the only child that its directory shows */
	unsigned listed;		 /* views that are listed, as bits by row */
	_Atomic uint64_t band_bytes, next_trim_ns; /* band.c's */
	pthread_mutex_t files_lock;
	struct fs_file *files; /* open ones: a kernel that is cut off releases none */
};

/* Whether a node is shown as a directory. */
bool fs_is_directory(const struct node *node);

/* The children that a directory shows: of a root that is no group, the root itself. */
int fs_children(struct fs *fs, struct node *node, enum store_how how, struct node *const **ret_children, size_t *ret_n);

/* A node's name in its directory. */
const char *fs_shown_name(struct fs *fs, const struct node *node);

/* The attributes of an inode; of one that is made if there is none, with one look-up more. */
void fs_fill_attr(const struct inode *inode, struct fs_attr *ret_attr);
int fs_make_attr(struct fs *fs, enum inode_kind kind, struct node *node, const struct view_ops *ops,
				 struct fs_attr *ret_attr);

/* Closes the files that are still open. */
void fs_close_files(struct fs *fs);

#endif
