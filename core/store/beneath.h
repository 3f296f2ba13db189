/*
 * beneath.h: opens of paths that cannot leave a root directory, symbolic links included (openat2, Linux 5.6). For
 * dir.c. Paths are checked keys or ".". Any thread.
 */
#ifndef ZARRFS_BENEATH_H
#define ZARRFS_BENEATH_H

#include <stdint.h>

/*
 * One openat2 with RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS and `resolve`; EINTR is resumed. A descriptor or a negative
 * errno.
 */
int beneath_open_once(int root, const char *path, int flags, uint64_t resolve);

/*
 * Opens with patience. A descriptor or a negative errno, of which -ENOENT and -ENOTDIR prove absence: no name on the
 * way is a link to nothing, that is -ENOLINK (git-annex keeps such links for content it has not fetched).
 */
int beneath_open(int root, const char *path, int flags);

/* Opens the directory that holds `path`, made durably with those above it as needed. A descriptor or a negative errno. */
int beneath_open_parent(int root, const char *path);

/* Makes a directory's entries durable, where the file system can. 0 or a negative errno. */
int beneath_sync(int directory);

#endif
