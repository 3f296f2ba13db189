/*
 * view.h: a node as a file format: a list of extents, for callers. Pure: the size needs no data.
 */
#ifndef ZARRFS_VIEW_H
#define ZARRFS_VIEW_H

#include "hierarchy/hierarchy.h"

struct view_ops;

/* A part of a file. */
enum extent_kind { EXTENT_LITERAL, EXTENT_ELEMENTS };
struct extent {
	enum extent_kind kind;
	uint64_t size;		  /* bytes */
	char *bytes;		  /* EXTENT_LITERAL */
	struct layout layout; /* EXTENT_ELEMENTS: of the view's array, whole payload */
};

#define VIEW_EXTENTS 4
struct view {
	const struct view_ops *ops;
	struct array *array; /* of the elements; NULL when all is literal */
	struct extent extents[VIEW_EXTENTS];
	int n;
	uint64_t size; /* bytes of the file */
};

/* The table: rows in listing order; NULL past the end. Their suffix has no dot: "npy". */
const struct view_ops *view_row(int i);
const char *view_suffix(const struct view_ops *ops);
/* Whether the row is listed unless --views says otherwise. */
bool view_is_listed(const struct view_ops *ops);

/*
 * Splits a file name "temp.npy" at a known suffix: the row, and the length of the node's part; NULL when no row fits.
 */
const struct view_ops *view_of_name(const char *name, size_t *ret_node_length);

/* Whether the row can show the node at all: 0, or -ENOENT (no such file for this kind of node). */
int view_supports(const struct view_ops *ops, const struct node *node);

/*
 * The file. Errors are those of node_array: ENOTSUP, EIO, EFBIG: the file is listed with size 0 and cannot be opened.
 */
int view_open(struct hierarchy *hierarchy, struct node *node, const struct view_ops *ops, struct view **ret_view);
void view_close(struct view *view);

/*
 * Reads [offset, offset + size), which must lie inside the file, into dst. Literal bytes are copied at once, elements as
 * array_read does: parts of the request that are still open finish later.
 */
void view_read(struct view *view, uint64_t offset, size_t size, uint8_t *dst, struct request *request,
			   struct readahead *readahead);

/* The same, waiting. */
int view_read_wait(struct view *view, uint64_t offset, size_t size, uint8_t *dst);

/* What a file of the format says of itself. */
struct view_parsed {
	struct dtype dtype;
	bool big_endian;
	bool fortran_order;
	int ndim;
	uint64_t shape[LIMIT_DIMS];
	uint64_t payload_offset; /* of the elements, which are all that follows */
};

/* Reads a file's head back (dtype_finish its dtype), for `zarrfs pack`; `bytes` are its first `size` bytes. EIO when malformed, ENOTSUP: not served. */
int view_parse(const struct view_ops *ops, const void *bytes, size_t size, struct view_parsed *ret_parsed);

#endif
