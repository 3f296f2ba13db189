/*
 * json_view.c: what is known of an array, as one JSON document: also for an array that cannot be read, with the reason.
 */
#include <errno.h>

#include "base/err.h"
#include "base/str.h"
#include "view/facts.h"
#include "view/view_impl.h"

static int json_supports(const struct node *node)
{
	return node->kind == NODE_GROUP ? -ENOENT : 0;
}

static int json_extents(struct hierarchy *hierarchy, struct node *node, struct view *view)
{
	autostr(str);
	char *text;
	facts_append_all(hierarchy, node, &str);
	str_append(&str, "\n");
	size_t size = str.size;
	int rc = str_take(&str, &text);
	return rc ? err_set(ENOMEM, "no memory for a description") : view_add_literal(view, text, size);
}

const struct view_ops json_view_ops = {
	.suffix = "json",
	.listed = true,
	.supports = json_supports,
	.extents = json_extents,
};
