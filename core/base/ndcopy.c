/*
 * ndcopy.c: strided copies.
 *
 * A box becomes a list of axes, innermost first, without those of length 1, ordered by the destination's stride, and
 * merged where the bytes continue on both sides; what then is one piece is the *run*:
 *
 *      shape 6 x 25 x 4, strides (400, 4, 1) <- (4000, 4, 1)      run 100, axes {6: 400 <- 4000}
 *
 * A run of a few bytes is one element moved by loads and stores; when such elements are transposed, so that one side's
 * neighbours are far apart on the other, the two axes are walked in square tiles that fit the first-level cache.
 */
#include "base/ndcopy.h"

#include <stdbool.h>
#include <string.h>

#include "base/base.h"
#include "base/limits.h"

#define AXES_MAX (LIMIT_DIMS + 1)
#define TILE 32				 /* elements a side: 32 cache lines are touched on the side that is not contiguous */
#define ELEMENT_MAX 32		 /* a longer run fills half a cache line: order does not matter */
#define STAGED_MAX 8		 /* larger elements gain nothing from staging */
#define CONFLICT_STRIDE 2048 /* a multiple of it meets two sets of a first-level cache of 4 KiB a way */

struct axis {
	uint64_t length;
	int64_t dst, src; /* strides */
};

/* ------------------------------------------------ axes ------------------------------------------------ */

static inline int64_t magnitude(int64_t stride)
{
	return stride < 0 ? -stride : stride;
}

/* Inserts an axis outside of those with a smaller destination stride; callers come from the innermost outwards. */
static inline void axes_insert(struct axis *axes, int n, struct axis axis)
{
	for (; n > 0 && magnitude(axes[n - 1].dst) > magnitude(axis.dst); n--)
		axes[n] = axes[n - 1];
	axes[n] = axis;
}

/*
 * The axes of a box around its run of *run bytes, innermost first, merged. Returns their number, -1 when the box is
 * empty. With `whole_run` false, nothing joins the run.
 */
static inline int axes_init(struct axis *axes, const int64_t *dst, const int64_t *src, const uint64_t *shape, int ndim,
							bool whole_run, uint64_t *run)
{
	int n = 0;
	if (shape[ndim - 1] == 0)
		return -1;
	for (int i = ndim - 2; i >= 0; i--) {
		if (shape[i] == 0)
			return -1;
		if (shape[i] > 1)
			axes_insert(axes, n++, (struct axis){shape[i], dst[i], src[i]});
	}
	int merged = 0;
	uint64_t bytes = shape[ndim - 1];
	for (int i = 0; i < n; i++) {
		struct axis *inner = &axes[MAX(merged, 1) - 1];
		if (merged == 0 && whole_run && axes[i].dst == (int64_t)bytes && axes[i].src == (int64_t)bytes)
			bytes *= axes[i].length;
		else if (merged > 0 && axes[i].dst == inner->dst * (int64_t)inner->length &&
				 axes[i].src == inner->src * (int64_t)inner->length)
			inner->length *= axes[i].length;
		else
			axes[merged++] = axes[i];
	}
	*run = bytes;
	return merged;
}

/* Steps an odometer over the axes [from, n); false after its last position. */
static inline bool axes_next(const struct axis *axes, int from, int n, uint64_t *index, uint8_t **dst,
							 const uint8_t **src)
{
	for (int i = from; i < n; i++) {
		if (++index[i] < axes[i].length) {
			*dst += axes[i].dst;
			*src += axes[i].src;
			return true;
		}
		index[i] = 0;
		*dst -= axes[i].dst * (int64_t)(axes[i].length - 1);
		*src -= axes[i].src * (int64_t)(axes[i].length - 1);
	}
	return false;
}

/* ------------------------------------------------ copy ------------------------------------------------ */

/* `length` runs of `run` bytes; inlined with a constant `run`, the memcpy is a load and a store. */
static inline __attribute__((always_inline)) void copy_row(uint8_t *dst, const uint8_t *src, struct axis axis,
														   uint64_t run)
{
	for (uint64_t i = 0; i < axis.length; i++) {
		memcpy(dst, src, run);
		dst += axis.dst;
		src += axis.src;
	}
}

/*
 * The plane of two axes of elements, `along` contiguous in the destination and `across` in the source, so that `along`
 * steps over source rows. Rows whose distance is a large power of two share few sets of the first-level cache and would
 * throw each other out: then a tile is staged first, row by row.
 */
