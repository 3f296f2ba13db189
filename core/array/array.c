/*
 * array.c: opening an array: the codec chain is checked, and the read unit decided, once.
 *
 * If the chain is a sharding codec and nothing else, the unit is its inner chunk, read by byte range; if the inner chain is
 * again such a codec, its inner chunk, and so on. Otherwise it is the chunk of the grid.
 */
#include "array/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/array_impl.h"
#include "base/checked.h"
#include "base/err.h"

/* Goes down the shardings that can be read by range. */
static void find_unit(struct array *array)
{
	int ndim = array->meta->ndim;
	array->unit = array->pipeline;
	memcpy(array->grid.chunk, array->meta->chunk_shape, sizeof(array->grid.chunk));
	const struct sharding *sharding;
	while (array->n_levels < LIMIT_SHARD_LEVELS && (sharding = pipeline_sharding(array->unit))) {
		array->levels[array->n_levels++] = (struct shard_level){sharding, array->grid};
		array->unit = sharding_inner(sharding);
		for (int a = 0; a < ndim; a++)
			array->grid.chunk[a] /= sharding_grid(sharding)[a];
	}
	array->chunk_bytes = pipeline_decoded_bytes(array->unit);
	array->decode_ns = pipeline_decode_ns(array->unit);
}

static int check_size(const struct array *array)
{
	if (array->chunk_bytes <= array->env.max_chunk)
		return 0;
	return err_set(EFBIG, "a chunk has %zu bytes decoded, more than --max-chunk allows (%" PRIu64 ")",
				   array->chunk_bytes, array->env.max_chunk);
}

static int open_pipeline(struct array *array)
{
	const struct array_meta *meta = array->meta;
	if (meta->refusal)
		return err_set(ENOTSUP, "%s", meta->refusal);
	struct repr repr = {
		.ndim = meta->ndim,
		.item_size = meta->dtype.size,
		.swap_unit = meta->dtype.swap_unit,
		.dtype = &meta->dtype,
		.fill_value = meta->fill_value,
	};
	memcpy(repr.shape, meta->chunk_shape, sizeof(repr.shape));
	return pipeline_open(&meta->codecs, &repr, &array->pipeline);
}

int array_open(const struct array_env *env, const char *path, const struct array_meta *meta, struct array **ret_array)
{
	struct array *array = calloc(1, sizeof(*array));
	if (!array)
		return err_set(ENOMEM, "no memory for an array");
	array->env = *env;
	array->meta = meta;
	array->path = strdup(path);
	int rc = array->path ? open_pipeline(array) : err_set(ENOMEM, "no memory for an array");
	if (!rc) {
		find_unit(array);
		rc = check_size(array);
	}
	if (rc) {
		array_close(array);
		return rc;
	}
	array->owner = cache_new_owner(env->cache);
	*ret_array = array;
	return 0;
}

void array_close(struct array *array)
{
	if (!array)
		return;
	if (array->owner)
		cache_drop_owner(array->env.cache, array->owner);
	pipeline_close(array->pipeline);
	free(array->path);
	free(array);
}

const struct array_meta *array_meta(const struct array *array)
{
	return array->meta;
}

const struct pipeline *array_pipeline(const struct array *array)
{
	return array->pipeline;
}

const struct layout_grid *array_grid(const struct array *array)
{
	return &array->grid;
}

uint64_t array_chunk_bytes(const struct array *array)
{
	return array->chunk_bytes;
}

uint64_t array_working_set(const struct array *array, const struct layout *layout)
{
	uint64_t bytes;
	if (!checked_mul(layout_row_chunks(layout, &array->grid), array->chunk_bytes, &bytes))
		return UINT64_MAX;
	return bytes;
}

struct cache_key array_key(const struct array *array, const struct layout_grid *grid, uint32_t level,
						   const uint64_t *coords)
{
	uint64_t number = 0;
	for (int a = 0; a < array->meta->ndim; a++)
		number = number * ceil_div(array->meta->shape[a], grid->chunk[a]) + coords[a];
	return (struct cache_key){array->owner, level, number};
}
