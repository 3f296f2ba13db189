/*
 * endian.h: loads and stores of little- and big-endian numbers at any address. (Not the system's <endian.h>; the
 * build never puts this folder on the include path.)
 */
#ifndef ZARRFS_ENDIAN_H
#define ZARRFS_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define ENDIAN_PAIR(bits, order)                                                                                       \
	static inline uint##bits##_t load_##order##bits(const void *p)                                                     \
	{                                                                                                                  \
		uint##bits##_t v;                                                                                              \
		memcpy(&v, p, sizeof(v));                                                                                      \
		return order##bits##toh(v);                                                                                    \
	}                                                                                                                  \
	static inline void store_##order##bits(void *p, uint##bits##_t v)                                                  \
	{                                                                                                                  \
		v = hto##order##bits(v);                                                                                       \
		memcpy(p, &v, sizeof(v));                                                                                      \
	}

ENDIAN_PAIR(16, le)
ENDIAN_PAIR(32, le)
ENDIAN_PAIR(64, le)
ENDIAN_PAIR(16, be)
ENDIAN_PAIR(32, be)
ENDIAN_PAIR(64, be)

#undef ENDIAN_PAIR

#endif
