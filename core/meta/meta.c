/*
 * meta.c: what v2.c and v3.c share: members and extension points, lengths and sizes, codec lists, freeing.
 */
#include "meta/meta.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "meta/meta_impl.h"

int meta_get_required(const struct json *object, const char *name, const struct json **ret_member)
{
	const struct json *member = json_get(object, name);
	if (!member)
		return err_set(EIO, "%s: missing", name);
	*ret_member = member;
	return 0;
}

const struct json *meta_get_optional(const struct json *object, const char *name)
{
	const struct json *member = json_get(object, name);
	return member && json_type(member) != JSON_NULL ? member : NULL;
}

int meta_check_object(const struct json *json, const char *what)
{
	if (json_type(json) != JSON_OBJECT)
		return err_set(EIO, "%s: %s where an object is expected", what, json_type_name(json_type(json)));
	return 0;
}

int meta_check_format(const struct json *document, int format)
{
	const struct json *member = NULL;
	int rc = meta_get_required(document, "zarr_format", &member);
	if (rc)
		return rc;
	if (json_type(member) == JSON_STRING)
		return err_set(ENOTSUP, "zarr_format: a string: a draft of Zarr v3");
	uint64_t number;
	rc = json_uint64(member, "zarr_format", &number);
	if (rc)
		return rc;
	if (number != (uint64_t)format)
		return err_set(ENOTSUP, "zarr_format: %" PRIu64 " where %d is expected", number, format);
	return 0;
}

int meta_parse_extension(const struct json *json, const char *what, const char **ret_name,
						 const struct json **ret_config)
{
	const struct json *name = json;
	const struct json *config = NULL;
	if (json_type(json) == JSON_OBJECT) {
		name = json_get(json, "name");
		config = meta_get_optional(json, "configuration");
	}
	if (!name || json_type(name) != JSON_STRING)
		return err_set(EIO, "%s: neither a name nor an object with one", what);
	if (config && json_type(config) != JSON_OBJECT)
		return err_set(EIO, "%s.configuration: %s where an object is expected", what,
					   json_type_name(json_type(config)));
	const char *text;
	int rc = json_string(name, what, &text, NULL);
	if (rc)
		return rc;
	*ret_name = text;
	*ret_config = config;
	return 0;
}

int meta_parse_shapes(struct array_meta *meta, const struct json *shape, const struct json *chunks,
					  const char *chunks_what)
{
	int ndim, chunks_ndim;
	int rc = json_uint64_list(shape, "shape", LIMIT_DIMS, meta->shape, &ndim);
	if (!rc)
		rc = json_uint64_list(chunks, chunks_what, LIMIT_DIMS, meta->chunk_shape, &chunks_ndim);
	if (rc)
		return rc;
	if (ndim != chunks_ndim)
		return err_set(EIO, "%s: %d lengths, but shape has %d", chunks_what, chunks_ndim, ndim);
	for (int i = 0; i < ndim; i++)
		if (meta->chunk_shape[i] == 0)
			return err_set(EIO, "%s[%d]: a chunk of length 0", chunks_what, i);
	meta->ndim = ndim;
	return 0;
}

/*
 * Lengths of 0 are left out of the bound (as numpy does), so that every stride of the array is in range too, and the
 * verdict does not depend on the order of the axes.
 */
int meta_count_elements(struct array_meta *meta)
{
	uint64_t item = MAX(meta->dtype.size, 1), bytes = item; /* a refused type has no size */
	bool empty = false;
	for (int i = 0; i < meta->ndim; i++) {
		if (meta->shape[i] == 0)
			empty = true;
		else if (!checked_mul(bytes, meta->shape[i], &bytes))
			bytes = UINT64_MAX;
		if (bytes > INT64_MAX)
			return err_set(EFBIG, "shape: the array has more than 2^63-1 bytes");
	}
	meta->elements = empty ? 0 : bytes / item;
	return 0;
}

int meta_take_refusal(struct array_meta *meta, const struct json *type, int rc)
{
	if (rc != -ENOTSUP)
		return rc;
	meta->refusal = strdup(err_message());
	if (!meta->refusal)
		return err_set(ENOMEM, "no memory");
	dtype_init_unserved(type, &meta->dtype);
	return 0;
}

int meta_parse_fill(struct array_meta *meta, const struct json *json)
{
	if (meta->refusal)
		return 0;
	return dtype_make_fill(&meta->dtype, meta->zarr_format, json, &meta->fill_value, &meta->fill_undefined);
}

int codec_list_add(struct codec_list *list, const char *name, const struct json *config, const char *where_fmt, ...)
{
	if (list->n == LIMIT_CODECS)
		return err_set(EFBIG, "codecs: more than %d", LIMIT_CODECS);
	char where[64];
	va_list args;
	va_start(args, where_fmt);
	vsnprintf(where, sizeof(where), where_fmt, args);
	va_end(args);

	struct codec_spec *specs = realloc(list->specs, sizeof(*specs) * (size_t)(list->n + 1));
	if (!specs)
		return err_set(ENOMEM, "%s: no memory", where);
	list->specs = specs;
	struct codec_spec *spec = &specs[list->n];
	*spec = (struct codec_spec){.name = strdup(name), .config = config, .where = strdup(where)};
	list->n++;
	return spec->name && spec->where ? 0 : err_set(ENOMEM, "%s: no memory", where);
}

void array_meta_free(struct array_meta *meta)
{
	if (!meta)
		return;
	for (int i = 0; i < meta->codecs.n; i++) {
		free(meta->codecs.specs[i].name);
		free(meta->codecs.specs[i].where);
	}
	free(meta->codecs.specs);
	for (int i = 0; meta->dimension_names && i < meta->ndim; i++)
		free(meta->dimension_names[i]);
	free(meta->dimension_names);
	dtype_finish(&meta->dtype);
	free(meta->refusal);
	free(meta->fill_value);
	free(meta->attributes);
	for (size_t i = 0; i < ARRAY_LEN(meta->roots); i++)
		json_free(meta->roots[i]);
	free(meta);
}

void group_meta_free(struct group_meta *meta)
{
	if (!meta)
		return;
	free(meta->attributes);
	free(meta);
}

void node_meta_finish(struct node_meta *meta)
{
	array_meta_free(meta->array);
	group_meta_free(meta->group);
	json_free(meta->consolidated_root);
	*meta = (struct node_meta){0};
}
