/*
 * snappy.h: a bounded decoder of Snappy blocks (google/snappy, format_description.txt), for the codec of that name and for
 * the streams inside Blosc chunks. Any thread.
 */
#ifndef ZARRFS_SNAPPY_H
#define ZARRFS_SNAPPY_H

#include <stddef.h>

/*
 * Decodes a whole block into dst, at most `room` bytes; *ret_size says how many. EIO when it is damaged, cut short, longer
 * than what it says of itself, or larger than the room.
 */
int snappy_decode(const void *src, size_t size, void *dst, size_t room, size_t *ret_size);

#endif
