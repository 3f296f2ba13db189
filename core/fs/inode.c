/*
 * inode.c: two hash tables over the same inodes, by handle and by identity.
 */
#include "fs/inode.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

#define FIRST_BUCKETS 256

struct inode_table {
	pthread_mutex_t lock;
	uint64_t next_handle;
	size_t count, mask;
	struct inode **by_handle, **by_identity;
};

static size_t identity_hash(enum inode_kind kind, const struct node *node, const struct view_ops *ops)
{
	uint64_t h = ((uintptr_t)node >> 4) * UINT64_C(0x9e3779b97f4a7c15) ^ ((uintptr_t)ops >> 3) ^ (uint64_t)kind << 60;
	return (size_t)(h ^ h >> 29);
}

static bool make_buckets(size_t n, struct inode ***ret_by_handle, struct inode ***ret_by_identity)
{
	*ret_by_handle = calloc(n, sizeof(**ret_by_handle));
	*ret_by_identity = calloc(n, sizeof(**ret_by_identity));
	if (*ret_by_handle && *ret_by_identity)
		return true;
	free(*ret_by_handle);
	free(*ret_by_identity);
	return false;
}

int inode_table_new(struct inode_table **ret_table)
{
	struct inode_table *table = calloc(1, sizeof(*table));
	if (!table || !make_buckets(FIRST_BUCKETS, &table->by_handle, &table->by_identity)) {
		free(table);
		return err_set(ENOMEM, "no memory for the inode table");
	}
	table->mask = FIRST_BUCKETS - 1;
	table->next_handle = FS_ROOT;
	pthread_mutex_init(&table->lock, NULL);
	*ret_table = table;
	return 0;
}

void inode_table_free(struct inode_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i <= table->mask; i++)
		while (table->by_handle[i]) {
			struct inode *inode = table->by_handle[i];
			table->by_handle[i] = inode->by_handle;
			free(inode);
		}
	free(table->by_handle);
	free(table->by_identity);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static void link_inode(struct inode_table *table, struct inode *inode)
{
	struct inode **handle = &table->by_handle[inode->handle & table->mask];
	struct inode **identity = &table->by_identity[identity_hash(inode->kind, inode->node, inode->ops) & table->mask];
	inode->by_handle = *handle;
	*handle = inode;
	inode->by_identity = *identity;
	*identity = inode;
}

/* Twice the buckets; without memory the chains only grow longer. */
static void grow(struct inode_table *table)
{
	struct inode **old = table->by_handle, **by_handle, **by_identity;
	size_t n = table->mask + 1;
	if (!make_buckets(n * 2, &by_handle, &by_identity))
		return;
	free(table->by_identity);
	table->by_handle = by_handle;
	table->by_identity = by_identity;
	table->mask = n * 2 - 1;
	for (size_t i = 0; i < n; i++)
		while (old[i]) {
			struct inode *inode = old[i];
			old[i] = inode->by_handle;
			link_inode(table, inode);
		}
	free(old);
}

static struct inode *find_identity(struct inode_table *table, enum inode_kind kind, const struct node *node,
								   const struct view_ops *ops)
{
	struct inode *inode = table->by_identity[identity_hash(kind, node, ops) & table->mask];
	while (inode && (inode->kind != kind || inode->node != node || inode->ops != ops))
		inode = inode->by_identity;
	return inode;
}

static struct inode *find_handle(struct inode_table *table, uint64_t handle)
{
	struct inode *inode = table->by_handle[handle & table->mask];
	while (inode && inode->handle != handle)
		inode = inode->by_handle;
	return inode;
}

int inode_table_get(struct inode_table *table, enum inode_kind kind, struct node *node, const struct view_ops *ops,
					uint64_t size, const struct inode **ret_inode)
{
	autolock(&table->lock);
	struct inode *inode = find_identity(table, kind, node, ops);
	if (!inode) {
		inode = calloc(1, sizeof(*inode));
		if (!inode)
			return err_set(ENOMEM, "no memory for an inode");
		inode->handle = table->next_handle++;
		inode->kind = kind;
		inode->node = node;
		inode->ops = ops;
		inode->size = size;
		if (++table->count > table->mask)
			grow(table);
		link_inode(table, inode);
	}
	inode->lookups++;
	*ret_inode = inode;
	return 0;
}

bool inode_table_find(struct inode_table *table, enum inode_kind kind, struct node *node, const struct view_ops *ops,
					  uint64_t *ret_size)
{
	autolock(&table->lock);
	const struct inode *inode = find_identity(table, kind, node, ops);
	if (!inode)
		return false;
	*ret_size = inode->size;
	return true;
}

int inode_table_copy(struct inode_table *table, uint64_t handle, struct inode *ret_inode)
{
	autolock(&table->lock);
	const struct inode *inode = find_handle(table, handle);
	if (!inode)
		return err_set(ESTALE, "no such inode");
	*ret_inode = *inode;
	return 0;
}

static void delete_inode(struct inode_table *table, struct inode *inode)
{
	struct inode **link = &table->by_handle[inode->handle & table->mask];
	while (*link != inode)
		link = &(*link)->by_handle;
	*link = inode->by_handle;
	link = &table->by_identity[identity_hash(inode->kind, inode->node, inode->ops) & table->mask];
	while (*link != inode)
		link = &(*link)->by_identity;
	*link = inode->by_identity;
	table->count--;
	free(inode);
}

void inode_table_forget(struct inode_table *table, uint64_t handle, uint64_t n)
{
	autolock(&table->lock);
	struct inode *inode = find_handle(table, handle);
	if (!inode)
		return;
	inode->lookups -= MIN(inode->lookups, n);
	if (!inode->lookups && handle != FS_ROOT)
		delete_inode(table, inode);
}

size_t inode_table_count(struct inode_table *table)
{
	autolock(&table->lock);
	return table->count;
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * UINT64_C(0x100000001b3);
	return h;
}

uint64_t inode_number(enum inode_kind kind, const struct node *node, const struct view_ops *ops)
{
	uint64_t h = hash_text(UINT64_C(0xcbf29ce484222325), node ? node->path : "");
	/* no path segment holds a NUL or a slash, so these endings make no two alike */
	h = (h ^ (uint64_t)kind) * UINT64_C(0x100000001b3);
	h = hash_text(h, ops ? view_suffix(ops) : "/");
	return h > 1 ? h : h + 2;
}
