/*
 * npy.c: numpy's .npy format (numpy.lib.format): magic, version, header length, a Python dict literal, the elements.
 *
 * The header is byte for byte what np.save writes: keys sorted, room for the first dimension to grow to 21 digits, then
 * spaces so that the elements begin at a multiple of 64, and a newline. The version is the lowest that can hold it: 1.0 has
 * 16 bits for its length, 2.0 has 32, both in Latin-1, and 3.0 is 2.0 in UTF-8. The descr is npy_descr.c's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/str.h"
#include "view/npy_descr.h"
#include "view/view_impl.h"

#define MAGIC "\x93NUMPY"
#define MAGIC_BYTES 6
#define ALIGN 64
#define GROWTH_DIGITS 21

static int npy_supports(const struct node *node)
{
	return node->kind == NODE_GROUP ? -ENOENT : 0;
}

static void append_spaces(struct str *str, size_t n)
{
	str_appendf(str, "%*s", (int)n, "");
}

static void append_dict(struct str *str, const struct array_meta *meta)
{
	str_append(str, "{'descr': ");
	npy_append_descr(&meta->dtype, str);
	str_append(str, ", 'fortran_order': False, 'shape': (");
	for (int i = 0; i < meta->ndim; i++)
		str_appendf(str, "%s%" PRIu64, i ? ", " : "", meta->shape[i]);
	str_append(str, meta->ndim == 1 ? ",), }" : "), }");
	if (meta->ndim) {
		char first[24];
		int digits = snprintf(first, sizeof(first), "%" PRIu64, meta->shape[0]);
		append_spaces(str, (size_t)(GROWTH_DIGITS - digits));
	}
}

/* Spaces and a newline behind a dict that follows `prefix` bytes; returns the length of all but the prefix. */
static size_t pad(struct str *dict, size_t prefix)
{
	append_spaces(dict, ALIGN - (prefix + dict->size + 1) % ALIGN);
	str_append(dict, "\n");
	return dict->size;
}

static int header(const struct array_meta *meta, struct str *str)
{
	autostr(text);
	autostr(latin1);
	append_dict(&text, meta);
	bool is_latin1 = npy_to_latin1(&text, &latin1);
	struct str *dict = is_latin1 ? &latin1 : &text;
	size_t narrow = MAGIC_BYTES + 2 + 2, wide = MAGIC_BYTES + 2 + 4;
	size_t unpadded = narrow + dict->size + 1;
	uint8_t length[4];
	if (is_latin1 && unpadded + ALIGN - unpadded % ALIGN - narrow <= UINT16_MAX) {
		store_le16(length, (uint16_t)pad(dict, narrow));
		str_append_bytes(str, MAGIC "\x01\x00", MAGIC_BYTES + 2);
		str_append_bytes(str, length, 2);
	} else {
		store_le32(length, (uint32_t)pad(dict, wide)); /* a document, and so its types, is far smaller */
		str_append_bytes(str, is_latin1 ? MAGIC "\x02\x00" : MAGIC "\x03\x00", MAGIC_BYTES + 2);
		str_append_bytes(str, length, 4);
	}
	str_append_bytes(str, dict->text, dict->size);
	return text.failed || latin1.failed || str->failed ? err_set(ENOMEM, "no memory for a header") : 0;
}

static int npy_extents(struct hierarchy *hierarchy, struct node *node, struct view *view)
{
	(void)hierarchy;
	(void)node;
	const struct array_meta *meta = array_meta(view->array);
	struct layout layout;
	autostr(str);
	char *text;
	if (!layout_init(&layout, meta->ndim, meta->shape, meta->dtype.size))
		return err_set(EFBIG, "the array is larger than a file can be");
	int rc = header(meta, &str);
	size_t size = str.size;
	if (!rc)
		rc = str_take(&str, &text);
	if (!rc)
		rc = view_add_literal(view, text, size);
	return rc ? rc : view_add_elements(view, &layout);
}

