/*
 * store.c: the table of stores by URL scheme, and what every store has in common: well-formed keys, ranges cut to the
 * value, short reads resumed, sorted listings, counters.
 */
#include "store/store.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/stats.h"
#include "base/str.h"
#include "store/reference_impl.h"
#include "store/zip_impl.h"

#define DEFAULT_CONCURRENCY 16

/* One row a store. `suffix` is that of a regular file which a plain path means by it. */
static const struct scheme {
	const char *name;
	const char *suffix;
	const struct store_ops *ops; /* NULL: known, not built in */
} schemes[] = {
	{"file", NULL, &dir_store_ops},
	{"mem", NULL, &mem_store_ops},
	{"zip", ".zip", &zip_store_ops},
	{"reference", ".json", &reference_store_ops},
	{"http", NULL, NULL},
	{"https", NULL, NULL},
	{"s3", NULL, NULL},
	{"gs", NULL, NULL},
};

/* Bytes of "scheme" in "scheme://rest" (RFC 3986, section 3.1); 0 for a plain path. */
static size_t scheme_size(const char *url)
{
	size_t n = 0;
	while (isalnum((unsigned char)url[n]) || url[n] == '+' || url[n] == '-' || url[n] == '.')
		n++;
	return isalpha((unsigned char)url[0]) && strncmp(url + n, "://", 3) == 0 ? n : 0;
}

static const char *after_scheme(const char *url)
{
	size_t n = scheme_size(url);
	return n ? url + n + strlen("://") : url;
}

static bool ends_with(const char *text, size_t size, const char *suffix)
{
	size_t n = strlen(suffix);
	return size >= n && memcmp(text + size - n, suffix, n) == 0;
}

/* The store that a regular file's content is of, whatever its name: NULL when that does not tell. */
static const struct store_ops *ops_by_content(const char *path, uint64_t size)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	const struct store_ops *ops = NULL;
	if (zip_file_has_end(fd, size))
		ops = &zip_store_ops;
	else if (reference_file_begins(fd))
		ops = &reference_store_ops;
	close(fd);
	return ops;
}

/*
 * The store that a local path means: a directory, unless it is a regular file: a zip by how it ends, references by how it begins, or what
 * its suffix in the table says.
 */
static const struct scheme *scheme_of_path(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return &schemes[0];
	const struct store_ops *ops = ops_by_content(path, (uint64_t)st.st_size);
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (ops ? schemes[i].ops == ops : schemes[i].suffix && ends_with(path, strlen(path), schemes[i].suffix))
			return &schemes[i];
	return &schemes[0];
}

/* Bytes of a file URL are taken as they are, without %xx, as fsspec and zarr-python do. */
static int find_scheme(const char *url, const struct scheme **ret_scheme, const char **ret_rest)
{
	size_t n = scheme_size(url);
	const char *rest = after_scheme(url);
	const struct scheme *scheme = NULL;
	for (size_t i = 0; n && i < ARRAY_LEN(schemes); i++)
		if (strlen(schemes[i].name) == n && strncasecmp(schemes[i].name, url, n) == 0)
			scheme = &schemes[i];
	if (n && !scheme)
		return err_set(ENOTSUP, "%.*s: unknown kind of store", (int)n, url);
	if (n && scheme == &schemes[0]) {
		if (strncmp(rest, "localhost/", strlen("localhost/")) == 0)
			rest += strlen("localhost");
		if (rest[0] != '/')
			return err_set(EINVAL, "a file URL is file:///path");
	}
	*ret_scheme = !n || scheme == &schemes[0] ? scheme_of_path(rest) : scheme;
	*ret_rest = rest;
	return 0;
}

static size_t without_suffix(const char *name, size_t n, const char *suffix)
{
	return n > strlen(suffix) && ends_with(name, n, suffix) ? n - strlen(suffix) : n;
}

void store_known(struct str *built, struct str *missing)
{
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		struct str *str = schemes[i].ops ? built : missing;
		str_appendf(str, "%s%s", str->size ? ", " : "", schemes[i].name);
	}
}

/* Of "a.zarr", "a.zip", "a.zarr.zip" and "a.json": "a". */
static char *base_name_of(const char *path)
{
	size_t end = strlen(path);
	while (end > 0 && path[end - 1] == '/')
		end--;
	size_t start = end;
	while (start > 0 && path[start - 1] != '/')
		start--;
	const char *name = path + start;
	size_t all = end - start, n = without_suffix(name, all, ".zip");
	if (n == all)
		n = without_suffix(name, all, ".json");
	n = without_suffix(name, n, ".zarr");
	return str_is_name(name, n) ? strndup(name, n) : NULL;
}

