/*
 * fill.c: fill values, JSON <-> the bytes of one element, exact to the bit (Zarr v3 data types, "Permitted fill
 * values"; v2 specification, "Fill value encoding"; and what real writers make of them).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/str.h"
#include "meta/dtype.h"
#include "meta/meta_impl.h"

int fill_mismatch(const struct dtype *dtype, const struct json *json)
{
	return err_set(EIO, "fill_value: %s is no value of %s", json_type_name(json_type(json)), dtype->name);
}

/* Numbers stand in strings too, in what N5's tools write: such a string's number, as a document that the caller frees. */
static struct json *number_in_string(const struct json *json)
{
	const char *text;
	struct json *number;
	if (json_string(json, "fill_value", &text, NULL) || json_parse(text, strlen(text), 64, NULL, &number))
		return NULL;
	if (json_type(number) == JSON_NUMBER)
		return number;
	json_free(number);
	return NULL;
}

static int no_value(const struct dtype *dtype, const char *text)
{
	return err_set(EIO, "fill_value: %.32s is no value of %s", text, dtype->name);
}

/* One number of a float or complex, in v2 also as a string (N5's tools). */
static int parse_float(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	uint32_t size = dtype->floats->size;
	const char *text = json_number_text(json);
	if (text)
		return float_from_text(dtype->floats, text, bytes) ? 0 : no_value(dtype, text);
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, NULL))
		return fill_mismatch(dtype, json);
	uint8_t big[8];
	if (hex_parse(text, strlen(text), big, size)) {
		for (uint32_t i = 0; i < size; i++)
			bytes[i] = big[size - 1 - i];
		return 0;
	}
	if (strcmp(text, "+Infinity") == 0)
		text++;
	if (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)
		return float_from_text(dtype->floats, text, bytes) ? 0 : no_value(dtype, text);
	struct json *number = zarr_format == 2 ? number_in_string(json) : NULL;
	if (!number)
		return err_set(EIO, "fill_value: \"%.32s\" is no value of %s", text, dtype->name);
	bool fits = float_from_text(dtype->floats, json_number_text(number), bytes);
	json_free(number);
	return fits ? 0 : no_value(dtype, text);
}

/* [real, imaginary]; in v2 also the real part alone. */
static int parse_complex(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	uint32_t half = dtype->size / 2;
	if (json_type(json) != JSON_ARRAY && zarr_format == 2)
		return parse_float(dtype, zarr_format, json, bytes);
	if (json_type(json) != JSON_ARRAY || json_count(json) != 2)
		return err_set(EIO, "fill_value: no pair of numbers, as %s needs", dtype->name);
	const struct json *real = json_first(json);
	int rc = parse_float(dtype, zarr_format, real, bytes);
	return rc ? rc : parse_float(dtype, zarr_format, json_next(real), bytes + half);
}

static int parse_integer(const struct dtype *dtype, const struct json *json, uint8_t *bytes)
{
	uint32_t bits = dtype->bits ? dtype->bits : 8 * dtype->size;
	int rc;
	if (dtype->kind == DTYPE_UINT) {
		uint64_t value;
		rc = json_uint64(json, "fill_value", &value);
		if (!rc && bits < 64 && value >> bits)
			rc = err_set(EIO, "fill_value: %" PRIu64 " is no value of %s", value, dtype->name);
		if (!rc)
			bits_store(bytes, dtype->size, value);
	} else {
		int64_t value;
		rc = json_int64(json, "fill_value", &value);
		int64_t limit = bits < 64 ? INT64_C(1) << (bits - 1) : INT64_MAX;
		if (!rc && bits < 64 && (value < -limit || value >= limit))
			rc = err_set(EIO, "fill_value: %" PRId64 " is no value of %s", value, dtype->name);
		if (!rc)
			bits_store(bytes, dtype->size, (uint64_t)value);
	}
	return rc;
}

/* Integers and times: ticks, or "NaT". */
static int parse_whole(const struct dtype *dtype, const struct json *json, uint8_t *bytes)
{
	if (json_type(json) == JSON_NUMBER)
		return parse_integer(dtype, json, bytes);
	const char *text;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, NULL))
		return fill_mismatch(dtype, json);
	bool is_time = dtype->kind == DTYPE_DATETIME || dtype->kind == DTYPE_TIMEDELTA;
	if (is_time && strcmp(text, "NaT") == 0) {
		bits_store(bytes, 8, UINT64_C(1) << 63);
		return 0;
	}
	struct json *number = number_in_string(json);
	if (!number)
		return err_set(EIO, "fill_value: \"%.32s\" is no value of %s", text, dtype->name);
	int rc = parse_integer(dtype, number, bytes);
	json_free(number);
	return rc;
}

static int parse_bool(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	bool value;
	uint64_t number;
	if (json_type(json) == JSON_BOOL) {
		int rc = json_bool(json, "fill_value", &value);
		if (!rc)
			bytes[0] = value;
		return rc;
	}
	if (zarr_format == 3 || json_uint64(json, "fill_value", &number) || number > 1)
		return fill_mismatch(dtype, json);
	bytes[0] = (uint8_t)number;
	return 0;
}

static int parse_value(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes);

/* An object with a value for every field. */
static int parse_fields(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	const struct record *record = dtype->record;
	if (!record->is_packed)
		return err_set(EIO, "fill_value: an object for a type with sub-arrays or padding");
	/* each field is looked for among all members */
	if (json_count(json) > LIMIT_FIELDS)
		return err_set(EFBIG, "fill_value: more than %d members", LIMIT_FIELDS);
	for (int i = 0; i < record->n_fields; i++) {
		const struct field *field = &record->fields[i];
		const struct json *value = json_get(json, field->name);
		int rc = value ? parse_value(&field->dtype, zarr_format, value, bytes + field->offset)
					   : err_set(EIO, "fill_value: no value");
		if (rc)
			return err_prefix(rc, "field \"%.64s\"", field->name);
	}
	return 0;
}