/* A key: a Python string without escapes. */
static bool take_string(struct npy_literal *p, char *text, size_t room)
{
	npy_take(p, ""); /* spaces */
	if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
		return false;
	char quote = *p->at++;
	const char *close = memchr(p->at, quote, (size_t)(p->end - p->at));
	if (!close || (size_t)(close - p->at) >= room)
		return false;
	memcpy(text, p->at, (size_t)(close - p->at));
	text[close - p->at] = 0;
	p->at = close + 1;
	return true;
}

static bool take_shape(struct npy_literal *p, struct view_parsed *parsed)
{
	if (!npy_take(p, "("))
		return false;
	for (parsed->ndim = 0; !npy_take(p, ")"); parsed->ndim++) {
		uint64_t n = 0;
		const char *digits = p->at;
		if (parsed->ndim == LIMIT_DIMS)
			return false;
		for (; p->at < p->end && *p->at >= '0' && *p->at <= '9'; p->at++)
			if (!checked_mul(n, 10, &n) || !checked_add(n, (uint64_t)(*p->at - '0'), &n))
				return false;
		if (p->at == digits)
			return false;
		parsed->shape[parsed->ndim] = n;
		npy_take(p, "L"); /* Python 2 wrote long integers so */
		if (!npy_take(p, ",")) {
			parsed->ndim++;
			return npy_take(p, ")");
		}
	}
	return true;
}

static int parse_dict(struct npy_literal *p, struct view_parsed *parsed)
{
	char key[32];
	int rc;
	bool has_descr = false, has_order = false, has_shape = false;
	if (!npy_take(p, "{"))
		return err_set(EIO, "header: not a dict");
	while (!npy_take(p, "}")) {
		if (!take_string(p, key, sizeof(key)) || !npy_take(p, ":"))
			return err_set(EIO, "header: not a dict of strings");
		if (!strcmp(key, "descr")) {
			dtype_finish(&parsed->dtype);
			if ((rc = npy_take_descr(p, &parsed->dtype, &parsed->big_endian)))
				return err_prefix(rc, "header");
			has_descr = true;
		} else if (!strcmp(key, "fortran_order")) {
			parsed->fortran_order = npy_take(p, "True");
			has_order = parsed->fortran_order || npy_take(p, "False");
		} else if (!strcmp(key, "shape")) {
			has_shape = take_shape(p, parsed);
		} else {
			return err_set(EIO, "header: unknown key \"%s\"", key);
		}
		if (!npy_take(p, ",")) {
			if (!npy_take(p, "}"))
				return err_set(EIO, "header: %s: malformed", key);
			break;
		}
	}
	if (!has_descr || !has_order || !has_shape)
		return err_set(EIO, "header: %s is missing or malformed",
					   !has_descr	? "descr"
					   : !has_order ? "fortran_order"
									: "shape");
	return 0;
}

static int npy_parse(const void *bytes, size_t size, struct view_parsed *ret_parsed)
{
	const uint8_t *b = bytes;
	if (size < 10 || memcmp(b, MAGIC, MAGIC_BYTES))
		return err_set(EIO, "not an .npy file");
	int major = b[6];
	size_t prefix = major == 1 ? 10 : 12;
	if (major < 1 || major > 3 || size < prefix)
		return err_set(EIO, "unknown .npy version %d", major);
	uint64_t length = major == 1 ? load_le16(b + 8) : load_le32(b + 8);
	if (length > size - prefix)
		return err_set(EIO, "header: %" PRIu64 " bytes long, the file ends before", length);
	struct view_parsed parsed = {.payload_offset = prefix + length};
	struct npy_literal literal = {(const char *)b + prefix, (const char *)b + prefix + length, major < 3};
	int rc = parse_dict(&literal, &parsed);
	if (rc) {
		dtype_finish(&parsed.dtype);
		return rc;
	}
	*ret_parsed = parsed;
	return 0;
}

const struct view_ops npy_view_ops = {
	.suffix = "npy",
	.listed = true,
	.needs_array = true,
	.supports = npy_supports,
	.extents = npy_extents,
	.parse = npy_parse,
};
