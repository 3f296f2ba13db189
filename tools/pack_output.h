/*
 * pack_output.h: a directory that appears whole, durable and under its own name, or not at all. Until then it has the name
 * ".NAME.zarrfs-PID-RANDOM" beside it, is the owner's alone, and no listing of a store shows it. One thread.
 */
#ifndef ZARRFS_PACK_OUTPUT_H
#define ZARRFS_PACK_OUTPUT_H

#include "base/base.h"

struct pack_output {
	int parent;		 /* the directory that it will be in; -1: none */
	char *name;		 /* there */
	char *temporary; /* there */
	char *path;		 /* of the temporary directory, absolute */
};

/* EEXIST when there is something at `path`; ENOENT ... of the directory that it is in. Messages name the path. */
int pack_output_begin(const char *path, struct pack_output *ret_output);

/*
 * All below the directory is durable by now. Gives it its name and makes that durable. EEXIST: somebody was faster. After an
 * error nothing has the name; pack_output_finish is still due.
 */
int pack_output_commit(struct pack_output *output);

/* Removes what was not committed. Keeps this thread's message. */
void pack_output_finish(struct pack_output *output);

#endif
