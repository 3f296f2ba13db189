/* deflate_context.h: this thread's decompression context of libdeflate, for codecs and for the members of a zip file. */
#ifndef ZARRFS_DEFLATE_CONTEXT_H
#define ZARRFS_DEFLATE_CONTEXT_H

#include <libdeflate.h>

/* Made at the first call, freed when the thread ends. NULL without memory. */
struct libdeflate_decompressor *deflate_context(void);

#endif
