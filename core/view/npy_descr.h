/*
 * npy_descr.h: the part of an .npy header that is more than a word: the descr, a Python literal (numpy.lib.format,
 * "dtype_to_descr"). Only npy.c uses it.
 */
#ifndef ZARRFS_NPY_DESCR_H
#define ZARRFS_NPY_DESCR_H

#include <stdbool.h>

#include "base/str.h"
#include "meta/dtype.h"

/* A cursor over a header's text. */
struct npy_literal {
	const char *at, *end;
	bool is_latin1; /* else UTF-8 */
};

/* Skips white space, then the token if it stands there. */
bool npy_take(struct npy_literal *p, const char *token);

/* The descr, as repr() writes it: '<f4', or [('a', '<i4'), ('b', '<f8', (2,))]. In UTF-8. */
void npy_append_descr(const struct dtype *dtype, struct str *str);

/* Reads one. EIO when malformed, ENOTSUP, EFBIG: see dtype_parse_descr_json; the caller finishes the data type. */
int npy_take_descr(struct npy_literal *p, struct dtype *ret_dtype, bool *ret_big_endian);

/* UTF-8 to Latin-1; false when a character has no place there, *ret_text is then unspecified. */
bool npy_to_latin1(const struct str *text, struct str *ret_text);

#endif
