/*
 * npy.c: numpy's .npy format (numpy.lib.format): magic, version, header length, a Python dict literal, the elements.
 *
 * The header is byte for byte what np.save writes: keys sorted, room for the first dimension to grow to 21 digits, then
 * spaces so that the elements begin at a multiple of 64, and a newline.
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

static void append_dict(struct str *str, const char *descr, int ndim, const uint64_t *shape)
{
	str_appendf(str, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr);
	for (int i = 0; i < ndim; i++)
		str_appendf(str, "%s%" PRIu64, i ? ", " : "", shape[i]);
	str_append(str, ndim == 1 ? ",), }" : "), }");
	if (ndim) {
		char first[24];
		int digits = snprintf(first, sizeof(first), "%" PRIu64, shape[0]);
		append_spaces(str, (size_t)(GROWTH_DIGITS - digits));
	}
}

/* Version 1.0 has a 2-byte length, which holds any shape that we serve. */
static int header(const struct array_meta *meta, struct str *str)
{
	autostr(dict);
	append_dict(&dict, meta->dtype.descr, meta->ndim, meta->shape);
	size_t prefix = MAGIC_BYTES + 2 + 2, unpadded = prefix + dict.size + 1;
	append_spaces(&dict, ALIGN - unpadded % ALIGN);
	str_append(&dict, "\n");
	uint8_t length[2];
	store_le16(length, (uint16_t)dict.size);
	str_append_bytes(str, MAGIC "\x01\x00", MAGIC_BYTES + 2);
	str_append_bytes(str, length, sizeof(length));
	str_append_bytes(str, dict.text, dict.size);
	return dict.failed || str->failed ? err_set(ENOMEM, "no memory for a header") : 0;
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

/* A cursor over the dict literal. */
struct parser {
	const char *at, *end;
};

static void skip_spaces(struct parser *p)
{
	while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t'))
		p->at++;
}

static bool take(struct parser *p, const char *token)
{
	size_t n = strlen(token);
	skip_spaces(p);
	if ((size_t)(p->end - p->at) < n || memcmp(p->at, token, n))
		return false;
	p->at += n;
	return true;
}

/* A Python string without escapes: all that a plain descr or key needs. */
static bool take_string(struct parser *p, char *text, size_t room)
{
	skip_spaces(p);
	if (p->at == p->end || (*p->at != '\'' && *p->at != '"'))
		return false;
	char quote = *p->at++;
	const char *close = memchr(p->at, quote, (size_t)(p->end - p->at));
	if (!close || (size_t)(close - p->at) >= room)
		return false;
	memcpy(text, p->at, (size_t)(close - p->at));
	text[close - p->at] = 0;
	p->at = close + 1;
	return !strchr(text, '\\');
}

static bool take_shape(struct parser *p, struct view_parsed *parsed)
{
	if (!take(p, "("))
		return false;
	for (parsed->ndim = 0; !take(p, ")"); parsed->ndim++) {
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
		take(p, "L"); /* Python 2 wrote long integers so */
		if (!take(p, ",")) {
			parsed->ndim++;
			return take(p, ")");
		}
	}
	return true;
}

static int parse_dict(struct parser *p, struct view_parsed *parsed)
{
	char key[32], descr[256] = "";
	bool has_descr = false, has_order = false, has_shape = false;
	if (!take(p, "{"))
		return err_set(EIO, "header: not a dict");
	while (!take(p, "}")) {
		if (!take_string(p, key, sizeof(key)) || !take(p, ":"))
			return err_set(EIO, "header: not a dict of strings");
		if (!strcmp(key, "descr")) {
			skip_spaces(p);
			if (p->at < p->end && *p->at == '[')
				return err_set(ENOTSUP, "header: descr: structured types are not supported");
			has_descr = take_string(p, descr, sizeof(descr));
		} else if (!strcmp(key, "fortran_order")) {
			parsed->fortran_order = take(p, "True");
			has_order = parsed->fortran_order || take(p, "False");
		} else if (!strcmp(key, "shape")) {
			has_shape = take_shape(p, parsed);
		} else {
			return err_set(EIO, "header: unknown key \"%s\"", key);
		}
		if (!take(p, ",")) {
			if (!take(p, "}"))
				return err_set(EIO, "header: %s: malformed", key);
			break;
		}
	}
	if (!has_descr || !has_order || !has_shape)
		return err_set(EIO, "header: %s is missing or malformed",
					   !has_descr	? "descr"
					   : !has_order ? "fortran_order"
									: "shape");
	int rc = dtype_parse_descr(descr, &parsed->dtype, &parsed->big_endian);
	return rc ? err_prefix(rc, "header") : 0;
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
	struct parser parser = {(const char *)b + prefix, (const char *)b + prefix + length};
	int rc = parse_dict(&parser, &parsed);
	if (rc)
		return rc;
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
