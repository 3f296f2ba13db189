/*
 * pack_plan.h: what `zarrfs pack` makes of an array: chunks, shards and codecs, from options or by rules of thumb.
 */
#ifndef ZARRFS_PACK_PLAN_H
#define ZARRFS_PACK_PLAN_H

#include "meta/meta.h"
#include "view/view.h"

/* As they are on the command line; NULL: not given. */
struct pack_choice {
	const char *chunk; /* "500,100" */
	const char *shard; /* "5000,2000", or "none" */
	const char *codec; /* "zstd:5" */
	bool checksum;	   /* of every chunk, beside that of the index */
};

/*
 * The document of a Zarr v3 array for elements of that type and shape; free it with array_meta_free. EINVAL: an option cannot
 * be, with its name in the message.
 *
 * Without `chunk`: about 1 MiB, four times as long along the last axis as along the others, as they allow. Without `shard`: as many
 * chunks as 256 MiB hold, first along the last axis, so that a shard is a band of whole rows if it can.
 */
int pack_plan(const struct pack_choice *choice, const struct view_parsed *head, struct array_meta **ret_meta);

#endif
