/*
 * facts.h: what is known of a node, in words: for NAME.json, the xattrs user.zarr.* and `zarrfs info`.
 */
#ifndef ZARRFS_FACTS_H
#define ZARRFS_FACTS_H

#include "base/str.h"
#include "hierarchy/hierarchy.h"

/* One fact's name: the xattr is user.zarr.NAME, the member of NAME.json is NAME. NULL past the end. */
const char *facts_name(int i);

/*
 * Appends a fact's value as JSON text: shape [2, 3], dtype "<f4", chunks, shards (null when not sharded), codecs (a list of
 * names), fill_value, dimension_names, error (null when the array can be read). -ENODATA: no such fact of such a node.
 */
int facts_append_one(struct hierarchy *hierarchy, struct node *node, const char *fact, struct str *str);

/* Appends the whole document: all facts, zarr_format, byte_order, nbytes, attributes. */
void facts_append_all(struct hierarchy *hierarchy, struct node *node, struct str *str);

#endif
