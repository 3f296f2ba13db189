/*
 * meta_impl.h: what the files of meta/ share.
 */
#ifndef ZARRFS_META_IMPL_H
#define ZARRFS_META_IMPL_H

#include "base/json.h"
#include "base/str.h"
#include "meta/meta.h"

/* A member that must be there: EIO "shape: missing". */
int meta_get_required(const struct json *object, const char *name, const struct json **ret_member);

/* The member, or NULL where it is absent or null. */
const struct json *meta_get_optional(const struct json *object, const char *name);

/* EIO unless the document is an object; `what` names it, such as "document". */
int meta_check_object(const struct json *json, const char *what);

/* EIO without zarr_format, ENOTSUP when it is not `format`. */
int meta_check_format(const struct json *document, int format);

/*
 * An extension point (Zarr v3 core specification, "Extension points"): a bare name or an object. *ret_config is NULL
 * without a configuration. The name lives as long as the document.
 */
int meta_parse_extension(const struct json *json, const char *what, const char **ret_name,
						 const struct json **ret_config);

/* The two lists of lengths, `shape` and the grid's, with their limits; `chunks_what` names the second in messages. */
int meta_parse_shapes(struct array_meta *meta, const struct json *shape, const struct json *chunks,
					  const char *chunks_what);

/* Sets meta->elements; EFBIG when the array has more than INT64_MAX bytes. The data type is known. */
int meta_count_elements(struct array_meta *meta);

/* After a parser of data types: an unserved one (ENOTSUP) becomes meta->refusal, and 0. Other failures are returned. */
int meta_take_refusal(struct array_meta *meta, const struct json *type, int rc);

/* Allocates and parses meta->fill_value, unless the type is refused; the data type is known. `json` may be NULL. */
int meta_parse_fill(struct array_meta *meta, const struct json *json);

/* Appends one codec; copies the name. EFBIG beyond LIMIT_CODECS. */
int codec_list_add(struct codec_list *list, const char *name, const struct json *config, const char *where_fmt, ...)
	printf_like(4, 5);

/* The v3 member `data_type`: the name, or an object where the type has parameters. It has a v3 name. */
void dtype_print_v3(const struct dtype *dtype, struct str *str);

/* dtype_rows.c: one data type. */
struct dtype_row {
	const char *name; /* in v3 */
	enum dtype_kind kind;
	char code;	   /* the kind of numpy's typestrings, or what numpy shows instead: 'V' for bfloat16 */
	uint32_t size; /* 0: the document says */
	uint32_t swap_unit;
	uint8_t bits;					   /* see struct dtype */
	const struct float_format *floats; /* of a float's or complex's numbers */
};

extern const char dtype_raw_bits[]; /* "r<N>", the one name that holds its size, in bits */

/* The row of a v3 name; NULL when there is none. */
const struct dtype_row *dtype_find_name(const char *name);

/* The row that fits a typestring's kind and size (rows whose size the document says fit any), or NULL. */
const struct dtype_row *dtype_find_code(char code, uint32_t size);

/* Whether numpy lacks the type, so that v2 documents hold its name instead of a typestring. */
bool dtype_row_is_foreign(const struct dtype_row *row);

/* ENOTSUP with the reason, for a name that has no row. */
int dtype_refuse(const char *what, const char *name);

/* As dtype_parse_v2 and _v3, for a type inside another: *n_fields counts fields on all levels. */
int dtype_parse_nested_v2(const struct json *json, int *n_fields, struct dtype *ret_dtype, bool *ret_big_endian);
int dtype_parse_nested_v3(const struct json *json, int *n_fields, struct dtype *ret_dtype);

/* record.c: a list of fields, of v2 (also of a descr) or of v3. Errors as dtype_parse_v2. */
int record_parse(const struct json *fields, bool v3, int *n_fields, struct dtype *ret_dtype);
void record_ref(struct record *record);
void record_unref(struct record *record); /* NULL is legal */
void record_print_descr(const struct record *record, struct str *str);
void record_print_v3(const struct record *record, struct str *str);

/* The `size` low bytes of a number, little-endian; size <= 8. */
static inline void bits_store(uint8_t *bytes, uint32_t size, uint64_t bits)
{
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(bits >> 8 * i);
}

static inline uint64_t bits_load(const uint8_t *bytes, uint32_t size)
{
	uint64_t bits = 0;
	for (uint32_t i = 0; i < size; i++)
		bits |= (uint64_t)bytes[i] << 8 * i;
	return bits;
}

/*
 * floats.c: a binary floating point format of at most 8 bytes. What the highest bits mean differs (names as in ml_dtypes):
 * IEEE has infinities and NaNs; FN has one NaN of each sign, all ones, and no infinity; FNUZ has one NaN, the bits of -0, and
 * no infinity; FINITE has only numbers; SCALE is an exponent alone: no sign, no zero, and NaN is all ones.
 */
enum float_flavour { FLOAT_IEEE, FLOAT_FN, FLOAT_FNUZ, FLOAT_FINITE, FLOAT_SCALE };

struct float_format {
	uint8_t size; /* bytes */
	uint8_t exponent_bits, mantissa_bits;
	int16_t bias;
	enum float_flavour flavour;
};

enum {
	FLOAT16,
	FLOAT32,
	FLOAT64,
	BFLOAT16,
	FLOAT8_E3M4,
	FLOAT8_E4M3,
	FLOAT8_E4M3B11FNUZ,
	FLOAT8_E4M3FN,
	FLOAT8_E4M3FNUZ,
	FLOAT8_E5M2,
	FLOAT8_E5M2FNUZ,
	FLOAT8_E8M0FNU,
	FLOAT6_E2M3FN,
	FLOAT6_E3M2FN,
	FLOAT4_E2M1FN,
	FLOAT_FORMATS
};
extern const struct float_format float_formats[FLOAT_FORMATS];

/*
 * Its bits from a JSON number's spelling or NaN, Infinity, -Infinity: to nearest, ties to even. False, with nothing written,
 * when the format has no such value: beyond the largest without an infinity, no NaN, no sign.
 */
bool float_from_text(const struct float_format *format, const char *text, uint8_t *ret_bytes);

/* As JSON: the shortest decimal that reads back to the same bits; a NaN that is not the canonical one has its bits in hex. */
void float_print(struct str *str, const struct float_format *format, const uint8_t *bytes);

/* fill_bytes.c: fill values of opaque bytes, byte strings and UCS-4 strings, JSON <-> bytes that are zero beforehand. */
int fill_parse_bytes(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes);
int fill_parse_unicode(const struct dtype *dtype, int zarr_format, const struct json *json, uint8_t *bytes);
void fill_print_bytes(struct str *str, const struct dtype *dtype, const uint8_t *bytes);
void fill_print_unicode(struct str *str, const uint8_t *bytes, size_t size);

/* EIO: "fill_value: a list is no value of int32". */
int fill_mismatch(const struct dtype *dtype, const struct json *json);

#endif
