/*
 * dir_write.h: the four write slots of a directory store, over its root descriptor. For dir.c. One thread a write.
 */
#ifndef ZARRFS_DIR_WRITE_H
#define ZARRFS_DIR_WRITE_H

#include <stdbool.h>
#include <stddef.h>

struct store_write;

int dir_write_begin(int root, const char *key, struct store_write **ret_write);
int dir_write_append(struct store_write *write, const void *bytes, size_t size);
int dir_write_commit(struct store_write *write);
void dir_write_abort(struct store_write *write);

/* Whether a name in a directory is that of a value that is being written: no listing shows it. */
bool dir_write_is_temporary(const char *name);

#endif
