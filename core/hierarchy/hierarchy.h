/*
 * hierarchy.h: the nodes of a store: which document is where, children, consolidated metadata, opening an array.
 *
 * A node is parsed when first asked for, and const from then on; parsing may wait for the store, so every look-up says whether
 * it may (STORE_TRY answers -EAGAIN where it would). Nodes live as long as the hierarchy. Any thread.
 */
#ifndef ZARRFS_HIERARCHY_H
#define ZARRFS_HIERARCHY_H

#include "array/array.h"

struct hierarchy;

enum node_kind {
	NODE_GROUP,	 /* explicit or implicit */
	NODE_ARRAY,	 /* parsed; array_open may still refuse it */
	NODE_BROKEN, /* its document cannot be parsed or read: node_error says why */
};

struct node {
	enum node_kind kind;
	char *name; /* one path segment; "" for the root */
	char *path; /* the key prefix; "" for the root */
	struct node *parent;
	struct node_meta meta;
	int zarr_format;	 /* 2, 3; 0 for an implicit group */
	int64_t mtime_ns;	 /* of its document; the store's root directory's for none */
	uint64_t version;	 /* of its document */
	char *document;		 /* its key, "temp/zarr.json", for messages; NULL for an implicit group */
	int error;			 /* NODE_BROKEN: negative errno */
	char *error_message; /* and its one line */
	bool has_children;	 /* a broken node that is a directory with documents below it too */
	struct node_private *private;
};

/*
 * Finds out what the store is and parses its root. ENOENT: no document down to depth 3: not a Zarr store. Other
 * errors are the store's. `env` is copied.
 */
int hierarchy_open(const struct array_env *env, struct hierarchy **ret_hierarchy);
void hierarchy_close(struct hierarchy *hierarchy);

struct node *hierarchy_root(struct hierarchy *hierarchy);
struct store *hierarchy_store(struct hierarchy *hierarchy);

/* The root's name as a file: the store's base name (only used when the root is an array or broken). */
const char *hierarchy_root_name(struct hierarchy *hierarchy);

/* The children of a group, sorted by name; they belong to the hierarchy. An array has none. */
int node_children(struct hierarchy *hierarchy, struct node *node, enum store_how how, struct node *const **ret_children,
				  size_t *ret_n);

/* One child by name; ENOENT. Does not list: it costs the documents of that child only. */
int node_child(struct hierarchy *hierarchy, struct node *node, const char *name, enum store_how how,
			   struct node **ret_child);

/* A node by path, "a/b" or "" or "/"; waits. */
int hierarchy_find(struct hierarchy *hierarchy, const char *path, struct node **ret_node);

/* The opened array of a NODE_ARRAY (opened once, kept); for others, and when it is refused, the errno and the message. */
int node_array(struct hierarchy *hierarchy, struct node *node, struct array **ret_array);

#endif
