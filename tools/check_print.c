/*
 * check_print.c: names are escaped, so that a line is a line.
 */
#include "tools/check_print.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "tools/describe.h"

static const char *const kinds[] = {
	[CHECK_CORRUPT] = "corrupt",
	[CHECK_UNREADABLE] = "unreadable",
	[CHECK_UNSUPPORTED] = "unsupported",
	[CHECK_STRAY] = "stray",
};

static const char *const node_kinds[] = {
	[CHECK_NODE_BROKEN] = "broken",
	[CHECK_NODE_REFUSED] = "refused",
	[CHECK_NODE_UNREADABLE] = "unreadable",
};

static void escaped(struct str *str, const char *text)
{
	str_append_escaped(str, text, strlen(text));
}

static void quoted(struct str *str, const char *text)
{
	str_append_json(str, text, strlen(text));
}

/* "kind: array"; the root is "/". */
static void begin_text(struct str *str, const char *kind, const struct node *node)
{
	str_appendf(str, "%s: ", kind);
	escaped(str, node->path[0] ? node->path : "/");
}

static void begin_json(struct str *str, const char *kind, const struct node *node)
{
	str_appendf(str, "{\"kind\": \"%s\", \"array\": ", kind);
	quoted(str, node->path);
	str_append(str, ", \"key\": ");
}

static void list(struct str *str, const uint64_t *numbers, int n)
{
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i > 0 ? ", " : "", numbers[i]);
}

/* "inner chunk (3, 4), 1200 bytes at 4096, elements [30:35, 40:50]" */
static void place_text(struct str *str, const struct check_finding *finding, int ndim)
{
	if (finding->is_inner) {
		str_appendf(str, "inner %s (", finding->is_shard ? "shard" : "chunk");
		list(str, finding->coords, ndim);
		str_appendf(str, "), %" PRIu64 " bytes at %" PRIu64 ", ", finding->size, finding->offset);
	}
	str_append(str, "elements [");
	for (int i = 0; i < ndim; i++)
		str_appendf(str, "%s%" PRIu64 ":%" PRIu64, i > 0 ? ", " : "", finding->start[i],
					finding->start[i] + finding->count[i]);
	str_append(str, "]");
}

static void finding_text(struct str *str, const struct node *node, const struct check_finding *finding)
{
	begin_text(str, kinds[finding->kind], node);
	str_append(str, ": ");
	escaped(str, finding->key);
	str_append(str, ": ");
	if (finding->has_box) {
		place_text(str, finding, node->meta.array->ndim);
		str_append(str, ": ");
	}
	escaped(str, finding->reason);
}

static void finding_json(struct str *str, const struct node *node, const struct check_finding *finding)
{
	int ndim = node->meta.array->ndim;
	begin_json(str, kinds[finding->kind], node);
	quoted(str, finding->key);
	if (finding->is_inner) {
		str_appendf(str, ", \"piece\": \"inner %s\", \"coords\": [", finding->is_shard ? "shard" : "chunk");
		list(str, finding->coords, ndim);
		str_appendf(str, "], \"offset\": %" PRIu64 ", \"size\": %" PRIu64, finding->offset, finding->size);
	} else {
		str_append(str, ", \"piece\": null, \"coords\": null, \"offset\": null, \"size\": null");
	}
	str_append(str, ", \"elements\": ");
	str_append(str, finding->has_box ? "[" : "null");
	for (int i = 0; finding->has_box && i < ndim; i++)
		str_appendf(str, "%s[%" PRIu64 ", %" PRIu64 "]", i > 0 ? ", " : "", finding->start[i],
					finding->start[i] + finding->count[i]);
	str_append(str, finding->has_box ? "], \"error\": " : ", \"error\": ");
	quoted(str, finding->reason);
	str_append(str, "}");
}

static void print_line(struct check_report *report, const struct str *line)
{
	report->failed |= line->failed;
	printf("%s\n", line->text);
}

