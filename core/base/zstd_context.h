/* zstd_context.h: this thread's decompression context of libzstd, for codecs and for the members of a zip file. */
#ifndef ZARRFS_ZSTD_CONTEXT_H
#define ZARRFS_ZSTD_CONTEXT_H

#include <zstd.h>

/* Made at the first call, freed when the thread ends; parameters are the library's defaults. NULL without memory. */
ZSTD_DCtx *zstd_context(void);

#endif
