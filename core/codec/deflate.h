/*
 * deflate.h: what gzip.c, zlib.c and others share: one DEFLATE stream in its wrapper or bare, over libdeflate. A wrapper's checksum is
 * verified, and nothing is allocated from its fields. Any thread.
 */
#ifndef ZARRFS_DEFLATE_H
#define ZARRFS_DEFLATE_H

#include "codec/codec_impl.h"

enum deflate_wrapper { DEFLATE_GZIP, DEFLATE_ZLIB, DEFLATE_RAW };

/* A codec with a level: 0 to 9, -1 the library's own choice (6). */
struct deflate {
	struct codec codec;
	int level;
};

int deflate_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec);

/*
 * Decodes the first member or stream of src, at most `room` bytes; *ret_used says how much of src it was. EIO when it is
 * damaged or longer.
 */
int deflate_decode_one(enum deflate_wrapper wrapper, const void *src, size_t size, void *dst, size_t room,
					   size_t *ret_used, size_t *ret_size);

/* Not for DEFLATE_RAW. */
int deflate_encode(const struct codec *codec, enum deflate_wrapper wrapper, const void *src, size_t size,
				   struct buf **ret_buf);

/* Encoded bytes at most, in either wrapper. */
uint64_t deflate_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed);

#endif
