/*
 * cmd_ls.c: zarrfs ls. Plain, a name a line; long, a table; JSON, one document. No chunk is read, and with -l no more
 * than documents.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/progress.h"
#include "tools/session.h"

struct ls_values {
	bool is_long, is_recursive, is_json;
	struct fs_options fs;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 'l', "long", NULL, "type, bytes of the plain data, data type, shape, chunks, name",
	 offsetof(struct ls_values, is_long), 0},
	{OPTION_FLAG, 'R', "recursive", NULL, "the groups inside, too", offsetof(struct ls_values, is_recursive), 0},
	{OPTION_FLAG, 0, "json", NULL, "a JSON document with all of it", offsetof(struct ls_values, is_json), 0},
	{OPTION_TEXT, 0, "reference-root", "DIR", "targets of a reference file may lie in this folder, too",
	 offsetof(struct ls_values, fs.reference_root), 0},
	{0},
};

enum { TYPE, SIZE, DTYPE, SHAPE, CHUNKS, NAME, COLUMNS };

/* A node of the listing; of the long one each cell is text. */
struct entry {
	struct node *node;
	char *name; /* relative to what was asked for: "a/b" */
	char *cells[COLUMNS];
};

struct listing {
	struct hierarchy *hierarchy;
	bool is_recursive;
	struct entry *entries;
	size_t n, capacity;
	int code;
};

static int listing_add(struct listing *listing, struct node *node, const char *name)
{
	if (listing->n == listing->capacity) {
		size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
		struct entry *entries = reallocarray(listing->entries, capacity, sizeof(*entries));
		if (!entries)
			return err_set(ENOMEM, "no memory for the listing");
		listing->entries = entries;
		listing->capacity = capacity;
	}
	struct entry entry = {.node = node, .name = strdup(name)};
	if (!entry.name)
		return err_set(ENOMEM, "no memory for the listing");
	listing->entries[listing->n++] = entry;
	return 0;
}

static void listing_finish(struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++) {
		free(listing->entries[i].name);
		for (int column = 0; column < COLUMNS; column++)
			free(listing->entries[i].cells[column]);
	}
	free(listing->entries);
}

static bool is_directory(const struct node *node)
{
	return node->kind == NODE_GROUP || (node->kind == NODE_BROKEN && node->has_children);
}

/* The children of a group, each before its own. A group that cannot be listed is an error line, and the rest is still shown. */
static int listing_walk(struct listing *listing, struct node *group, const char *prefix)
{
	struct node *const *children;
	size_t n;
	int rc = node_children(listing->hierarchy, group, STORE_WAIT, &children, &n);
	if (rc) {
		listing->code = command_fail(err_prefix(rc, "%s", group->path[0] ? group->path : "/"));
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		autofree char *name = str_join_key(prefix, children[i]->name);
		rc = name ? listing_add(listing, children[i], name) : err_set(ENOMEM, "no memory for the listing");
		if (!rc && listing->is_recursive && is_directory(children[i]))
			rc = listing_walk(listing, children[i], name);
		if (rc)
			return rc;
	}
	return 0;
}

static void print_names(const struct listing *listing)
{
	for (size_t i = 0; i < listing->n; i++) {
		const struct entry *entry = &listing->entries[i];
		autostr(line);
		str_append_escaped(&line, entry->name, strlen(entry->name));
		printf("%s%s\n", line.text, is_directory(entry->node) ? "/" : "");
	}
}

static int fill_cells(struct listing *listing, struct entry *entry)
{
	struct description what;
	describe_node(listing->hierarchy, entry->node, &what);
	struct str cells[COLUMNS];
	for (int column = 0; column < COLUMNS; column++)
		str_init(&cells[column]);
	str_append(&cells[TYPE], what.kind);
	if (what.meta) {
		if (what.meta->refusal)
			str_append(&cells[SIZE], "-");
		else
			str_appendf(&cells[SIZE], "%" PRIu64, what.bytes);
		describe_dtype(&cells[DTYPE], &what.meta->dtype);
		describe_dims(&cells[SHAPE], what.meta->shape, what.meta->ndim);
		describe_dims(&cells[CHUNKS], what.chunks, what.meta->ndim);
	} else {
		for (int column = SIZE; column < NAME; column++)
			str_append(&cells[column], "-");
	}
	str_append_escaped(&cells[NAME], entry->name, strlen(entry->name));
	str_append(&cells[NAME], is_directory(entry->node) ? "/" : "");
	if (what.rc) {
		str_append(&cells[NAME], "  (");
		str_append_escaped(&cells[NAME], what.reason.text, strlen(what.reason.text));
		str_append(&cells[NAME], ")");
	}
	int rc = 0;
	for (int column = 0; column < COLUMNS; column++) {
		if (!rc)
			rc = str_take(&cells[column], &entry->cells[column]);
		str_finish(&cells[column]);
	}
	return rc;
}