int store_init(struct store *store, const struct store_ops *ops, const char *url)
{
	store->ops = ops;
	store->url = strdup(url);
	store->base_name = base_name_of(after_scheme(url));
	if (!store->base_name) { /* ".", ".." and "/" */
		autofree char *path = realpath(after_scheme(url), NULL);
		store->base_name = path ? base_name_of(path) : NULL;
	}
	if (!store->base_name)
		store->base_name = strdup("root");
	if (store->url && store->base_name)
		return 0;
	free(store->url);
	free(store->base_name);
	store->url = store->base_name = NULL;
	return err_set(ENOMEM, "no memory for a store");
}

int store_open(const char *url, struct store **ret_store)
{
	return store_open_with(url, NULL, ret_store);
}

int store_open_with(const char *url, const struct store_options *options, struct store **ret_store)
{
	const struct scheme *scheme = NULL;
	const char *rest = NULL;
	int rc = find_scheme(url, &scheme, &rest);
	if (rc)
		return rc;
	if (!scheme->ops)
		return err_set(ENOTSUP, "%s: this kind of store is known, not built in", scheme->name);
	struct store *store;
	rc = scheme->ops->open(rest, options, &store);
	if (rc)
		return rc;
	rc = store_init(store, scheme->ops, url);
	if (rc) {
		scheme->ops->close(store);
		return rc;
	}
	*ret_store = store;
	return 0;
}

void store_close(struct store *store)
{
	if (!store)
		return;
	free(store->url);
	free(store->base_name);
	store->ops->close(store);
}

const char *store_url(const struct store *store)
{
	return store->url;
}

const char *store_base_name(const struct store *store)
{
	return store->base_name;
}

bool store_can_list(const struct store *store)
{
	return store->ops->list != NULL;
}

bool store_recodes(const struct store *store)
{
	return store->recodes;
}

bool store_verifies(const struct store *store)
{
	return store->ops->verifies;
}

int store_concurrency(const struct store *store)
{
	return store->ops->concurrency > 0 ? store->ops->concurrency : DEFAULT_CONCURRENCY;
}

/* Every segment is a name, so no key leaves the store: "", "/a", "a/", "a//b", "." and ".." are refused here. */
bool store_is_key(const char *key, size_t size)
{
	for (size_t at = 0; size < LIMIT_KEY_BYTES;) {
		const char *slash = memchr(key + at, '/', size - at);
		size_t n = slash ? (size_t)(slash - key) - at : size - at;
		if (!str_is_name(key + at, n))
			return false;
		if (!slash)
			return true;
		at += n + 1;
	}
	return false;
}

static int check_key(const char *key)
{
	size_t size = strlen(key);
	if (size >= LIMIT_KEY_BYTES)
		return err_set(EINVAL, "a key of %zu bytes", size);
	return store_is_key(key, size) ? 0 : err_set(EINVAL, "\"%s\" is no key", key);
}

int store_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	int rc = check_key(key);
	if (rc)
		return rc;
	struct value *value;
	rc = store->ops->open_value(store, key, how, &value);
	if (rc)
		return rc;
	value->store = store;
	atomic_init(&value->refs, 1);
	stats_add(store_opens, 1);
	*ret_value = value;
	return 0;
}

struct value *value_ref(struct value *value)
{
	atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed);
	return value;
}

void value_unref(struct value *value)
{
	if (value && atomic_fetch_sub_explicit(&value->refs, 1, memory_order_acq_rel) == 1)
		value->store->ops->close_value(value);
}

const struct value_info *value_info(const struct value *value)
{
	return &value->info;
}

int value_read(struct value *value, struct range range, enum store_how how, void *dst, size_t *ret_size)
{
	uint64_t size = value->info.size;
	uint64_t offset = range.suffix ? size - MIN(range.length, size) : MIN(range.offset, size);
	uint64_t wanted = MIN(range.length, size - offset), done = 0;
	while (done < wanted) {
		size_t got;
		int rc =
			value->store->ops->read(value, offset + done, (uint8_t *)dst + done, (size_t)(wanted - done), how, &got);
		if (rc == -EAGAIN)
			*ret_size = (size_t)done;
		if (rc)
			return rc;
		if (got == 0)
			return err_set(ESTALE, "the value ended at byte %" PRIu64 " of %" PRIu64, offset + done, size);
		stats_add(store_bytes, got);
		done += got;
	}
	*ret_size = (size_t)done;
	return 0;
}

