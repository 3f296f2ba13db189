/*
 * session.h: a store opened for a subcommand that reads it without FUSE. The argument is STORE[/PATH]: the store is its
 * longest prefix that is one.
 */
#ifndef ZARRFS_SESSION_H
#define ZARRFS_SESSION_H

#include "fs/fs.h"

struct session {
	struct fs *fs;
	struct hierarchy *hierarchy;
	char *url;	/* of the store */
	char *path; /* in it; "" for its root */
};

/*
 * Opens the store that `argument` lies in, with `options` but for their url. ENOENT: no prefix is a Zarr store.
 * Messages name the argument.
 */
int session_open(const char *argument, const struct fs_options *options, struct session *ret_session);
void session_close(struct session *session);

/* The node that the argument names. ENOENT: the store has none of that path. */
int session_node(struct session *session, struct node **ret_node);

#endif
