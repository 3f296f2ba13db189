/*
 * codec_impl.h: what a codec must supply, on one page. One const codec_ops a file, one row in codec.c.
 *
 * A codec is const after open: any thread. decode treats its input as hostile: it fills exactly what it says or fails
 * with EIO and a reason, and never writes past dst. Slots in brackets are optional.
 */
#ifndef ZARRFS_CODEC_IMPL_H
#define ZARRFS_CODEC_IMPL_H

#include "codec/codec.h"

enum codec_kind { CODEC_ARRAY_ARRAY, CODEC_ARRAY_BYTES, CODEC_BYTES_BYTES };

struct codec_ops;

/* Implementations embed it as their first member. */
struct codec {
	const struct codec_ops *ops;
	enum codec_kind kind; /* in this chain */
	struct repr decoded;  /* array codecs: what they are handed when encoding */
	uint32_t item_size;	  /* in v3: of an element that the chain is handed here, or that became bytes; 0 in v2 */
	uint64_t bytes;		  /* bytes -> bytes: decoded size at most (exact when the stage before has a fixed size) */
};

struct codec_ops {
	const char *name;  /* Zarr v3 name; NULL when the codec has none */
	const char *v2_id; /* numcodecs id; NULL when it has none */
	enum codec_kind kind;
	bool array_in_v3;	  /* a filter of numcodecs: bytes -> bytes in v2, array -> array as numcodecs.* in v3 */
	unsigned decode_mbps; /* rough speed of decode, MB of output a second on one core */
	bool in_place;		  /* decode copes with dst == src; as many bytes come out as went in */

	/*
	 * Checks the configuration (NULL when absent; the getters cope with it) against what the codec is handed. `v2`: numcodecs
	 * spelling. In the role of a bytes -> bytes codec `decoded` is NULL. Sets no member of struct codec; codec.c does.
	 */
	int (*open)(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec);
	void (*close)(struct codec *codec);

	/* In the role of an array -> array codec: [what the next codec is handed]; NULL: the same. */
	int (*encoded_repr)(const struct codec *codec, struct repr *ret_repr);

	/* In another role: [encoded bytes for `decoded` bytes.] *ret_fixed: always exactly so many, else at most. NULL: as many, fixed. */
	uint64_t (*encoded_size)(const struct codec *codec, uint64_t decoded, bool *ret_fixed);

	/* [Bytes that decode allocates for itself, at most, when it decodes to `decoded` bytes; without it few kilobytes.] */
	uint64_t (*decode_scratch)(const struct codec *codec, uint64_t decoded);

	/* [Nothing to do at all (transpose by the identity, bytes in our order).] The pipeline then drops the stage. */
	bool (*is_noop)(const struct codec *codec);

	/*
	 * Decodes src into dst: at most `room` bytes; *ret_size says how many. Array codecs fill exactly `room`. NULL in a row
	 * whose library was not there when this program was built.
	 */
	int (*decode)(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size);

	/* [Encodes.] NULL: read-only. */
	int (*encode)(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf);

	/* [The library that does the work, and its version: "zstd 1.5.4".] */
	const char *(*library)(void);

	/* [Adds its inner codecs to a list of names.] */
	void (*print)(const struct codec *codec, struct str *str);
};

extern const struct codec_ops adler32_codec_ops, astype_codec_ops, base64_codec_ops, bitround_codec_ops,
	blosc_codec_ops, byte_shuffle_codec_ops, bytes_codec_ops, bz2_codec_ops, cast_value_codec_ops, crc32_codec_ops,
	crc32c_codec_ops, delta_codec_ops, fixedscaleoffset_codec_ops, fletcher32_codec_ops, gzip_codec_ops,
	jenkins_lookup3_codec_ops, lz4_codec_ops, lzma_codec_ops, nvcomp_codec_ops, packbits_codec_ops,
	packed_bits_codec_ops, quantize_codec_ops, reshape_codec_ops, scale_offset_codec_ops, sharding_codec_ops,
	snappy_codec_ops, squeeze_codec_ops, transpose_codec_ops, zlib_codec_ops, zstd_codec_ops;

/* What a row is in a chain of v2, or of v3. */
enum codec_kind codec_kind(const struct codec_ops *ops, bool v2);

/*
 * The row of a name; ENOTSUP with the list of what is built in when unknown. `v2`: numcodecs ids, and the array codecs
 * that meta/ makes of a v2 document's order and byte order. Else v3 names, their old aliases, and "numcodecs." + id.
 * A row that was not built is ENOTSUP too, and says so.
 */
int codec_find(const char *name, bool v2, const struct codec_ops **ret_ops);

/*
 * Finds and opens one codec of a list and sets the members of struct codec. `decoded` is what it is handed when encoding (array
 * codecs only look at it), `bytes` the decoded size. Messages begin with spec->where.
 */
int codec_open(const struct codec_spec *spec, bool v2, const struct repr *decoded, uint64_t bytes,
			   struct codec **ret_codec);

/* The close of a codec that is one allocation. */
void codec_close_plain(struct codec *codec);

/* Slots of a codec that moves nothing: its bytes are the same on both sides. */
bool codec_is_always_noop(const struct codec *codec);
int codec_copy(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size);
int codec_copy_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf);

/* An integer of a configuration that only matters for encoding; absent and null give `fallback`, out of range is clamped. */
int codec_option(const struct json *config, const char *name, int64_t low, int64_t high, int64_t fallback,
				 int64_t *ret_value);

/* All rows, for tests and fuzzers; NULL-terminated. */
extern const struct codec_ops *const codec_rows[];

/*
 * This thread's scratch of at least `size` bytes, `slot` 0 to CODEC_SCRATCH_SLOTS - 1; valid until its next use. NULL
 * without memory. Freed when the thread ends. Beyond 16 MiB it is not kept: codec_scratch_trim after the decode.
 * Slots 0 and 1 hold what travels between a pipeline's stages; a codec's decode may only use 2 and 3.
 */
#define CODEC_SCRATCH_SLOTS 4
void *codec_scratch(int slot, size_t size);
void codec_scratch_trim(void);

/* A sharding codec inside a pipeline, for pipeline_sharding; NULL when it is another codec. */
const struct sharding *sharding_of_codec(const struct codec *codec);

/* Sharding codecs inside each other: 0 without any. */
int pipeline_shard_levels(const struct pipeline *pipeline);

#endif
