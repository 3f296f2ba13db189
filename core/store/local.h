/*
 * local.h: what stores on local files have in common: reads that wait and reads that only try, and a file's version. For
 * dir.c, zip.c and reference.c. Any thread.
 */
#ifndef ZARRFS_LOCAL_H
#define ZARRFS_LOCAL_H

#include <stdatomic.h>
#include <sys/stat.h>

#include "store/store.h"

/* How a file system can be tried (STORE_TRY; reference/kernel-trials.md, rows 2a to 2d). */
enum local_tries {
	LOCAL_NEVER,  /* even a cached read may wait inside the file system */
	LOCAL_NOWAIT, /* it keeps RWF_NOWAIT */
	LOCAL_PLAIN,  /* nothing waits: tmpfs */
};

enum local_tries local_tries_of(int fd);

/* Up to `size` bytes, 0 at the end of the file. 0 or a negative errno, without a message. */
int local_read(int fd, uint64_t offset, void *dst, size_t size, size_t *ret_size);

/*
 * At least one byte of those that are there without waiting, else -EAGAIN: the waiting call says what is wrong. *tries (enum
 * local_tries) becomes LOCAL_NEVER when the kernel turns out not to support it.
 */
int local_try_read(int fd, atomic_int *tries, uint64_t offset, void *dst, size_t size, size_t *ret_size);

/* A call on an open file failed: whatever it says, the key is not absent. Sets the message. */
int local_failed(int errnum, const char *key);

/* Nanoseconds since the epoch; 0 when they do not fit. */
int64_t local_nanoseconds(struct timespec time);

/* A hash over one number more. */
uint64_t local_mix(uint64_t hash, uint64_t number);

/* Of the whole file as a value. */
struct value_info local_info(const struct stat *st);

/*
 * Looked at after each read: what was read is of the version that was opened, or -ESTALE. `has_links`: whether it had a name
 * then; a file that loses its last name was replaced or removed.
 */
int local_check_unchanged(int fd, const struct value_info *opened, bool has_links, const char *name);

/* ---------------------------------------------------------------- a store that is one file */

struct local_file {
	const char *what; /* "the zip file" */
	int fd;
	struct value_info info; /* as it was opened: what has changed since is no longer this store */
	bool has_links;
	atomic_int tries; /* enum local_tries */
};

/* Opens a regular file, to be closed by its descriptor. EIO: it is none; else what the path says. */
int local_file_open(const char *path, const char *what, struct local_file *ret_file);

/*
 * Reads all of [offset, offset + size), which lies in the file; -EAGAIN with STORE_TRY when not all of it is there. -ESTALE when
 * the file is no longer the one that was opened. `name` is for messages.
 */
int local_file_read(struct local_file *file, uint64_t offset, void *dst, size_t size, enum store_how how,
					const char *name);

/* local_check_unchanged for the whole. */
int local_file_check(const struct local_file *file);

#endif
