/*
 * fixtures.h: arrays in a mem store whose element's value is its linear index, and what reads them.
 *
 *     element e of an array, item size s  =  the low s bytes of e, little-endian; of a missing chunk: the fill value
 *
 * So any range has a naive answer, whatever the shape, chunks, shards and codecs. Failures end the test (ck_assert).
 */
#ifndef ZARRFS_FIXTURES_H
#define ZARRFS_FIXTURES_H

#include "array/array.h"
#include "store/mem.h"

#define FIXTURE_DIMS 8

struct fixture {
	const char *path;  /* "" is the root */
	const char *dtype; /* a v3 name of 1 to 8 bytes: "uint8", "float64", "r24"; NULL: "uint16" */
	int ndim;
	uint64_t shape[FIXTURE_DIMS];
	uint64_t chunk[FIXTURE_DIMS]; /* of the grid: a shard's where the chain shards */
	const char *codecs;			  /* v3's JSON list; NULL: `bytes` alone */
	uint64_t fill;				  /* its low bytes are the fill value */
	unsigned skip;				  /* chunks of the grid with number % skip == 1 have no key; 0: all have one */
	unsigned skip_inner; /* the same for inner chunks, by number in their shard, of a chain that is sharding alone */
	const char *members; /* [further members of the document, with a comma before each] */
	/* set by fixture_put */
	uint32_t item_size;
	uint64_t inner[FIXTURE_DIMS]; /* shape of an inner chunk that may be missing; chunk where there is none */
};

/* A sharding codec. `shape` is "2, 3", `inner` a list of codecs, `place` start or end. */
#define FIXTURE_SHARDING(shape, inner, index, place)                                                                   \
	"{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[" shape "],\"codecs\":[" inner                 \
	"],\"index_codecs\":[" index "],\"index_location\":\"" place "\"}}"
#define FIXTURE_BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define FIXTURE_BIG "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}"
#define FIXTURE_CRC32C "{\"name\":\"crc32c\"}"
#define FIXTURE_ZSTD "{\"name\":\"zstd\",\"configuration\":{\"level\":1,\"checksum\":false}}"
#define FIXTURE_TRANSPOSE(order) "{\"name\":\"transpose\",\"configuration\":{\"order\":[" order "]}}"

/* Writes zarr.json and every chunk that is not missing. */
void fixture_put(struct store *store, struct fixture *fixture);
void fixture_put_text(struct store *store, const char *key, const char *text);
void fixture_put_group(struct store *store, const char *path);

/* Its zarr.json; the caller frees. */
char *fixture_document(struct fixture *fixture);

uint64_t fixture_bytes(const struct fixture *fixture);

/* The naive reader: payload bytes [offset, offset + size). */
void fixture_expect(const struct fixture *fixture, uint64_t offset, size_t size, uint8_t *dst);

/* "temp/c/1/2": the key of a chunk of the grid; good until the next call. */
const char *fixture_key(const struct fixture *fixture, const uint64_t *coords);

/* What an array of a mount borrows. Members of 0 mean: 1 MiB of cache, 256 indexes, no time-outs, LIMIT_CHUNK_BYTES. */
struct fixture_limits {
	uint64_t cache_bytes;
	unsigned max_indexes;
	int width; /* of the fetch and decode lanes; 0: everything runs in the caller */
	uint64_t timeout_ns;
	uint64_t max_chunk;
};
struct fixture_env {
	struct array_env env;
	struct deadlines *deadlines;
};
void fixture_env_open(struct fixture_env *env, const struct fixture_limits *limits);
/* Removes the faults, ends every wait in the store and every load: arrays may be closed then, and nothing is read after it. */
void fixture_env_settle(struct fixture_env *env);
void fixture_env_close(struct fixture_env *env);

/* An array of the env's store, opened by its document. */
struct fixture_array {
	const struct fixture_env *env;
	struct node_meta meta;
	struct array *array;
	struct layout layout;
};
/* array_open's result; the rest must succeed. */
int fixture_array_try(const struct fixture_env *env, const char *path, struct fixture_array *ret_array);
void fixture_array_open(const struct fixture_env *env, const char *path, struct fixture_array *ret_array);
void fixture_array_close(struct fixture_array *array);

/* A read with the env's deadline, waited for. `readahead` may be NULL. dst must live until the env is closed if it times out. */
int fixture_read(const struct fixture_array *array, uint64_t offset, size_t size, uint8_t *dst,
				 struct readahead *readahead);

/* Reads and compares: 0, or the read's errno; false bytes are -EBADMSG, with err_message() saying where. Any thread. */
int fixture_check(const struct fixture *fixture, const struct fixture_array *array, uint64_t offset, size_t size,
				  struct readahead *readahead);

#endif
