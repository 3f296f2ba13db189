/*
 * view.c: the table of views by suffix, and reading a list of extents.
 */
#include "view/view.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "view/view_impl.h"

static const struct view_ops *const rows[] = {&npy_view_ops, &raw_view_ops, &json_view_ops};

const struct view_ops *view_row(int i)
{
	return (size_t)i < ARRAY_LEN(rows) ? rows[i] : NULL;
}

const char *view_suffix(const struct view_ops *ops)
{
	return ops->suffix;
}

bool view_is_listed(const struct view_ops *ops)
{
	return ops->listed;
}

const struct view_ops *view_of_name(const char *name, size_t *ret_node_length)
{
	const char *dot = strrchr(name, '.');
	if (!dot || dot == name)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!strcmp(dot + 1, rows[i]->suffix)) {
			*ret_node_length = (size_t)(dot - name);
			return rows[i];
		}
	return NULL;
}

int view_supports(const struct view_ops *ops, const struct node *node)
{
	return ops->supports(node);
}

int view_open(struct hierarchy *hierarchy, struct node *node, const struct view_ops *ops, struct view **ret_view)
{
	struct view *view = calloc(1, sizeof(*view));
	if (!view)
		return err_set(ENOMEM, "no memory for a view");
	view->ops = ops;
	int rc = ops->needs_array ? node_array(hierarchy, node, &view->array) : 0;
	if (!rc)
		rc = ops->extents(hierarchy, node, view);
	if (rc) {
		view_close(view);
		return rc;
	}
	*ret_view = view;
	return 0;
}

void view_close(struct view *view)
{
	if (!view)
		return;
	for (int i = 0; i < view->n; i++)
		free(view->extents[i].bytes);
	free(view);
}

static int add_extent(struct view *view, const struct extent *extent)
{
	uint64_t size;
	if (view->n == VIEW_EXTENTS || __builtin_add_overflow(view->size, extent->size, &size) || size > INT64_MAX)
		return err_set(EFBIG, "the file would be larger than a file can be");
	view->extents[view->n++] = *extent;
	view->size = size;
	return 0;
}

int view_add_literal(struct view *view, char *bytes, size_t size)
{
	struct extent extent = {.kind = EXTENT_LITERAL, .size = size, .bytes = bytes};
	int rc = add_extent(view, &extent);
	if (rc)
		free(bytes);
	return rc;
}

int view_add_elements(struct view *view, const struct layout *layout)
{
	struct extent extent = {.kind = EXTENT_ELEMENTS, .size = layout->bytes, .layout = *layout};
	return add_extent(view, &extent);
}

void view_read(struct view *view, uint64_t offset, size_t size, uint8_t *dst, struct request *request,
			   struct readahead *readahead)
{
	uint64_t begin = 0;
	for (int i = 0; i < view->n && size; i++) {
		const struct extent *extent = &view->extents[i];
		uint64_t end = begin + extent->size;
		if (offset < end) {
			size_t part = (size_t)MIN(size, end - offset);
			if (extent->kind == EXTENT_LITERAL)
				memcpy(dst, extent->bytes + (offset - begin), part);
			else
				array_read(view->array, &extent->layout, offset - begin, part, dst, request, readahead);
			dst += part;
			offset += part;
			size -= part;
		}
		begin = end;
	}
}

int view_read_wait(struct view *view, uint64_t offset, size_t size, uint8_t *dst)
{
	struct waited_request *waited;
	int rc = waited_request_new(NULL, &waited);
	if (rc)
		return rc;
	view_read(view, offset, size, dst, &waited->request, NULL);
	request_finish_part(&waited->request, 0);
	return waited_request_wait(waited);
}

int view_parse(const struct view_ops *ops, const void *bytes, size_t size, struct view_parsed *ret_parsed)
{
	if (!ops->parse)
		return err_set(ENOTSUP, "a .%s file does not say what is in it", ops->suffix);
	return ops->parse(bytes, size, ret_parsed);
}
