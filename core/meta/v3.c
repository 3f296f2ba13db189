/*
 * v3.c: zarr.json, parsed and printed (Zarr v3 core specification, "Array metadata", "Group metadata").
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meta/meta_impl.h"

static const char *const array_members[] = {
	"zarr_format",		  "node_type",	"shape",  "data_type",	"chunk_grid",
	"chunk_key_encoding", "fill_value", "codecs", "attributes", "storage_transformers",
	"dimension_names",
};
static const char *const group_members[] = {"zarr_format", "node_type", "attributes"};

/* Not members of the specification, but harmless: what writers leave in documents of either kind. */
static const char *const harmless_members[] = {"consolidated_metadata", "zarr_consolidated_format", "must_understand"};

static bool is_one_of(const char *name, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* A reader must fail on a member that it does not know, unless that is an object that says otherwise. */
static int check_members(const struct json *document, const char *const *names, size_t n)
{
	for (const struct json *member = json_first(document); member; member = json_next(member)) {
		const char *name = json_name(member);
		const struct json *flag = json_get(member, "must_understand");
		bool must = true;
		if (flag && (json_type(flag) != JSON_BOOL || json_bool(flag, "must_understand", &must)))
			return err_set(EIO, "%.64s.must_understand: not a boolean", name);
		bool is_empty_list = strcmp(name, "extensions") == 0 && !json_first(member) &&
							 (json_type(member) == JSON_ARRAY || json_type(member) == JSON_NULL);
		if (must && !is_empty_list && !is_one_of(name, names, n) &&
			!is_one_of(name, harmless_members, ARRAY_LEN(harmless_members)))
			return err_set(EIO, "%.64s: an unknown member that must be understood", name);
	}
	return 0;
}

/* The attributes as they stand in the document. */
static int copy_attributes(const struct json *document, const char *text, char **ret_attributes)
{
	const struct json *attributes = meta_get_optional(document, "attributes");
	size_t offset, size;
	if (!attributes)
		return 0;
	int rc = meta_check_object(attributes, "attributes");
	if (rc)
		return rc;
	if (!json_slice(document, "attributes", &offset, &size))
		return err_set(EIO, "attributes: not found in the text");
	char *copy = strndup(text + offset, size);
	if (!copy)
		return err_set(ENOMEM, "attributes: no memory");
	*ret_attributes = copy;
	return 0;
}

static int parse_grid(struct array_meta *meta, const struct json *shape, const struct json *grid)
{
	const char *name;
	const struct json *config, *chunks;
	int rc = meta_parse_extension(grid, "chunk_grid", &name, &config);
	if (rc)
		return rc;
	if (strcmp(name, "regular") != 0)
		return err_set(ENOTSUP, "chunk_grid: grid \"%.64s\" is not supported (known: regular)", name);
	chunks = json_get(config, "chunk_shape");
	if (!chunks)
		return err_set(EIO, "chunk_grid.configuration.chunk_shape: missing");
	return meta_parse_shapes(meta, shape, chunks, "chunk_shape");
}

static int parse_codecs(struct codec_list *list, const struct json *codecs)
{
	if (json_type(codecs) != JSON_ARRAY)
		return err_set(EIO, "codecs: %s where a list is expected", json_type_name(json_type(codecs)));
	for (const struct json *item = json_first(codecs); item; item = json_next(item)) {
		char what[32];
		const char *name;
		const struct json *config;
		snprintf(what, sizeof(what), "codecs[%d]", list->n);
		int rc = meta_parse_extension(item, what, &name, &config);
		if (!rc)
			rc = codec_list_add(list, name, config, "%s", what);
		if (rc)
			return rc;
	}
	return 0;
}

/* Whether a chain stores numbers big-endian, or its inner chain where it shards. */
static bool is_big_endian(const struct json *codecs)
{
	for (const struct json *item = json_first(codecs); item; item = json_next(item)) {
		const char *name, *endian;
		const struct json *config;
		if (meta_parse_extension(item, "codecs", &name, &config))
			return false;
		const struct json *member = json_get(config, "endian");
		if (strcmp(name, "bytes") == 0)
			return member && !json_string(member, "endian", &endian, NULL) && strcmp(endian, "big") == 0;
		if (strcmp(name, "sharding_indexed") == 0)
			return is_big_endian(json_get(config, "codecs"));
	}
	return false;
}

/* A record's base64 is in the byte order of the codec `bytes` (zarr-extensions, data-types/structured). */
static int parse_fill(struct array_meta *meta, const struct json *fill, const struct json *codecs)
{
	int rc = meta_parse_fill(meta, fill);
	if (!rc && meta->dtype.kind == DTYPE_RECORD && json_type(fill) == JSON_STRING && is_big_endian(codecs))
		dtype_swap(&meta->dtype, meta->fill_value, meta->fill_value, meta->dtype.size);
	return rc;
}

static int check_transformers(const struct json *document)
{
	const struct json *list = meta_get_optional(document, "storage_transformers");
	if (!list)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return err_set(EIO, "storage_transformers: %s where a list is expected", json_type_name(json_type(list)));
	const struct json *first = json_first(list);
	if (!first)
		return 0;
	const char *name;
	const struct json *config;
	int rc = meta_parse_extension(first, "storage_transformers[0]", &name, &config);
	return rc ? rc : err_set(ENOTSUP, "storage_transformers[0]: \"%.64s\" is not supported", name);
}

/* null and a list of the wrong length, which some writers leave, are no names. */
static int parse_dimension_names(struct array_meta *meta, const struct json *document)
{
	const struct json *list = meta_get_optional(document, "dimension_names");
	if (!list)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return err_set(EIO, "dimension_names: %s where a list is expected", json_type_name(json_type(list)));
	if (meta->ndim == 0 || json_count(list) != (size_t)meta->ndim)
		return 0;
	meta->dimension_names = calloc((size_t)meta->ndim, sizeof(char *));
	if (!meta->dimension_names)
		return err_set(ENOMEM, "dimension_names: no memory");
	int i = 0;
	for (const struct json *item = json_first(list); item; item = json_next(item), i++) {
		char what[32];
		const char *text;
		snprintf(what, sizeof(what), "dimension_names[%d]", i);
		if (json_type(item) == JSON_NULL)
			continue;
		int rc = json_string(item, what, &text, NULL);
		if (rc)
			return rc;
		meta->dimension_names[i] = strdup(text);
		if (!meta->dimension_names[i])
			return err_set(ENOMEM, "%s: no memory", what);
	}
	return 0;
}

static int fill_array(struct array_meta *meta, const struct json *document, const char *text)
{
	const struct json *shape, *type, *grid, *keys, *fill, *codecs;
	int rc = check_members(document, array_members, ARRAY_LEN(array_members));
	if (rc || (rc = meta_get_required(document, "shape", &shape)) ||
		(rc = meta_get_required(document, "data_type", &type)) ||
		(rc = meta_get_required(document, "chunk_grid", &grid)) ||
		(rc = meta_get_required(document, "chunk_key_encoding", &keys)) ||
		(rc = meta_get_required(document, "fill_value", &fill)) ||
		(rc = meta_get_required(document, "codecs", &codecs)))
		return rc;
	if ((rc = meta_take_refusal(meta, type, dtype_parse_v3(type, &meta->dtype))) ||
		(rc = parse_grid(meta, shape, grid)) || (rc = meta_count_elements(meta)) ||
		(rc = key_encoding_parse(keys, &meta->keys)) || (rc = parse_codecs(&meta->codecs, codecs)) ||
		(rc = parse_fill(meta, fill, codecs)) || (rc = check_transformers(document)) ||
		(rc = parse_dimension_names(meta, document)))
		return rc;
	return copy_attributes(document, text, &meta->attributes);
}

/* On success the array owns the document. */
static int parse_array(struct json *document, const char *text, struct array_meta **ret_meta)
{
	struct array_meta *meta = calloc(1, sizeof(*meta));
	if (!meta)
		return err_set(ENOMEM, "no memory");
	meta->zarr_format = 3;
	int rc = fill_array(meta, document, text);
	if (rc) {
		array_meta_free(meta);
		return rc;
	}
	meta->roots[0] = document;
	*ret_meta = meta;
	return 0;
}

static int parse_group(const struct json *document, const char *text, struct group_meta **ret_meta)
{
	int rc = check_members(document, group_members, ARRAY_LEN(group_members));
	if (rc)
		return rc;
	struct group_meta *meta = calloc(1, sizeof(*meta));
	if (!meta)
		return err_set(ENOMEM, "no memory");
	meta->zarr_format = 3;
	rc = copy_attributes(document, text, &meta->attributes);
	if (rc) {
		group_meta_free(meta);
		return rc;
	}
	*ret_meta = meta;
	return 0;
}

/* The inline block's `metadata`, or NULL: blocks of another kind are ignored. */
static int find_consolidated(const struct json *document, const struct json **ret_metadata)
{
	const struct json *block = json_get(document, "consolidated_metadata");
	const struct json *kind = json_get(block, "kind"), *metadata = json_get(block, "metadata");
	const char *text;
	*ret_metadata = NULL;
	if (!kind || json_type(kind) != JSON_STRING || json_string(kind, "consolidated_metadata.kind", &text, NULL) ||
		strcmp(text, "inline") != 0)
		return 0;
	if (!metadata || json_type(metadata) != JSON_OBJECT)
		return err_set(EIO, "consolidated_metadata.metadata: not an object");
	*ret_metadata = metadata;
	return 0;
}

/* Takes the document over where *ret_meta keeps it; says so in *ret_kept. */
static int parse_node(struct json *document, const char *text, size_t size, struct node_meta *ret_meta, bool *ret_kept)
{
	const struct json *type;
	const char *type_name;
	int rc = meta_check_object(document, "document");
	if (rc || (rc = meta_check_format(document, 3)) || (rc = meta_get_required(document, "node_type", &type)) ||
		(rc = json_string(type, "node_type", &type_name, NULL)))
		return rc;
	bool is_group = strcmp(type_name, "group") == 0;
	if (!is_group && strcmp(type_name, "array") != 0)
		return err_set(EIO, "node_type: \"%.32s\" is neither \"array\" nor \"group\"", type_name);

	struct node_meta meta = {0};
	if (is_group && (rc = find_consolidated(document, &meta.consolidated)))
		return rc;
	if (!meta.consolidated && size > LIMIT_JSON_BYTES)
		return err_set(EFBIG, "document of %zu bytes, the limit is %" PRIu64, size, LIMIT_JSON_BYTES);
	rc = is_group ? parse_group(document, text, &meta.group) : parse_array(document, text, &meta.array);
	if (rc)
		return rc;
	if (meta.consolidated)
		meta.consolidated_root = document;
	*ret_meta = meta;
	*ret_kept = meta.array || meta.consolidated;
	return 0;
}

int meta_parse_v3(const char *text, size_t size, struct node_meta *ret_meta)
{
	struct json *document;
	int rc = json_parse(text, size, LIMIT_JSON_CONSOLIDATED_BYTES, NULL, &document);
	if (rc)
		return rc;
	bool kept = false;
	rc = parse_node(document, text, size, ret_meta, &kept);
	if (!kept)
		json_free(document);
	return rc;
}

/* The node gets a document of its own, so it need not live as long as the block. */
int meta_parse_v3_json(const struct json *json, struct node_meta *ret_meta)
{
	autofree char *text = json_print(json);
	if (!text)
		return err_set(ENOMEM, "no memory");
	return meta_parse_v3(text, strlen(text), ret_meta);
}

static void print_lengths(struct str *str, const uint64_t *lengths, int n)
{
	str_append(str, "[");
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i ? "," : "", lengths[i]);
	str_append(str, "]");
}

