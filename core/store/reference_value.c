/*
 * reference_value.c: one value of a reference table: bytes that stand there, or a part of a target.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/checked.h"
#include "base/err.h"
#include "base/limits.h"
#include "store/reference_impl.h"

/* What is decoded by a thread that only tries takes some 30 us at most. */
#define TRY_BYTES ((uint32_t)16 << 10)
#define BASE64 "base64:"

/* The bytes that stand between the quotes, where they are as they are meant. */
static bool is_plain(const char *text, size_t size)
{
	return !memchr(text, '\\', size) && (size < strlen(BASE64) || memcmp(text, BASE64, strlen(BASE64)) != 0);
}

static int decode_base64(struct buf *buf)
{
	const char *text = (const char *)buf->data + strlen(BASE64);
	size_t size = buf->size - strlen(BASE64);
	if (!base64_parse(text, size, buf->data, buf->size, &size)) /* in place: it writes behind where it reads */
		return err_set(EIO, "no base64 behind \"" BASE64 "\"");
	buf_shrink(buf, size);
	return 0;
}

/* text[0 .. size) without its quotes */
static int read_text(char *text, size_t size, struct buf **ret_bytes)
{
	if (is_plain(text, size))
		return buf_wrap(text, size, NULL, NULL, ret_bytes);
	autobuf bytes = NULL;
	int rc = buf_new(size, &bytes);
	if (rc)
		return rc;
	buf_shrink(bytes, json_unescape(text, size, (char *)bytes->data));
	if (bytes->size >= strlen(BASE64) && memcmp(bytes->data, BASE64, strlen(BASE64)) == 0)
		rc = decode_base64(bytes);
	if (rc == 0)
		*ret_bytes = buf_ref(bytes);
	return rc;
}

static int read_url(const struct reference_table *table, const struct json *json, char **ret_url)
{
	const char *text;
	autostr(url);
	int rc = json_string(json, "url", &text, NULL);
	if (!rc && table->templates && strstr(text, "{{"))
		rc = reference_render(text, table->templates, NULL, 0, &url);
	else if (!rc)
		str_append(&url, text);
	return rc ? rc : str_take(&url, ret_url);
}

/* [url] or [url, offset, length] */
static int read_target(const struct reference_table *table, const struct json *list, struct reference *reference)
{
	size_t n = json_count(list);
	if (n != 1 && n != 3)
		return err_set(EIO, "a reference is [url] or [url, offset, length], not a list of %zu", n);
	const struct json *url = json_first(list), *offset = json_next(url);
	uint64_t end;
	reference->is_whole = n == 1;
	int rc = 0;
	if (!reference->is_whole)
		rc = json_uint64(offset, "offset", &reference->offset);
	if (!rc && !reference->is_whole)
		rc = json_uint64(json_next(offset), "length", &reference->size);
	if (!rc && !checked_add(reference->offset, reference->size, &end))
		rc = err_set(EIO, "offset and length: more than 2^64");
	return rc ? rc : read_url(table, url, &reference->url);
}

static int read_list(const struct reference_table *table, const char *text, size_t size, struct reference *reference)
{
	struct json *list;
	int rc = json_parse(text, size, LIMIT_JSON_BYTES, NULL, &list);
	if (!rc)
		rc = read_target(table, list, reference);
	json_free(list);
	return rc;
}

int reference_read(const struct reference_table *table, const struct reference_entry *entry,
				   struct reference *ret_reference)
{
	struct reference reference = {0};
	char *text = table->text + entry->value;
	size_t size = entry->value_size;
	int rc;
	if (text[0] == '"')
		rc = read_text(text + 1, size - 2, &reference.bytes);
	else if (text[0] == '{')
		rc = buf_wrap(text, size, NULL, NULL, &reference.bytes);
	else if (text[0] == '[')
		rc = read_list(table, text, size, &reference);
	else
		rc = err_set(EIO, "a reference is a text, an object, [url] or [url, offset, length]");
	if (rc)
		reference_finish(&reference);
	else
		*ret_reference = reference;
	return rc;
}

void reference_finish(struct reference *reference)
{
	buf_unref(reference->bytes);
	free(reference->url);
	*reference = (struct reference){0};
}

bool reference_is_slow(const struct reference_table *table, const struct reference_entry *entry)
{
	return entry->value_size > TRY_BYTES && table->text[entry->value] != '{';
}
