/* deflate_context.h: this thread's decompression context of libdeflate, shared by the codecs that decode gzip and zlib. */
#ifndef ZARRFS_DEFLATE_CONTEXT_H
#define ZARRFS_DEFLATE_CONTEXT_H

#include <libdeflate.h>

/* Made at the first call, freed when the thread ends. NULL without memory. */
struct libdeflate_decompressor *deflate_context(void);

#endif
