/*
 * shuffle.c: undoing Blosc's byte and bit shuffle, in plain C and with SSE2 or AVX2, chosen at run time.
 *
 * Both vector forms rest on one picture. Take `rows` vectors (rows = 2, 4, 8, 16), row r holding one byte of each of some
 * items; a byte's address is [r][i]. Interleaving the first half of the bytes with the second half, byte by byte, rotates
 * the bits of that address left by one. After log2(rows) such riffles the address is [i][r]: whole items, side by side.
 */
#include "codec/shuffle.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "base/base.h"
#include "base/checked.h"

/* Items [from, to) of planes `stride` bytes apart, with byte k of item i at src[k * stride + i]. */
static void bytes_scalar(size_t item, size_t stride, size_t from, size_t to, const uint8_t *src, uint8_t *dst)
{
	for (size_t i = from; i < to; i++)
		for (size_t k = 0; k < item; k++)
			dst[i * item + k] = src[k * stride + i];
}

/* Transposes a matrix of 8 x 8 bits, row r in byte r, column 0 the lowest bit (Warren, Hacker's Delight, section 7-3). */
static uint64_t bits_transpose8(uint64_t x)
{
	uint64_t t = (x ^ (x >> 7)) & UINT64_C(0x00aa00aa00aa00aa);
	x ^= t ^ (t << 7);
	t = (x ^ (x >> 14)) & UINT64_C(0x0000cccc0000cccc);
	x ^= t ^ (t << 14);
	t = (x ^ (x >> 28)) & UINT64_C(0x00000000f0f0f0f0);
	return x ^ t ^ (t << 28);
}

/* Items [from, to), both multiples of 8, of bit planes `stride` bytes apart. */
static void bits_scalar(size_t item, size_t stride, size_t from, size_t to, const uint8_t *src, uint8_t *dst)
{
	for (size_t i = from; i < to; i += 8) {
		for (size_t k = 0; k < item; k++) {
			uint64_t x = 0;
			for (size_t b = 0; b < 8; b++)
				x |= (uint64_t)src[(8 * k + b) * stride + i / 8] << (8 * b);
			x = bits_transpose8(x);
			for (size_t j = 0; j < 8; j++)
				dst[(i + j) * item + k] = (uint8_t)(x >> (8 * j));
		}
	}
}

static bool scalar_supported(void)
{
	return true;
}

#if defined(__x86_64__)

#define MAX_ROWS 16 /* of one riffle: as many vectors as there are registers */

/* Bit planes become byte planes in a tile that stays in the first-level cache, then byte planes become items. */
#define TILE_BYTES 16384

#if defined(__clang__)
#define UNROLLED _Pragma("unroll")
#else
#define UNROLLED _Pragma("GCC unroll 16")
#endif

#define SSE2 __attribute__((target("sse2")))
#define AVX2 __attribute__((target("avx2")))
#define INLINE inline __attribute__((always_inline))

SSE2 static INLINE void sse2_riffle(__m128i *v, const int rows)
{
	UNROLLED
	for (int stage = 1; stage < rows; stage *= 2) {
		__m128i w[MAX_ROWS];
		UNROLLED
		for (int j = 0; j < rows / 2; j++) {
			w[2 * j] = _mm_unpacklo_epi8(v[j], v[j + rows / 2]);
			w[2 * j + 1] = _mm_unpackhi_epi8(v[j], v[j + rows / 2]);
		}
		UNROLLED
		for (int j = 0; j < rows; j++)
			v[j] = w[j];
	}
}

/* Items of exactly `rows` bytes, 16 at a time. */
SSE2 static INLINE size_t sse2_bytes_rows(const int rows, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	size_t i = 0;
	for (; i + 16 <= n; i += 16) {
		__m128i v[MAX_ROWS];
		UNROLLED
		for (int r = 0; r < rows; r++)
			v[r] = _mm_loadu_si128((const __m128i *)(src + (size_t)r * stride + i));
		sse2_riffle(v, rows);
		UNROLLED
		for (int r = 0; r < rows; r++)
			_mm_storeu_si128((__m128i *)(dst + i * (size_t)rows + 16 * (size_t)r), v[r]);
	}
	return i;
}

/* Bytes [k, k + 16) of 16 items. Planes from `planes` on count as zero: those bytes belong to the next item. */
SSE2 static void sse2_bytes_group(size_t item, size_t planes, size_t stride, const uint8_t *src, uint8_t *dst)
{
	__m128i v[MAX_ROWS];
	for (size_t r = 0; r < MAX_ROWS; r++)
		v[r] = r < planes ? _mm_loadu_si128((const __m128i *)(src + r * stride)) : _mm_setzero_si128();
	sse2_riffle(v, MAX_ROWS);
	UNROLLED
	for (size_t r = 0; r < MAX_ROWS; r++)
		_mm_storeu_si128((__m128i *)(dst + r * item), v[r]);
}

/*
 * Items of any size. Small ones are stored as 16 bytes in ascending order, so that the next store repairs what one wrote too
 * far; the last items of all are therefore left to the caller. Large ones go 16 bytes at a time, the last 16 overlapping.
 */