/* In v2 the base64 is what the element would be in a chunk, with the byte order that each field has there. */
static int parse_record(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	if (json_type(json) == JSON_OBJECT)
		return parse_fields(dtype, zarr_format, json, bytes);
	int rc = fill_parse_bytes(dtype, zarr_format, json, bytes);
	if (!rc && zarr_format == 2)
		dtype_swap(dtype, bytes, bytes, dtype->size);
	return rc;
}

static int parse_value(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	switch (dtype->kind) {
	case DTYPE_BOOL:
		return parse_bool(dtype, zarr_format, json, bytes);
	case DTYPE_INT:
	case DTYPE_UINT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		return parse_whole(dtype, json, bytes);
	case DTYPE_FLOAT:
		return parse_float(dtype, zarr_format, json, bytes);
	case DTYPE_COMPLEX:
		return parse_complex(dtype, zarr_format, json, bytes);
	case DTYPE_RAW:
	case DTYPE_BYTES:
		return fill_parse_bytes(dtype, zarr_format, json, bytes);
	case DTYPE_UNICODE:
		return fill_parse_unicode(dtype, zarr_format, json, bytes);
	case DTYPE_RECORD:
		return parse_record(dtype, zarr_format, json, bytes);
	case DTYPE_UNSERVED:
		break;
	}
	return fill_mismatch(dtype, json);
}

/* Bits above a narrow float's own mean nothing; a hexadecimal fill may have some. */
static void clear_spare_bits(const struct dtype *dtype, uint8_t *bytes)
{
	for (uint32_t i = 0; dtype->floats && dtype->bits && i < dtype->size; i++)
		bytes[i] &= (uint8_t)((1u << dtype->bits) - 1);
}

int dtype_make_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t **ret_bytes,
					bool *ret_undefined)
{
	bool undefined = !json || json_type(json) == JSON_NULL;
	/* Only what is not zero is written: a short document with large elements then takes no memory for them. */
	uint8_t *bytes = calloc(1, dtype->size);
	if (!bytes)
		return err_set(ENOMEM, "fill_value: no memory");
	/* NCZarr 4.8 wrapped the value in a list. */
	bool is_list = dtype->kind == DTYPE_RAW || dtype->kind == DTYPE_BYTES || dtype->kind == DTYPE_RECORD;
	if (!undefined && zarr_format == 2 && !is_list && json_type(json) == JSON_ARRAY && json_count(json) == 1)
		json = json_first(json);
	int rc = undefined ? 0 : parse_value(dtype, zarr_format, json, bytes);
	if (rc) {
		free(bytes);
		return rc;
	}
	clear_spare_bits(dtype, bytes);
	*ret_bytes = bytes;
	*ret_undefined = undefined;
	return 0;
}

int dtype_parse_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *ret_bytes,
					 bool *ret_undefined)
{
	autofree uint8_t *bytes = NULL;
	int rc = dtype_make_fill(dtype, zarr_format, json, &bytes, ret_undefined);
	if (!rc)
		memcpy(ret_bytes, bytes, dtype->size);
	return rc;
}

static void print_value(struct str *str, const struct dtype *dtype, const uint8_t *bytes);

/* As v3 wants it, and as base64 where v3 has no such type. */
static void print_record(struct str *str, const struct dtype *dtype, const uint8_t *bytes)
{
	const struct record *record = dtype->record;
	if (!record->is_packed) {
		str_append(str, "\"");
		base64_print(str, bytes, dtype->size);
		str_append(str, "\"");
		return;
	}
	for (int i = 0; i < record->n_fields; i++) {
		const struct field *field = &record->fields[i];
		str_append(str, i ? "," : "{");
		str_append_json(str, field->name, strlen(field->name));
		str_append(str, ":");
		print_value(str, &field->dtype, bytes + field->offset);
	}
	str_append(str, "}");
}

static void print_value(struct str *str, const struct dtype *dtype, const uint8_t *bytes)
{
	uint32_t size = dtype->size;
	int spare = 64 - 8 * (int)MIN(size, 8);
	switch (dtype->kind) {
	case DTYPE_BOOL:
		str_append(str, bytes[0] ? "true" : "false");
		break;
	case DTYPE_UINT:
		str_appendf(str, "%" PRIu64, bits_load(bytes, size));
		break;
	case DTYPE_INT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		str_appendf(str, "%" PRId64, (int64_t)(bits_load(bytes, size) << spare) >> spare);
		break;
	case DTYPE_FLOAT:
		float_print(str, dtype->floats, bytes);
		break;
	case DTYPE_COMPLEX:
		str_append(str, "[");
		float_print(str, dtype->floats, bytes);
		str_append(str, ",");
		float_print(str, dtype->floats, bytes + size / 2);
		str_append(str, "]");
		break;
	case DTYPE_RAW:
	case DTYPE_BYTES:
		fill_print_bytes(str, dtype, bytes);
		break;
	case DTYPE_UNICODE:
		fill_print_unicode(str, bytes, size);
		break;
	case DTYPE_RECORD:
		print_record(str, dtype, bytes);
		break;
	case DTYPE_UNSERVED:
		str_append(str, "null");
		break;
	}
}

char *dtype_print_fill(const struct dtype *dtype, const uint8_t *bytes)
{
	autostr(str);
	char *text;
	print_value(&str, dtype, bytes);
	return str_take(&str, &text) == 0 ? text : NULL;
}
