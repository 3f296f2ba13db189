/*
 * shuffle.h: undoing Blosc's byte shuffle and bit shuffle of a block (c-blosc, README_CHUNK_FORMAT; bitshuffle by Masui et al.).
 *
 * A block of n items of `item` bytes was stored as planes:
 *
 *   byte shuffle   `item` planes of n bytes; plane k holds byte k of every item
 *   bit shuffle    8 * `item` planes of n / 8 bytes; plane 8 * k + b holds bit b of byte k of every item, the first item in
 *                  the lowest bit. Only when n is a multiple of 8, else the block was left as it is
 *
 * Bytes behind the last whole item follow unchanged. Stateless: any thread.
 */
#ifndef ZARRFS_SHUFFLE_H
#define ZARRFS_SHUFFLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One way of doing it: plain C, or the vector instructions of some CPUs. */
struct shuffle {
	const char *name;
	bool (*supported)(void);
	/*
	 * Optional fast loops over whole vectors; both return how many of the `n` items they did, the first ones. Planes are
	 * `stride` bytes apart in src; nothing beyond n * item bytes of dst is written.
	 */
	size_t (*bytes)(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst);
	size_t (*bits)(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst);
};

/* The fastest that this CPU runs. */
const struct shuffle *shuffle_best(void);

/* All that were built, the slowest first, NULL after the last; for tests, which ask supported() before use. */
const struct shuffle *shuffle_row(int i);

/* Whether a bit shuffle changes a block of `size` bytes at all. item >= 1. */
bool shuffle_bits_apply(size_t item, size_t size);

/* dst and src are `size` bytes each and do not overlap; item >= 1. */
void shuffle_undo_bytes(const struct shuffle *shuffle, size_t item, size_t size, const void *src, void *dst);
void shuffle_undo_bits(const struct shuffle *shuffle, size_t item, size_t size, const void *src, void *dst);

#endif
