/*
 * v2.c: .zarray, .zgroup, .zattrs and .zmetadata (Zarr v2 specification, "Metadata"). What v2 says about the layout of a
 * chunk in order, dtype, filters and compressor becomes one codec chain:
 *
 *     order F -> transpose      dtype -> bytes      filters, in their order      compressor
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "meta/meta_impl.h"

/* A codec of numcodecs: its configuration is the object that names it. */
static int add_numcodec(struct codec_list *list, const struct json *json, const char *where)
{
	const struct json *id = json_get(json, "id");
	const char *name;
	if (!id || json_type(id) != JSON_STRING)
		return err_set(EIO, "%s: not an object with an id", where);
	int rc = json_string(id, where, &name, NULL);
	return rc ? rc : codec_list_add(list, name, json, "%s", where);
}

static int add_filters(struct codec_list *list, const struct json *filters)
{
	if (!filters)
		return 0;
	if (json_type(filters) != JSON_ARRAY)
		return err_set(EIO, "filters: %s where a list is expected", json_type_name(json_type(filters)));
	int i = 0;
	for (const struct json *item = json_first(filters); item; item = json_next(item)) {
		char where[32];
		snprintf(where, sizeof(where), "filters[%d]", i++);
		int rc = add_numcodec(list, item, where);
		if (rc)
			return rc;
	}
	return 0;
}

/* Configurations of the two codecs that v2 does not spell out, as one document. */
static int make_configs(struct array_meta *meta, bool big_endian)
{
	autostr(str);
	str_append(&str, "{\"transpose\":{\"order\":[");
	for (int i = meta->ndim - 1; i >= 0; i--)
		str_appendf(&str, "%d%s", i, i ? "," : "");
	str_append(&str, "]},\"bytes\":{");
	if (meta->dtype.swap_unit > 1 || big_endian)
		str_appendf(&str, "\"endian\":\"%s\"", big_endian ? "big" : "little");
	str_append(&str, "}}");
	if (str.failed)
		return err_set(ENOMEM, "no memory");
	return json_parse(str.text, str.size, LIMIT_JSON_BYTES, NULL, &meta->roots[1]);
}

static int parse_order(const struct json *document, bool *ret_fortran)
{
	const struct json *order = meta_get_optional(document, "order");
	const char *text;
	*ret_fortran = false;
	if (!order)
		return 0;
	int rc = json_string(order, "order", &text, NULL);
	if (rc)
		return rc;
	if (strcmp(text, "C") != 0 && strcmp(text, "F") != 0)
		return err_set(EIO, "order: \"%.16s\" is neither \"C\" nor \"F\"", text);
	*ret_fortran = text[0] == 'F';
	return 0;
}

static int make_chain(struct array_meta *meta, const struct json *document, bool big_endian)
{
	bool fortran;
	struct codec_list *list = &meta->codecs;
	list->v2 = true;
	int rc = parse_order(document, &fortran);
	if (!rc)
		rc = make_configs(meta, big_endian);
	if (!rc && fortran && meta->ndim > 1)
		rc = codec_list_add(list, "transpose", json_get(meta->roots[1], "transpose"), "order");
	if (!rc)
		rc = codec_list_add(list, "bytes", json_get(meta->roots[1], "bytes"), "dtype");
	if (!rc)
		rc = add_filters(list, meta_get_optional(document, "filters"));
	const struct json *compressor = meta_get_optional(document, "compressor");
	if (!rc && compressor)
		rc = add_numcodec(list, compressor, "compressor");
	return rc;
}

static int parse_separator(struct array_meta *meta, const struct json *document)
{
	const struct json *separator = meta_get_optional(document, "dimension_separator");
	const char *text = ".";
	int rc = separator ? json_string(separator, "dimension_separator", &text, NULL) : 0;
	if (rc)
		return rc;
	if (strcmp(text, ".") != 0 && strcmp(text, "/") != 0)
		return err_set(EIO, "dimension_separator: \"%.16s\" is neither \".\" nor \"/\"", text);
	meta->keys = (struct key_encoding){.kind = KEY_V2, .separator = text[0]};
	meta->separator_assumed = !separator;
	return 0;
}

