/*
 * dtype.c: a data type's three spellings: v3's data_type, v2's typestring, numpy's descr. The types are rows of
 * dtype_rows.c; lists of fields are in record.c, fill values in fill.c.
 */
#include "meta/dtype.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "meta/meta_impl.h"

static const char *const units[] = {"Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"};

static bool is_time(enum dtype_kind kind)
{
	return kind == DTYPE_DATETIME || kind == DTYPE_TIMEDELTA;
}

/* Decimal digits; false beyond 2^31-1. */
static bool parse_count(const char *digits, size_t n, uint32_t *ret_count)
{
	uint64_t value = 0;
	for (size_t i = 0; i < n; i++) {
		value = value * 10 + (uint64_t)(digits[i] - '0');
		if (value > INT32_MAX)
			return false;
	}
	*ret_count = (uint32_t)value;
	return true;
}

/* "[10us]" as numpy writes it; "" for generic. */
static int print_unit(const char *what, const char *unit, uint32_t scale, char *ret_text, size_t size)
{
	if (strcmp(unit, "\u03bcs") == 0 || strcmp(unit, "\u00b5s") == 0)
		unit = "us";
	if (scale == 0)
		return err_set(EIO, "%s: a time unit of scale 0", what);
	if (strcmp(unit, "generic") == 0) {
		if (scale != 1)
			return err_set(ENOTSUP, "%s: a scaled generic time unit is not supported", what);
		ret_text[0] = '\0';
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (strcmp(unit, units[i]) != 0)
			continue;
		if (scale == 1)
			snprintf(ret_text, size, "[%s]", unit);
		else
			snprintf(ret_text, size, "[%" PRIu32 "%s]", scale, unit);
		return 0;
	}
	return err_set(EIO, "%s: unknown time unit \"%.16s\"", what, unit);
}

/* A row, its size and its unit become a data type; `name` was found in the table or is a typestring that parsed. */
static int make(const char *what, const struct dtype_row *row, const char *name, uint64_t size, const char *unit,
				struct dtype *ret_dtype)
{
	if (size == 0)
		return err_set(EIO, "%s: elements of 0 bytes", what);
	if (size > LIMIT_ITEM_SIZE)
		return err_set(EFBIG, "%s: elements of %" PRIu64 " bytes, the limit is %u", what, size, LIMIT_ITEM_SIZE);
	if (size % row->swap_unit != 0)
		return err_set(EIO, "%s: %" PRIu64 " bytes is no multiple of %" PRIu32, what, size, row->swap_unit);
	if (strlen(name) >= DTYPE_NAME_BYTES)
		return err_set(EIO, "%s: a name of more than %d bytes", what, DTYPE_NAME_BYTES - 1);

	struct dtype dtype = {.kind = row->kind,
						  .size = (uint32_t)size,
						  .swap_unit = row->swap_unit,
						  .bits = row->bits,
						  .floats = row->floats};
	strcpy(dtype.name, name);
	snprintf(dtype.descr, sizeof(dtype.descr), "%c%c%" PRIu64 "%s", row->swap_unit > 1 ? '<' : '|', row->code,
			 row->kind == DTYPE_UNICODE ? size / 4 : size, unit);
	*ret_dtype = dtype;
	return 0;
}

/* The configuration of a type with a length, {"length_bytes": n}. */
static int parse_length(const char *name, const struct json *config, uint64_t *ret_size)
{
	const struct json *length = json_get(config, "length_bytes");
	if (!length)
		return err_set(EIO, "data_type: \"%s\" without length_bytes", name);
	return json_uint64(length, "data_type.configuration.length_bytes", ret_size);
}

/* The configuration of a time, {"unit": "us", "scale_factor": 10}, as numpy writes it. */
static int parse_time(const char *name, const struct json *config, char *ret_unit, size_t size)
{
	const struct json *unit = json_get(config, "unit"), *scale = json_get(config, "scale_factor");
	if (!unit)
		return err_set(EIO, "data_type: \"%s\" without unit", name);
	const char *text;
	uint64_t factor = 1;
	int rc = json_string(unit, "data_type.configuration.unit", &text, NULL);
	if (!rc && scale)
		rc = json_uint64(scale, "data_type.configuration.scale_factor", &factor);
	if (rc)
		return rc;
	if (factor > INT32_MAX)
		return err_set(EIO, "data_type.configuration.scale_factor: more than 2^31-1");
	return print_unit("data_type", text, (uint32_t)factor, ret_unit, size);
}

/* "r16" is two opaque bytes. */
static int parse_raw_bits(const char *name, const struct dtype_row *row, struct dtype *ret_dtype)
{
	uint32_t bits;
	if (!parse_count(name + 1, strlen(name + 1), &bits))
		return err_set(EFBIG, "data_type: \"%.64s\" is larger than %u bytes", name, LIMIT_ITEM_SIZE);
	if (bits % 8 != 0)
		return err_set(EIO, "data_type: \"%s\" is no whole number of bytes", name);
	return make("data_type", row, name, bits / 8, "", ret_dtype);
}

