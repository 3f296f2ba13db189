/*
 * meta.h: metadata documents <-> structs; bytes in, structs out, no store. The same structs for v2 and v3.
 * Const after parsing: any thread.
 */
#ifndef ZARRFS_META_H
#define ZARRFS_META_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/limits.h"
#include "meta/dtype.h"
#include "meta/key.h"

/* One codec of a chain as the document states it. v2's order, byte order, filters and compressor become such a chain too. */
struct codec_spec {
	char *name;				   /* "zstd", "transpose"; in v2 a numcodecs id: "zlib" */
	const struct json *config; /* its configuration object, or NULL */
	char *where;			   /* for messages: "codecs[1]", "compressor", "filters[0]", "order" */
};

/* The chain of one array, in encoding order. */
struct codec_list {
	struct codec_spec *specs;
	int n;
	bool v2; /* names are numcodecs ids, and configurations are theirs */
};

struct array_meta {
	int zarr_format; /* 2 or 3 */
	int ndim;		 /* 0 to LIMIT_DIMS */
	uint64_t shape[LIMIT_DIMS];
	uint64_t chunk_shape[LIMIT_DIMS]; /* of the grid: a shard's where the codec shards; each >= 1 */
	uint64_t elements;				  /* product of shape; times the element size it is at most INT64_MAX */
	struct dtype dtype;
	char *refusal; /* of a document that is sound but for a data type that is not served: why; then no fill_value */
	uint8_t *fill_value; /* dtype.size bytes, little-endian */
	bool fill_undefined; /* it was null or absent */
	struct key_encoding keys;
	struct codec_list codecs;
	char **dimension_names; /* ndim of them, each may be NULL; NULL when none are given */
	char *attributes;		/* JSON text of the attributes object as it stands in the document; NULL when none */
	bool separator_assumed; /* v2 without dimension_separator */
	struct json *roots[2];	/* own the configurations: the document, and what v2 made up */
};

/* Names and attributes of a group; its consolidated metadata is in the document's JSON. */
struct group_meta {
	int zarr_format;
	char *attributes;
};

/* One node's document, parsed as far as its own kind goes. Exactly one of array and group is set. */
struct node_meta {
	struct array_meta *array;
	struct group_meta *group;
	struct json *consolidated_root;	 /* a v3 group: the document, when it carries consolidated metadata; else NULL */
	const struct json *consolidated; /* "metadata" of the block: path -> document */
};

/*
 * A zarr.json of either node type. Errors: EIO (malformed, or an unknown member that must be understood), ENOTSUP (understood,
 * not served: unknown grid, key encoding, storage transformer; but a data type is only a refusal), EFBIG, ENOMEM. Messages name the member
 * ("shape[1]: ..."); the caller prefixes the file. Codec names and configurations are checked by codec/, at open.
 */
int meta_parse_v3(const char *text, size_t size, struct node_meta *ret_meta);

/* The same from a document inside a consolidated block. */
int meta_parse_v3_json(const struct json *json, struct node_meta *ret_meta);

/* A .zarray with its .zattrs (NULL when absent). Errors as above. */
int meta_parse_v2_array(const char *zarray, size_t size, const char *zattrs, size_t zattrs_size,
						struct array_meta **ret_meta);

/* A .zgroup (NULL for an implicit group) with its .zattrs. */
int meta_parse_v2_group(const char *zgroup, size_t size, const char *zattrs, size_t zattrs_size,
						struct group_meta **ret_meta);

/*
 * A .zmetadata: *ret_metadata is its "metadata" object, key -> document (".zarray" etc.), inside *ret_root.
 * ENOENT when the file is of another kind (kerchunk's record_size).
 */
int meta_parse_v2_consolidated(const char *text, size_t size, struct json **ret_root, const struct json **ret_metadata);

/* The zarr.json of an array, for writing; the codecs as given. The caller frees. -ENOMEM. */
int meta_print_v3_array(const struct array_meta *meta, char **ret_text);
/* The zarr.json of a group without attributes. */
int meta_print_v3_group(char **ret_text);

void array_meta_free(struct array_meta *meta);
void group_meta_free(struct group_meta *meta);
void node_meta_finish(struct node_meta *meta);

#endif
