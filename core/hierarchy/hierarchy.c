/*
 * hierarchy.c: opens a hierarchy (root, v2's consolidated metadata), finds nodes by path, opens their arrays.
 */
#include "hierarchy/hierarchy.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "hierarchy/hierarchy_impl.h"

int message_add_key(int rc, const char *key)
{
	size_t n = strlen(key);
	if (rc == 0 || n == 0 || (strncmp(err_message(), key, n) == 0 && err_message()[n] == ':'))
		return rc;
	return err_prefix(rc, "%s", key);
}

/* The time of a local store's directory or file; 0 where there is none. */
static int64_t store_mtime(const struct store *store)
{
	const char *path = store_url(store);
	const char *scheme = "file://";
	if (strncmp(path, scheme, strlen(scheme)) == 0)
		path += strlen(scheme);
	struct stat st;
	if (stat(path, &st) < 0)
		return 0;
	return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

/* *ret_block is NULL when there is no .zmetadata; -ENOTSUP when it is kerchunk's. */
static int load_zmetadata(struct hierarchy *hierarchy, struct block **ret_block)
{
	const char *key = ".zmetadata";
	struct buf *bytes;
	struct value_info info;
	int rc = store_get(hierarchy->env.store, key, STORE_WAIT, LIMIT_JSON_CONSOLIDATED_BYTES, &bytes, &info);
	if (rc == -ENOENT) {
		*ret_block = NULL;
		return 0;
	}
	if (rc)
		return message_add_key(rc, key);
	struct json *root;
	const struct json *metadata;
	rc = meta_parse_v2_consolidated((const char *)bytes->data, bytes->size, &root, &metadata);
	buf_unref(bytes);
	if (rc == -ENOENT)
		return err_set(ENOTSUP, "references of kerchunk in Parquet (%s with record_size), not a Zarr store", key);
	if (rc)
		return message_add_key(rc, key);
	rc = block_new("", 2, metadata, root, &info, ret_block);
	if (rc)
		json_free(root);
	return rc;
}

/*
 * The root's block where it is v2's. Where the store lists, or the root has its own document, a bad .zmetadata costs nothing but
 * a line in the log, unless that is needed.
 */
static int find_zmetadata(struct hierarchy *hierarchy, const struct node *root, struct block **ret_block)
{
	*ret_block = NULL;
	if (root && (root->zarr_format == 3 || root->kind == NODE_ARRAY))
		return 0;
	int rc = load_zmetadata(hierarchy, ret_block);
	bool is_kerchunk = rc == -ENOTSUP;
	if (rc == 0 || rc == -ENOMEM || (!root && (is_kerchunk || !hierarchy->lists)))
		return rc;
	bool may_pass = rc != -EIO && rc != -EFBIG && rc != -ENOTSUP;
	if (!hierarchy->lists && may_pass)
		return rc;
	log_limited(LOG_LEVEL_WARN, "hierarchy", store_url(hierarchy->env.store), "%s: %s: ignored",
				store_url(hierarchy->env.store), err_message());
	return 0;
}

/* The root of a store without any document there. */
static int make_plain_root(struct hierarchy *hierarchy, struct block *block, struct node **ret_root)
{
	int rc;
	if (block && !hierarchy->lists) {
		rc = node_load(hierarchy, NULL, "", block, ret_root);
		if (rc != -ENOENT)
			return rc;
	} else {
		rc = detect_root(hierarchy);
		if (rc)
			return rc;
	}
	return node_load_implicit(hierarchy, NULL, "", block, ret_root);
}

static int open_root(struct hierarchy *hierarchy)
{
	struct node *root = NULL;
	struct block *block;
	int rc = node_load(hierarchy, NULL, "", NULL, &root);
	if (rc == -ENOENT)
		rc = 0;
	if (rc == 0 && root && root->private->is_draft)
		rc = err_set(-root->error, "%s", root->error_message);
	if (rc == 0)
		rc = find_zmetadata(hierarchy, root, &block);
	if (rc) {
		node_free(root);
		return rc;
	}
	if (!root)
		rc = make_plain_root(hierarchy, block, &root);
	if (rc) {
		block_free(block);
		return rc;
	}
	if (block) {
		root->private->block = block;
		root->private->owns_block = true;
	}
	hierarchy->root = root;
	return 0;
}

int hierarchy_open(const struct array_env *env, struct hierarchy **ret_hierarchy)
{
	struct hierarchy *hierarchy = calloc(1, sizeof(*hierarchy));
	if (!hierarchy)
		return err_set(ENOMEM, "no memory for a hierarchy");
	hierarchy->env = *env;
	hierarchy->lists = store_can_list(env->store);
	hierarchy->root_mtime_ns = store_mtime(env->store);
	pthread_mutex_init(&hierarchy->lock, NULL);
	int rc = open_root(hierarchy);
	if (rc) {
		hierarchy_close(hierarchy);
		return rc;
	}
	*ret_hierarchy = hierarchy;
	return 0;
}

void hierarchy_close(struct hierarchy *hierarchy)
{
	if (!hierarchy)
		return;
	node_free(hierarchy->root);
	pthread_mutex_destroy(&hierarchy->lock);
	free(hierarchy);
}

struct node *hierarchy_root(struct hierarchy *hierarchy)
{
	return hierarchy->root;
}

struct store *hierarchy_store(struct hierarchy *hierarchy)
{
	return hierarchy->env.store;
}

const char *hierarchy_root_name(struct hierarchy *hierarchy)
{
	return store_base_name(hierarchy->env.store);
}

int hierarchy_find(struct hierarchy *hierarchy, const char *path, struct node **ret_node)
{
	struct node *node = hierarchy->root;
	for (const char *p = path + strspn(path, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		autofree char *name = strndup(p, n);
		int rc = name ? node_child(hierarchy, node, name, STORE_WAIT, &node) : err_set(ENOMEM, "%s: no memory", path);
		if (rc)
			return rc;
		p += n;
	}
	*ret_node = node;
	return 0;
}

/* What an earlier attempt led to; false when there was none. */
static bool recall_array(struct hierarchy *hierarchy, const struct node *node, int *ret_rc, struct array **ret_array)
{
	const struct node_private *private = node->private;
	autolock(&hierarchy->lock);
	if (!private->array && !private->array_error)
		return false;
	if (private->array)
		*ret_array = private->array;
	*ret_rc = private->array ? 0 : err_set(-private->array_error, "%s", private->array_message);
	return true;
}

/* Enters an attempt unless another thread was first; what is not used stays in *array and *message. */
static void enter_array(struct hierarchy *hierarchy, struct node *node, int error, struct array **array, char **message)
{
	struct node_private *private = node->private;
	autolock(&hierarchy->lock);
	if (private->array || private->array_error)
		return;
	private->array = *array;
	private->array_error = error;
	private->array_message = *message;
	*array = NULL;
	*message = NULL;
}

int node_array(struct hierarchy *hierarchy, struct node *node, struct array **ret_array)
{
	if (node->kind == NODE_BROKEN)
		return err_set(-node->error, "%s", node->error_message);
	if (node->kind == NODE_GROUP)
		return err_set(EISDIR, "%s: a group", node->path);
	int rc;
	if (recall_array(hierarchy, node, &rc, ret_array))
		return rc;

	struct array *array = NULL;
	rc = array_open(&hierarchy->env, node->path, node->meta.array, &array);
	if (rc)
		err_prefix(rc, "%s", node->document);
	char *message = rc ? strdup(err_message()) : NULL;
	if (rc == -ENOMEM || (rc && !message)) { /* may pass: not remembered */
		free(message);
		return err_set(ENOMEM, "%s: no memory", node->path);
	}
	enter_array(hierarchy, node, rc, &array, &message);
	array_close(array);
	free(message);
	recall_array(hierarchy, node, &rc, ret_array);
	return rc;
}
