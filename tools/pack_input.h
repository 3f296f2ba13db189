/*
 * pack_input.h: the .npy file that `zarrfs pack` reads: boxes of its elements, whatever its order on disk. One thread.
 */
#ifndef ZARRFS_PACK_INPUT_H
#define ZARRFS_PACK_INPUT_H

#include <sys/stat.h>

#include "view/view.h"

struct pack_input {
	const char *path;
	int fd;
	struct stat stat; /* when it was opened */
	struct view_parsed head;
	uint64_t bytes;				/* of the elements */
	int axis[LIMIT_DIMS];		/* the array's axes as they lie in the file, outermost first */
	int64_t stride[LIMIT_DIMS]; /* bytes in the file, by array axis */
};

/* ENOENT ... of the path; EIO: no .npy file, or not of the size that it says; ENOTSUP: a data type that Zarr has not. */
int pack_input_open(const char *path, struct pack_input *ret_input);
void pack_input_close(struct pack_input *input);

/* As array_source's read: C order, little-endian, bit for bit. EIO when the file has become shorter. */
int pack_input_read(const struct pack_input *input, const uint64_t *start, const uint64_t *count, void *dst);

/* EIO unless path and file are still what was opened: the same inode, size and mtime. */
int pack_input_check(const struct pack_input *input);

#endif
