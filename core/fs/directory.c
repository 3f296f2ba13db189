/*
 * directory.c: listing a directory: for each child its directory and its views. A reader may go on at any cookie.
 */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "fs/fs_impl.h"

#define INODES_PER_CHILD 8

/* What one directory listing is made of. */
struct listing {
	struct fs *fs;
	bool plus;
	bool (*emit)(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie);
	void *arg;
	struct node *const *children;
	size_t n;
};

/* Emits one entry: 1 emitted, 0 the buffer is full, -errno. */
static int emit_inode(struct listing *listing, const char *name, enum inode_kind kind, struct node *node,
					  const struct view_ops *ops, uint64_t next_cookie)
{
	struct fs *fs = listing->fs;
	struct fs_attr attr;
	if (listing->plus) {
		int rc = fs_make_attr(fs, kind, node, ops, &attr);
		if (rc)
			return rc;
	} else {
		fs_fill_attr(&(struct inode){.kind = kind, .node = node, .ops = ops}, &attr);
	}
	if (listing->emit(listing->arg, name, &attr, next_cookie))
		return 1;
	if (listing->plus)
		fs_forget(fs, attr.handle, 1);
	return 0;
}

/* A node of exactly that name wins over a view. */
static bool is_hidden_by_node(const struct listing *listing, const char *name)
{
	size_t low = 0, high = listing->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(listing->children[middle]->name, name);
		if (!order)
			return fs_is_directory(listing->children[middle]);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* A look-up of that name finds our own directory. */
static bool is_hidden_by_control(struct fs *fs, const struct node *node)
{
	if (node->parent != hierarchy_root(fs->hierarchy) || strcmp(node->name, FS_CONTROL_NAME))
		return false;
	log_limited(LOG_LEVEL_WARN, "name", node->path, "%s: hidden: the name is taken", node->path);
	return true;
}

/* Slot 0 of a child is the directory, slot i + 1 its view of row i. 1 emitted or none, 0 full, -errno. */
static int emit_slot(struct listing *listing, struct node *node, int slot, uint64_t next_cookie)
{
	struct fs *fs = listing->fs;
	const char *shown = fs_shown_name(fs, node);
	if (!slot && (!fs_is_directory(node) || is_hidden_by_control(fs, node)))
		return 1;
	if (!slot)
		return emit_inode(listing, shown, INODE_DIRECTORY, node, NULL, next_cookie);
	const struct view_ops *ops = view_row(slot - 1);
	if (!(fs->listed >> (slot - 1) & 1) || view_supports(ops, node))
		return 1;
	char name[LIMIT_NAME_BYTES + 1];
	if (snprintf(name, sizeof(name), "%s.%s", shown, view_suffix(ops)) >= (int)sizeof(name)) {
		log_limited(LOG_LEVEL_WARN, "name", node->path, "%s: hidden: with .%s its name is too long", node->path,
					view_suffix(ops));
		return 1;
	}
	if (is_hidden_by_node(listing, name)) {
		log_limited(LOG_LEVEL_WARN, "name", node->path, "%s: its .%s is hidden: a group has that name", node->path,
					view_suffix(ops));
		return 1;
	}
	return emit_inode(listing, name, INODE_VIEW, node, ops, next_cookie);
}

/* Cookies: 0 and 1 are "." and "..", then INODES_PER_CHILD for each child. */
static int emit_dots(struct listing *listing, const struct inode *directory, uint64_t cookie)
{
	static const char *const names[] = {".", ".."};
	struct inode parent = *directory;
	if (parent.node && parent.node->parent)
		parent.node = parent.node->parent;
	if (parent.kind == INODE_CONTROL)
		parent = (struct inode){.kind = INODE_DIRECTORY, .node = hierarchy_root(listing->fs->hierarchy)};
	for (; cookie < ARRAY_LEN(names); cookie++) {
		struct fs_attr attr;
		fs_fill_attr(cookie ? &parent : directory, &attr);
		attr.handle = 0;
		if (!listing->emit(listing->arg, names[cookie], &attr, cookie + 1))
			return 0;
	}
	return 1;
}

static int emit_children(struct listing *listing, uint64_t cookie)
{
	cookie -= MIN(cookie, 2);
	for (size_t i = (size_t)(cookie / INODES_PER_CHILD); i < listing->n; i++) {
		for (int slot = (int)(cookie % INODES_PER_CHILD); !slot || view_row(slot - 1); slot++) {
			uint64_t next = 2 + (uint64_t)i * INODES_PER_CHILD + (uint64_t)slot + 1;
			int rc = emit_slot(listing, listing->children[i], slot, next);
			if (rc <= 0)
				return rc;
		}
		cookie = 0;
	}
	return 1;
}

int fs_readdir(struct fs *fs, uint64_t handle, uint64_t cookie, bool plus, enum store_how how,
			   bool (*emit)(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie), void *arg)
{
	struct listing listing = {.fs = fs, .plus = plus, .emit = emit, .arg = arg};
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (!rc && inode.kind == INODE_DIRECTORY)
		rc = fs_children(fs, inode.node, how, &listing.children, &listing.n);
	if (rc)
		return rc;
	rc = emit_dots(&listing, &inode, cookie);
	if (rc > 0 && inode.kind == INODE_DIRECTORY)
		rc = emit_children(&listing, cookie);
	else if (rc > 0 && cookie <= 2)
		rc = emit_inode(&listing, FS_STATS_NAME, INODE_STATS, NULL, NULL, 3);
	return MIN(rc, 0);
}

bool fs_directory_is_settled(struct fs *fs, uint64_t handle)
{
	struct inode inode;
	struct node *const *nodes;
	size_t n;
	if (inode_table_copy(fs->inodes, handle, &inode))
		return false;
	if (inode.kind != INODE_DIRECTORY)
		return true;
	if (fs_children(fs, inode.node, STORE_TRY, &nodes, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->kind == NODE_BROKEN)
			return false;
	return true;
}
