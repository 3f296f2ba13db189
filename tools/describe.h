/*
 * describe.h: what ls and info tell of a node, from metadata alone; and the words and JSON they tell it in.
 */
#ifndef ZARRFS_DESCRIBE_H
#define ZARRFS_DESCRIBE_H

#include "base/err.h"
#include "base/str.h"
#include "hierarchy/hierarchy.h"

struct description {
	const char *kind;			   /* "group", "array", "broken" */
	const struct array_meta *meta; /* of an array that could be parsed; else NULL */
	struct array *array;		   /* NULL: cannot be served */
	const uint64_t *chunks;		   /* the read unit; the grid's chunk when the array cannot be served */
	const uint64_t *shards;		   /* NULL: not sharded */
	uint64_t bytes;				   /* plain size of the elements; 0 where the data type is not served */
	int rc;						   /* why it cannot be served: negative errno, and its line */
	struct err_text reason;
};

void describe_node(struct hierarchy *hierarchy, struct node *node, struct description *ret_description);

/* "4x5"; "()" for an array without dimensions. */
void describe_dims(struct str *str, const uint64_t *dims, int n);

/* numpy's descr, "<f4", or as JSON for a structured type. */
void describe_dtype(struct str *str, const struct dtype *dtype);

/* "36.0 MiB", "17 bytes". */
void describe_bytes(struct str *str, uint64_t bytes);

/* The codec chain; of an array that cannot be served, the names that its document gives. */
void describe_codecs(struct str *str, const struct description *description);

/* The facts of an array (view/facts.h) but for its error, as members of a JSON object, each behind `separator`. */
void describe_facts_json(struct str *str, struct hierarchy *hierarchy, struct node *node, const char *separator);

/* The plain size, or null where the data type is not known. */
void describe_size_json(struct str *str, const struct description *description);

/* `"reason"`, or null when all is well. */
void describe_reason_json(struct str *str, const struct description *description);

#endif
