/*
 * codec.h: encoded bytes <-> chunk, for callers. A pipeline is a checked codec chain (Zarr v3 core specification, "Codecs").
 *
 * Decoding yields the chunk in C order, elements little-endian (native here: the build refuses big-endian machines). A
 * pipeline is stateless and const: any thread; contexts of libraries are thread-local scratch owned here.
 */
#ifndef ZARRFS_CODEC_H
#define ZARRFS_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/str.h"
#include "meta/meta.h"

/* What a codec is handed or gives: an array of one element type. */
struct repr {
	int ndim;
	uint64_t shape[LIMIT_DIMS];
	uint32_t item_size; /* bytes of an element */
	uint32_t swap_unit; /* see struct dtype */
	const struct dtype
		*dtype; /* of an element, or NULL: opaque; a codec that changes it sets its own. Outlives the pipeline */
	const uint8_t *fill_value; /* item_size bytes, little-endian; outlives the pipeline */
};

/* Bytes of such an array; false when it overflows or is over LIMIT (2^62). */
bool repr_bytes(const struct repr *repr, uint64_t *ret_bytes);

struct pipeline;

/*
 * Checks a chain against the chunk it is for. Errors: ENOTSUP (unknown codec, known but not built in, a chain that is none:
 * not exactly one array -> bytes, wrong order), EIO (malformed configuration), EFBIG (over a limit), ENOMEM; messages
 * begin with the codec's place: `codecs[1]: unknown codec "jpegxl" (built in: ...)`.
 */
int pipeline_open(const struct codec_list *list, const struct repr *chunk, struct pipeline **ret_pipeline);
void pipeline_close(struct pipeline *pipeline);

/* The decoded chunk: its repr, and its bytes. */
const struct repr *pipeline_repr(const struct pipeline *pipeline);
size_t pipeline_decoded_bytes(const struct pipeline *pipeline);

/* The exact encoded size when it never varies (bytes, crc32c, transposes), else false. */
bool pipeline_fixed_size(const struct pipeline *pipeline, size_t *ret_size);

/* No encoded chunk that is worth reading is larger (EIO before it is fetched); at least the fixed size. */
uint64_t pipeline_encoded_bound(const struct pipeline *pipeline);

/* Bytes of intermediate buffers that one decode needs beside source and destination. */
size_t pipeline_scratch_bytes(const struct pipeline *pipeline);

/* Whether the encoded bytes are the decoded ones (`bytes` alone in our byte order): ranges may come straight from the store. */
bool pipeline_is_identity(const struct pipeline *pipeline);

/* A guess at the time of one decode, in nanoseconds, from the codecs' speeds; for the choice between inline and detached. */
uint64_t pipeline_decode_ns(const struct pipeline *pipeline);

/* Decodes a whole chunk into dst, exactly pipeline_decoded_bytes() of room; src is hostile. EIO with the reason, ENOMEM. */
int pipeline_decode(const struct pipeline *pipeline, const void *src, size_t size, void *dst);

/* Encodes a whole chunk; ENOTSUP when a codec of the chain cannot. */
int pipeline_encode(const struct pipeline *pipeline, const void *src, struct buf **ret_buf);

/* The chain in encoding order, one name each, such as "transpose bytes zstd"; with brackets for a shard's inner chain. */
void pipeline_print(const struct pipeline *pipeline, struct str *str);

/*
 * If the pipeline is a sharding codec and nothing else, its inner chunks can be read by byte range: how. Else NULL.
 * (A codec before or after the sharding codec means whole shards.)
 */
struct sharding;
const struct sharding *pipeline_sharding(const struct pipeline *pipeline);

const struct pipeline *sharding_inner(const struct sharding *sharding); /* of one inner chunk */
const uint64_t *sharding_grid(const struct sharding *sharding);			/* inner chunks in each dimension */
uint64_t sharding_entries(const struct sharding *sharding);				/* inner chunks of the shard */
size_t sharding_index_bytes(const struct sharding *sharding);			/* encoded index */
bool sharding_index_at_end(const struct sharding *sharding);

/* One inner chunk's place in its shard. */
struct shard_entry {
	uint64_t offset, size; /* both SHARD_ABSENT: no such inner chunk */
};
#define SHARD_ABSENT UINT64_MAX

/* Decodes the index (exactly sharding_index_bytes() of src) into sharding_entries() entries. EIO when its checksum is wrong. */
int sharding_decode_index(const struct sharding *sharding, const void *src, struct shard_entry *ret_entries);

/* The mirror: sharding_index_bytes() of encoded index. ENOTSUP when a codec of the index cannot encode. */
int sharding_encode_index(const struct sharding *sharding, const struct shard_entry *entries, struct buf **ret_buf);

/*
 * Checks an entry against its shard's size: 1 when the inner chunk is present (bytes [offset, offset + size) of the shard),
 * 0 when it is absent (fill), -EIO when it is out of range, empty, or larger than the inner chunk's bound. It says nothing
 * of its neighbours.
 */
int sharding_check_entry(const struct sharding *sharding, const struct shard_entry *entry, uint64_t shard_size);

/* The codec table, for `zarrfs --version` and messages: "blosc, bytes, crc32c, ..."; only what is built in. */
void codec_known(struct str *str);

/* The libraries that codecs use, each once with its version: "lz4 1.9.4, zstd 1.5.4, ...". */
void codec_libraries(struct str *str);

#endif