static int print_table(struct listing *listing)
{
	int width[COLUMNS] = {0};
	for (size_t i = 0; i < listing->n; i++) {
		int rc = fill_cells(listing, &listing->entries[i]);
		if (rc)
			return rc;
		for (int column = 0; column < NAME; column++)
			width[column] = MAX(width[column], (int)strlen(listing->entries[i].cells[column]));
	}
	for (size_t i = 0; i < listing->n; i++) {
		char **cells = listing->entries[i].cells;
		printf("%-*s  %*s  %-*s  %-*s  %-*s  %s\n", width[TYPE], cells[TYPE], width[SIZE], cells[SIZE], width[DTYPE],
			   cells[DTYPE], width[SHAPE], cells[SHAPE], width[CHUNKS], cells[CHUNKS], cells[NAME]);
	}
	return 0;
}

static int print_json(struct listing *listing, const struct session *session)
{
	autostr(head);
	str_append(&head, "{\"schema\": \"zarrfs.ls/1\", \"store\": ");
	str_append_json(&head, session->url, strlen(session->url));
	str_append(&head, ", \"path\": ");
	str_append_json(&head, session->path, strlen(session->path));
	printf("%s, \"nodes\": [", head.text);
	bool failed = head.failed;
	for (size_t i = 0; i < listing->n; i++) {
		const struct entry *entry = &listing->entries[i];
		struct description what;
		describe_node(listing->hierarchy, entry->node, &what);
		autostr(line);
		str_append(&line, "{\"name\": ");
		str_append_json(&line, entry->name, strlen(entry->name));
		str_appendf(&line, ", \"kind\": \"%s\"", what.kind);
		if (what.meta) {
			str_append(&line, ", \"bytes\": ");
			describe_size_json(&line, &what);
			describe_facts_json(&line, listing->hierarchy, entry->node, ", ");
		}
		str_append(&line, ", \"error\": ");
		describe_reason_json(&line, &what);
		printf("%s\n%s}", i > 0 ? "," : "", line.text);
		failed |= line.failed;
	}
	printf("\n]}\n");
	return failed ? err_set(ENOMEM, "no memory for the listing") : 0;
}

/* An array is listed itself, as ls(1) does with a file. */
static int collect(struct listing *listing, struct node *node)
{
	if (is_directory(node))
		return listing_walk(listing, node, "");
	return listing_add(listing, node, node->name[0] ? node->name : hierarchy_root_name(listing->hierarchy));
}

static int list_session(struct session *session, const struct ls_values *values)
{
	struct node *node;
	int rc = session_node(session, &node);
	if (rc)
		return rc == -ENOENT ? command_error(CODE_NO, "%s: no node \"%s\"", session->url, session->path)
							 : command_fail(rc);
	struct listing listing = {.hierarchy = session->hierarchy, .is_recursive = values->is_recursive};
	rc = collect(&listing, node);
	if (!rc && values->is_json)
		rc = print_json(&listing, session);
	else if (!rc && values->is_long)
		rc = print_table(&listing);
	else if (!rc)
		print_names(&listing);
	listing_finish(&listing);
	return rc ? command_fail(rc) : listing.code;
}

static int run_ls(int argc, char **argv)
{
	struct ls_values values = {0};
	int n, code;
	if (!command_parse(&ls_command, argc, argv, &values, &n, &code))
		return code;
	progress_catch_signals();
	log_set_level(LOG_LEVEL_ERROR);
	struct session session;
	int rc = session_open(argv[0], &values.fs, &session);
	if (rc)
		return command_fail(rc);
	code = list_session(&session, &values);
	session_close(&session);
	return command_flush(code);
}

const struct command ls_command = {
	.name = "ls",
	.arguments = "STORE[/PATH]",
	.summary = "Lists the arrays and groups of a group; groups end in a slash.",
	.options = rows,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_ls,
};
