/*
 * stored.c: walks the prefixes that chunk keys have: path/c/0/1, path/0.1 ...
 */
#include "tools/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"
#include "tools/progress.h"

struct walk {
	struct store *store;
	const char *path;
	const struct array_meta *meta;
	struct stored stored;
	struct progress progress;
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static uint64_t grid_chunks(const struct array_meta *meta)
{
	uint64_t total = 1;
	for (int i = 0; i < meta->ndim; i++)
		if (!checked_mul(total, ceil_div(meta->shape[i], meta->chunk_shape[i]), &total))
			return UINT64_MAX;
	return total;
}

/* Reads coordinates from the end of a key, and writes the key again: so there is one place that knows how they are spelled. */
static int is_chunk_key(const struct walk *walk, const char *key, bool *ret_is_chunk)
{
	const struct array_meta *meta = walk->meta;
	uint64_t coords[LIMIT_DIMS] = {0};
	size_t end = strlen(key);
	*ret_is_chunk = false;
	for (int i = meta->ndim - 1; i >= 0; i--) {
		uint64_t place = 1;
		size_t last = end;
		for (; end > 0 && is_digit(key[end - 1]) && last - end < 19; end--, place *= 10)
			coords[i] += place * (uint64_t)(key[end - 1] - '0');
		if (end == last || coords[i] >= ceil_div(meta->shape[i], meta->chunk_shape[i]))
			return 0;
		end -= end > 0;
	}
	autofree char *again = key_of_chunk(&meta->keys, walk->path, coords, meta->ndim);
	if (!again)
		return err_set(ENOMEM, "no memory for a key");
	*ret_is_chunk = strcmp(again, key) == 0;
	return 0;
}

static int count_value(struct walk *walk, const char *key)
{
	bool is_chunk;
	int rc = is_chunk_key(walk, key, &is_chunk);
	if (rc || !is_chunk)
		return rc;
	struct value *value;
	rc = store_open_value(walk->store, key, STORE_WAIT, &value);
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return err_prefix(rc, "%s", key);
	bool fits = checked_add(walk->stored.bytes, value_info(value)->size, &walk->stored.bytes);
	value_unref(value);
	walk->stored.present++;
	progress_update(&walk->progress, walk->stored.present);
	return fits ? 0 : err_set(EFBIG, "%s: the sizes do not fit", key);
}

/* Of the prefixes, only those that a chunk key can have are listed: "c", and whole coordinates. */
static bool may_hold_chunks(const struct walk *walk, const char *name, int depth)
{
	if (walk->meta->keys.separator != '/' || depth > walk->meta->ndim)
		return false;
	return strspn(name, "0123456789") == strlen(name) || (depth == 0 && strcmp(name, "c") == 0);
}

static int walk_prefix(struct walk *walk, const char *prefix, int depth)
{
	struct store_listing listing;
	int rc = store_list(walk->store, prefix, &listing);
	if (rc == -ENOENT) /* removed meanwhile, or an array known from consolidated metadata alone */
		return 0;
	if (rc)
		return err_prefix(rc, "%s", prefix);
	for (size_t i = 0; i < listing.n && !rc; i++) {
		const struct store_entry *entry = &listing.entries[i];
		autofree char *key = str_join_key(prefix, entry->name);
		if (!key)
			rc = err_set(ENOMEM, "no memory for a key");
		else if (!entry->is_prefix)
			rc = count_value(walk, key);
		else if (may_hold_chunks(walk, entry->name, depth))
			rc = walk_prefix(walk, key, depth + 1);
	}
	store_listing_finish(&listing);
	return rc;
}

int stored_count(struct store *store, const char *path, const struct array_meta *meta, struct stored *ret_stored)
{
	struct walk walk = {.store = store, .path = path, .meta = meta, .stored.total = grid_chunks(meta)};
	progress_begin(&walk.progress, "values found", 0);
	int rc = walk_prefix(&walk, path, 0);
	progress_end(&walk.progress);
	if (!rc)
		*ret_stored = walk.stored;
	return rc;
}
