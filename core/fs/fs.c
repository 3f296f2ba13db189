/*
 * fs.c: opening a file system, names, attributes, directories.
 *
 * A name in a directory is, in this order: a child node that is a directory; a view of a child, NODE.SUFFIX. The root of a
 * store whose root is an array shows that array under the store's base name.
 */
#include "fs/fs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fs/fs_impl.h"
#include "fs/machine.h"

#define CONTROL_NAME ".zarrfs"
#define STATS_NAME "stats.json"
#define DEFAULT_CACHE_MAX (UINT64_C(1) << 30)
#define FETCH_SLOTS 64
#define META_SLOTS 4
#define MAX_STUCK 64
#define MAX_INDEXES 256
#define INODES_PER_CHILD 8

/* Open values of cached indexes: a quarter of the descriptors that the process may have. */
static unsigned max_indexes(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return MAX_INDEXES / 4;
	return (unsigned)MIN(limit.rlim_cur / 4, (rlim_t)MAX_INDEXES);
}

static int make_pool(const struct fs_options *options, struct pool **ret_pool)
{
	struct pool_options pool = {.stuck_ns = options->timeout_ns, .max_stuck = MAX_STUCK};
	if (options->decode_threads != FS_INLINE) {
		pool.width[POOL_META] = META_SLOTS;
		pool.width[POOL_FETCH] = FETCH_SLOTS;
		pool.width[POOL_DECODE] = options->decode_threads ? options->decode_threads : machine_cpus();
	}
	return pool_new(&pool, ret_pool);
}

/* Which views are listed, as bits by row. EINVAL for a suffix that is none. */
static int choose_views(struct fs *fs, const char *list)
{
	const struct view_ops *ops;
	for (int i = 0; !list && (ops = view_row(i)); i++)
		fs->listed |= (unsigned)view_is_listed(ops) << i;
	while (list && *list) {
		size_t n = strcspn(list, ",");
		int i = 0;
		while ((ops = view_row(i)) && (strlen(view_suffix(ops)) != n || strncmp(view_suffix(ops), list, n)))
			i++;
		if (!ops)
			return err_set(EINVAL, "unknown view \"%.*s\"", (int)n, list);
		fs->listed |= 1u << i;
		list += n + (list[n] == ',');
	}
	return 0;
}

static bool is_directory(const struct node *node)
{
	return node->kind == NODE_GROUP || (node->kind == NODE_BROKEN && node->has_children);
}

static int open_parts(struct fs *fs, const struct fs_options *options)
{
	uint64_t cache_bytes = options->cache_bytes;
	if (!cache_bytes)
		cache_bytes = MIN(machine_memory() / 4, DEFAULT_CACHE_MAX);
	int rc = choose_views(fs, options->views);
	if (!rc)
		rc = inode_table_new(&fs->inodes);
	if (!rc)
		rc = cache_new(cache_bytes, max_indexes(), &fs->env.cache);
	if (!rc) {
		cache_set_patience(fs->env.cache, options->timeout_ns);
		rc = make_pool(options, &fs->env.pool);
	}
	if (!rc)
		rc = deadlines_new(options->timeout_ns, &fs->deadlines);
	if (!rc && !fs->env.store)
		rc = store_open(options->url, &fs->env.store);
	if (rc)
		return rc;
	fs->env.max_chunk = options->max_chunk ? options->max_chunk : LIMIT_CHUNK_BYTES;
	rc = hierarchy_open(&fs->env, &fs->hierarchy);
	if (rc)
		return rc;
	const struct inode *root;
	fs->root_alone = is_directory(hierarchy_root(fs->hierarchy)) ? NULL : hierarchy_root(fs->hierarchy);
	return inode_table_get(fs->inodes, INODE_DIRECTORY, hierarchy_root(fs->hierarchy), NULL, 0, &root);
}

