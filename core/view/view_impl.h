/*
 * view_impl.h: what a file format must supply. One const view_ops a file, one row in view.c.
 */
#ifndef ZARRFS_VIEW_IMPL_H
#define ZARRFS_VIEW_IMPL_H

#include "view/view.h"

struct view_ops {
	const char *suffix;
	bool listed;

	/* 0, or -ENOENT: not for such a node. */
	int (*supports)(const struct node *node);

	/* Fills extents with view_add_*; view->array is set when the node is an array that opens. `needs_array` rows are not
	 * called for one that does not. */
	int (*extents)(struct hierarchy *hierarchy, struct node *node, struct view *view);
	bool needs_array;

	/* [Reads a file's head back.] bytes: its first `size` bytes. EIO when malformed, ENOTSUP (object types). */
	int (*parse)(const void *bytes, size_t size, struct view_parsed *ret_parsed);
};

extern const struct view_ops npy_view_ops, raw_view_ops, json_view_ops;

/* Appends an extent; takes `bytes` (malloc) over, also on failure. */
int view_add_literal(struct view *view, char *bytes, size_t size);
int view_add_elements(struct view *view, const struct layout *layout);

#endif