static int get_once(struct store *store, const char *key, enum store_how how, uint64_t max, struct buf **ret_buf,
					struct value_info *ret_info)
{
	struct value *value;
	int rc = store_open_value(store, key, how, &value);
	if (rc)
		return rc;
	uint64_t size = value->info.size;
	struct buf *buf = NULL;
	size_t got;
	if (size > max || size > SIZE_MAX)
		rc = err_set(EFBIG, "%s: %" PRIu64 " bytes, more than %" PRIu64, key, size, max);
	if (rc == 0)
		rc = buf_new((size_t)size, &buf);
	if (rc == 0)
		rc = value_read(value, (struct range){.length = size}, how, buf->data, &got);
	if (rc == 0) {
		*ret_buf = buf_ref(buf);
		if (ret_info)
			*ret_info = value->info;
	}
	buf_unref(buf);
	value_unref(value);
	return rc;
}

/* Any one version will do, so a value that was replaced while it was read is read once more. */
int store_get(struct store *store, const char *key, enum store_how how, uint64_t max, struct buf **ret_buf,
			  struct value_info *ret_info)
{
	int rc = get_once(store, key, how, max, ret_buf, ret_info);
	return rc == -ESTALE ? get_once(store, key, how, max, ret_buf, ret_info) : rc;
}

struct collector {
	struct store_listing listing;
	size_t capacity;
};

static int collect(void *arg, const char *name, bool is_prefix)
{
	struct collector *into = arg;
	struct store_listing *listing = &into->listing;
	if (!str_is_name(name, strlen(name)))
		return 0;
	if (listing->n == into->capacity) {
		size_t capacity = into->capacity ? 2 * into->capacity : 16;
		struct store_entry *entries = reallocarray(listing->entries, capacity, sizeof(*entries));
		if (!entries)
			return err_set(ENOMEM, "no memory for a listing");
		listing->entries = entries;
		into->capacity = capacity;
	}
	char *copy = strdup(name);
	if (!copy)
		return err_set(ENOMEM, "no memory for a listing");
	listing->entries[listing->n++] = (struct store_entry){.name = copy, .is_prefix = is_prefix};
	return 0;
}

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

/* Sorted; a name that came twice, as a value and as a prefix, stays once. */
static void sort_and_merge(struct store_listing *listing)
{
	if (listing->n == 0)
		return;
	qsort(listing->entries, listing->n, sizeof(*listing->entries), compare_entries);
	struct store_entry *last = listing->entries;
	for (size_t i = 1; i < listing->n; i++) {
		struct store_entry *entry = &listing->entries[i];
		if (strcmp(entry->name, last->name) == 0) {
			last->is_prefix |= entry->is_prefix;
			free(entry->name);
		} else {
			*++last = *entry;
		}
	}
	listing->n = (size_t)(last - listing->entries) + 1;
}

int store_list(struct store *store, const char *prefix, struct store_listing *ret_listing)
{
	int rc = prefix[0] ? check_key(prefix) : 0;
	if (rc)
		return rc;
	if (!store->ops->list)
		return err_set(ENOTSUP, "this store cannot list");
	struct collector into = {0};
	rc = store->ops->list(store, prefix, collect, &into);
	if (rc) {
		store_listing_finish(&into.listing);
		return rc;
	}
	sort_and_merge(&into.listing);
	*ret_listing = into.listing;
	return 0;
}

void store_listing_finish(struct store_listing *listing)
{
	for (size_t i = 0; i < listing->n; i++)
		free(listing->entries[i].name);
	free(listing->entries);
	*listing = (struct store_listing){0};
}

int store_write_begin(struct store *store, const char *key, struct store_write **ret_write)
{
	int rc = check_key(key);
	if (rc)
		return rc;
	if (!store->ops->write_begin)
		return err_set(EROFS, "this store cannot be written");
	struct store_write *write;
	rc = store->ops->write_begin(store, key, &write);
	if (rc)
		return rc;
	write->store = store;
	*ret_write = write;
	return 0;
}

int store_write_append(struct store_write *write, const void *bytes, size_t size)
{
	return write->store->ops->write_append(write, bytes, size);
}

int store_write_commit(struct store_write *write)
{
	return write->store->ops->write_commit(write);
}

void store_write_abort(struct store_write *write)
{
	if (write)
		write->store->ops->write_abort(write);
}
