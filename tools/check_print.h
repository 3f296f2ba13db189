/*
 * check_print.h: what zarrfs check says on standard output, as text or as JSON.
 */
#ifndef ZARRFS_CHECK_PRINT_H
#define ZARRFS_CHECK_PRINT_H

#include "array/check.h"
#include "hierarchy/hierarchy.h"

/* Nodes that could not be checked. */
enum check_node_kind {
	CHECK_NODE_BROKEN,	   /* its document is malformed */
	CHECK_NODE_REFUSED,	   /* it is not supported */
	CHECK_NODE_UNREADABLE, /* the store failed */
	CHECK_NODE_KINDS,
};

struct check_report {
	bool is_json;
	bool failed;			/* some line could not be put together, for want of memory */
	const char *url, *path; /* what is checked */
	bool is_complete;
	uint64_t arrays; /* that were gone through to the end */
	uint64_t nodes[CHECK_NODE_KINDS];
	struct check_counts counts;
};

/* One line each. */
void check_print_finding(struct check_report *report, const struct node *node, const struct check_finding *finding);
void check_print_node(struct check_report *report, const struct node *node, enum check_node_kind kind,
					  const char *reason);

/* Some lines, or in JSON one. */
void check_print_summary(struct check_report *report, int code);

#endif