static void print_codecs(struct str *str, const struct codec_list *list)
{
	str_append(str, ",\"codecs\":[");
	for (int i = 0; i < list->n; i++) {
		const struct codec_spec *spec = &list->specs[i];
		str_append(str, i ? ",{\"name\":" : "{\"name\":");
		str_append_json(str, spec->name, strlen(spec->name));
		if (spec->config) {
			autofree char *config = json_print(spec->config);
			str->failed |= !config;
			str_appendf(str, ",\"configuration\":%s", config ? config : "");
		}
		str_append(str, "}");
	}
	str_append(str, "]");
}

static void print_dimension_names(struct str *str, const struct array_meta *meta)
{
	if (!meta->dimension_names)
		return;
	str_append(str, ",\"dimension_names\":[");
	for (int i = 0; i < meta->ndim; i++) {
		const char *name = meta->dimension_names[i];
		str_append(str, i ? "," : "");
		if (name)
			str_append_json(str, name, strlen(name));
		else
			str_append(str, "null");
	}
	str_append(str, "]");
}

/* Members in zarr-python's order. */
int meta_print_v3_array(const struct array_meta *meta, char **ret_text)
{
	autofree char *fill = dtype_print_fill(&meta->dtype, meta->fill_value);
	if (!fill)
		return err_set(ENOMEM, "no memory");
	autostr(str);
	str_append(&str, "{\"shape\":");
	print_lengths(&str, meta->shape, meta->ndim);
	str_append(&str, ",\"data_type\":");
	dtype_print_v3(&meta->dtype, &str);
	str_append(&str, ",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":");
	print_lengths(&str, meta->chunk_shape, meta->ndim);
	str_appendf(&str, "}},\"chunk_key_encoding\":{\"name\":\"%s\",\"configuration\":{\"separator\":\"%c\"}}",
				meta->keys.kind == KEY_DEFAULT ? "default" : "v2", meta->keys.separator);
	str_appendf(&str, ",\"fill_value\":%s", fill);
	print_codecs(&str, &meta->codecs);
	str_appendf(&str, ",\"attributes\":%s", meta->attributes ? meta->attributes : "{}");
	print_dimension_names(&str, meta);
	str_append(&str, ",\"zarr_format\":3,\"node_type\":\"array\",\"storage_transformers\":[]}");
	return str_take(&str, ret_text);
}

int meta_print_v3_group(char **ret_text)
{
	char *text = strdup("{\"attributes\":{},\"zarr_format\":3,\"node_type\":\"group\"}");
	if (!text)
		return err_set(ENOMEM, "no memory");
	*ret_text = text;
	return 0;
}
