/*
 * key.c: chunk coordinates <-> store key.
 */
#include "meta/key.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"
#include "meta/meta_impl.h"

static const struct {
	const char *name;
	char separator; /* where the document gives none */
} encodings[] = {
	[KEY_DEFAULT] = {"default", '/'},
	[KEY_V2] = {"v2", '.'},
};

int key_encoding_parse(const struct json *json, struct key_encoding *ret_encoding)
{
	const char *name;
	const struct json *config;
	int rc = meta_parse_extension(json, "chunk_key_encoding", &name, &config);
	if (rc)
		return rc;

	size_t kind = 0;
	while (kind < ARRAY_LEN(encodings) && strcmp(name, encodings[kind].name) != 0)
		kind++;
	if (kind == ARRAY_LEN(encodings))
		return err_set(ENOTSUP, "chunk_key_encoding: unknown encoding \"%.64s\" (known: default, v2)", name);

	/* Old drafts have the separator beside the name. */
	const struct json *separator = meta_get_optional(config, "separator");
	if (!separator)
		separator = meta_get_optional(json, "separator");
	struct key_encoding encoding = {.kind = (enum key_kind)kind, .separator = encodings[kind].separator};
	if (separator) {
		const char *text;
		rc = json_string(separator, "chunk_key_encoding.separator", &text, NULL);
		if (rc)
			return rc;
		if (strcmp(text, "/") != 0 && strcmp(text, ".") != 0)
			return err_set(EIO, "chunk_key_encoding.separator: \"%.16s\" is neither \"/\" nor \".\"", text);
		encoding.separator = text[0];
	}
	*ret_encoding = encoding;
	return 0;
}

char *key_of_chunk(const struct key_encoding *encoding, const char *path, const uint64_t *coords, int ndim)
{
	autostr(key);
	str_append(&key, path);
	if (key.size > 0)
		str_append(&key, "/");
	if (encoding->kind == KEY_DEFAULT)
		str_append(&key, "c");
	else if (ndim == 0)
		str_append(&key, "0");
	for (int i = 0; i < ndim; i++) {
		if (i > 0 || encoding->kind == KEY_DEFAULT)
			str_append_bytes(&key, &encoding->separator, 1);
		str_appendf(&key, "%" PRIu64, coords[i]);
	}
	char *text;
	return str_take(&key, &text) == 0 ? text : NULL;
}

/* One coordinate as key_of_chunk spells it: digits, no zero in front of others. */
static bool read_coordinate(const char **at, uint64_t *ret)
{
	const char *start = *at;
	uint64_t number = 0;
	for (; **at >= '0' && **at <= '9'; ++*at)
		if (!checked_mul(number, 10, &number) || !checked_add(number, (uint64_t)(**at - '0'), &number))
			return false;
	*ret = number;
	return *at > start && (*start != '0' || *at == start + 1);
}

bool key_to_coords(const struct key_encoding *encoding, const char *path, const char *key, int ndim,
				   uint64_t *ret_coords)
{
	size_t n = strlen(path);
	if (strncmp(key, path, n) != 0 || (n > 0 && key[n] != '/'))
		return false;
	const char *at = key + n + (n > 0);
	if (encoding->kind == KEY_DEFAULT && *at++ != 'c')
		return false;
	if (encoding->kind == KEY_V2 && ndim == 0)
		return strcmp(at, "0") == 0;
	for (int i = 0; i < ndim; i++) {
		if ((i > 0 || encoding->kind == KEY_DEFAULT) && *at++ != encoding->separator)
			return false;
		if (!read_coordinate(&at, &ret_coords[i]))
			return false;
	}
	return *at == '\0';
}
