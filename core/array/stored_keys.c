/*
 * stored_keys.c: lists the prefixes that a chunk's key can have (path/c/0/1, path/0.1 ...), or counts through the grid.
 *
 * A listing costs what is stored, the grid what could be: of 10^9 places ten may be taken.
 */
#include "array/stored_keys.h"

#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"

struct walk {
	struct store *store;
	const char *path;
	const struct array_meta *meta;
	const struct stored_keys_visitor *visitor;
};

uint64_t stored_keys_grid(const struct array_meta *meta)
{
	uint64_t total = 1;
	for (int i = 0; i < meta->ndim; i++)
		if (!checked_mul(total, ceil_div(meta->shape[i], meta->chunk_shape[i]), &total))
			return UINT64_MAX;
	return total;
}

static bool is_in_grid(const struct array_meta *meta, const uint64_t *coords)
{
	for (int i = 0; i < meta->ndim; i++)
		if (coords[i] >= ceil_div(meta->shape[i], meta->chunk_shape[i]))
			return false;
	return true;
}

/* Whether a name can be part of some chunk's key, in either encoding, with either separator: "c", "12", "1.0", "c.1.0". */
static bool looks_like_chunk(const char *name, int depth)
{
	if (depth == 0 && name[0] == 'c') {
		if (name[1] == '\0')
			return true;
		if (name[1] != '.')
			return false;
		name += 2;
	}
	return name[0] >= '0' && name[0] <= '9' && strspn(name, "0123456789.") == strlen(name);
}

/* What is a prefix may be a value too (in a zip), which only opening it would tell. */
static int visit_key(const struct walk *walk, const char *key, bool is_prefix)
{
	uint64_t coords[LIMIT_DIMS];
	const struct array_meta *meta = walk->meta;
	if (key_to_coords(&meta->keys, walk->path, key, meta->ndim, coords) && is_in_grid(meta, coords))
		return walk->visitor->chunk(walk->visitor->arg, key, coords);
	return walk->visitor->stray && !is_prefix ? walk->visitor->stray(walk->visitor->arg, key) : 0;
}

static int walk_prefix(const struct walk *walk, const char *prefix, int depth)
{
	struct store_listing listing;
	int rc = store_list(walk->store, prefix, &listing);
	if (rc == -ENOENT) /* removed meanwhile, or an array known from consolidated metadata alone */
		return 0;
	if (rc) {
		rc = err_prefix(rc, "%s", prefix);
		return walk->visitor->unlisted ? walk->visitor->unlisted(walk->visitor->arg, prefix, rc) : rc;
	}
	for (size_t i = 0; i < listing.n && !rc; i++) {
		const struct store_entry *entry = &listing.entries[i];
		if (!looks_like_chunk(entry->name, depth))
			continue;
		autofree char *key = str_join_key(prefix, entry->name);
		rc = key ? visit_key(walk, key, entry->is_prefix) : err_set(ENOMEM, "no memory for a key");
		if (!rc && entry->is_prefix && depth <= LIMIT_DIMS)
			rc = walk_prefix(walk, key, depth + 1);
	}
	store_listing_finish(&listing);
	return rc;
}

static int walk_grid(const struct walk *walk)
{
	const struct array_meta *meta = walk->meta;
	uint64_t coords[LIMIT_DIMS] = {0};
	int axis = meta->elements ? 0 : -1;
	while (axis >= 0) {
		autofree char *key = key_of_chunk(&meta->keys, walk->path, coords, meta->ndim);
		if (!key)
			return err_set(ENOMEM, "no memory for a key");
		int rc = walk->visitor->chunk(walk->visitor->arg, key, coords);
		if (rc)
			return rc;
		for (axis = meta->ndim - 1; axis >= 0; axis--) {
			if (++coords[axis] < ceil_div(meta->shape[axis], meta->chunk_shape[axis]))
				break;
			coords[axis] = 0;
		}
	}
	return 0;
}

int stored_keys_walk(struct store *store, const char *path, const struct array_meta *meta,
					 const struct stored_keys_visitor *visitor)
{
	struct walk walk = {.store = store, .path = path, .meta = meta, .visitor = visitor};
	return store_can_list(store) ? walk_prefix(&walk, path, 0) : walk_grid(&walk);
}
