/*
 * blosclz.h: decoding BloscLZ, the FastLZ-like compressor inside Blosc chunks (codec format version 1).
 */
#ifndef ZARRFS_BLOSCLZ_H
#define ZARRFS_BLOSCLZ_H

#include <stddef.h>

/*
 * Decodes all of src, which is hostile, into at most `room` bytes of dst; they do not overlap. EIO with the reason. Any thread.
 */
int blosclz_decode(const void *src, size_t size, void *dst, size_t room, size_t *ret_size);

#endif
