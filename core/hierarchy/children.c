/*
 * children.c: which nodes are below a group. Names come from one listing of the group's own prefix (never from inside an array:
 * one with a million chunk files costs nothing), or from consolidated metadata where the store cannot list. A name becomes a
 * node when it is asked for, or when all are.
 *
 * A child that the store failed to give is broken, not absent, so that its siblings are shown; it is asked for again, a listing at
 * most once a second. When it answers, the broken node is retired: callers may hold it as long as the hierarchy lives.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "hierarchy/hierarchy_impl.h"

#define RETRY_NS INT64_C(1000000000)

/* A published list: const, but for retry_ns. */
struct children {
	struct children *older; /* callers may still read it */
	int64_t retry_ns;		/* when broken ones may be asked for again; 0: none */
	size_t n;
	struct node *nodes[];
};

void children_free(struct children *children)
{
	while (children) {
		struct children *older = children->older;
		free(children);
		children = older;
	}
}

static bool may_have_children(const struct node *node)
{
	return node->kind == NODE_GROUP || (node->kind == NODE_BROKEN && node->has_children);
}

/* File system noise (zarr-format, 8.3/27), and v3's reserved prefix. */
bool name_is_reserved(int parent_zarr_format, const char *name)
{
	return strncmp(name, "._", 2) == 0 || strcmp(name, "__MACOSX") == 0 ||
		   (parent_zarr_format == 3 && strncmp(name, "__", 2) == 0);
}

/* Its documents could have keys. */
static bool is_within_limits(const struct node *parent, const char *name)
{
	return parent->private->depth < LIMIT_NODE_DEPTH &&
		   strlen(parent->path) + strlen(name) + strlen("//zarr.json") < LIMIT_KEY_BYTES;
}

/* Leaves only what can be a node. */
static void filter_names(const struct node *node, struct store_listing *names)
{
	size_t kept = 0;
	for (size_t i = 0; i < names->n; i++) {
		struct store_entry *entry = &names->entries[i];
		bool is_hidden = !is_within_limits(node, entry->name);
		if (is_hidden)
			log_limited(LOG_LEVEL_WARN, "hierarchy", node->path, "%s: what is below is nested too deep, and hidden",
						node->path);
		if (is_hidden || !entry->is_prefix || name_is_reserved(node->zarr_format, entry->name))
			free(entry->name);
		else
			names->entries[kept++] = *entry;
	}
	names->n = kept;
}

static int list_names(struct hierarchy *hierarchy, struct node *node, struct store_listing *ret_names)
{
	const struct block *block = node->private->block;
	if (!hierarchy->lists && block)
		return block_list(block, node->path, ret_names);
	if (!hierarchy->lists)
		return err_set(ENOTSUP, "this store cannot list, and has no consolidated metadata for this group");
	struct store_listing names = {0};
	int rc = store_list(hierarchy->env.store, node->path, &names);
	if (rc && rc != -ENOENT) /* the directory is gone: nothing is below */
		return message_add_key(rc, node->path);
	*ret_names = names;
	return 0;
}

/* Names are listed once; const from then on. */
static int load_names(struct hierarchy *hierarchy, struct node *node)
{
	{
		autolock(&hierarchy->lock);
		if (node->private->is_listed)
			return 0;
	}
	struct store_listing names = {0};
	int rc = list_names(hierarchy, node, &names);
	if (rc)
		return rc;
	filter_names(node, &names);
	if (hierarchy->lists && node->private->block)
		block_check_names(hierarchy, node->private->block, node->path, &names);
	autolock(&hierarchy->lock);
	if (node->private->is_listed) {
		store_listing_finish(&names);
	} else {
		node->private->names = names;
		node->private->is_listed = true;
	}
	return 0;
}

static int compare_nodes(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->name, ((const struct node *)b)->name);
}

/*
 * Enters a new child, or frees it and gives the one that is there. One that answered takes the place of one that was to be
 * asked again.
 */
static int enter_child(struct hierarchy *hierarchy, struct node *parent, struct node *node, struct node **ret_child)
{
	struct node *loser = NULL;
	int rc = 0;
	pthread_mutex_lock(&hierarchy->lock);
	struct node **slot = tsearch(node, &parent->private->known, compare_nodes);
	if (!slot) {
		loser = node;
		rc = -ENOMEM;
	} else if (*slot != node && (*slot)->private->retry && !node->private->retry) {
		(*slot)->private->next_retired = parent->private->retired;
		parent->private->retired = *slot;
		*slot = node;
	} else if (*slot != node) {
		loser = node;
	}
	struct node *child = slot ? *slot : NULL;
	pthread_mutex_unlock(&hierarchy->lock);
	node_free(loser);
	if (rc)
		return err_set(ENOMEM, "no memory for a node");
	*ret_child = child;
	return 0;
}