static inline __attribute__((always_inline)) void copy_tiles(uint8_t *dst, const uint8_t *src, struct axis along,
															 struct axis across, uint64_t run)
{
	uint8_t stage[TILE * TILE * STAGED_MAX];
	bool staged = run <= STAGED_MAX && along.src % CONFLICT_STRIDE == 0;
	for (uint64_t a = 0; a < across.length; a += TILE)
		for (uint64_t b = 0; b < along.length; b += TILE) {
			uint64_t rows = MIN(across.length - a, (uint64_t)TILE);
			struct axis row = {MIN(along.length - b, (uint64_t)TILE), along.dst, along.src};
			struct axis column = {rows, (int64_t)run, across.src};
			const uint8_t *from = src + (int64_t)a * across.src + (int64_t)b * along.src;
			uint8_t *to = dst + (int64_t)a * across.dst + (int64_t)b * along.dst;
			if (staged) {
				for (uint64_t i = 0; i < row.length; i++)
					copy_row(stage + i * TILE * run, from + (int64_t)i * along.src, column, run);
				from = stage;
				row.src = (int64_t)(TILE * run);
				column.src = (int64_t)run;
			}
			for (uint64_t i = 0; i < rows; i++)
				copy_row(to + (int64_t)i * across.dst, from + (int64_t)i * column.src, row, run);
		}
}

/* One function a run size: a row (axes[0]), or a plane in tiles. */
#define COPY_SIZES(ROW) ROW(1) ROW(2) ROW(4) ROW(8) ROW(16)
#define ROW(size)                                                                                                      \
	static void copy_row_##size(uint8_t *dst, const uint8_t *src, const struct axis *axes, uint64_t run)               \
	{                                                                                                                  \
		copy_row(dst, src, axes[0], size);                                                                             \
	}                                                                                                                  \
	static void copy_tiles_##size(uint8_t *dst, const uint8_t *src, const struct axis *axes, uint64_t run)             \
	{                                                                                                                  \
		copy_tiles(dst, src, axes[0], axes[1], size);                                                                  \
	}
COPY_SIZES(ROW)
#undef ROW

static void copy_row_any(uint8_t *dst, const uint8_t *src, const struct axis *axes, uint64_t run)
{
	copy_row(dst, src, axes[0], run);
}

static void copy_tiles_any(uint8_t *dst, const uint8_t *src, const struct axis *axes, uint64_t run)
{
	copy_tiles(dst, src, axes[0], axes[1], run);
}

typedef void copy_function(uint8_t *dst, const uint8_t *src, const struct axis *axes, uint64_t run);

/* The function for runs of `run` bytes, over one axis or two. */
static copy_function *copy_choose(uint64_t run, bool tiles)
{
	switch (run) {
#define ROW(size)                                                                                                      \
	case size:                                                                                                         \
		return tiles ? copy_tiles_##size : copy_row_##size;
		COPY_SIZES(ROW)
#undef ROW
	default:
		return tiles ? copy_tiles_any : copy_row_any;
	}
}

/*
 * Whether elements are transposed: some other axis has the source's neighbours. That axis becomes axes[1], the plane
 * that is walked in tiles.
 */
static bool axes_transposed(struct axis *axes, int n, uint64_t run)
{
	if (run > ELEMENT_MAX)
		return false;
	int across = 0;
	for (int i = 1; i < n; i++)
		if (magnitude(axes[i].src) < magnitude(axes[across].src))
			across = i;
	if (across == 0)
		return false;
	struct axis axis = axes[across];
	memmove(&axes[2], &axes[1], (size_t)(across - 1) * sizeof(*axes));
	axes[1] = axis;
	return true;
}

/* Two axes and more. */
static void copy_nested(uint8_t *dst, const uint8_t *src, struct axis *axes, int n, uint64_t run)
{
	uint64_t index[AXES_MAX] = {0};
	bool tiles = axes_transposed(axes, n, run);
	copy_function *copy = copy_choose(run, tiles);
	do
		copy(dst, src, axes, run);
	while (axes_next(axes, tiles ? 2 : 1, n, index, &dst, &src));
}

void ndcopy(void *dst, const int64_t *dst_strides, const void *src, const int64_t *src_strides, const uint64_t *shape,
			int ndim)
{
	struct axis axes[AXES_MAX];
	uint64_t run;
	int n = axes_init(axes, dst_strides, src_strides, shape, ndim, true, &run);
	if (n == 0)
		memcpy(dst, src, run);
	else if (n == 1)
		copy_choose(run, false)(dst, src, axes, run);
	else if (n > 1)
		copy_nested(dst, src, axes, n, run);
}

/* ------------------------------------------------ fill ------------------------------------------------ */

static bool is_one_byte(const uint8_t *item, size_t size)
{
	return size <= 1 || memcmp(item, item + 1, size - 1) == 0;
}

