/*
 * inode.h: kernel handles <-> (node, view). An inode lives while the kernel counts look-ups of it, or a file is open. Any
 * thread; its one lock is a leaf.
 */
#ifndef ZARRFS_INODE_H
#define ZARRFS_INODE_H

#include "fs/fs.h"

enum inode_kind {
	INODE_DIRECTORY, /* of a node's children */
	INODE_VIEW,		 /* a node as a file */
	INODE_CONTROL,	 /* the hidden directory .zarrfs */
	INODE_STATS,	 /* .zarrfs/stats.json */
};

struct inode {
	uint64_t handle;
	enum inode_kind kind;
	struct node *node;			/* INODE_DIRECTORY, INODE_VIEW */
	const struct view_ops *ops; /* INODE_VIEW */
	uint64_t size;				/* bytes of a view; 0 when it cannot be served */
	/* private to inode.c */
	uint64_t lookups;
	struct inode *by_handle, *by_identity;
};

struct inode_table;

int inode_table_new(struct inode_table **ret_table);
void inode_table_free(struct inode_table *table);

/*
 * The inode of an identity, made if there is none, with one look-up more. `size` is for a new one. The inode stays valid
 * until its look-ups are forgotten. -ENOMEM.
 */
int inode_table_get(struct inode_table *table, enum inode_kind kind, struct node *node, const struct view_ops *ops,
					uint64_t size, const struct inode **ret_inode);

/* Whether that identity has an inode: then its size need not be computed again. */
bool inode_table_find(struct inode_table *table, enum inode_kind kind, struct node *node, const struct view_ops *ops,
					  uint64_t *ret_size);

/* The inode of a handle; -ESTALE when it was forgotten. The copy stays good. */
int inode_table_copy(struct inode_table *table, uint64_t handle, struct inode *ret_inode);

/* Look-ups less. */
void inode_table_forget(struct inode_table *table, uint64_t handle, uint64_t n);

/* Inodes that are alive. */
size_t inode_table_count(struct inode_table *table);

/* st_ino: a hash of path and view, stable across mounts, never 0 or 1. */
uint64_t inode_number(enum inode_kind kind, const struct node *node, const struct view_ops *ops);

#endif
