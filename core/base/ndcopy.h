/*
 * ndcopy.h: strided N-d copy and fill; one short loop after merging the axes that are contiguous on both sides.
 *
 * Strides are bytes and may be of either sign. The innermost axis must be bytes: stride 1 on both sides (callers append
 * the element size as the last axis). Source and destination do not overlap. Any thread.
 */
#ifndef ZARRFS_NDCOPY_H
#define ZARRFS_NDCOPY_H

#include <stddef.h>
#include <stdint.h>

/*
 * Copies a box of `shape` (ndim axes, 1 <= ndim <= LIMIT_DIMS + 1). An axis of length 0 copies nothing.
 */
void ndcopy(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, const uint64_t *shape,
			int ndim);

/* Fills the box with an element of `item_size` bytes, repeated; shape's last axis is item_size (whole elements) . */
void ndfill(void *dst, const int64_t *dst_strides, const uint64_t *shape, int ndim, const void *item, size_t item_size);

/*
 * As ndfill for a box that may begin or end inside an element: its last axis covers bytes [first, first + shape[ndim-1])
 * of the element.
 */
void ndfill_part(void *dst, const int64_t *dst_strides, const uint64_t *shape, int ndim, const void *item,
				 size_t item_size, size_t first);

/* n elements of `size` bytes one after the other. */
void fill_elements(void *dst, const void *item, size_t size, uint64_t n);

/* Reverses the bytes of each `unit`-byte number in `size` bytes (a multiple of unit); dst may be src. unit 1: a copy. */
void swap_bytes(void *dst, const void *src, size_t size, size_t unit);

/* Numbers inside an element: `count` of `unit` bytes, one after the other from byte `offset` on. */
struct swap_span {
	uint32_t offset, unit, count;
};

/*
 * Reverses the bytes of the numbers that n spans name, in each element of `item_size` bytes; the other bytes are copied. `size`
 * is a multiple of item_size, which covers each span; dst may be src.
 */
void swap_spans(void *dst, const void *src, size_t size, size_t item_size, const struct swap_span *spans, int n);

#endif
