/*
 * xz.h: the .xz container (xz, doc/xz-file-format.txt, version 1.2.0) around chains of liblzma's filters. Any thread.
 */
#ifndef ZARRFS_XZ_H
#define ZARRFS_XZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether a stream begins here. */
bool is_xz(const uint8_t *src, size_t size);

/* Streams and blocks are at least so long on average, beyond some for nothing: a hostile value could have millions of empty ones. */
#define XZ_FREE_BLOCKS 64
#define XZ_BLOCK_BYTES 1024

/*
 * Decodes the first stream of src, at most `room` bytes; *ret_used says how much of src it was. Verifies each block's
 * check and the index. Its dictionary is never larger than `room`, whatever the headers say. EIO when it is damaged or
 * longer, ENOMEM.
 */
int xz_decode_stream(const uint8_t *src, size_t size, uint8_t *dst, size_t room, size_t *ret_used, size_t *ret_size);

#endif