SSE2 static size_t sse2_bytes_any(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	size_t spare = item < 16 ? ceil_div(16, item) : 0;
	size_t done = n < spare ? 0 : (n - spare) / 16 * 16;
	for (size_t k = 0; k < item; k += 16) {
		size_t first = item < 16 ? 0 : MIN(k, item - 16);
		for (size_t i = 0; i < done; i += 16)
			sse2_bytes_group(item, item, stride, src + first * stride + i, dst + i * item + first);
	}
	return done;
}

SSE2 static size_t sse2_bytes(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	switch (item) {
	case 2:
		return sse2_bytes_rows(2, stride, n, src, dst);
	case 4:
		return sse2_bytes_rows(4, stride, n, src, dst);
	case 8:
		return sse2_bytes_rows(8, stride, n, src, dst);
	case 16:
		return sse2_bytes_rows(16, stride, n, src, dst);
	default:
		return sse2_bytes_any(item, stride, n, src, dst);
	}
}

/* Swaps the bits of `high` under mask with those of `low` under mask << shift. */
SSE2 static INLINE void sse2_swap(__m128i *low, __m128i *high, const int shift, __m128i mask)
{
	__m128i t = _mm_and_si128(_mm_xor_si128(_mm_srli_epi64(*low, shift), *high), mask);
	*high = _mm_xor_si128(*high, t);
	*low = _mm_xor_si128(*low, _mm_slli_epi64(t, shift));
}

/* 8 bit planes of 128 items become 128 bytes, in the items' order. */
SSE2 static INLINE void sse2_bits_group(size_t stride, const uint8_t *src, uint8_t *dst)
{
	__m128i v[8];
	UNROLLED
	for (int b = 0; b < 8; b++)
		v[b] = _mm_loadu_si128((const __m128i *)(src + (size_t)b * stride));
	UNROLLED
	for (int b = 0; b < 4; b++)
		sse2_swap(&v[b], &v[b + 4], 4, _mm_set1_epi8(0x0f));
	UNROLLED
	for (int b = 0; b < 8; b += (b & 1) ? 3 : 1)
		sse2_swap(&v[b], &v[b + 2], 2, _mm_set1_epi8(0x33));
	UNROLLED
	for (int b = 0; b < 8; b += 2)
		sse2_swap(&v[b], &v[b + 1], 1, _mm_set1_epi8(0x55));
	sse2_riffle(v, 8); /* row j holds items j, j + 8, j + 16 ... */
	UNROLLED
	for (int j = 0; j < 8; j++)
		_mm_storeu_si128((__m128i *)(dst + 16 * j), v[j]);
}

SSE2 static size_t sse2_bits(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	uint8_t tile[TILE_BYTES] __attribute__((aligned(16)));
	size_t most = TILE_BYTES / item / 128 * 128;
	size_t done = 0, count;
	for (; most > 0 && n - done >= 128; done += count) {
		count = MIN(most, (n - done) / 128 * 128);
		for (size_t k = 0; k < item; k++) {
			uint8_t *plane = item == 1 ? dst + done : tile + k * count;
			for (size_t i = 0; i < count; i += 128)
				sse2_bits_group(stride, src + 8 * k * stride + (done + i) / 8, plane + i);
		}
		if (item > 1)
			bytes_scalar(item, count, sse2_bytes(item, count, count, tile, dst + done * item), count, tile,
						 dst + done * item);
	}
	return done;
}

static bool sse2_supported(void)
{
	return __builtin_cpu_supports("sse2");
}

/* As above with vectors of two lanes: each lane of 16 bytes is riffled by itself, so lane 1 holds the items 16 further on. */
AVX2 static INLINE void avx2_riffle(__m256i *v, const int rows)
{
	UNROLLED
	for (int stage = 1; stage < rows; stage *= 2) {
		__m256i w[MAX_ROWS];
		UNROLLED
		for (int j = 0; j < rows / 2; j++) {
			w[2 * j] = _mm256_unpacklo_epi8(v[j], v[j + rows / 2]);
			w[2 * j + 1] = _mm256_unpackhi_epi8(v[j], v[j + rows / 2]);
		}
		UNROLLED
		for (int j = 0; j < rows; j++)
			v[j] = w[j];
	}
}

/* Stores riffled rows: all lanes 0, then all lanes 1. */
AVX2 static INLINE void avx2_store(const __m256i *v, const int rows, uint8_t *dst)
{
	UNROLLED
	for (int j = 0; j < rows; j += 2) {
		_mm256_storeu_si256((__m256i *)(dst + 16 * j), _mm256_permute2x128_si256(v[j], v[j + 1], 0x20));
		_mm256_storeu_si256((__m256i *)(dst + 16 * (rows + j)), _mm256_permute2x128_si256(v[j], v[j + 1], 0x31));
	}
}

