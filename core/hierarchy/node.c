/*
 * node.c: the documents of one node -> struct node. Which documents: zarr.json before .zarray before .zgroup, the last two
 * with a .zattrs (zarr-format, sections 1.1 and 3.1). Where from: the store, or consolidated metadata where the store cannot list.
 */
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"
#include "hierarchy/hierarchy_impl.h"

struct document {
	char *key;
	struct buf *bytes; /* NULL: absent, where that is allowed */
	struct value_info info;
};

static void document_finish(struct document *document)
{
	free(document->key);
	buf_unref(document->bytes);
}

#define autodocument __attribute__((cleanup(document_finish))) struct document

static const char *document_text(const struct document *document)
{
	return document->bytes ? (const char *)document->bytes->data : NULL;
}

static size_t document_size(const struct document *document)
{
	return document->bytes ? document->bytes->size : 0;
}

static bool is_from_block(const struct hierarchy *hierarchy, const struct node *node)
{
	return !hierarchy->lists && node->private->block;
}

/* Sets *document, which stays the caller's also on failure. -ENOENT: absent. */
static int document_get(struct hierarchy *hierarchy, const struct node *node, const char *name, uint64_t max,
						struct document *document)
{
	const struct block *block = node->private->block;
	document->key = str_join_key(node->path, name);
	if (!document->key)
		return err_set(ENOMEM, "%s: no memory", name);
	int rc;
	if (is_from_block(hierarchy, node)) {
		rc = block_get(block, document->key, &document->bytes);
		document->info = *block_info(block);
	} else {
		rc = store_get(hierarchy->env.store, document->key, STORE_WAIT, max, &document->bytes, &document->info);
	}
	return message_add_key(rc, document->key);
}

/* The same where it may be absent. */
static int document_get_optional(struct hierarchy *hierarchy, const struct node *node, const char *name,
								 struct document *document)
{
	int rc = document_get(hierarchy, node, name, LIMIT_JSON_BYTES, document);
	return rc == -ENOENT ? 0 : rc;
}

/* Tells of a difference; `document` was looked for in the store. */
static void check_consolidated(struct hierarchy *hierarchy, const struct node *node, const struct document *document)
{
	if (hierarchy->lists && node->private->block)
		block_check(hierarchy, node->private->block, document->key, document->bytes);
}

/* Moves a document's key, time and version into the node. */
static void set_document(struct node *node, int zarr_format, struct document *document)
{
	node->zarr_format = zarr_format;
	node->mtime_ns = document->info.mtime_ns;
	node->version = document->info.version;
	free(node->document);
	node->document = document->key;
	document->key = NULL;
}

/* Makes the node a broken one, by rc and this thread's message. */
static int set_broken(struct hierarchy *hierarchy, struct node *node, int rc)
{
	if (rc == -ENOMEM)
		return rc;
	node_meta_finish(&node->meta);
	node->kind = NODE_BROKEN;
	node->error = rc;
	free(node->error_message);
	node->error_message = strdup(err_message());
	if (!node->error_message)
		return err_set(ENOMEM, "%s: no memory", node->path);
	node->has_children = hierarchy && detect_below(hierarchy, node->private->block, node->path);
	return 0;
}

/* A document that is too large stays so; any other failure of the store may pass. */
static int get_failed(struct hierarchy *hierarchy, struct node *node, int zarr_format, struct document *document,
					  int rc)
{
	if (rc != -EFBIG)
		return rc;
	set_document(node, zarr_format, document);
	return set_broken(hierarchy, node, rc);
}

static bool is_v3_draft(const struct document *document)
{
	struct json *root;
	if (json_parse(document_text(document), document_size(document), LIMIT_JSON_BYTES, NULL, &root))
		return false;
	const struct json *format = json_get(root, "zarr_format");
	bool is_draft = format && json_type(format) == JSON_STRING;
	json_free(root);
	return is_draft;
}

/* A block of the group's own covers what is below. Documents inside a block have none that counts (zarr-format, 2.1). */
static int adopt_block(struct node *node, const struct value_info *info)
{
	struct block *block;
	int rc = block_new(node->path, 3, node->meta.consolidated, NULL, info, &block);
	if (rc)
		return rc;
	node->private->block = block;
	node->private->owns_block = true;
	return 0;
}

static int load_v3(struct hierarchy *hierarchy, struct node *node)
{
	autodocument document = {0};
	int rc = document_get(hierarchy, node, "zarr.json", LIMIT_JSON_CONSOLIDATED_BYTES, &document);
	if (rc)
		return rc == -ENOENT ? rc : get_failed(hierarchy, node, 3, &document, rc);
	check_consolidated(hierarchy, node, &document);
	rc = meta_parse_v3(document_text(&document), document_size(&document), &node->meta);
	if (rc) {
		err_prefix(rc, "%s", document.key);
		node->private->is_draft = rc == -ENOTSUP && is_v3_draft(&document);
		set_document(node, 3, &document);
		return set_broken(hierarchy, node, rc);
	}
	node->kind = node->meta.array ? NODE_ARRAY : NODE_GROUP;
	if (node->meta.consolidated && !is_from_block(hierarchy, node))
		rc = adopt_block(node, &document.info);
	set_document(node, 3, &document);
	return rc;
}