/* struct and structured: {"fields": [...]}. */
static int parse_struct(const char *name, const struct json *config, int *n_fields, struct dtype *ret_dtype)
{
	const struct json *fields = json_get(config, "fields");
	if (!fields)
		return err_set(EIO, "data_type: \"%s\" without fields", name);
	return record_parse(fields, true, n_fields, ret_dtype);
}

int dtype_parse_nested_v3(const struct json *json, int *n_fields, struct dtype *ret_dtype)
{
	if (json_type(json) == JSON_ARRAY) /* the fields alone, which TensorStore reads too */
		return record_parse(json, true, n_fields, ret_dtype);
	const char *name;
	const struct json *config;
	int rc = meta_parse_extension(json, "data_type", &name, &config);
	if (rc)
		return rc;
	if (strcmp(name, "struct") == 0 || strcmp(name, "structured") == 0)
		return parse_struct(name, config, n_fields, ret_dtype);
	const struct dtype_row *row = dtype_find_name(name);
	if (!row)
		return dtype_refuse("data_type", name);

	uint64_t size = row->size;
	char unit[32] = "";
	if (row->name == dtype_raw_bits)
		return parse_raw_bits(name, row, ret_dtype);
	if (is_time(row->kind))
		rc = parse_time(name, config, unit, sizeof(unit));
	else if (size == 0)
		rc = parse_length(name, config, &size);
	else if (config && json_count(config) > 0)
		rc = err_set(EIO, "data_type.configuration: \"%s\" takes none", name);
	return rc ? rc : make("data_type", row, name, size, unit, ret_dtype);
}

int dtype_parse_v3(const struct json *json, struct dtype *ret_dtype)
{
	int n_fields = 0;
	return dtype_parse_nested_v3(json, &n_fields, ret_dtype);
}

/* "[10us]" behind M8 and m8, in our own spelling; an absent one is generic. */
static int parse_time_suffix(const char *what, const char *text, char *ret_unit, size_t size)
{
	size_t length = strlen(text);
	if (length == 0) {
		ret_unit[0] = '\0';
		return 0;
	}
	char unit[16];
	size_t digits = strspn(text + 1, "0123456789");
	uint32_t scale = 1;
	if (text[0] != '[' || text[length - 1] != ']' || length < digits + 3 || length - digits - 2 >= sizeof(unit) ||
		(digits > 0 && !parse_count(text + 1, digits, &scale)))
		return err_set(EIO, "%s: malformed time unit \"%.32s\"", what, text);
	memcpy(unit, text + 1 + digits, length - digits - 2);
	unit[length - digits - 2] = '\0';
	return print_unit(what, unit, scale, ret_unit, size);
}

/*
 * A typestring of numpy's array interface. zarr-python wrote |S0 and |U0 over data of one character an element, which
 * is what numpy makes of such a type when it allocates; `empty_is_one` reads them so.
 */
static int parse_typestring(const char *what, const char *text, bool empty_is_one, struct dtype *ret_dtype,
							bool *ret_big_endian)
{
	if (text[0] == '\0' || !strchr("<>|", text[0]) || text[1] == '\0')
		return dtype_refuse(what, text);
	if (text[1] == 'O')
		return err_set(ENOTSUP, "%s: \"%.16s\": Python objects are not supported", what, text);
	size_t digits = strspn(text + 2, "0123456789");
	const char *rest = text + 2 + digits;
	uint32_t number;
	if (digits == 0 || !isalpha((unsigned char)text[1]))
		return err_set(EIO, "%s: malformed typestring \"%.32s\"", what, text);
	if (!parse_count(text + 2, digits, &number))
		return err_set(EFBIG, "%s: \"%.32s\" is larger than %u bytes", what, text, LIMIT_ITEM_SIZE);
	if ((text[1] == 'f' && number == 16) || (text[1] == 'c' && number == 32))
		return err_set(ENOTSUP, "%s: \"%.16s\" is x86's long double, which is not supported", what, text);
	const struct dtype_row *row = dtype_find_code(text[1], number);
	if (!row)
		return dtype_refuse(what, text);

	char unit[32] = "";
	if (!is_time(row->kind) && *rest)
		return err_set(EIO, "%s: malformed typestring \"%.32s\"", what, text);
	int rc = is_time(row->kind) ? parse_time_suffix(what, rest, unit, sizeof(unit)) : 0;
	if (rc)
		return rc;
	uint64_t size = number;
	if (size == 0 && empty_is_one && row->kind != DTYPE_RAW)
		size = 1;
	if (row->kind == DTYPE_UNICODE)
		size *= 4;
	rc = make(what, row, text, size, unit, ret_dtype);
	if (!rc)
		*ret_big_endian = text[0] == '>' && row->swap_unit > 1;
	return rc;
}

/* Types that numpy lacks have their names in v2 too; only TensorStore writes them, little-endian. */
static int parse_v2_name(const char *text, struct dtype *ret_dtype, bool *ret_big_endian)
{
	const struct dtype_row *row = dtype_find_name(text);
	if (!row || !dtype_row_is_foreign(row))
		return parse_typestring("dtype", text, true, ret_dtype, ret_big_endian);
	*ret_big_endian = false;
	return make("dtype", row, row->name, row->size, "", ret_dtype);
}

