/*
 * fuzz_layout.c: byte ranges of layouts: axis orders, boxes, steps. Input: flags, number of axes, element size, then for each axis
 * its length, chunk, order and slice, then the range; what is missing is 0. Every byte of a small payload is found by a
 * reference that does one division after the other; of a large one the corners of each slab.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fuzz.h"
#include "../lib/input.h"

#include "base/checked.h"
#include "layout/layout.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FLAG_LARGE 1
#define FLAG_PERMUTE 2
#define FLAG_SLICE 4
#define FLAG_SLICE_AGAIN 8

#define SMALL_BYTES 65536
#define SMALL_RANGE 4096
#define WALKED 256 /* chunks of a large range that are looked at */

struct subject {
	struct layout layout;
	struct layout_grid grid;
	uint64_t chunk_bytes;
	bool large;
};

/* A number up to `most`, small ones often. */
static uint64_t take_up_to(struct input *in, bool large, uint64_t most)
{
	uint64_t value = take(in, 1);
	if (large && value >= 128)
		value = take(in, 8) >> value % 64;
	return most == UINT64_MAX ? value : value % (most + 1);
}

static void permute(struct input *in, struct layout *layout)
{
	int order[LIMIT_DIMS];
	for (int i = 0; i < layout->ndim; i++)
		order[i] = i;
	for (int i = 0; i + 1 < layout->ndim; i++) {
		int j = i + (int)take_up_to(in, false, (uint64_t)(layout->ndim - i - 1)), kept = order[i];
		order[i] = order[j];
		order[j] = kept;
	}
	layout_permute(layout, order);
}

static void slice(struct input *in, bool large, struct layout *layout)
{
	for (int i = 0; i < layout->ndim; i++) {
		uint64_t length = layout->shape[i];
		if (!length)
			continue;
		uint64_t start = take_up_to(in, large, length - 1), step = 1 + take_up_to(in, large, length - 1);
		layout_slice(layout, i, start, step, take_up_to(in, large, ceil_div(length - start, step)));
	}
}

/* False when no array has such a shape, or no chunk is as large. */
static bool subject_take(struct input *in, struct subject *ret_subject)
{
	struct subject s = {0};
	uint64_t shape[LIMIT_DIMS];
	unsigned flags = (unsigned)take(in, 1);
	int ndim = (int)(take(in, 1) % (LIMIT_DIMS + 1));
	uint32_t item_size =
		1 + (uint32_t)take_up_to(in, flags & FLAG_LARGE, flags & FLAG_LARGE ? LIMIT_ITEM_SIZE - 1 : 15);
	s.large = flags & FLAG_LARGE;
	s.chunk_bytes = item_size;
	for (int a = 0; a < ndim; a++) {
		shape[a] = take_up_to(in, s.large, UINT64_MAX);
		uint64_t chunk = take_up_to(in, s.large, UINT64_MAX);
		s.grid.chunk[a] = MAX(chunk, 1);
		if (!checked_mul(s.chunk_bytes, s.grid.chunk[a], &s.chunk_bytes) || s.chunk_bytes > UINT64_C(1) << 62)
			return false;
	}
	if (!layout_init(&s.layout, ndim, shape, item_size) || (!s.large && s.layout.bytes > SMALL_BYTES))
		return false;
	if (flags & FLAG_SLICE)
		slice(in, s.large, &s.layout);
	if (flags & FLAG_PERMUTE)
		permute(in, &s.layout);
	if (flags & FLAG_SLICE_AGAIN)
		slice(in, s.large, &s.layout);
	*ret_subject = s;
	return true;
}

/* Where a payload byte is: its chunk by array axis, and the byte in that chunk. */
static uint64_t find_byte(const struct subject *s, uint64_t payload, uint64_t *ret_coords)
{
	const struct layout *layout = &s->layout;
	int n = layout->ndim;
	uint64_t within[LIMIT_DIMS], item_size = layout->shape[n], byte = payload % item_size, offset = 0;
	payload /= item_size;
	for (int i = n - 1; i >= 0; i--) {
		int a = layout->axis[i];
		uint64_t index = layout->start[i] + payload % layout->shape[i] * layout->step[i];
		payload /= layout->shape[i];
		ret_coords[a] = index / s->grid.chunk[a];
		within[a] = index % s->grid.chunk[a];
	}
	check(payload == 0);
	for (int a = 0; a < n; a++)
		offset = offset * s->grid.chunk[a] + within[a];
	return offset * item_size + byte;
}