/* The whole of .zattrs, without what may stand around the object: a byte order mark, white space, NULs. */
static int copy_attributes(const char *text, size_t size, char **ret_attributes)
{
	if (!text)
		return 0;
	struct json *root;
	int rc = json_parse(text, size, LIMIT_JSON_BYTES, NULL, &root);
	if (!rc) {
		rc = meta_check_object(root, "document");
		json_free(root);
	}
	if (rc)
		return err_prefix(rc, ".zattrs");
	const char *start = memchr(text, '{', size);
	size -= (size_t)(start - text);
	while (start[size - 1] != '}')
		size--;
	char *copy = strndup(start, size);
	if (!copy)
		return err_set(ENOMEM, ".zattrs: no memory");
	*ret_attributes = copy;
	return 0;
}

static int fill_array(struct array_meta *meta, const struct json *document)
{
	const struct json *shape, *chunks, *type;
	bool big_endian = false;
	int rc = meta_check_object(document, "document");
	if (rc || (rc = meta_check_format(document, 2)) || (rc = meta_get_required(document, "shape", &shape)) ||
		(rc = meta_get_required(document, "chunks", &chunks)) || (rc = meta_get_required(document, "dtype", &type)))
		return rc;
	rc = meta_take_refusal(meta, type, dtype_parse_v2(type, &meta->dtype, &big_endian));
	if (rc || (rc = meta_parse_shapes(meta, shape, chunks, "chunks")) || (rc = meta_count_elements(meta)) ||
		(rc = parse_separator(meta, document)) || (rc = meta_parse_fill(meta, json_get(document, "fill_value"))))
		return rc;
	return make_chain(meta, document, big_endian);
}

int meta_parse_v2_array(const char *zarray, size_t size, const char *zattrs, size_t zattrs_size,
						struct array_meta **ret_meta)
{
	struct array_meta *meta = calloc(1, sizeof(*meta));
	if (!meta)
		return err_set(ENOMEM, "no memory");
	meta->zarr_format = 2;
	int rc = json_parse(zarray, size, LIMIT_JSON_BYTES, NULL, &meta->roots[0]);
	if (!rc)
		rc = fill_array(meta, meta->roots[0]);
	if (!rc)
		rc = copy_attributes(zattrs, zattrs_size, &meta->attributes);
	if (rc)
		array_meta_free(meta);
	else
		*ret_meta = meta;
	return rc;
}

static int check_zgroup(const char *text, size_t size)
{
	struct json *root;
	int rc = json_parse(text, size, LIMIT_JSON_BYTES, NULL, &root);
	if (rc)
		return rc;
	rc = meta_check_object(root, "document");
	if (!rc)
		rc = meta_check_format(root, 2);
	json_free(root);
	return rc;
}

int meta_parse_v2_group(const char *zgroup, size_t size, const char *zattrs, size_t zattrs_size,
						struct group_meta **ret_meta)
{
	int rc = zgroup ? check_zgroup(zgroup, size) : 0;
	if (rc)
		return rc;
	struct group_meta *meta = calloc(1, sizeof(*meta));
	if (!meta)
		return err_set(ENOMEM, "no memory");
	meta->zarr_format = 2;
	rc = copy_attributes(zattrs, zattrs_size, &meta->attributes);
	if (rc)
		group_meta_free(meta);
	else
		*ret_meta = meta;
	return rc;
}

static int find_metadata(const struct json *root, const struct json **ret_metadata)
{
	int rc = meta_check_object(root, "document");
	if (rc)
		return rc;
	if (json_get(root, "record_size"))
		return err_set(ENOENT, "record_size: kerchunk's references, not consolidated metadata");
	const struct json *format, *metadata;
	uint64_t number;
	if ((rc = meta_get_required(root, "zarr_consolidated_format", &format)) ||
		(rc = json_uint64(format, "zarr_consolidated_format", &number)))
		return rc;
	if (number != 1)
		return err_set(ENOTSUP, "zarr_consolidated_format: %" PRIu64 " where 1 is expected", number);
	if ((rc = meta_get_required(root, "metadata", &metadata)) || (rc = meta_check_object(metadata, "metadata")))
		return rc;
	*ret_metadata = metadata;
	return 0;
}

int meta_parse_v2_consolidated(const char *text, size_t size, struct json **ret_root, const struct json **ret_metadata)
{
	struct json *root;
	int rc = json_parse(text, size, LIMIT_JSON_CONSOLIDATED_BYTES, NULL, &root);
	if (rc)
		return rc;
	rc = find_metadata(root, ret_metadata);
	if (rc)
		json_free(root);
	else
		*ret_root = root;
	return rc;
}