int fs_open(const struct fs_options *options, struct fs **ret_fs)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	if (!fs)
		return err_set(ENOMEM, "no memory for a file system");
	fs->env.store = options->store;
	pthread_mutex_init(&fs->files_lock, NULL);
	int rc = open_parts(fs, options);
	if (rc) {
		struct err_text message;
		err_save(&message);
		fs_close(fs);
		err_restore(&message);
		return rc;
	}
	*ret_fs = fs;
	return 0;
}

void fs_close(struct fs *fs)
{
	if (!fs)
		return;
	pool_free(fs->env.pool);
	deadlines_free(fs->deadlines);
	fs_close_files(fs);
	if (fs->hierarchy)
		hierarchy_close(fs->hierarchy);
	cache_free(fs->env.cache);
	if (fs->env.store)
		store_close(fs->env.store);
	inode_table_free(fs->inodes);
	pthread_mutex_destroy(&fs->files_lock);
	free(fs);
}

/* The children that a directory shows: of a root that is no group, the root itself. */
static int children(struct fs *fs, struct node *node, enum store_how how, struct node *const **ret_children,
					size_t *ret_n)
{
	if (node == fs->root_alone) {
		*ret_children = &fs->root_alone;
		*ret_n = 1;
		return 0;
	}
	return node_children(fs->hierarchy, node, how, ret_children, ret_n);
}

static const char *shown_name(struct fs *fs, const struct node *node)
{
	return node == hierarchy_root(fs->hierarchy) ? hierarchy_root_name(fs->hierarchy) : node->name;
}

static int child(struct fs *fs, struct node *node, const char *name, enum store_how how, struct node **ret_child)
{
	if (node != fs->root_alone)
		return node_child(fs->hierarchy, node, name, how, ret_child);
	if (strcmp(name, shown_name(fs, node)))
		return -ENOENT;
	*ret_child = node;
	return 0;
}

/* Size 0 for an array that cannot be served: it stays listed. */
static uint64_t view_size(struct fs *fs, struct node *node, const struct view_ops *ops)
{
	uint64_t size;
	struct view *view;
	if (inode_table_find(fs->inodes, INODE_VIEW, node, ops, &size))
		return size;
	if (view_open(fs->hierarchy, node, ops, &view))
		return 0;
	size = view->size;
	view_close(view);
	return size;
}

static void fill_attr(const struct inode *inode, struct fs_attr *ret_attr)
{
	bool directory = inode->kind == INODE_DIRECTORY || inode->kind == INODE_CONTROL;
	*ret_attr = (struct fs_attr){
		.handle = inode->handle,
		.ino = inode_number(inode->kind, inode->node, inode->ops),
		.mode = directory ? S_IFDIR | 0555 : S_IFREG | 0444,
		.size = inode->size,
		.mtime_ns = inode->node ? inode->node->mtime_ns : 0,
		.nlink = directory ? 2 : 1,
	};
}

static int get_attr(struct fs *fs, enum inode_kind kind, struct node *node, const struct view_ops *ops,
					struct fs_attr *ret_attr)
{
	const struct inode *inode;
	uint64_t size = kind == INODE_VIEW ? view_size(fs, node, ops) : 0;
	int rc = inode_table_get(fs->inodes, kind, node, ops, size, &inode);
	if (rc)
		return rc;
	fill_attr(inode, ret_attr);
	return 0;
}

static int lookup_view(struct fs *fs, struct node *parent, const char *name, enum store_how how,
					   struct fs_attr *ret_attr)
{
	size_t length;
	struct node *node;
	const struct view_ops *ops = view_of_name(name, &length);
	if (!ops)
		return -ENOENT;
	autofree char *node_name = strndup(name, length);
	if (!node_name)
		return err_set(ENOMEM, "no memory for a name");
	int rc = child(fs, parent, node_name, how, &node);
	if (!rc)
		rc = view_supports(ops, node);
	return rc ? rc : get_attr(fs, INODE_VIEW, node, ops, ret_attr);
}

