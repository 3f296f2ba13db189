/*
 * dtype.h: the table of data types: names in v2 and v3, size, swap unit, fill value syntax, npy descr.
 * (Zarr v3 core specification, "Data types"; v2 specification, "Data type encoding"; numpy's array interface.)
 * Const after parsing: any thread.
 */
#ifndef ZARRFS_DTYPE_H
#define ZARRFS_DTYPE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"

enum dtype_kind {
	DTYPE_BOOL,
	DTYPE_INT,
	DTYPE_UINT,
	DTYPE_FLOAT,
	DTYPE_COMPLEX,
	DTYPE_RAW,		/* opaque bytes: v3 r<bits>, v2 |V<n> */
	DTYPE_BYTES,	/* fixed-length byte string, padded with NUL: v2 |S<n> */
	DTYPE_UNICODE,	/* fixed-length UCS-4 string: v2 <U<n> */
	DTYPE_DATETIME, /* int64 ticks */
	DTYPE_TIMEDELTA,
};

#define DTYPE_NAME_BYTES 64

struct dtype {
	enum dtype_kind kind;
	uint32_t size;				  /* bytes of one element, >= 1, <= LIMIT_ITEM_SIZE */
	uint32_t swap_unit;			  /* bytes that change places with the byte order: 1 never, 4 for complex64 and UCS-4 */
	char name[DTYPE_NAME_BYTES];  /* as the document spells it: "float32", "<f4" */
	char descr[DTYPE_NAME_BYTES]; /* numpy's, little-endian: "<f4", "|u1", "<M8[ns]", "|S12" */
};

/* v3 data_type: a name or an extension object. ENOTSUP for a type that is unknown or not served, with the reason. */
int dtype_parse_v3(const struct json *json, struct dtype *ret_dtype);

/* v2 dtype: a typestring; *ret_big_endian says the stored order. ENOTSUP for objects and structured types, EIO when malformed. */
int dtype_parse_v2(const struct json *json, struct dtype *ret_dtype, bool *ret_big_endian);

/* The row of numpy's descr (little- or big-endian), for pack; *ret_big_endian as above. */
int dtype_parse_descr(const char *descr, struct dtype *ret_dtype, bool *ret_big_endian);

/*
 * A fill value's little-endian bytes (dtype->size of them, exact to the bit), in any legal spelling of that format (zarr-format,
 * sections 1.6 and 3.4). null, or NULL for an absent member, gives zero bytes and *ret_undefined. EIO when it is none of them.
 */
int dtype_parse_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *ret_bytes,
					 bool *ret_undefined);

/* The same as memory of its own, which the caller frees. */
int dtype_make_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t **ret_bytes,
					bool *ret_undefined);

/* A fill value as v3 JSON text (floats that are not short decimals as "0x..."); for printing. The caller frees; NULL without memory. */
char *dtype_print_fill(const struct dtype *dtype, const uint8_t *bytes);

/* The v3 name of the type ("float32", "r16", ...), or NULL where v3 has none. Static or inside *dtype. */
const char *dtype_v3_name(const struct dtype *dtype, char *buffer, size_t size);

/* Names of all v3 types that are read, separated by ", ", for messages. */
const char *dtype_known(void);

#endif
