/*
 * names.c: names, their inodes and attributes.
 *
 * A name in a directory is, in this order: a child node that is a directory; a view of a child, NODE.SUFFIX. The root of a
 * store whose root is an array shows that array under the store's base name.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/str.h"
#include "fs/fs_impl.h"

bool fs_is_directory(const struct node *node)
{
	return node->kind == NODE_GROUP || (node->kind == NODE_BROKEN && node->has_children);
}

/* The children that a directory shows: of a root that is no group, the root itself. */
int fs_children(struct fs *fs, struct node *node, enum store_how how, struct node *const **ret_children, size_t *ret_n)
{
	if (node == fs->root_alone) {
		*ret_children = &fs->root_alone;
		*ret_n = 1;
		return 0;
	}
	return node_children(fs->hierarchy, node, how, ret_children, ret_n);
}

const char *fs_shown_name(struct fs *fs, const struct node *node)
{
	return node == hierarchy_root(fs->hierarchy) ? hierarchy_root_name(fs->hierarchy) : node->name;
}

static int child(struct fs *fs, struct node *node, const char *name, enum store_how how, struct node **ret_child)
{
	if (node != fs->root_alone)
		return node_child(fs->hierarchy, node, name, how, ret_child);
	if (strcmp(name, fs_shown_name(fs, node)))
		return -ENOENT;
	*ret_child = node;
	return 0;
}

/* Size 0 for an array that cannot be served: it stays listed. */
static uint64_t view_size(struct fs *fs, struct node *node, const struct view_ops *ops)
{
	uint64_t size;
	struct view *view;
	if (inode_table_find(fs->inodes, INODE_VIEW, node, ops, &size))
		return size;
	if (view_open(fs->hierarchy, node, ops, &view))
		return 0;
	size = view->size;
	view_close(view);
	return size;
}

void fs_fill_attr(const struct inode *inode, struct fs_attr *ret_attr)
{
	bool directory = inode->kind == INODE_DIRECTORY || inode->kind == INODE_CONTROL;
	*ret_attr = (struct fs_attr){
		.handle = inode->handle,
		.ino = inode_number(inode->kind, inode->node, inode->ops),
		.mode = directory ? S_IFDIR | 0555 : S_IFREG | 0444,
		.size = inode->size,
		.mtime_ns = inode->node ? inode->node->mtime_ns : 0,
		.nlink = directory ? 2 : 1,
	};
}

int fs_make_attr(struct fs *fs, enum inode_kind kind, struct node *node, const struct view_ops *ops,
				 struct fs_attr *ret_attr)
{
	const struct inode *inode;
	uint64_t size = kind == INODE_VIEW ? view_size(fs, node, ops) : 0;
	int rc = inode_table_get(fs->inodes, kind, node, ops, size, &inode);
	if (rc)
		return rc;
	fs_fill_attr(inode, ret_attr);
	return 0;
}

static int lookup_view(struct fs *fs, struct node *parent, const char *name, enum store_how how,
					   struct fs_attr *ret_attr)
{
	size_t length;
	struct node *node;
	const struct view_ops *ops = view_of_name(name, &length);
	if (!ops)
		return -ENOENT;
	autofree char *node_name = strndup(name, length);
	if (!node_name)
		return err_set(ENOMEM, "no memory for a name");
	int rc = child(fs, parent, node_name, how, &node);
	if (!rc)
		rc = view_supports(ops, node);
	return rc ? rc : fs_make_attr(fs, INODE_VIEW, node, ops, ret_attr);
}

static int lookup_node(struct fs *fs, struct node *parent, const char *name, enum store_how how,
					   struct fs_attr *ret_attr)
{
	struct node *node;
	int rc = child(fs, parent, name, how, &node);
	if (!rc && fs_is_directory(node))
		return fs_make_attr(fs, INODE_DIRECTORY, node, NULL, ret_attr);
	if (rc && rc != -ENOENT)
		return rc;
	return lookup_view(fs, parent, name, how, ret_attr);
}

int fs_lookup(struct fs *fs, uint64_t parent, const char *name, enum store_how how, struct fs_attr *ret_attr)
{
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, parent, &inode);
	if (rc)
		return rc;
	if (inode.kind == INODE_CONTROL && !strcmp(name, FS_STATS_NAME))
		return fs_make_attr(fs, INODE_STATS, NULL, NULL, ret_attr);
	if (inode.kind != INODE_DIRECTORY)
		return -ENOENT;
	if (parent == FS_ROOT && !strcmp(name, FS_CONTROL_NAME))
		return fs_make_attr(fs, INODE_CONTROL, NULL, NULL, ret_attr);
	return lookup_node(fs, inode.node, name, how, ret_attr);
}

void fs_forget(struct fs *fs, uint64_t handle, uint64_t n)
{
	inode_table_forget(fs->inodes, handle, n);
}

int fs_getattr(struct fs *fs, uint64_t handle, enum store_how how, struct fs_attr *ret_attr)
{
	struct inode inode;
	(void)how;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (!rc)
		fs_fill_attr(&inode, ret_attr);
	return rc;
}

char *fs_path(struct fs *fs, uint64_t handle)
{
	struct inode inode;
	autostr(str);
	char *text;
	if (inode_table_copy(fs->inodes, handle, &inode))
		return strdup("?");
	if (inode.kind == INODE_CONTROL || inode.kind == INODE_STATS)
		str_append(&str, inode.kind == INODE_STATS ? "/" FS_CONTROL_NAME "/" FS_STATS_NAME : "/" FS_CONTROL_NAME);
	else
		str_appendf(&str, "/%s", *inode.node->path || !inode.ops ? inode.node->path : fs_shown_name(fs, inode.node));
	if (inode.ops)
		str_appendf(&str, ".%s", view_suffix(inode.ops));
	return str_take(&str, &text) ? NULL : text;
}