static int lookup_node(struct fs *fs, struct node *parent, const char *name, enum store_how how,
					   struct fs_attr *ret_attr)
{
	struct node *node;
	int rc = child(fs, parent, name, how, &node);
	if (!rc && is_directory(node))
		return get_attr(fs, INODE_DIRECTORY, node, NULL, ret_attr);
	if (rc && rc != -ENOENT)
		return rc;
	return lookup_view(fs, parent, name, how, ret_attr);
}

int fs_lookup(struct fs *fs, uint64_t parent, const char *name, enum store_how how, struct fs_attr *ret_attr)
{
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, parent, &inode);
	if (rc)
		return rc;
	if (inode.kind == INODE_CONTROL && !strcmp(name, STATS_NAME))
		return get_attr(fs, INODE_STATS, NULL, NULL, ret_attr);
	if (inode.kind != INODE_DIRECTORY)
		return -ENOENT;
	if (parent == FS_ROOT && !strcmp(name, CONTROL_NAME))
		return get_attr(fs, INODE_CONTROL, NULL, NULL, ret_attr);
	return lookup_node(fs, inode.node, name, how, ret_attr);
}

void fs_forget(struct fs *fs, uint64_t handle, uint64_t n)
{
	inode_table_forget(fs->inodes, handle, n);
}

int fs_getattr(struct fs *fs, uint64_t handle, enum store_how how, struct fs_attr *ret_attr)
{
	struct inode inode;
	(void)how;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (!rc)
		fill_attr(&inode, ret_attr);
	return rc;
}

/* What one directory listing is made of. */
struct listing {
	struct fs *fs;
	bool plus;
	bool (*emit)(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie);
	void *arg;
	struct node *const *children;
	size_t n;
};

/* Emits one entry: 1 emitted, 0 the buffer is full, -errno. */
static int emit_inode(struct listing *listing, const char *name, enum inode_kind kind, struct node *node,
					  const struct view_ops *ops, uint64_t next_cookie)
{
	struct fs *fs = listing->fs;
	struct fs_attr attr;
	if (listing->plus) {
		int rc = get_attr(fs, kind, node, ops, &attr);
		if (rc)
			return rc;
	} else {
		fill_attr(&(struct inode){.kind = kind, .node = node, .ops = ops}, &attr);
	}
	if (listing->emit(listing->arg, name, &attr, next_cookie))
		return 1;
	if (listing->plus)
		fs_forget(fs, attr.handle, 1);
	return 0;
}