void fill_elements(void *dst, const void *item, size_t size, uint64_t n)
{
	if (n == 0 || size == 0)
		return;
	if (is_one_byte(item, size)) {
		memset(dst, *(const uint8_t *)item, size * n);
		return;
	}
	/* What is filled already is the source of the next piece, up to a size that stays in the first-level cache. */
	uint8_t *bytes = dst;
	uint64_t total = size * n, done = size, piece = size;
	memcpy(bytes, item, size);
	while (done < total) {
		uint64_t next = MIN(piece, total - done);
		memcpy(bytes + done, bytes, next);
		done += next;
		if (piece < 8192)
			piece = done;
	}
}

void ndfill(void *dst, const int64_t *dst_strides, const uint64_t *shape, int ndim, const void *item, size_t item_size)
{
	ndfill_part(dst, dst_strides, shape, ndim, item, item_size, 0);
}

void ndfill_part(void *dst, const int64_t *dst_strides, const uint64_t *shape, int ndim, const void *item,
				 size_t item_size, size_t first)
{
	struct axis axes[AXES_MAX];
	uint64_t index[AXES_MAX] = {0};
	uint64_t run;
	uint8_t *to = dst;
	const uint8_t *beside = dst; /* the walk's other side, which a fill does not have */
	const uint8_t *bytes = (const uint8_t *)item + first;
	bool one_byte = is_one_byte(item, item_size), whole = shape[ndim - 1] == item_size;
	int n = axes_init(axes, dst_strides, dst_strides, shape, ndim, one_byte || whole, &run);
	if (n < 0)
		return;
	do {
		if (one_byte)
			memset(to, *bytes, run);
		else if (run <= item_size)
			memcpy(to, bytes, run);
		else
			fill_elements(to, item, item_size, run / item_size);
	} while (axes_next(axes, 0, n, index, &to, &beside));
}

/* ------------------------------------------------ swap ------------------------------------------------ */

#if defined(__clang__)
#define SWAP_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SWAP_IVDEP _Pragma("GCC ivdep")
#endif

/*
 * Each number is read before it is written and no other touches its bytes, so the loops may be vectorised although dst
 * may be src. They are compiled twice on x86-64: byte shuffles need more than the baseline's SSE2.
 */
#define SWAP_LOOP(bits, suffix, attributes)                                                                            \
	static attributes void swap##bits##suffix(uint8_t *dst, const uint8_t *src, size_t n)                              \
	{                                                                                                                  \
		SWAP_IVDEP for (size_t i = 0; i < n; i++)                                                                      \
		{                                                                                                              \
			uint##bits##_t v;                                                                                          \
			memcpy(&v, src + i * sizeof(v), sizeof(v));                                                                \
			v = __builtin_bswap##bits(v);                                                                              \
			memcpy(dst + i * sizeof(v), &v, sizeof(v));                                                                \
		}                                                                                                              \
	}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define SWAP_SIZE(bits)                                                                                                \
	SWAP_LOOP(bits, _base, __attribute__((optimize("O3"))))                                                            \
	SWAP_LOOP(bits, _avx2, __attribute__((optimize("O3"), target("avx2"))))                                            \
	static void swap##bits(uint8_t *dst, const uint8_t *src, size_t n)                                                 \
	{                                                                                                                  \
		if (__builtin_cpu_supports("avx2"))                                                                            \
			swap##bits##_avx2(dst, src, n);                                                                            \
		else                                                                                                           \
			swap##bits##_base(dst, src, n);                                                                            \
	}
#else
#define SWAP_SIZE(bits) SWAP_LOOP(bits, , )
#endif

SWAP_SIZE(16)
SWAP_SIZE(32)
SWAP_SIZE(64)

/* Numbers of any other size, such as 16-byte floats; the two ends are read before either is written. */
static void swap_any(uint8_t *dst, const uint8_t *src, size_t n, size_t unit)
{
	for (size_t i = 0; i < n; i++, dst += unit, src += unit)
		for (size_t low = 0, high = unit - 1; low <= high && high < unit; low++, high--) {
			uint8_t a = src[low], b = src[high];
			dst[low] = b;
			dst[high] = a;
		}
}

void swap_bytes(void *dst, const void *src, size_t size, size_t unit)
{
	size_t n = size / unit;
	if (unit == 1 && dst != src)
		memcpy(dst, src, size);
	else if (unit == 2)
		swap16(dst, src, n);
	else if (unit == 4)
		swap32(dst, src, n);
	else if (unit == 8)
		swap64(dst, src, n);
	else if (unit > 1)
		swap_any(dst, src, n, unit);
}

void swap_spans(void *dst, const void *src, size_t size, size_t item_size, const struct swap_span *spans, int n)
{
	if (dst != src)
		memcpy(dst, src, size);
	for (uint8_t *item = dst, *end = item + size; item < end; item += item_size)
		for (int i = 0; i < n; i++) {
			uint8_t *at = item + spans[i].offset;
			swap_bytes(at, at, (size_t)spans[i].unit * spans[i].count, spans[i].unit);
		}
}
