/*
 * strips.c: walks the strips of an array, container after container. Numbers are in range by construction: array_open has
 * checked the bytes of a chunk, and meta/ those of the array.
 */
#include "array/strips.h"

#include <string.h>

#include "base/base.h"
#include "base/checked.h"

/* Of tiny units a strip holds no more than so many: each is a task. */
#define STRIP_UNITS 4096
/* Plain bytes of all strips in memory, as far as the size of a unit allows. */
#define MEMORY_BYTES (UINT64_C(256) << 20)

/* Shards are written piece by piece when nothing is around the sharding codec, and the index can come after the pieces. */
static void find_units(struct strips *strips, const struct array *array)
{
	const struct array_meta *meta = array->meta;
	const struct sharding *sharding = pipeline_sharding(array->pipeline);
	if (sharding && !sharding_index_at_end(sharding))
		sharding = NULL;
	strips->sharding = sharding;
	strips->pipeline = sharding ? sharding_inner(sharding) : array->pipeline;
	for (int a = 0; a < meta->ndim; a++) {
		uint64_t chunks = ceil_div(meta->shape[a], meta->chunk_shape[a]);
		strips->grid[a] = sharding ? sharding_grid(sharding)[a] : chunks;
		strips->unit[a] = sharding ? meta->chunk_shape[a] / strips->grid[a] : meta->chunk_shape[a];
		strips->containers[a] = sharding ? chunks : 1;
	}
}

void strips_begin(struct strips *strips, const struct array *array, uint64_t bytes)
{
	*strips = (struct strips){.meta = array->meta, .along = 1, .done = array->meta->elements == 0};
	find_units(strips, array);
	if (strips->done)
		return;
	uint64_t units = MAX(MIN(bytes / pipeline_decoded_bytes(strips->pipeline), STRIP_UNITS), 1);
	for (int a = array->meta->ndim - 1; a >= 0; a--) {
		strips->axis = a;
		strips->along = MIN(strips->grid[a], units);
		units /= strips->along;
		if (strips->along < strips->grid[a])
			break;
	}
}

int strips_at_once(const struct strips *strips, int most)
{
	return (int)MAX(MIN(MEMORY_BYTES / pipeline_decoded_bytes(strips->pipeline), (uint64_t)most), 1);
}

/* An odometer over axes [0, n), the last one in steps of `step`; false when it has gone round. */
static bool advance(uint64_t *at, const uint64_t *end, int n, uint64_t step)
{
	for (int a = n - 1; a >= 0; a--, step = 1) {
		at[a] += step;
		if (at[a] < end[a])
			return true;
		at[a] = 0;
	}
	return false;
}

bool strips_next(struct strips *strips, struct strip_box *ret_box)
{
	if (strips->done)
		return false;
	const struct array_meta *meta = strips->meta;
	struct strip_box box = {.first = strips->number, .n = 1, .bytes = meta->dtype.size};
	box.begins = strips->number == 0;
	for (int a = 0; a < meta->ndim; a++) {
		uint64_t units = 1;
		if (a == strips->axis)
			units = MIN(strips->along, strips->grid[a] - strips->at[a]);
		else if (a > strips->axis)
			units = strips->grid[a];
		box.container[a] = strips->container[a];
		box.n *= units;
		box.start[a] = (box.container[a] * strips->grid[a] + strips->at[a]) * strips->unit[a];
		box.count[a] = box.start[a] < meta->shape[a] ? MIN(units * strips->unit[a], meta->shape[a] - box.start[a]) : 0;
		box.bytes *= box.count[a];
	}
	strips->number += box.n;
	box.ends = !advance(strips->at, strips->grid, MIN(strips->axis + 1, meta->ndim), strips->along);
	if (box.ends) {
		strips->number = 0;
		strips->done = !advance(strips->container, strips->containers, meta->ndim, 1);
	}
	*ret_box = box;
	return true;
}

bool strips_unit(const struct strips *strips, const struct strip_box *box, uint64_t number, uint64_t *ret_coords,
				 uint64_t *ret_start, uint64_t *ret_count)
{
	const struct array_meta *meta = strips->meta;
	bool is_inside = true;
	for (int a = meta->ndim - 1; a >= 0; a--) {
		ret_coords[a] = number % strips->grid[a];
		number /= strips->grid[a];
		ret_start[a] = (box->container[a] * strips->grid[a] + ret_coords[a]) * strips->unit[a];
		is_inside &= ret_start[a] < meta->shape[a];
		ret_count[a] = ret_start[a] < meta->shape[a] ? MIN(strips->unit[a], meta->shape[a] - ret_start[a]) : 0;
	}
	return is_inside;
}

void strips_strides(const struct array_meta *meta, const uint64_t *shape, int64_t *ret_strides)
{
	int64_t stride = meta->dtype.size;
	ret_strides[meta->ndim] = 1;
	for (int a = meta->ndim - 1; a >= 0; a--) {
		ret_strides[a] = stride;
		stride *= (int64_t)shape[a];
	}
}
