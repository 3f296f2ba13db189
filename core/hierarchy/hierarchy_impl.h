/*
 * hierarchy_impl.h: what the files of hierarchy/ share.
 *
 *     hierarchy.c      open, close, look-ups by path, opened arrays
 *     detect.c         what a root without a document is: a plain directory of nodes, another format, nothing of ours
 *     node.c           the documents of one node -> struct node
 *     children.c       names below a group, children, who made a node first
 *     consolidated.c   consolidated metadata as a map from document key to document
 *
 * One lock guards the tree's pointers and is never held across a call of the store or a parser. So two threads may make the
 * same node at once; the one that enters it second frees its own copy.
 */
#ifndef ZARRFS_HIERARCHY_IMPL_H
#define ZARRFS_HIERARCHY_IMPL_H

#include <stdatomic.h>

#include "hierarchy/hierarchy.h"

struct block;
struct children;

struct hierarchy {
	struct array_env env;
	bool lists; /* own documents win over consolidated ones */
	int64_t root_mtime_ns;
	struct node *root;
	pthread_mutex_t lock;
	atomic_bool difference_logged; /* between own and consolidated documents: once */
};

struct node_private {
	int depth;	   /* 0 for the root */
	bool retry;	   /* broken because the store failed: asked again, until it answers */
	bool is_draft; /* broken because it is a draft of Zarr v3 */
	bool owns_block;
	struct block *block; /* consolidated metadata that covers what is below: its own or inherited; NULL without */

	/* Below: set once (or replaced) under hierarchy->lock. */
	void *known; /* tsearch's tree of the children made so far, by name */
	bool is_listed;
	struct store_listing names;			 /* once listed: prefixes below, those that cannot be nodes left out */
	struct children *children;			 /* the newest published list */
	struct node *retired, *next_retired; /* broken children that were replaced: callers may hold them */
	struct array *array;
	int array_error;
	char *array_message;
};

/* hierarchy.c: lengthens a message to "key: message", unless it says the key already. Returns rc. */
int message_add_key(int rc, const char *key);

/*
 * node.c: makes the node `name` of `parent` (NULL, "": the root) from its documents. `block` is inherited: the source of
 * documents where the store cannot list. -ENOENT: it has none. A document that cannot be parsed makes a NODE_BROKEN; other
 * errors are the store's, or -ENOMEM.
 */
int node_load(struct hierarchy *hierarchy, struct node *parent, const char *name, struct block *block,
			  struct node **ret_node);

/* A group without a document, with its .zattrs if there is one. */
int node_load_implicit(struct hierarchy *hierarchy, struct node *parent, const char *name, struct block *block,
					   struct node **ret_node);

/* A node whose documents the store failed to give: broken by `error` and this thread's message, until a retry succeeds. */
int node_new_failed(struct node *parent, const char *name, struct block *block, int error, struct node **ret_node);

/* With all nodes below, and its array. NULL is legal. */
void node_free(struct node *node);

/* children.c: whether a directory of this name is never a node of `parent`. */
bool name_is_reserved(int parent_zarr_format, const char *name);
void children_free(struct children *children);

/* detect.c: whether a document is in a directory right below `path`; looks at a bounded number, failures count as no. */
bool detect_below(struct hierarchy *hierarchy, const struct block *block, const char *path);

/* A root without documents: 0 when there are some down to depth 3, else -ENOENT; -ENOTSUP for a foreign format, by name. */
int detect_root(struct hierarchy *hierarchy);

/*
 * consolidated.c. A block holds the documents of the nodes below `path` by their store keys ("a/zarr.json", "a/.zattrs").
 * `metadata` is v3's (path -> document) or v2's (key -> document); it lives in `root`, which the block takes over on
 * success (NULL: somebody else's). `info` is that of the value it came from.
 */
int block_new(const char *path, int zarr_format, const struct json *metadata, struct json *root,
			  const struct value_info *info, struct block **ret_block);
void block_free(struct block *block);
const struct value_info *block_info(const struct block *block);

/* The document of a key, printed; -ENOENT. */
int block_get(const struct block *block, const char *key, struct buf **ret_buf);

/* The names below a path, sorted; all of them prefixes. */
int block_list(const struct block *block, const char *path, struct store_listing *ret_listing);

/*
 * The store has `own` (NULL: nothing) for the key: logs, once a hierarchy, when the block says otherwise. block_check_names
 * does it for the names that a group was found to have.
 */
void block_check(struct hierarchy *hierarchy, const struct block *block, const char *key, const struct buf *own);
void block_check_names(struct hierarchy *hierarchy, const struct block *block, const char *path,
					   const struct store_listing *own);

/* listings are sorted by name */
bool listing_has(const struct store_listing *listing, const char *name);

#endif
