/*
 * key_table.h: a sorted table of keys as a directory tree: what stores with all their keys in memory have in common. For zip.c and
 * reference.c. Const: any thread.
 */
#ifndef ZARRFS_KEY_TABLE_H
#define ZARRFS_KEY_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* The implementer's table, in the order of strcmp, each key once. */
struct key_table {
	const void *table;
	size_t n;
	const char *(*key)(const void *table, size_t i);
};

/* The first key that does not come before `key`; n when all do. */
size_t key_table_find(const struct key_table *keys, const char *key);

/* The index of `key`; false when it is not there. */
bool key_table_get(const struct key_table *keys, const char *key, size_t *ret_i);

/* As store_ops.list. A key that ends with a slash is a directory that may be empty. */
int key_table_list(const struct key_table *keys, const char *prefix,
				   int (*emit)(void *arg, const char *name, bool is_prefix), void *arg);

#endif
