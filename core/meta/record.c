/*
 * record.c: structured data types: a list of fields that stand one after the other in an element (Zarr v2, "Data type
 * encoding"; zarr-extensions, data-types/struct and data-types/structured).
 *
 *     v2   [["id", "<u4"], ["", "|V4"], ["pos", [["x", "<f4"], ["y", ">f4"]], [3]]]        typestring or list, sub-array
 *     v3   [{"name": "id", "data_type": "uint32"}, ["pos", {"name": "struct", ...}]]       no sub-arrays, no padding
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/meta_impl.h"

void record_ref(struct record *record)
{
	__atomic_add_fetch(&record->refs, 1, __ATOMIC_RELAXED);
}

void record_unref(struct record *record)
{
	if (!record || __atomic_sub_fetch(&record->refs, 1, __ATOMIC_ACQ_REL) > 0)
		return;
	for (int i = 0; i < record->n_fields; i++) {
		free(record->fields[i].name);
		dtype_finish(&record->fields[i].dtype);
	}
	free(record->fields);
	free(record->spans);
	free(record);
}

/* What one field is made of; v3's may be an object. */
struct parts {
	const struct json *name, *type, *shape;
};

static int take_parts(const struct json *json, bool v3, struct parts *ret_parts)
{
	struct parts parts = {0};
	if (v3 && json_type(json) == JSON_OBJECT) {
		parts.name = json_get(json, "name");
		parts.type = json_get(json, "data_type");
	} else if (json_type(json) == JSON_ARRAY && json_count(json) >= 2 && json_count(json) <= (v3 ? 2 : 3)) {
		parts.name = json_first(json);
		parts.type = json_next(parts.name);
		parts.shape = json_next(parts.type);
	}
	if (!parts.name || !parts.type)
		return err_set(EIO, "field: neither a name and a data type nor a list of them");
	*ret_parts = parts;
	return 0;
}

static int parse_name(const struct json *json, char **ret_name)
{
	const char *text;
	if (json_type(json) == JSON_ARRAY)
		return err_set(ENOTSUP, "field: a title beside the name is not supported");
	int rc = json_string(json, "field", &text, NULL);
	if (rc)
		return rc;
	char *name = strdup(text);
	if (!name)
		return err_set(ENOMEM, "no memory for a field");
	*ret_name = name;
	return 0;
}

/* A length or a list of them. Their product stays below the largest element, so that it fits. */
static int parse_shape(const struct json *json, struct field *field)
{
	uint64_t shape[LIMIT_DIMS], count = 1;
	int ndim = 1;
	int rc = json_type(json) == JSON_NUMBER ? json_uint64(json, "sub-array", &shape[0])
											: json_uint64_list(json, "sub-array", LIMIT_DIMS, shape, &ndim);
	if (rc)
		return rc;
	for (int i = 0; i < ndim; i++) {
		if (shape[i] == 0)
			return err_set(ENOTSUP, "sub-array of no elements");
		if (shape[i] > LIMIT_ITEM_SIZE / count)
			return err_set(EFBIG, "sub-array of more than %u elements", LIMIT_ITEM_SIZE);
		count *= shape[i];
		field->shape[i] = (uint32_t)shape[i];
	}
	field->ndim = ndim;
	field->count = (uint32_t)count;
	return 0;
}

/* *ret_big_endian: its numbers change places in the stored order "big". What is set in *field is freed by the caller. */
static int parse_field(const struct json *json, bool v3, int *n_fields, struct field *field, bool *ret_big_endian)
{
	struct parts parts = {0};
	int rc = take_parts(json, v3, &parts);
	if (!rc)
		rc = parse_name(parts.name, &field->name);
	if (rc)
		return rc;
	field->count = 1;
	*ret_big_endian = true;
	rc = v3 ? dtype_parse_nested_v3(parts.type, n_fields, &field->dtype)
			: dtype_parse_nested_v2(parts.type, n_fields, &field->dtype, ret_big_endian);
	if (!rc && field->dtype.bits) /* the codec `bytes` would have to know where they are */
		rc = err_set(ENOTSUP, "\"%s\" in a structured type is not supported", field->dtype.name);
	if (!rc && parts.shape)
		rc = parse_shape(parts.shape, field);
	if (!rc && !field->name[0] && (v3 || field->dtype.kind != DTYPE_RAW))
		rc = err_set(EIO, "without a name");
	return rc;
}

/* Joins what continues the last span. */
static int add_span(struct record *record, uint32_t offset, uint32_t unit, uint32_t count)
{
	struct swap_span *last = record->n_spans ? &record->spans[record->n_spans - 1] : NULL;
	if (last && last->unit == unit && last->offset + last->unit * last->count == offset) {
		last->count += count;
		return 0;
	}
	if (record->n_spans == LIMIT_SWAP_SPANS)
		return err_set(EFBIG, "more than %u numbers of different sizes", LIMIT_SWAP_SPANS);
	if ((record->n_spans & (record->n_spans - 1)) == 0) { /* room for a power of two is used up */
		struct swap_span *spans = reallocarray(record->spans, MAX(2 * (size_t)record->n_spans, 1), sizeof(*spans));
		if (!spans)
			return err_set(ENOMEM, "no memory for a data type");
		record->spans = spans;
	}
	record->spans[record->n_spans++] = (struct swap_span){offset, unit, count};
	return 0;
}

