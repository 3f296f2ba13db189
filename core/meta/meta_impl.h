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

/* Allocates and parses meta->fill_value; the data type is known. `json` may be NULL. */
int meta_parse_fill(struct array_meta *meta, const struct json *json);

/* Appends one codec; copies the name. EFBIG beyond LIMIT_CODECS. */
int codec_list_add(struct codec_list *list, const char *name, const struct json *config, const char *where_fmt, ...)
	printf_like(4, 5);

/* The v3 member `data_type`: the name, or an object where the type has parameters. */
void dtype_print_v3(const struct dtype *dtype, struct str *str);

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

/* floats.c: bits of 2, 4 or 8 bytes from a JSON number's spelling or NaN, Infinity, -Infinity. */
void float_from_text(const char *text, uint32_t size, uint8_t *ret_bytes);

/* As JSON: the shortest decimal that reads back to the same bits; a NaN that is not the canonical one has its bits in hex. */
void float_print(struct str *str, const uint8_t *bytes, uint32_t size);

#endif
