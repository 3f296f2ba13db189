/*
 * key.h: chunk key encodings (Zarr v3 core specification, "Chunk key encoding"; v2 specification, "Chunks").
 */
#ifndef ZARRFS_KEY_H
#define ZARRFS_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

enum key_kind { KEY_DEFAULT, KEY_V2 };

struct key_encoding {
	enum key_kind kind;
	char separator; /* '/' or '.' */
};

/* The v3 member `chunk_key_encoding`. ENOTSUP for an unknown name, EIO when malformed. */
int key_encoding_parse(const struct json *json, struct key_encoding *ret_encoding);

/*
 * The key of a chunk of the array at `path` ("" is the root): "temp/c/1/23". ndim coordinates; 0-d arrays have "c" or "0".
 * The caller frees; NULL without memory.
 */
char *key_of_chunk(const struct key_encoding *encoding, const char *path, const uint64_t *coords, int ndim);

/*
 * The reverse: whether `key` is one that key_of_chunk gives for that array, and for which of all coordinates, inside the grid or
 * not. When it is none, ret_coords is unspecified.
 */
bool key_to_coords(const struct key_encoding *encoding, const char *path, const char *key, int ndim,
				   uint64_t *ret_coords);

#endif
