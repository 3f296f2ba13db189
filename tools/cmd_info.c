/*
 * cmd_info.c: zarrfs info: what the metadata of one node says, and with --stored what a listing says.
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
#include "tools/stored.h"

struct info_values {
	bool is_json, with_stored;
	struct fs_options fs;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "json", NULL, "a JSON document", offsetof(struct info_values, is_json), 0},
	{OPTION_FLAG, 0, "stored", NULL, "stored size and number of chunks present; lists the array",
	 offsetof(struct info_values, with_stored), 0},
	{OPTION_SIZE, 0, "cache-size", "SIZE", "the cache that the working set is held against",
	 offsetof(struct info_values, fs.cache_bytes), 1},
	{OPTION_SIZE, 0, "max-chunk", "SIZE", "arrays of larger chunks are refused (1G)",
	 offsetof(struct info_values, fs.max_chunk), 1},
	{OPTION_TEXT, 0, "reference-root", "DIR", "targets of a reference file may lie in this folder, too",
	 offsetof(struct info_values, fs.reference_root), 0},
	{0},
};

/* All that is told of one node. */
struct info {
	struct session *session;
	struct node *node;
	struct description what;
	size_t groups, arrays; /* children of a group */
	uint64_t working_set;  /* of an array that can be served */
	uint64_t cache;		   /* bytes */
	bool has_stored;
	struct stored stored;
};

static int count_children(struct info *info)
{
	struct node *const *children;
	size_t n;
	int rc = node_children(info->session->hierarchy, info->node, STORE_WAIT, &children, &n);
	for (size_t i = 0; !rc && i < n; i++)
		*(children[i]->kind == NODE_GROUP ? &info->groups : &info->arrays) += 1;
	return rc;
}

static int gather(struct info *info, bool with_stored)
{
	struct hierarchy *hierarchy = info->session->hierarchy;
	describe_node(hierarchy, info->node, &info->what);
	info->cache = fs_cache_bytes(info->session->fs);
	if (info->node->kind == NODE_GROUP)
		return count_children(info);
	const struct array_meta *meta = info->what.meta;
	struct layout layout;
	if (info->what.array && layout_init(&layout, meta->ndim, meta->shape, meta->dtype.size))
		info->working_set = array_working_set(info->what.array, &layout);
	if (!meta || !with_stored)
		return 0;
	info->has_stored = true;
	return stored_count(hierarchy_store(hierarchy), info->node->path, meta, &info->stored);
}

static void row(const char *name, const struct str *value)
{
	printf("%-13s %s\n", name, value->text);
}

static void print_shape(const struct array_meta *meta)
{
	autostr(text);
	describe_dims(&text, meta->shape, meta->ndim);
	for (int i = 0; meta->dimension_names && i < meta->ndim; i++) {
		const char *name = meta->dimension_names[i] ? meta->dimension_names[i] : "-";
		str_append(&text, i == 0 ? "  (" : ", ");
		str_append_escaped(&text, name, strlen(name));
		str_append(&text, i == meta->ndim - 1 ? ")" : "");
	}
	row("shape", &text);
}

static void print_fill(const struct array_meta *meta)
{
	autofree char *fill = dtype_print_fill(&meta->dtype, meta->fill_value);
	autostr(text);
	if (meta->fill_undefined)
		str_append(&text, "undefined (zero bytes are shown)");
	else if (fill)
		str_append_escaped(&text, fill, strlen(fill));
	row("fill value", &text);
}

static void print_stored(const struct info *info)
{
	autostr(text);
	describe_bytes(&text, info->stored.bytes);
	str_appendf(&text, " in %" PRIu64, info->stored.present);
	if (info->stored.total != UINT64_MAX)
		str_appendf(&text, " of %" PRIu64, info->stored.total);
	str_append(&text, info->what.shards ? " shards" : " chunks");
	row("stored", &text);
}

static void print_size(const struct info *info)
{
	autostr(size);
	str_appendf(&size, "%" PRIu64 " bytes", info->what.bytes);
	if (info->what.bytes >= 1024) {
		str_append(&size, "  (");
		describe_bytes(&size, info->what.bytes);
		str_append(&size, ")");
	}
	row("plain size", &size);
}

static void print_working_set(const struct info *info)
{
	autostr(text);
	describe_bytes(&text, info->working_set);
	str_append(&text, info->working_set <= info->cache ? ": fits the cache of " : ": does not fit the cache of ");
	describe_bytes(&text, info->cache);
	row("working set", &text);
}

static void print_array(const struct info *info)
{
	const struct array_meta *meta = info->what.meta;
	print_shape(meta);
	autostr(dtype);
	str_append_escaped(&dtype, meta->dtype.name, strlen(meta->dtype.name));
	if (strcmp(meta->dtype.name, meta->dtype.descr) != 0) {
		str_append(&dtype, "  (");
		describe_dtype(&dtype, &meta->dtype);
		str_append(&dtype, " in numpy)");
	}
	row("data type", &dtype);
	autostr(chunks);
	describe_dims(&chunks, info->what.chunks, meta->ndim);
	if (info->what.array) {
		str_append(&chunks, "  (");
		describe_bytes(&chunks, array_chunk_bytes(info->what.array));
		str_append(&chunks, " each)");
	}
	row("chunks", &chunks);
	autostr(shards);
	describe_dims(&shards, meta->chunk_shape, meta->ndim);
	if (info->what.shards)
		row("shards", &shards);
	autostr(codecs);
	autostr(escaped);
	describe_codecs(&codecs, &info->what);
	str_append_escaped(&escaped, codecs.text, codecs.size);
	row("codecs", &escaped);
	if (!meta->refusal) {
		print_fill(meta);
		print_size(info);
	}
	if (info->what.array)
		print_working_set(info);
	if (info->has_stored)
		print_stored(info);
	if (meta->separator_assumed)
		printf("%-13s dimension_separator is not given, and taken to be \".\"\n", "note");
}

