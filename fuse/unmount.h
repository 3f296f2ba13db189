/*
 * unmount.h: mount points: dead ones, ours, and how they end.
 */
#ifndef ZARRFS_UNMOUNT_H
#define ZARRFS_UNMOUNT_H

/*
 * Makes a mount point fit for use: lazily unmounts a dead FUSE mount there (its process is gone: ENOTCONN), checks that it is a
 * directory, and that the store `url` (a local path, or NULL) lies neither inside it nor around it. ret_path: the real path;
 * the caller frees.
 */
int mountpoint_prepare(const char *mountpoint, const char *url, char **ret_path);

/* The number of the FUSE connection, in /sys/fs/fuse/connections, of the zarrfs mounted at a real path; -1: none is. */
int mountpoint_connection(const char *path);

#endif
