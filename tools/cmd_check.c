/*
 * cmd_check.c: zarrfs check: every node below the argument, every stored chunk of every array; what is wrong a line each, then a
 * summary.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "array/check.h"
#include "array/stored_keys.h"
#include "base/err.h"
#include "base/log.h"
#include "tools/check_print.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/progress.h"
#include "tools/session.h"

struct check_values {
	bool is_json, is_quiet;
	int max_errors; /* 0: all */
	struct fs_options fs;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "json", NULL, "a JSON object a line, the summary last", offsetof(struct check_values, is_json), 0},
	{OPTION_FLAG, 'q', "quiet", NULL, "only what is wrong: no summary, no strays, no progress bar",
	 offsetof(struct check_values, is_quiet), 0},
	{OPTION_COUNT, 0, "max-errors", "N", "stop after so many lines of what is wrong (all)",
	 offsetof(struct check_values, max_errors), 1},
	{OPTION_COUNT, 0, "threads", "N", "decoders (the CPUs)", offsetof(struct check_values, fs.decode_threads), 1},
	{OPTION_SIZE, 0, "cache-size", "SIZE", "memory for what is being decoded\n(a quarter of the memory, at most 1G)",
	 offsetof(struct check_values, fs.cache_bytes), 1},
	{OPTION_SIZE, 0, "max-chunk", "SIZE", "arrays of larger chunks are refused (1G)",
	 offsetof(struct check_values, fs.max_chunk), 1},
	{OPTION_TEXT, 0, "reference-root", "DIR", "targets of a reference file may lie in this folder, too",
	 offsetof(struct check_values, fs.reference_root), 0},
	{0},
};

struct checking {
	const struct check_values *values;
	struct session *session;
	struct check_report report;
	struct progress progress;
	uint64_t stored;		 /* values that were listed, for the bar */
	const struct node *node; /* at hand */
	uint64_t printed;		 /* of what is wrong */
};

static bool is_enough(const struct checking *checking)
{
	return checking->values->max_errors && checking->printed >= (uint64_t)checking->values->max_errors;
}

static void found(void *arg, const struct check_finding *finding)
{
	struct checking *checking = arg;
	bool is_stray = finding->kind == CHECK_STRAY;
	if (is_stray ? checking->values->is_quiet : is_enough(checking))
		return;
	checking->printed += !is_stray;
	progress_hide(&checking->progress);
	check_print_finding(&checking->report, checking->node, finding);
}

static bool go_on(void *arg, const struct check_counts *counts)
{
	struct checking *checking = arg;
	progress_update(&checking->progress, counts->values * 1000 + counts->part);
	return !progress_is_interrupted() && !is_enough(checking);
}

static void node_is_wrong(struct checking *checking, enum check_node_kind kind, const char *reason)
{
	++checking->report.nodes[kind];
	if (is_enough(checking))
		return;
	checking->printed++;
	progress_hide(&checking->progress);
	check_print_node(&checking->report, checking->node, kind, reason);
}

static enum check_node_kind kind_of(int rc)
{
	if (rc == -ENOTSUP || rc == -EFBIG)
		return CHECK_NODE_REFUSED;
	return rc == -EIO ? CHECK_NODE_BROKEN : CHECK_NODE_UNREADABLE;
}

static void check_array(struct checking *checking, struct array *array)
{
	struct check_sink sink = {.found = found, .go_on = go_on, .arg = checking};
	int rc = array_check(array, &sink, &checking->report.counts);
	if (!rc)
		checking->report.arrays++;
	else if (rc != -EINTR)
		node_is_wrong(checking, CHECK_NODE_UNREADABLE, err_message());
}

static void check_node(struct checking *checking, struct node *node)
{
	struct description what;
	checking->node = node;
	describe_node(checking->session->hierarchy, node, &what);
	if (what.rc)
		node_is_wrong(checking, kind_of(what.rc), what.reason.text);
	else if (what.array)
		check_array(checking, what.array);
}

static void count_keys(struct checking *checking, struct node *node);

