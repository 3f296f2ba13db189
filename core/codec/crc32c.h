/* crc32c.h: the CRC-32C (Castagnoli) of bytes, RFC 3720 appendix B.4; SSE 4.2 or ARMv8 where the CPU has it. */
#ifndef ZARRFS_CRC32C_H
#define ZARRFS_CRC32C_H

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t size);

/* The same without the CPU's instruction. */
uint32_t crc32c_portable(const void *bytes, size_t size);

#endif