static void print_text(const struct info *info)
{
	const char *places[] = {info->session->url, info->node->path};
	static const char *const names[] = {"store", "path"};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		autostr(place);
		str_append_escaped(&place, places[i], strlen(places[i]));
		if (place.size)
			row(names[i], &place);
	}
	if (info->node->zarr_format)
		printf("%-13s %s, Zarr v%d\n", "kind", info->what.kind, info->node->zarr_format);
	else
		printf("%-13s %s\n", "kind", info->node->kind == NODE_GROUP ? "implicit group" : info->what.kind);
	if (info->node->kind == NODE_GROUP)
		printf("%-13s %zu groups, %zu arrays\n", "children", info->groups, info->arrays);
	if (info->what.meta)
		print_array(info);
	if (info->what.rc) {
		autostr(reason);
		str_append_escaped(&reason, info->what.reason.text, strlen(info->what.reason.text));
		row("error", &reason);
	}
}

static void json_array(struct str *str, const struct info *info)
{
	describe_facts_json(str, info->session->hierarchy, info->node, ",\n ");
	str_append(str, ",\n \"bytes\": ");
	describe_size_json(str, &info->what);
	if (info->what.array)
		str_appendf(str,
					",\n \"chunk_bytes\": %" PRIu64 ",\n \"working_set_bytes\": %" PRIu64
					",\n \"cache_bytes\": %" PRIu64 ",\n \"cache_holds_working_set\": %s",
					array_chunk_bytes(info->what.array), info->working_set, info->cache,
					info->working_set <= info->cache ? "true" : "false");
	if (!info->has_stored)
		return;
	str_appendf(str,
				",\n \"stored\": {\"bytes\": %" PRIu64 ", \"present\": %" PRIu64 ", \"total\": ", info->stored.bytes,
				info->stored.present);
	if (info->stored.total == UINT64_MAX)
		str_append(str, "null}");
	else
		str_appendf(str, "%" PRIu64 "}", info->stored.total);
}

static int print_json(const struct info *info)
{
	autostr(text);
	str_append(&text, "{\"schema\": \"zarrfs.info/1\",\n \"store\": ");
	str_append_json(&text, info->session->url, strlen(info->session->url));
	str_append(&text, ",\n \"path\": ");
	str_append_json(&text, info->node->path, strlen(info->node->path));
	str_appendf(&text, ",\n \"kind\": \"%s\",\n \"zarr_format\": ", info->what.kind);
	if (info->node->zarr_format)
		str_appendf(&text, "%d", info->node->zarr_format);
	else
		str_append(&text, "null");
	if (info->node->kind == NODE_GROUP)
		str_appendf(&text, ",\n \"groups\": %zu,\n \"arrays\": %zu", info->groups, info->arrays);
	if (info->what.meta)
		json_array(&text, info);
	str_append(&text, ",\n \"error\": ");
	describe_reason_json(&text, &info->what);
	str_append(&text, "}\n");
	if (text.failed)
		return err_set(ENOMEM, "no memory for the text");
	fputs(text.text, stdout);
	return 0;
}

static int tell(struct session *session, const struct info_values *values)
{
	struct info info = {.session = session};
	int rc = session_node(session, &info.node);
	if (rc)
		return rc == -ENOENT ? command_error(CODE_NO, "%s: no node \"%s\"", session->url, session->path)
							 : command_fail(rc);
	if (values->with_stored && info.node->kind == NODE_GROUP)
		return command_error(CODE_USAGE, "info: --stored is for an array, not a group");
	rc = gather(&info, values->with_stored);
	if (!rc && values->is_json)
		rc = print_json(&info);
	else if (!rc)
		print_text(&info);
	if (rc)
		return command_fail(rc);
	return info.what.rc ? command_error(command_code(info.what.rc), "%s: %s", session->url, info.what.reason.text)
						: CODE_OK;
}

static int run_info(int argc, char **argv)
{
	struct info_values values = {0};
	int n, code;
	if (!command_parse(&info_command, argc, argv, &values, &n, &code))
		return code;
	progress_catch_signals();
	log_set_level(LOG_LEVEL_ERROR);
	struct session session;
	int rc = session_open(argv[0], &values.fs, &session);
	if (rc)
		return command_fail(rc);
	code = tell(&session, &values);
	session_close(&session);
	return command_flush(code);
}

const struct command info_command = {
	.name = "info",
	.arguments = "STORE[/PATH]",
	.summary = "Tells what an array or a group is, from its metadata alone.",
	.options = rows,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_info,
};