/* A node, then what is below it. Counting is for the bar alone: what cannot be listed is told by the check. */
static void walk(struct checking *checking, struct node *node, void (*visit)(struct checking *, struct node *))
{
	struct node *const *children;
	size_t n;
	if (!go_on(checking, &checking->report.counts))
		return;
	visit(checking, node);
	if (node->kind != NODE_GROUP && !(node->kind == NODE_BROKEN && node->has_children))
		return;
	int rc = node_children(checking->session->hierarchy, node, STORE_WAIT, &children, &n);
	for (size_t i = 0; !rc && i < n; i++)
		walk(checking, children[i], visit);
	if (rc && visit != count_keys) {
		checking->node = node;
		node_is_wrong(checking, CHECK_NODE_UNREADABLE, err_message());
	}
}

static int count_key(void *arg, const char *key, const uint64_t *coords)
{
	struct checking *checking = arg;
	checking->stored++;
	return progress_is_interrupted() ? -EINTR : 0;
}

static void count_keys(struct checking *checking, struct node *node)
{
	struct store *store = hierarchy_store(checking->session->hierarchy);
	struct stored_keys_visitor visitor = {.chunk = count_key, .arg = checking};
	struct array *array;
	if (node->kind != NODE_ARRAY || node_array(checking->session->hierarchy, node, &array))
		return;
	if (store_can_list(store))
		stored_keys_walk(store, node->path, node->meta.array, &visitor);
	else
		checking->stored += stored_keys_grid(node->meta.array);
}

static int exit_code(const struct checking *checking)
{
	const struct check_report *report = &checking->report;
	const struct check_counts *counts = &report->counts;
	if (progress_is_interrupted())
		return CODE_INTERRUPTED;
	if (counts->corrupt || report->nodes[CHECK_NODE_BROKEN])
		return CODE_CORRUPT;
	if (counts->unreadable || report->nodes[CHECK_NODE_UNREADABLE])
		return CODE_IO;
	if (counts->unsupported || report->nodes[CHECK_NODE_REFUSED])
		return CODE_UNSUPPORTED;
	return CODE_OK;
}

static int check_session(struct session *session, const struct check_values *values)
{
	struct node *node;
	struct checking checking = {
		.values = values,
		.session = session,
		.report = {.is_json = values->is_json, .url = session->url, .path = session->path},
	};
	int rc = session_node(session, &node);
	if (rc)
		return rc == -ENOENT ? command_error(CODE_NO, "%s: no node \"%s\"", session->url, session->path)
							 : command_fail(rc);
	if (!values->is_quiet)
		progress_begin_with_lines(&checking.progress, "check", 0);
	if (checking.progress.is_shown) {
		walk(&checking, node, count_keys);
		checking.progress.total = checking.stored * 1000;
	}
	walk(&checking, node, check_node);
	progress_end(&checking.progress);
	int code = exit_code(&checking);
	checking.report.is_complete = !progress_is_interrupted() && !is_enough(&checking);
	if (!values->is_quiet)
		check_print_summary(&checking.report, code);
	return checking.report.failed ? command_error(CODE_IO, "no memory for the report") : code;
}

static int run_check(int argc, char **argv)
{
	struct check_values values = {0};
	int n, code;
	if (!command_parse(&check_command, argc, argv, &values, &n, &code))
		return code;
	log_set_level(LOG_LEVEL_ERROR);
	struct session session;
	int rc = session_open(argv[0], &values.fs, &session);
	if (rc)
		return command_fail(rc);
	progress_note_signals(); /* until here a signal ends the process */
	code = check_session(&session, &values);
	session_close(&session);
	return command_flush(code);
}

const struct command check_command = {
	.name = "check",
	.arguments = "STORE[/PATH]",
	.summary = "Decodes every chunk and verifies every checksum; lists what is damaged.",
	.details =
		"Exit code 0 means that all is well, 6 that something is damaged, 5 that the store could not be read, 4 that\n"
		"something is not supported and was not checked.",
	.options = rows,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_check,
};
