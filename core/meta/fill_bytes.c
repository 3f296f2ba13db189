/*
 * fill_bytes.c: fill values of opaque bytes, of byte strings and of UCS-4 strings: base64, lists of bytes, text.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/base64.h"
#include "base/endian.h"
#include "base/err.h"
#include "meta/meta_impl.h"

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
	if (count > dtype->size || (dtype->kind != DTYPE_BYTES && count != dtype->size))
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
 * Opaque bytes, records and byte strings: base64, in v3 also a list of bytes. All but strings, which are
 * padded, need all their bytes. In v2 a string that is no base64 is meant literally.
 */
int fill_parse_bytes(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	if (zarr_format == 2 && is_v2_empty(json))
		return 0;
	if (json_type(json) == JSON_ARRAY)
		return parse_byte_list(dtype, json, bytes);
	const char *text;
	size_t length, size;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, &length))
		return fill_mismatch(dtype, json);
	bool raw = dtype->kind != DTYPE_BYTES;
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

int fill_parse_unicode(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes)
{
	if (zarr_format == 2 && is_v2_empty(json))
		return 0;
	const char *text;
	size_t length;
	if (json_type(json) != JSON_STRING || json_string(json, "fill_value", &text, &length))
		return fill_mismatch(dtype, json);
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

void fill_print_unicode(struct str *str, const uint8_t *bytes, size_t size)
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
void fill_print_bytes(struct str *str, const struct dtype *dtype, const uint8_t *bytes)
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