int dtype_parse_nested_v2(const struct json *json, int *n_fields, struct dtype *ret_dtype, bool *ret_big_endian)
{
	const char *text;
	int rc;
	if (json_type(json) != JSON_ARRAY) {
		rc = json_string(json, "dtype", &text, NULL);
		return rc ? rc : parse_v2_name(text, ret_dtype, ret_big_endian);
	}
	struct dtype dtype;
	rc = record_parse(json, false, n_fields, &dtype);
	if (rc)
		return rc;
	*ret_big_endian = dtype.swap_unit > 1 || dtype.record->n_spans > 0;
	*ret_dtype = dtype;
	return 0;
}

int dtype_parse_v2(const struct json *json, struct dtype *ret_dtype, bool *ret_big_endian)
{
	int n_fields = 0;
	return dtype_parse_nested_v2(json, &n_fields, ret_dtype, ret_big_endian);
}

int dtype_parse_descr(const char *descr, struct dtype *ret_dtype, bool *ret_big_endian)
{
	return parse_typestring("descr", descr, false, ret_dtype, ret_big_endian);
}

int dtype_parse_descr_json(const struct json *json, struct dtype *ret_dtype, bool *ret_big_endian)
{
	const char *text;
	if (json_type(json) == JSON_ARRAY)
		return dtype_parse_v2(json, ret_dtype, ret_big_endian);
	int rc = json_string(json, "descr", &text, NULL);
	return rc ? rc : dtype_parse_descr(text, ret_dtype, ret_big_endian);
}

void dtype_init_unserved(const struct json *json, struct dtype *ret_dtype)
{
	const char *name = NULL;
	const struct json *config;
	autofree char *text = NULL;
	if (json_type(json) == JSON_ARRAY || meta_parse_extension(json, "data_type", &name, &config))
		name = text = json_print(json);
	*ret_dtype = (struct dtype){.kind = DTYPE_UNSERVED, .swap_unit = 1};
	/* cut at whole characters */
	for (size_t n, at = 0; name && name[at] && (n = str_utf8_length(name + at, strlen(name + at))); at += n) {
		if (at + n >= DTYPE_NAME_BYTES)
			break;
		memcpy(ret_dtype->name + at, name + at, n);
	}
	strcpy(ret_dtype->descr, ret_dtype->name);
}

void dtype_copy(const struct dtype *dtype, struct dtype *ret_dtype)
{
	*ret_dtype = *dtype;
	if (dtype->record)
		record_ref(dtype->record);
}

void dtype_finish(struct dtype *dtype)
{
	record_unref(dtype->record);
	dtype->record = NULL;
}

void dtype_swap(const struct dtype *dtype, void *dst, const void *src, size_t size)
{
	if (dtype->record && dtype->record->n_spans > 0)
		swap_spans(dst, src, size, dtype->size, dtype->record->spans, dtype->record->n_spans);
	else
		swap_bytes(dst, src, size, dtype->swap_unit);
}

void dtype_print_descr(const struct dtype *dtype, struct str *str)
{
	if (dtype->record)
		record_print_descr(dtype->record, str);
	else
		str_append_json(str, dtype->descr, strlen(dtype->descr));
}

const char *dtype_v3_name(const struct dtype *dtype, char *buffer, size_t size)
{
	if (dtype->record)
		return dtype->record->is_packed ? "struct" : NULL;
	if (dtype_find_name(dtype->name))
		return dtype->name;
	if (dtype->kind == DTYPE_RAW) {
		int n = snprintf(buffer, size, "r%" PRIu64, (uint64_t)dtype->size * 8);
		return n > 0 && (size_t)n < size ? buffer : NULL;
	}
	const struct dtype_row *row = dtype_find_code(dtype->descr[1], dtype->size);
	return row ? row->name : NULL;
}

void dtype_print_v3(const struct dtype *dtype, struct str *str)
{
	char buffer[DTYPE_NAME_BYTES];
	if (dtype->record) {
		record_print_v3(dtype->record, str);
		return;
	}
	const char *name = dtype_v3_name(dtype, buffer, sizeof(buffer));
	const struct dtype_row *row = dtype_find_name(name);
	if (row->name == dtype_raw_bits || (row->size > 0 && !is_time(row->kind))) {
		str_appendf(str, "\"%s\"", name);
	} else if (row->size == 0) {
		str_appendf(str, "{\"name\":\"%s\",\"configuration\":{\"length_bytes\":%" PRIu32 "}}", name, dtype->size);
	} else {
		/* descr is "<M8", "<M8[ns]" or "<M8[10us]" */
		const char *unit = dtype->descr[3] == '[' ? dtype->descr + 4 : "generic]";
		size_t digits = strspn(unit, "0123456789");
		str_appendf(str, "{\"name\":\"%s\",\"configuration\":{\"unit\":\"%.*s\",\"scale_factor\":%.*s}}", name,
					(int)strcspn(unit + digits, "]"), unit + digits, digits ? (int)digits : 1, digits ? unit : "1");
	}
}