void check_print_finding(struct check_report *report, const struct node *node, const struct check_finding *finding)
{
	autostr(line);
	(report->is_json ? finding_json : finding_text)(&line, node, finding);
	print_line(report, &line);
}

void check_print_node(struct check_report *report, const struct node *node, enum check_node_kind kind,
					  const char *reason)
{
	autostr(line);
	if (report->is_json) {
		begin_json(&line, node_kinds[kind], node);
		str_append(&line,
				   "null, \"piece\": null, \"coords\": null, \"offset\": null, \"size\": null, \"elements\": null, "
				   "\"error\": ");
		quoted(&line, reason);
		str_append(&line, "}");
	} else {
		begin_text(&line, node_kinds[kind], node);
		str_append(&line, ": ");
		escaped(&line, reason);
	}
	print_line(report, &line);
}

static void summary_json(struct str *str, const struct check_report *report, int code)
{
	const struct check_counts *counts = &report->counts;
	str_append(str, "{\"schema\": \"zarrfs.check/1\", \"store\": ");
	quoted(str, report->url);
	str_append(str, ", \"path\": ");
	quoted(str, report->path);
	str_appendf(str, ", \"complete\": %s, \"arrays\": %" PRIu64, report->is_complete ? "true" : "false",
				report->arrays);
	const struct {
		const char *name;
		uint64_t n;
	} members[] = {
		{"values", counts->values},
		{"stored_bytes", counts->stored_bytes},
		{"chunks", counts->chunks},
		{"decoded_bytes", counts->decoded_bytes},
		{"corrupt", counts->corrupt},
		{"unreadable", counts->unreadable + report->nodes[CHECK_NODE_UNREADABLE]},
		{"unsupported", counts->unsupported},
		{"stray", counts->strays},
		{"broken", report->nodes[CHECK_NODE_BROKEN]},
		{"refused", report->nodes[CHECK_NODE_REFUSED]},
	};
	for (size_t i = 0; i < ARRAY_LEN(members); i++)
		str_appendf(str, ", \"%s\": %" PRIu64, members[i].name, members[i].n);
	str_appendf(str, ", \"exit\": %d}", code);
}

/* ", N what" of what there is any of. */
static void some(struct str *str, uint64_t n, const char *what)
{
	if (n)
		str_appendf(str, "%s%" PRIu64 " %s", str->size ? ", " : "", n, what);
}

static void summary_text(struct str *str, const struct check_report *report)
{
	const struct check_counts *counts = &report->counts;
	autostr(wrong);
	autostr(open);
	some(&wrong, counts->corrupt, "corrupt");
	some(&wrong, report->nodes[CHECK_NODE_BROKEN], "broken");
	some(&wrong, counts->unreadable + report->nodes[CHECK_NODE_UNREADABLE], "unreadable");
	some(&open, report->nodes[CHECK_NODE_REFUSED], "refused");
	some(&open, counts->unsupported, "unsupported");
	str_appendf(str, "%s: %" PRIu64 " arrays, %" PRIu64 " good chunks in %" PRIu64 " stored values, ",
				report->is_complete ? "checked" : "checked in part", report->arrays, counts->chunks, counts->values);
	describe_bytes(str, counts->stored_bytes);
	str_append(str, " stored, ");
	describe_bytes(str, counts->decoded_bytes);
	str_appendf(str, " decoded: %s", wrong.size ? wrong.text : "no damage");
	if (open.size)
		str_appendf(str, "; not checked: %s", open.text);
	if (counts->strays)
		str_appendf(str, "; %" PRIu64 " stray", counts->strays);
	str->failed |= wrong.failed || open.failed;
}

void check_print_summary(struct check_report *report, int code)
{
	autostr(line);
	if (report->is_json)
		summary_json(&line, report, code);
	else
		summary_text(&line, report);
	print_line(report, &line);
}