/* From memory: 0, -ENOENT when that is known, -EAGAIN when the store must be asked. */
static int recall_child(struct hierarchy *hierarchy, struct node *parent, const char *name, struct node **ret_child)
{
	struct node wanted = {.name = (char *)name};
	autolock(&hierarchy->lock);
	struct node **slot = tfind(&wanted, &parent->private->known, compare_nodes);
	if (slot && !(*slot)->private->retry) {
		*ret_child = *slot;
		return 0;
	}
	return !slot && parent->private->is_listed && !listing_has(&parent->private->names, name) ? -ENOENT : -EAGAIN;
}

static int no_such_node(const struct node *parent, const char *name)
{
	return err_set(ENOENT, "%s%s%s: no such node", parent->path, parent->path[0] ? "/" : "", name);
}

/* Without documents it is an implicit group if it is a directory, which the listing of its parent tells. */
static int load_child(struct hierarchy *hierarchy, struct node *parent, const char *name, struct node **ret_node)
{
	struct block *block = parent->private->block;
	int rc = node_load(hierarchy, parent, name, block, ret_node);
	if (rc != -ENOENT)
		return rc;
	rc = load_names(hierarchy, parent);
	if (rc && rc != -ENOTSUP)
		return rc;
	if (rc || name[0] == '.' || !listing_has(&parent->private->names, name))
		return no_such_node(parent, name);
	return node_load_implicit(hierarchy, parent, name, block, ret_node);
}

int node_child(struct hierarchy *hierarchy, struct node *node, const char *name, enum store_how how,
			   struct node **ret_child)
{
	if (!may_have_children(node) || !str_is_name(name, strlen(name)) || name_is_reserved(node->zarr_format, name) ||
		!is_within_limits(node, name))
		return no_such_node(node, name);
	int rc = recall_child(hierarchy, node, name, ret_child);
	if (rc == -ENOENT)
		return no_such_node(node, name);
	if (rc == 0 || how == STORE_TRY)
		return rc;
	struct node *child;
	rc = load_child(hierarchy, node, name, &child);
	return rc ? rc : enter_child(hierarchy, node, child, ret_child);
}

/* The child of a listed name; broken when the store fails. -ENOENT: there is no node after all. */
static int child_or_broken(struct hierarchy *hierarchy, struct node *parent, const char *name, struct node **ret_child)
{
	int rc = node_child(hierarchy, parent, name, STORE_WAIT, ret_child);
	if (rc == 0 || rc == -ENOENT || rc == -ENOMEM)
		return rc;
	struct node *child;
	rc = node_new_failed(parent, name, parent->private->block, rc, &child);
	return rc ? rc : enter_child(hierarchy, parent, child, ret_child);
}

static int make_list(struct hierarchy *hierarchy, struct node *node, struct children **ret_children)
{
	const struct store_listing *names = &node->private->names;
	struct children *children = calloc(1, sizeof(*children) + names->n * sizeof(*children->nodes));
	if (!children)
		return err_set(ENOMEM, "%s: no memory", node->path);
	for (size_t i = 0; i < names->n; i++) {
		struct node *child;
		int rc = child_or_broken(hierarchy, node, names->entries[i].name, &child);
		if (rc == -ENOENT)
			continue;
		if (rc) {
			free(children);
			return rc;
		}
		children->nodes[children->n++] = child;
		if (child->private->retry)
			children->retry_ns = (int64_t)monotonic_ns() + RETRY_NS;
	}
	*ret_children = children;
	return 0;
}

/* The newest list, or `children` as such if it differs. Locked. */
static struct children *publish_list(struct node *node, struct children *children)
{
	struct children *newest = node->private->children;
	if (newest && newest->n == children->n &&
		memcmp(newest->nodes, children->nodes, children->n * sizeof(*children->nodes)) == 0) {
		newest->retry_ns = children->retry_ns;
		free(children);
		return newest;
	}
	children->older = newest;
	node->private->children = children;
	return children;
}

int node_children(struct hierarchy *hierarchy, struct node *node, enum store_how how, struct node *const **ret_children,
				  size_t *ret_n)
{
	if (!may_have_children(node)) {
		*ret_children = NULL;
		*ret_n = 0;
		return 0;
	}
	{
		autolock(&hierarchy->lock);
		const struct children *newest = node->private->children;
		if (newest && (newest->retry_ns == 0 || (int64_t)monotonic_ns() < newest->retry_ns)) {
			*ret_children = newest->nodes;
			*ret_n = newest->n;
			return 0;
		}
	}
	if (how == STORE_TRY)
		return -EAGAIN;
	struct children *children = NULL;
	int rc = load_names(hierarchy, node);
	if (rc == 0)
		rc = make_list(hierarchy, node, &children);
	if (rc)
		return rc;
	autolock(&hierarchy->lock);
	children = publish_list(node, children);
	*ret_children = children->nodes;
	*ret_n = children->n;
	return 0;
}
