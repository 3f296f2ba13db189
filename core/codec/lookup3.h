/* lookup3.h: Bob Jenkins' hash of 2006, little-endian, as HDF5 uses it for metadata ("hashlittle"). */
#ifndef ZARRFS_LOOKUP3_H
#define ZARRFS_LOOKUP3_H

#include <stddef.h>
#include <stdint.h>

uint32_t lookup3(const void *bytes, size_t size, uint32_t initial);

#endif
