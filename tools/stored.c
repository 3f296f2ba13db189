/*
 * stored.c: the size of each value that core/array/stored_keys.c finds.
 */
#include "tools/stored.h"

#include <errno.h>

#include "array/stored_keys.h"
#include "base/checked.h"
#include "base/err.h"
#include "tools/progress.h"

struct count {
	struct store *store;
	struct stored stored;
	struct progress progress;
};

static int count_value(void *arg, const char *key, const uint64_t *coords)
{
	struct count *count = arg;
	struct value *value;
	int rc = store_open_value(count->store, key, STORE_WAIT, &value);
	if (rc == -ENOENT)
		return 0;
	if (rc)
		return err_prefix(rc, "%s", key);
	bool fits = checked_add(count->stored.bytes, value_info(value)->size, &count->stored.bytes);
	value_unref(value);
	count->stored.present++;
	progress_update(&count->progress, count->stored.present);
	return fits ? 0 : err_set(EFBIG, "%s: the sizes do not fit", key);
}

int stored_count(struct store *store, const char *path, const struct array_meta *meta, struct stored *ret_stored)
{
	struct count count = {.store = store, .stored.total = stored_keys_grid(meta)};
	struct stored_keys_visitor visitor = {.chunk = count_value, .arg = &count};
	if (!store_can_list(store))
		return err_set(ENOTSUP, "this store cannot list");
	progress_begin(&count.progress, "values found", 0);
	int rc = stored_keys_walk(store, path, meta, &visitor);
	progress_end(&count.progress);
	if (!rc)
		*ret_stored = count.stored;
	return rc;
}