/* The parser's message is about .zattrs when it begins with that name, else about `main`. */
static int parse_failed(struct hierarchy *hierarchy, struct node *node, const char *main, int rc)
{
	bool in_attributes = strncmp(err_message(), ".zattrs:", strlen(".zattrs:")) == 0;
	if (!in_attributes)
		err_prefix(rc, "%s", main);
	else if (node->path[0])
		err_set(-rc, "%s/%s", node->path, (char *)strdupa(err_message()));
	return set_broken(hierarchy, node, rc);
}

/* `name` is .zarray or .zgroup, or NULL for an implicit group, which has at most attributes. */
static int load_v2(struct hierarchy *hierarchy, struct node *node, const char *name)
{
	autodocument main = {0};
	autodocument attributes = {0};
	int rc = name ? document_get(hierarchy, node, name, LIMIT_JSON_BYTES, &main) : 0;
	if (rc)
		return rc == -ENOENT ? rc : get_failed(hierarchy, node, 2, &main, rc);
	rc = document_get_optional(hierarchy, node, ".zattrs", &attributes);
	if (rc)
		return get_failed(hierarchy, node, 2, &attributes, rc);
	if (name) {
		check_consolidated(hierarchy, node, &main);
		check_consolidated(hierarchy, node, &attributes);
	}
	bool is_array = name && strcmp(name, ".zarray") == 0;
	if (is_array)
		rc = meta_parse_v2_array(document_text(&main), document_size(&main), document_text(&attributes),
								 document_size(&attributes), &node->meta.array);
	else
		rc = meta_parse_v2_group(document_text(&main), document_size(&main), document_text(&attributes),
								 document_size(&attributes), &node->meta.group);
	node->kind = is_array ? NODE_ARRAY : NODE_GROUP;
	autofree char *key = main.key ? strdup(main.key) : NULL;
	if (name)
		set_document(node, 2, &main);
	return rc ? parse_failed(hierarchy, node, key ? key : "", rc) : 0;
}

static int node_new(struct node *parent, const char *name, struct block *block, struct node **ret_node)
{
	struct node *node = calloc(1, sizeof(*node));
	if (node) {
		node->parent = parent;
		node->name = strdup(name);
		node->path = str_join_key(parent ? parent->path : "", name);
		node->private = calloc(1, sizeof(*node->private));
	}
	if (!node || !node->name || !node->path || !node->private) {
		node_free(node);
		return err_set(ENOMEM, "%s: no memory", name);
	}
	node->private->block = block;
	node->private->depth = parent ? parent->private->depth + 1 : 0;
	*ret_node = node;
	return 0;
}

int node_load(struct hierarchy *hierarchy, struct node *parent, const char *name, struct block *block,
			  struct node **ret_node)
{
	struct node *node;
	int rc = node_new(parent, name, block, &node);
	if (rc)
		return rc;
	rc = load_v3(hierarchy, node);
	if (rc == -ENOENT)
		rc = load_v2(hierarchy, node, ".zarray");
	if (rc == -ENOENT)
		rc = load_v2(hierarchy, node, ".zgroup");
	if (rc)
		node_free(node);
	else
		*ret_node = node;
	return rc;
}

int node_load_implicit(struct hierarchy *hierarchy, struct node *parent, const char *name, struct block *block,
					   struct node **ret_node)
{
	struct node *node;
	int rc = node_new(parent, name, block, &node);
	if (rc)
		return rc;
	node->mtime_ns = hierarchy->root_mtime_ns;
	rc = load_v2(hierarchy, node, NULL);
	if (rc)
		node_free(node);
	else
		*ret_node = node;
	return rc;
}

int node_new_failed(struct node *parent, const char *name, struct block *block, int error, struct node **ret_node)
{
	struct node *node;
	int rc = node_new(parent, name, block, &node);
	if (rc)
		return rc;
	node->private->retry = true;
	rc = set_broken(NULL, node, error);
	if (rc)
		node_free(node);
	else
		*ret_node = node;
	return rc;
}

static void free_known(void *node)
{
	node_free(node);
}

void node_free(struct node *node)
{
	if (!node)
		return;
	struct node_private *private = node->private;
	if (private) {
		tdestroy(private->known, free_known);
		while (private->retired) {
			struct node *next = private->retired->private->next_retired;
			node_free(private->retired);
			private->retired = next;
		}
		children_free(private->children);
		store_listing_finish(&private->names);
		array_close(private->array);
		free(private->array_message);
		if (private->owns_block)
			block_free(private->block);
		free(private);
	}
	node_meta_finish(&node->meta);
	free(node->name);
	free(node->path);
	free(node->document);
	free(node->error_message);
	free(node);
}
