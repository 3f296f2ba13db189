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
#include "base/limits.h"
#include "base/ndcopy.h"
#include "base/str.h"

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
	DTYPE_RECORD,	/* named fields one after the other: v2 lists, v3 struct and structured */
	DTYPE_UNSERVED, /* a type that a document names and that is not served: size 0, name and descr are its text */
};

#define DTYPE_NAME_BYTES 64

struct record;
struct float_format;

struct dtype {
	enum dtype_kind kind;
	uint32_t size;		/* bytes of one element, >= 1, <= LIMIT_ITEM_SIZE */
	uint32_t swap_unit; /* bytes that change places with the byte order: 1 never, 4 for complex64 and UCS-4 */
	uint8_t bits;		/* of each byte, the low ones that hold a number narrower than it: 4 for int4; else 0 */
	const struct float_format *floats; /* of a float's or complex's numbers; else NULL */
	struct record *record;			   /* DTYPE_RECORD only; shared by copies */
	char name[DTYPE_NAME_BYTES];	   /* as the document spells it: "float32", "<f4"; "struct", "structured" */
	char descr[DTYPE_NAME_BYTES]; /* numpy's, little-endian: "<f4", "|u1", "<M8[ns]", "|S12"; "|V<size>" for a record */
};

/* A field of a record. */
struct field {
	char *name; /* UTF-8; "" for padding, which is then DTYPE_RAW */
	uint32_t offset;
	uint32_t count;				/* elements: the product of shape, 1 without one */
	int ndim;					/* of a sub-array */
	uint32_t shape[LIMIT_DIMS]; /* in C order */
	struct dtype dtype;
};

/*
 * The fields of a record. Its numbers may differ in size and, in v2, in stored byte order, so no one unit describes it:
 * spans names the numbers that change places when the stored order is "big". In v3 those are all numbers, in v2 (and in a
 * descr) those that are stored big-endian. When they fill the record evenly, swap_unit says so and there are none.
 */
struct record {
	unsigned refs;
	int n_fields;
	struct field *fields;
	int n_spans;
	struct swap_span *spans;
	bool is_packed; /* without sub-arrays and padding, on every level: what v3 can say */
};

/* v3 data_type: a name or an extension object. ENOTSUP for a type that is unknown or not served, with the reason. */
int dtype_parse_v3(const struct json *json, struct dtype *ret_dtype);

/*
 * v2 dtype: a typestring, a list of fields, or a name that TensorStore writes ("bfloat16"). *ret_big_endian: something in it
 * is stored big-endian. ENOTSUP for objects and unknown types, EIO when malformed.
 */
int dtype_parse_v2(const struct json *json, struct dtype *ret_dtype, bool *ret_big_endian);

/* A typestring of numpy (little- or big-endian); *ret_big_endian as above. */
int dtype_parse_descr(const char *descr, struct dtype *ret_dtype, bool *ret_big_endian);

/* numpy's descr, a typestring or a list of fields, as JSON. */
int dtype_parse_descr_json(const struct json *json, struct dtype *ret_dtype, bool *ret_big_endian);

/* The text of a data type that is not served, for display. */
void dtype_init_unserved(const struct json *json, struct dtype *ret_dtype);

/* A second owner of what a record owns; dtype_finish by each. A zeroed dtype may be finished. */
void dtype_copy(const struct dtype *dtype, struct dtype *ret_dtype);
void dtype_finish(struct dtype *dtype);

/* Elements (`size` bytes of them) from the stored order "big" to ours, or back; dst may be src. */
void dtype_swap(const struct dtype *dtype, void *dst, const void *src, size_t size);

/* numpy's descr as JSON: "<f4" in quotes, or a list of fields as in v2: [["a", "<f4"], ["b", "<i2", [2, 3]]]. */
void dtype_print_descr(const struct dtype *dtype, struct str *str);

/*
 * A fill value's little-endian bytes (dtype->size of them, exact to the bit), in any legal spelling of that format (zarr-format,
 * sections 1.6 and 3.4). null, or NULL for an absent member, gives zero bytes and *ret_undefined. EIO when it is none of them.
 * A record's base64 is in the stored order: v2's spans say which, in v3 the caller must know (and dtype_swap).
 */
int dtype_parse_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *ret_bytes,
					 bool *ret_undefined);

/* The same as memory of its own, which the caller frees. */
int dtype_make_fill(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t **ret_bytes,
					bool *ret_undefined);

/* A fill value as v3 JSON text (floats that are not short decimals as "0x..."); for printing. The caller frees; NULL without memory. */
char *dtype_print_fill(const struct dtype *dtype, const uint8_t *bytes);

/* The v3 name of the type ("float32", "r16", "struct" ...), or NULL where v3 has none (sub-arrays, padding). Static or inside *dtype. */
const char *dtype_v3_name(const struct dtype *dtype, char *buffer, size_t size);

/* Names of all v3 types that are read, separated by ", ", for messages. */
const char *dtype_known(void);

#endif
