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

static int mismatch(const struct dtype *dtype, const struct json *json)
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

static int parse_float(const struct dtype *dtype, uint32_t size, int zarr_format, const struct json *json,
					   uint8_t *bytes)
{
	if (json_type(json) == JSON_NUMBER) {
		float_from_text(json_number_text(json), size, bytes);
		return 0;
	}
	const char *text;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, NULL))
		return mismatch(dtype, json);
	uint8_t big[8];
	if (hex_parse(text, strlen(text), big, size)) {
		for (uint32_t i = 0; i < size; i++)
			bytes[i] = big[size - 1 - i];
		return 0;
	}
	if (strcmp(text, "+Infinity") == 0)
		text++;
	if (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0) {
		float_from_text(text, size, bytes);
		return 0;
	}
	struct json *number = zarr_format == 2 ? number_in_string(json) : NULL;
	if (!number)
		return err_set(EIO, "fill_value: \"%.32s\" is no value of %s", text, dtype->name);
	float_from_text(json_number_text(number), size, bytes);
	json_free(number);
	return 0;
}

/* [real, imaginary]; in v2 also the real part alone. */
static int parse_complex(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	uint32_t half = dtype->size / 2;
	if (json_type(json) != JSON_ARRAY && zarr_format == 2)
		return parse_float(dtype, half, zarr_format, json, bytes);
	if (json_type(json) != JSON_ARRAY || json_count(json) != 2)
		return err_set(EIO, "fill_value: no pair of numbers, as %s needs", dtype->name);
	const struct json *real = json_first(json);
	int rc = parse_float(dtype, half, zarr_format, real, bytes);
	return rc ? rc : parse_float(dtype, half, zarr_format, json_next(real), bytes + half);
}

static int parse_integer(const struct dtype *dtype, const struct json *json, uint8_t *bytes)
{
	uint32_t bits = 8 * dtype->size;
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
		return mismatch(dtype, json);
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
		return mismatch(dtype, json);
	bytes[0] = (uint8_t)number;
	return 0;
}

/* v2 writers say "no text" in three ways. */
static bool is_v2_empty(const struct json *json)
{
	const char *text = json_number_text(json);
	if (!text && json_string(json, "fill_value", &text, NULL))
		return false;
	return strcmp(text, "") == 0 || strcmp(text, "0") == 0;
}

static int parse_byte_list(const struct dtype *dtype, const struct json *json, uint8_t *bytes)
{
	size_t count = json_count(json), i = 0;
	if (count > dtype->size || (dtype->kind == DTYPE_RAW && count != dtype->size))
		return err_set(EIO, "fill_value: %zu bytes, but %s has %" PRIu32, count, dtype->name, dtype->size);
	for (const struct json *item = json_first(json); item; item = json_next(item)) {
		uint64_t value;
		int rc = json_uint64(item, "fill_value", &value);
		if (rc)
			return rc;
		if (value > 255)
			return err_set(EIO, "fill_value: %" PRIu64 " is no byte", value);
		bytes[i++] = (uint8_t)value;
	}
	return 0;
}

/*
 * Opaque bytes and byte strings: base64, in v3 also a list of bytes. Raw elements need all their bytes; strings are
 * padded. In v2 a string that is no base64 is meant literally.
 */
static int parse_bytes(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	if (zarr_format == 2 && is_v2_empty(json))
		return 0;
	if (json_type(json) == JSON_ARRAY)
		return parse_byte_list(dtype, json, bytes);
	const char *text;
	size_t length, size;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, &length))
		return mismatch(dtype, json);
	bool raw = dtype->kind == DTYPE_RAW;
	if (base64_parse(text, length, bytes, dtype->size, &size) && (!raw || size == dtype->size))
		return 0;
	memset(bytes, 0, MIN(length, dtype->size)); /* what it wrote is shorter than its text */
	if (raw && zarr_format == 3 && hex_parse(text, length, bytes, dtype->size))
		return 0;
	if (!raw && zarr_format == 2 && length <= dtype->size) {
		memcpy(bytes, text, length);
		return 0;
	}
	return err_set(EIO, "fill_value: \"%.32s\" is not the base64 of %" PRIu32 " bytes", text, dtype->size);
}

/* The code point of a well-formed sequence of n bytes. */
static uint32_t decode_utf8(const uint8_t *text, size_t n)
{
	uint32_t point = n == 1 ? text[0] : text[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++)
		point = point << 6 | (text[i] & 0x3f);
	return point;
}

