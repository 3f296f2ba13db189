/*
 * limits.h: every limit on what a store may ask of us. Numbers from a store are input, not truth (design, section 8);
 * each limit is tested at its value and one past it.
 */
#ifndef ZARRFS_LIMITS_H
#define ZARRFS_LIMITS_H

#define LIMIT_DIMS 32						  /* dimensions of an array (numpy's old limit, TensorStore's) */
#define LIMIT_CODECS 16						  /* codecs in one chain */
#define LIMIT_SHARD_LEVELS 4				  /* shardings inside each other */
#define LIMIT_SHARD_ENTRIES (1u << 24)		  /* inner chunks of one shard */
#define LIMIT_ITEM_SIZE (1u << 20)			  /* bytes of one element */
#define LIMIT_FIELDS 4096					  /* fields of a structured type, on all levels */
#define LIMIT_SWAP_SPANS (1u << 16)			  /* places in one element where the byte order changes */
#define LIMIT_CHUNK_BYTES (UINT64_C(1) << 30) /* decoded bytes of one chunk, default of --max-chunk */
#define LIMIT_JSON_DEPTH 64					  /* nesting of a metadata document */
#define LIMIT_JSON_BYTES (UINT64_C(16) << 20) /* size of a metadata document */
#define LIMIT_JSON_CONSOLIDATED_BYTES (UINT64_C(64) << 20) /* the same with consolidated metadata in it */
#define LIMIT_JSON_VALUES (1u << 20)					   /* in a document of any size; each costs about 72 bytes */
#define LIMIT_JSON_VALUE_BYTES 12 /* a longer one may have a value for so many bytes: about 8 times itself */
#define LIMIT_NAME_BYTES 255	  /* a file name (NAME_MAX) */
#define LIMIT_KEY_BYTES 4096	  /* a store key (PATH_MAX) */
#define LIMIT_NODE_DEPTH 64		  /* groups inside each other */
#define LIMIT_ENCODED_SLACK (UINT64_C(64) << 10) /* an encoded chunk is at most its bound plus this */
#define LIMIT_CODEC_EXPANSION 16				 /* bytes that filters make of one, all together; of f8 as u1 it is 8 */

/* The central directory of a zip file; as a table it takes about as much. */
#define LIMIT_ZIP_DIRECTORY_BYTES (UINT64_C(1) << 30)

/* A kerchunk reference file; in memory it takes itself and 12 bytes a key. */
#define LIMIT_REFERENCE_BYTES (UINT64_C(1) << 30)
#define LIMIT_REFERENCE_MADE (1u << 20) /* keys that its `gen` makes */
#define LIMIT_REFERENCE_MADE_BYTES ((size_t)64 << 20)
#define LIMIT_REFERENCE_TEMPLATES 1024
#define LIMIT_REFERENCE_EXPRESSIONS 16				/* in one text */
#define LIMIT_REFERENCE_RENDERED ((size_t)64 << 10) /* bytes of a text after its templates */
#define LIMIT_REFERENCE_URL_BYTES ((size_t)16 << 10)

#endif
