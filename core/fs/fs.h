/*
 * fs.h: a hierarchy as names, inodes and reads; a file system without FUSE. Every error is a negative errno with a message.
 *
 * Calls that may touch the store say whether they may wait: STORE_TRY answers -EAGAIN where they would. Any thread.
 */
#ifndef ZARRFS_FS_H
#define ZARRFS_FS_H

#include <sys/types.h>

#include "view/view.h"

struct fs;
struct fs_file;

#define FS_ROOT 1	   /* the root's handle, as FUSE has it */
#define FS_INLINE (-1) /* each load is done by the thread that asks: the same every time, for tests */

struct fs_options {
	const char *url;
	uint64_t cache_bytes;		/* 0: a quarter of the memory that the process may use, at most 1 GiB */
	int decode_threads;			/* 0: the CPUs that the process may use; FS_INLINE: none, and none that fetch */
	uint64_t timeout_ns;		/* 0: for ever */
	uint64_t max_chunk;			/* 0: LIMIT_CHUNK_BYTES */
	const char *views;			/* comma-separated suffixes to list; NULL: npy,raw,json */
	const char *reference_root; /* [targets of a reference file may lie beneath it, too] */
	struct store *store;		/* [an opened store in place of url; the fs closes it] */
};

/* What stat(2) shows. */
struct fs_attr {
	uint64_t handle; /* the kernel's nodeid: a counter, never reused */
	uint64_t ino;	 /* st_ino: a hash of path and view, stable across mounts, never 0 or 1 */
	mode_t mode;
	uint64_t size;
	int64_t mtime_ns;
	nlink_t nlink;
};

int fs_open(const struct fs_options *options, struct fs **ret_fs);
void fs_close(struct fs *fs);

/* A name in a directory. Counts one look-up of the handle; -ENOENT. */
int fs_lookup(struct fs *fs, uint64_t parent, const char *name, enum store_how how, struct fs_attr *ret_attr);

/* Takes `n` look-ups back. */
void fs_forget(struct fs *fs, uint64_t handle, uint64_t n);

int fs_getattr(struct fs *fs, uint64_t handle, enum store_how how, struct fs_attr *ret_attr);

/*
 * Entries of a directory from cookie 0 on: emit gets each with the cookie of the next; it returns false when its buffer is
 * full. With `plus` each entry emitted counts a look-up; fs_forget one whose emit says false.
 */
int fs_readdir(struct fs *fs, uint64_t handle, uint64_t cookie, bool plus, enum store_how how,
			   bool (*emit)(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie), void *arg);

/*
 * Whether a directory's listing stays as it is: known, and without broken nodes, which the store may only have failed to
 * give. Never waits.
 */
bool fs_directory_is_settled(struct fs *fs, uint64_t handle);

/*
 * Opens a data file: ENOTSUP, EIO, EFBIG with the reason when it cannot be served; ESTALE: look the name up again. `once`:
 * what is read is not asked for again soon (see readahead_new).
 */
int fs_file_open(struct fs *fs, uint64_t handle, bool once, enum store_how how, struct fs_file **ret_file);
struct fs_file *fs_file_ref(struct fs_file *file);
void fs_file_unref(struct fs_file *file);

/* Whether its content may differ at each open (counters): not for the page cache. */
bool fs_file_is_volatile(const struct fs_file *file);

/* Where a read would end: min(size, file size - offset), 0 past the end. */
size_t fs_read_size(const struct fs_file *file, uint64_t offset, size_t size);

/* Reads fs_read_size() bytes into dst; parts of the request finish later, and the file must stay referenced until its release. */
void fs_read(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst, struct request *request);

/*
 * For a sequential reader the bytes that come next are put together before it asks (band.c). To be called once for each read
 * of [offset, offset + size), which the file must hold: the bytes if they are ready, else NULL, and fs_read gets them.
 */
struct buf *fs_take(struct fs_file *file, uint64_t offset, size_t size);

/* A `user.zarr.*` attribute's text (no NUL; the caller frees); -ENODATA. */
int fs_getxattr(struct fs *fs, uint64_t handle, const char *name, enum store_how how, char **ret_value);
/* The names that a handle has, each ended by NUL; the caller frees. */
int fs_listxattr(struct fs *fs, uint64_t handle, enum store_how how, char **ret_names, size_t *ret_size);

/* The path of a handle, for messages: "/temp.npy". The caller frees; NULL without memory. */
char *fs_path(struct fs *fs, uint64_t handle);

struct hierarchy *fs_hierarchy(struct fs *fs);
struct pool *fs_pool(struct fs *fs);
struct deadlines *fs_deadlines(struct fs *fs);
uint64_t fs_cache_bytes(struct fs *fs);

#endif