AVX2 static INLINE size_t avx2_bytes_rows(const int rows, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	size_t i = 0;
	for (; i + 32 <= n; i += 32) {
		__m256i v[MAX_ROWS];
		UNROLLED
		for (int r = 0; r < rows; r++)
			v[r] = _mm256_loadu_si256((const __m256i *)(src + (size_t)r * stride + i));
		avx2_riffle(v, rows);
		avx2_store(v, rows, dst + i * (size_t)rows);
	}
	return i;
}

AVX2 static size_t avx2_bytes(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	switch (item) {
	case 2:
		return avx2_bytes_rows(2, stride, n, src, dst);
	case 4:
		return avx2_bytes_rows(4, stride, n, src, dst);
	case 8:
		return avx2_bytes_rows(8, stride, n, src, dst);
	case 16:
		return avx2_bytes_rows(16, stride, n, src, dst);
	default:
		return sse2_bytes_any(item, stride, n, src, dst);
	}
}

AVX2 static INLINE void avx2_swap(__m256i *low, __m256i *high, const int shift, __m256i mask)
{
	__m256i t = _mm256_and_si256(_mm256_xor_si256(_mm256_srli_epi64(*low, shift), *high), mask);
	*high = _mm256_xor_si256(*high, t);
	*low = _mm256_xor_si256(*low, _mm256_slli_epi64(t, shift));
}

/* 8 bit planes of 256 items become 256 bytes. */
AVX2 static INLINE void avx2_bits_group(size_t stride, const uint8_t *src, uint8_t *dst)
{
	__m256i v[8];
	UNROLLED
	for (int b = 0; b < 8; b++)
		v[b] = _mm256_loadu_si256((const __m256i *)(src + (size_t)b * stride));
	UNROLLED
	for (int b = 0; b < 4; b++)
		avx2_swap(&v[b], &v[b + 4], 4, _mm256_set1_epi8(0x0f));
	UNROLLED
	for (int b = 0; b < 8; b += (b & 1) ? 3 : 1)
		avx2_swap(&v[b], &v[b + 2], 2, _mm256_set1_epi8(0x33));
	UNROLLED
	for (int b = 0; b < 8; b += 2)
		avx2_swap(&v[b], &v[b + 1], 1, _mm256_set1_epi8(0x55));
	avx2_riffle(v, 8);
	avx2_store(v, 8, dst);
}

AVX2 static size_t avx2_bits(size_t item, size_t stride, size_t n, const uint8_t *src, uint8_t *dst)
{
	uint8_t tile[TILE_BYTES] __attribute__((aligned(32)));
	size_t most = TILE_BYTES / item / 256 * 256;
	size_t done = 0, count;
	for (; most > 0 && n - done >= 256; done += count) {
		count = MIN(most, (n - done) / 256 * 256);
		for (size_t k = 0; k < item; k++) {
			uint8_t *plane = item == 1 ? dst + done : tile + k * count;
			for (size_t i = 0; i < count; i += 256)
				avx2_bits_group(stride, src + 8 * k * stride + (done + i) / 8, plane + i);
		}
		if (item > 1)
			bytes_scalar(item, count, avx2_bytes(item, count, count, tile, dst + done * item), count, tile,
						 dst + done * item);
	}
	return done;
}

static bool avx2_supported(void)
{
	return __builtin_cpu_supports("avx2");
}

#endif /* __x86_64__ */

static const struct shuffle shuffle_rows[] = {
	{.name = "scalar", .supported = scalar_supported},
#if defined(__x86_64__)
	{.name = "sse2", .supported = sse2_supported, .bytes = sse2_bytes, .bits = sse2_bits},
	{.name = "avx2", .supported = avx2_supported, .bytes = avx2_bytes, .bits = avx2_bits},
#endif
};

const struct shuffle *shuffle_row(int i)
{
	return (size_t)i < ARRAY_LEN(shuffle_rows) ? &shuffle_rows[i] : NULL;
}

const struct shuffle *shuffle_best(void)
{
	size_t i = ARRAY_LEN(shuffle_rows) - 1;
	while (!shuffle_rows[i].supported())
		i--;
	return &shuffle_rows[i];
}

bool shuffle_bits_apply(size_t item, size_t size)
{
	return size >= item && size / item % 8 == 0;
}

void shuffle_undo_bytes(const struct shuffle *shuffle, size_t item, size_t size, const void *src, void *dst)
{
	size_t n = size / item;
	size_t done = shuffle->bytes && item > 1 ? shuffle->bytes(item, n, n, src, dst) : 0;
	bytes_scalar(item, n, done, n, src, dst);
	memcpy((uint8_t *)dst + n * item, (const uint8_t *)src + n * item, size - n * item);
}

void shuffle_undo_bits(const struct shuffle *shuffle, size_t item, size_t size, const void *src, void *dst)
{
	size_t n = shuffle_bits_apply(item, size) ? size / item : 0;
	size_t done = shuffle->bits ? shuffle->bits(item, n / 8, n, src, dst) : 0;
	bits_scalar(item, n / 8, done, n, src, dst);
	memcpy((uint8_t *)dst + n * item, (const uint8_t *)src + n * item, size - n * item);
}