static int add_spans_of(struct record *record, const struct field *field)
{
	const struct dtype *dtype = &field->dtype;
	if (dtype->swap_unit > 1)
		return add_span(record, field->offset, dtype->swap_unit, field->count * (dtype->size / dtype->swap_unit));
	if (!dtype->record)
		return 0;
	for (uint32_t i = 0; i < field->count; i++)
		for (int j = 0; j < dtype->record->n_spans; j++) {
			const struct swap_span *span = &dtype->record->spans[j];
			int rc = add_span(record, field->offset + i * dtype->size + span->offset, span->unit, span->count);
			if (rc)
				return rc;
		}
	return 0;
}

/* numpy refuses such a type. */
static int check_names(const struct record *record)
{
	for (int i = 0; i < record->n_fields; i++) {
		if (strlen(record->fields[i].name) > LIMIT_NAME_BYTES)
			return err_set(EFBIG, "a field's name has %zu bytes, the limit is %d", strlen(record->fields[i].name),
						   LIMIT_NAME_BYTES);
		for (int j = 0; j < i && record->fields[i].name[0]; j++)
			if (strcmp(record->fields[i].name, record->fields[j].name) == 0)
				return err_set(EIO, "two fields named \"%.64s\"", record->fields[i].name);
	}
	return 0;
}

/* All fields, and *size, the sum of theirs. */
static int add_fields(struct record *record, const struct json *list, bool v3, int *n_fields, uint64_t *size)
{
	for (const struct json *item = json_first(list); item; item = json_next(item)) {
		struct field *field = &record->fields[record->n_fields++];
		bool big_endian;
		int rc = parse_field(item, v3, n_fields, field, &big_endian);
		if (rc)
			return err_prefix(rc, "field %d", record->n_fields - 1);
		field->offset = (uint32_t)*size;
		*size += (uint64_t)field->count * field->dtype.size;
		if (*size > LIMIT_ITEM_SIZE)
			return err_set(EFBIG, "elements of %" PRIu64 " bytes, the limit is %u", *size, LIMIT_ITEM_SIZE);
		if (big_endian && (rc = add_spans_of(record, field)))
			return rc;
		bool is_packed = field->name[0] && field->ndim == 0 && (!field->dtype.record || field->dtype.record->is_packed);
		record->is_packed &= is_packed;
	}
	return check_names(record);
}

static int parse_list(const struct json *list, bool v3, int *n_fields, struct record *record, struct dtype *ret_dtype)
{
	size_t n = json_count(list);
	uint64_t size = 0;
	if (json_type(list) != JSON_ARRAY || n == 0)
		return err_set(EIO, "fields: no list of fields");
	if (n > (size_t)(LIMIT_FIELDS - *n_fields))
		return err_set(EFBIG, "fields: more than %d", LIMIT_FIELDS);
	*n_fields += (int)n;
	record->fields = calloc(n, sizeof(*record->fields));
	if (!record->fields)
		return err_set(ENOMEM, "no memory for a data type");
	int rc = add_fields(record, list, v3, n_fields, &size);
	if (rc)
		return rc;
	struct dtype dtype = {.kind = DTYPE_RECORD, .size = (uint32_t)size, .swap_unit = 1, .record = record};
	const struct swap_span *span = record->spans;
	if (record->n_spans == 1 && span->unit * span->count == size) {
		dtype.swap_unit = span->unit;
		record->n_spans = 0;
	}
	strcpy(dtype.name, v3 ? "struct" : "structured");
	snprintf(dtype.descr, sizeof(dtype.descr), "|V%" PRIu64, size);
	*ret_dtype = dtype;
	return 0;
}

int record_parse(const struct json *fields, bool v3, int *n_fields, struct dtype *ret_dtype)
{
	struct record *record = calloc(1, sizeof(*record));
	if (!record)
		return err_set(ENOMEM, "no memory for a data type");
	record->refs = 1;
	record->is_packed = true;
	int rc = parse_list(fields, v3, n_fields, record, ret_dtype);
	if (rc)
		record_unref(record);
	return rc ? err_prefix(rc, "%s", v3 ? "data_type" : "dtype") : 0;
}

void record_print_descr(const struct record *record, struct str *str)
{
	for (int i = 0; i < record->n_fields; i++) {
		const struct field *field = &record->fields[i];
		str_append(str, i ? ", [" : "[[");
		str_append_json(str, field->name, strlen(field->name));
		str_append(str, ", ");
		dtype_print_descr(&field->dtype, str);
		for (int a = 0; a < field->ndim; a++)
			str_appendf(str, "%s%" PRIu32, a ? ", " : ", [", field->shape[a]);
		str_append(str, field->ndim ? "]]" : "]");
	}
	str_append(str, "]");
}

void record_print_v3(const struct record *record, struct str *str)
{
	str_append(str, "{\"name\":\"struct\",\"configuration\":{\"fields\":[");
	for (int i = 0; i < record->n_fields; i++) {
		const struct field *field = &record->fields[i];
		str_append(str, i ? ",{\"name\":" : "{\"name\":");
		str_append_json(str, field->name, strlen(field->name));
		str_append(str, ",\"data_type\":");
		dtype_print_v3(&field->dtype, str);
		str_append(str, "}");
	}
	str_append(str, "]}}");
}
