/*
 * lzma_chain.h: a chain of liblzma's filters from JSON, as Python's module lzma spells it, and how much of a dictionary
 * its decoder needs. A chain is const once parsed: any thread.
 */
#ifndef ZARRFS_LZMA_CHAIN_H
#define ZARRFS_LZMA_CHAIN_H

#include <lzma.h>

#include "base/json.h"

struct lzma_chain {
	lzma_filter filters[LZMA_FILTERS_MAX + 1]; /* their options are in `options`; ended by LZMA_VLI_UNKNOWN */
	union {
		lzma_options_lzma lzma;
		lzma_options_delta delta;
		lzma_options_bcj bcj;
	} options[LZMA_FILTERS_MAX];
};

/*
 * [{"id": 3, "dist": 4}, {"id": 33, "preset": 6, "dict_size": 65536}]: `filters` of numcodecs' lzma. EIO when it is no chain
 * that liblzma knows. The chain points into itself: it may not be moved.
 */
int lzma_chain_parse(const struct json *filters, struct lzma_chain *chain);

/* LZMA2 with a preset (0 to 9, with 1 << 31 for "extreme"). EIO when there is no such preset. */
int lzma_chain_preset(uint32_t preset, struct lzma_chain *chain);

/* A copy whose dictionary is no larger than `bytes`, which need not be more than the bytes to decode or encode. */
void lzma_chain_shrink(const struct lzma_chain *chain, size_t bytes, struct lzma_chain *copy);

/* The same on a dictionary's size alone. */
uint32_t lzma_dictionary_shrink(uint32_t dictionary, size_t bytes);

/* The errno and message of a failed call of liblzma; `room`: bytes that were left to fill. */
int lzma_chain_failure(lzma_ret code, size_t room);

#endif