static int parse_unicode(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	if (zarr_format == 2 && is_v2_empty(json))
		return 0;
	const char *text;
	size_t length;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, &length))
		return mismatch(dtype, json);
	size_t at = 0;
	for (size_t i = 0; i < length;) {
		size_t n = str_utf8_length(text + i, length - i);
		if (n == 0)
			return err_set(EIO, "fill_value: malformed UTF-8");
		if (at == dtype->size)
			return err_set(EIO, "fill_value: more than %" PRIu32 " characters", dtype->size / 4);
		store_le32(bytes + at, decode_utf8((const uint8_t *)text + i, n));
		at += 4;
		i += n;
	}
	return 0;
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
		return parse_float(dtype, dtype->size, zarr_format, json, bytes);
	case DTYPE_COMPLEX:
		return parse_complex(dtype, zarr_format, json, bytes);
	case DTYPE_RAW:
	case DTYPE_BYTES:
		return parse_bytes(dtype, zarr_format, json, bytes);
	case DTYPE_UNICODE:
		return parse_unicode(dtype, zarr_format, json, bytes);
	}
	return mismatch(dtype, json);
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
	bool is_list = dtype->kind == DTYPE_RAW || dtype->kind == DTYPE_BYTES;
	if (!undefined && zarr_format == 2 && !is_list && json_type(json) == JSON_ARRAY && json_count(json) == 1)
		json = json_first(json);
	int rc = undefined ? 0 : parse_value(dtype, zarr_format, json, bytes);
	if (rc) {
		free(bytes);
		return rc;
	}
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

static void print_byte_list(struct str *str, const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		str_appendf(str, "%s%u", i ? "," : "[", bytes[i]);
	str_append(str, "]");
}

static void encode_utf8(struct str *str, uint32_t point)
{
	uint8_t text[4] = {0};
	size_t n = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
	for (size_t i = n - 1; i > 0; i--, point >>= 6)
		text[i] = (uint8_t)(0x80 | (point & 0x3f));
	static const uint8_t first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	text[0] = (uint8_t)(first[n] | point);
	str_append_bytes(str, text, n);
}

static void print_unicode(struct str *str, const uint8_t *bytes, size_t size)
{
	autostr(text);
	while (size > 0 && load_le32(bytes + size - 4) == 0)
		size -= 4;
	for (size_t i = 0; i < size; i += 4) {
		uint32_t point = load_le32(bytes + i);
		encode_utf8(&text, point > 0x10ffff ? 0xfffd : point);
	}
	str_append_json(str, text.text, text.size);
	str->failed |= text.failed;
}

/* Byte strings end at their padding; raw_bytes are base64 in whole, r<N> a list. */
static void print_bytes(struct str *str, const struct dtype *dtype, const uint8_t *bytes)
{
	char buffer[DTYPE_NAME_BYTES];
	if (dtype->kind == DTYPE_RAW && strcmp(dtype_v3_name(dtype, buffer, sizeof(buffer)), "raw_bytes") != 0) {
		print_byte_list(str, bytes, dtype->size);
		return;
	}
	size_t size = dtype->size;
	while (dtype->kind == DTYPE_BYTES && size > 0 && bytes[size - 1] == 0)
		size--;
	str_append(str, "\"");
	base64_print(str, bytes, size);
	str_append(str, "\"");
}

char *dtype_print_fill(const struct dtype *dtype, const uint8_t *bytes)
{
	autostr(str);
	uint32_t size = dtype->size;
	int spare = 64 - 8 * (int)MIN(size, 8);
	switch (dtype->kind) {
	case DTYPE_BOOL:
		str_append(&str, bytes[0] ? "true" : "false");
		break;
	case DTYPE_UINT:
		str_appendf(&str, "%" PRIu64, bits_load(bytes, size));
		break;
	case DTYPE_INT:
	case DTYPE_DATETIME:
	case DTYPE_TIMEDELTA:
		str_appendf(&str, "%" PRId64, (int64_t)(bits_load(bytes, size) << spare) >> spare);
		break;
	case DTYPE_FLOAT:
		float_print(&str, bytes, size);
		break;
	case DTYPE_COMPLEX:
		str_append(&str, "[");
		float_print(&str, bytes, size / 2);
		str_append(&str, ",");
		float_print(&str, bytes + size / 2, size / 2);
		str_append(&str, "]");
		break;
	case DTYPE_RAW:
	case DTYPE_BYTES:
		print_bytes(&str, dtype, bytes);
		break;
	case DTYPE_UNICODE:
		print_unicode(&str, bytes, size);
		break;
	}
	char *text;
	return str_take(&str, &text) == 0 ? text : NULL;
}