/* A slab's byte `index` is the payload's byte at its place in the reply. */
static void check_byte(const struct subject *s, const struct slab *slab, const uint64_t *index, const uint64_t *coords,
					   uint64_t first, uint64_t size, uint8_t *seen)
{
	uint64_t reply = slab->reply_offset, chunk = slab->chunk_offset, found[LIMIT_DIMS];
	for (int i = 0; i <= s->layout.ndim; i++) {
		reply += index[i] * s->layout.stride[i];
		chunk += index[i] * (uint64_t)slab->chunk_stride[i];
	}
	check(reply < size && chunk < s->chunk_bytes);
	check(find_byte(s, first + reply, found) == chunk);
	check(memcmp(found, coords, sizeof(*coords) * (size_t)s->layout.ndim) == 0);
	check((first + reply) % s->layout.shape[s->layout.ndim] == slab->item_first + index[s->layout.ndim]);
	if (seen)
		check(!seen[reply]++);
}

/* All bytes of the slab where `seen` counts them, else its first and last; returns how many it has. */
static uint64_t check_slab(const struct subject *s, const struct slab *slab, const uint64_t *coords, uint64_t first,
						   uint64_t size, uint8_t *seen)
{
	uint64_t index[LAYOUT_AXES] = {0}, last[LAYOUT_AXES], bytes = 1;
	int axes = s->layout.ndim + 1;
	for (int i = 0; i < axes; i++) {
		check(slab->extent[i] >= 1 && slab->extent[i] <= s->layout.shape[i]);
		check(checked_mul(bytes, slab->extent[i], &bytes));
		last[i] = slab->extent[i] - 1;
	}
	check_byte(s, slab, index, coords, first, size, seen);
	if (!seen) {
		check_byte(s, slab, last, coords, first, size, NULL);
		return bytes;
	}
	for (uint64_t n = 1; n < bytes; n++) {
		for (int i = axes - 1; ++index[i] == slab->extent[i]; i--)
			index[i] = 0;
		check_byte(s, slab, index, coords, first, size, seen);
	}
	return bytes;
}

/* Chunks come in the C order of the view's axes. */
static void check_order(const struct layout *layout, const uint64_t *before, const uint64_t *coords)
{
	int i = 0;
	while (i < layout->ndim && before[layout->axis[i]] == coords[layout->axis[i]])
		i++;
	check(i < layout->ndim && before[layout->axis[i]] < coords[layout->axis[i]]);
}

static void check_range(const struct subject *s, uint64_t first, uint64_t size)
{
	struct layout_box boxes[LAYOUT_BOXES];
	struct layout_walk walk;
	uint64_t before[LIMIT_DIMS], bytes = 0, chunks = 0;
	const uint64_t *coords;
	autofree uint8_t *seen = s->large ? NULL : calloc(1, MAX(size, 1));
	int n = layout_boxes(&s->layout, first, size, boxes);
	check(n >= 0 && n <= 2 * (s->layout.ndim + 1) - 1);
	layout_walk_begin(&walk, &s->layout, &s->grid, boxes, n);
	while ((!s->large || chunks < WALKED) && (coords = layout_walk_next(&walk))) {
		uint64_t of_chunk = 0;
		if (chunks++)
			check_order(&s->layout, before, coords);
		memcpy(before, coords, sizeof(before));
		for (int b = 0; b < n; b++) {
			struct slab slab;
			if (layout_slab(&s->layout, &s->grid, &boxes[b], coords, first, &slab))
				of_chunk += check_slab(s, &slab, coords, first, size, seen);
		}
		check(of_chunk > 0);
		bytes += of_chunk;
	}
	check(bytes <= size && (bytes == size || chunks == WALKED));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, data + size};
	struct subject s;
	if (!subject_take(&in, &s))
		return 0;
	check(layout_row_chunks(&s.layout, &s.grid) >= 1);
	uint64_t row = layout_row_bytes(&s.layout, &s.grid);
	if (!s.layout.bytes)
		return 0;
	check(row >= 1 && row <= s.layout.bytes);
	uint64_t first = take_up_to(&in, true, s.layout.bytes - 1), length = take_up_to(&in, true, s.layout.bytes - first);
	check_range(&s, first, s.large ? length : MIN(length, SMALL_RANGE));
	return 0;
}
