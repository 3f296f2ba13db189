/*
 * raw.c: the array's elements and nothing else, in C order, little-endian.
 */
#include <errno.h>

#include "base/err.h"
#include "view/view_impl.h"

static int raw_supports(const struct node *node)
{
	return node->kind == NODE_GROUP ? -ENOENT : 0;
}

static int raw_extents(struct hierarchy *hierarchy, struct node *node, struct view *view)
{
	const struct array_meta *meta = array_meta(view->array);
	struct layout layout;
	(void)hierarchy;
	(void)node;
	if (!layout_init(&layout, meta->ndim, meta->shape, meta->dtype.size))
		return err_set(EFBIG, "the array is larger than a file can be");
	return view_add_elements(view, &layout);
}

const struct view_ops raw_view_ops = {
	.suffix = "raw",
	.listed = true,
	.needs_array = true,
	.supports = raw_supports,
	.extents = raw_extents,
};