/* A node of exactly that name wins over a view. */
static bool is_hidden_by_node(const struct listing *listing, const char *name)
{
	size_t low = 0, high = listing->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = strcmp(listing->children[middle]->name, name);
		if (!order)
			return is_directory(listing->children[middle]);
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* A look-up of that name finds our own directory. */
static bool is_hidden_by_control(struct fs *fs, const struct node *node)
{
	if (node->parent != hierarchy_root(fs->hierarchy) || strcmp(node->name, CONTROL_NAME))
		return false;
	log_limited(LOG_LEVEL_WARN, "name", node->path, "%s: hidden: the name is taken", node->path);
	return true;
}

/* Slot 0 of a child is the directory, slot i + 1 its view of row i. 1 emitted or none, 0 full, -errno. */
static int emit_slot(struct listing *listing, struct node *node, int slot, uint64_t next_cookie)
{
	struct fs *fs = listing->fs;
	const char *shown = shown_name(fs, node);
	if (!slot && (!is_directory(node) || is_hidden_by_control(fs, node)))
		return 1;
	if (!slot)
		return emit_inode(listing, shown, INODE_DIRECTORY, node, NULL, next_cookie);
	const struct view_ops *ops = view_row(slot - 1);
	if (!(fs->listed >> (slot - 1) & 1) || view_supports(ops, node))
		return 1;
	char name[LIMIT_NAME_BYTES + 1];
	if (snprintf(name, sizeof(name), "%s.%s", shown, view_suffix(ops)) >= (int)sizeof(name)) {
		log_limited(LOG_LEVEL_WARN, "name", node->path, "%s: hidden: with .%s its name is too long", node->path,
					view_suffix(ops));
		return 1;
	}
	if (is_hidden_by_node(listing, name))
		return 1;
	return emit_inode(listing, name, INODE_VIEW, node, ops, next_cookie);
}

/* Cookies: 0 and 1 are "." and "..", then INODES_PER_CHILD for each child. */
static int emit_dots(struct listing *listing, const struct inode *directory, uint64_t cookie)
{
	static const char *const names[] = {".", ".."};
	struct inode parent = *directory;
	if (parent.node && parent.node->parent)
		parent.node = parent.node->parent;
	if (parent.kind == INODE_CONTROL)
		parent = (struct inode){.kind = INODE_DIRECTORY, .node = hierarchy_root(listing->fs->hierarchy)};
	for (; cookie < ARRAY_LEN(names); cookie++) {
		struct fs_attr attr;
		fill_attr(cookie ? &parent : directory, &attr);
		attr.handle = 0;
		if (!listing->emit(listing->arg, names[cookie], &attr, cookie + 1))
			return 0;
	}
	return 1;
}

static int emit_children(struct listing *listing, uint64_t cookie)
{
	cookie -= MIN(cookie, 2);
	for (size_t i = (size_t)(cookie / INODES_PER_CHILD); i < listing->n; i++) {
		for (int slot = (int)(cookie % INODES_PER_CHILD); !slot || view_row(slot - 1); slot++) {
			uint64_t next = 2 + (uint64_t)i * INODES_PER_CHILD + (uint64_t)slot + 1;
			int rc = emit_slot(listing, listing->children[i], slot, next);
			if (rc <= 0)
				return rc;
		}
		cookie = 0;
	}
	return 1;
}

int fs_readdir(struct fs *fs, uint64_t handle, uint64_t cookie, bool plus, enum store_how how,
			   bool (*emit)(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie), void *arg)
{
	struct listing listing = {.fs = fs, .plus = plus, .emit = emit, .arg = arg};
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (!rc && inode.kind == INODE_DIRECTORY)
		rc = children(fs, inode.node, how, &listing.children, &listing.n);
	if (rc)
		return rc;
	rc = emit_dots(&listing, &inode, cookie);
	if (rc > 0 && inode.kind == INODE_DIRECTORY)
		rc = emit_children(&listing, cookie);
	else if (rc > 0 && cookie <= 2)
		rc = emit_inode(&listing, STATS_NAME, INODE_STATS, NULL, NULL, 3);
	return MIN(rc, 0);
}

bool fs_directory_is_settled(struct fs *fs, uint64_t handle)
{
	struct inode inode;
	struct node *const *nodes;
	size_t n;
	if (inode_table_copy(fs->inodes, handle, &inode))
		return false;
	if (inode.kind != INODE_DIRECTORY)
		return true;
	if (children(fs, inode.node, STORE_TRY, &nodes, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (nodes[i]->kind == NODE_BROKEN)
			return false;
	return true;
}

char *fs_path(struct fs *fs, uint64_t handle)
{
	struct inode inode;
	autostr(str);
	char *text;
	if (inode_table_copy(fs->inodes, handle, &inode))
		return strdup("?");
	if (inode.kind == INODE_CONTROL || inode.kind == INODE_STATS)
		str_append(&str, inode.kind == INODE_STATS ? "/" CONTROL_NAME "/" STATS_NAME : "/" CONTROL_NAME);
	else
		str_appendf(&str, "/%s", *inode.node->path || !inode.ops ? inode.node->path : shown_name(fs, inode.node));
	if (inode.ops)
		str_appendf(&str, ".%s", view_suffix(inode.ops));
	return str_take(&str, &text) ? NULL : text;
}

struct hierarchy *fs_hierarchy(struct fs *fs)
{
	return fs->hierarchy;
}

struct pool *fs_pool(struct fs *fs)
{
	return fs->env.pool;
}

struct deadlines *fs_deadlines(struct fs *fs)
{
	return fs->deadlines;
}

uint64_t fs_cache_bytes(struct fs *fs)
{
	return cache_budget(fs->env.cache);
}
