/*
 * consolidated.c: consolidated metadata as a map from document key to document (v3: inline in a group's zarr.json, as
 * zarr-python writes it; v2: .zmetadata). Both become one sorted table of store keys, so that a node is made from it as
 * from a store:
 *
 *     v3, in the group g    "a/b": {...}            g/a/b/zarr.json
 *     v2                    "a/b/.zarray": {...}    a/b/.zarray
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "hierarchy/hierarchy_impl.h"

struct block_entry {
	char *key;
	const struct json *document;
};

struct block {
	struct block_entry *entries; /* sorted by key */
	size_t n;
	struct json *root;
	struct value_info info;
};

static int compare_entries(const void *a, const void *b)
{
	return strcmp(((const struct block_entry *)a)->key, ((const struct block_entry *)b)->key);
}

static bool is_v2_document(const char *name)
{
	return strcmp(name, ".zarray") == 0 || strcmp(name, ".zgroup") == 0 || strcmp(name, ".zattrs") == 0;
}

/*
 * The store key of a member's name, or NULL in *ret_key when no store key can be meant (the node is hidden then). Slashes
 * in front, behind and doubled are found in the wild, and dropped.
 */
static int key_of_member(const char *path, int zarr_format, const char *name, char **ret_key)
{
	autostr(key);
	str_append(&key, path);
	const char *last = "";
	size_t segments = 0;
	for (const char *p = name + strspn(name, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		if (!str_is_name(p, n)) {
			*ret_key = NULL;
			return 0;
		}
		str_append(&key, key.size ? "/" : "");
		str_append_bytes(&key, p, n);
		last = p;
		p += n;
		segments++;
	}
	if (zarr_format == 3)
		str_append(&key, key.size ? "/zarr.json" : "zarr.json");
	bool is_key = zarr_format == 3 ? segments > 0 : is_v2_document(last);
	if (!key.failed && (!is_key || key.size >= LIMIT_KEY_BYTES)) {
		*ret_key = NULL;
		return 0;
	}
	return str_take(&key, ret_key);
}

static int fill_entries(struct block *block, const char *path, int zarr_format, const struct json *metadata)
{
	for (const struct json *item = json_first(metadata); item; item = json_next(item)) {
		char *key;
		int rc = key_of_member(path, zarr_format, json_name(item), &key);
		if (rc)
			return rc;
		if (key)
			block->entries[block->n++] = (struct block_entry){.key = key, .document = item};
	}
	if (block->n)
		qsort(block->entries, block->n, sizeof(*block->entries), compare_entries);
	return 0;
}

int block_new(const char *path, int zarr_format, const struct json *metadata, struct json *root,
			  const struct value_info *info, struct block **ret_block)
{
	struct block *block = calloc(1, sizeof(*block));
	if (!block)
		return err_set(ENOMEM, "no memory for consolidated metadata");
	block->entries = calloc(json_count(metadata) + 1, sizeof(*block->entries));
	int rc = block->entries ? fill_entries(block, path, zarr_format, metadata) : -ENOMEM;
	if (rc) {
		block_free(block);
		return err_set(-rc, "no memory for consolidated metadata");
	}
	block->root = root;
	block->info = *info;
	*ret_block = block;
	return 0;
}

void block_free(struct block *block)
{
	if (!block)
		return;
	for (size_t i = 0; i < block->n; i++)
		free(block->entries[i].key);
	free(block->entries);
	json_free(block->root);
	free(block);
}

const struct value_info *block_info(const struct block *block)
{
	return &block->info;
}

static const struct json *find_document(const struct block *block, const char *key)
{
	struct block_entry wanted = {.key = (char *)key};
	const struct block_entry *entry =
		bsearch(&wanted, block->entries, block->n, sizeof(*block->entries), compare_entries);
	return entry ? entry->document : NULL;
}

int block_get(const struct block *block, const char *key, struct buf **ret_buf)
{
	const struct json *document = find_document(block, key);
	if (!document)
		return err_set(ENOENT, "%s: not in the consolidated metadata", key);
	char *text = json_print(document);
	if (!text)
		return err_set(ENOMEM, "%s: no memory", key);
	int rc = buf_wrap(text, strlen(text), free, text, ret_buf);
	if (rc)
		free(text);
	return rc;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct store_entry *)a)->name, ((const struct store_entry *)b)->name);
}

bool listing_has(const struct store_listing *listing, const char *name)
{
	struct store_entry wanted = {.name = (char *)name};
	return listing->n && bsearch(&wanted, listing->entries, listing->n, sizeof(wanted), compare_names);
}

/* In the order of keys "b-c/..." stands before "b/...", in that of names behind it. */
static void sort_unique(struct store_listing *listing)
{
	if (!listing->n)
		return;
	qsort(listing->entries, listing->n, sizeof(*listing->entries), compare_names);
	size_t kept = 1;
	for (size_t i = 1; i < listing->n; i++) {
		if (strcmp(listing->entries[i].name, listing->entries[kept - 1].name) == 0)
			free(listing->entries[i].name);
		else
			listing->entries[kept++] = listing->entries[i];
	}
	listing->n = kept;
}

static size_t lower_bound(const struct block *block, const char *key)
{
	size_t low = 0, high = block->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(block->entries[middle].key, key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int append_name(struct store_listing *listing, size_t *capacity, const char *name, size_t size)
{
	if (listing->n == *capacity) {
		size_t wanted = *capacity ? 2 * *capacity : 16;
		struct store_entry *entries = reallocarray(listing->entries, wanted, sizeof(*entries));
		if (!entries)
			return err_set(ENOMEM, "no memory for a listing");
		listing->entries = entries;
		*capacity = wanted;
	}
	char *copy = strndup(name, size);
	if (!copy)
		return err_set(ENOMEM, "no memory for a listing");
	listing->entries[listing->n++] = (struct store_entry){.name = copy, .is_prefix = true};
	return 0;
}

int block_list(const struct block *block, const char *path, struct store_listing *ret_listing)
{
	struct store_listing listing = {0};
	size_t capacity = 0;
	autostr(start);
	str_append(&start, path);
	str_append(&start, path[0] ? "/" : "");
	int rc = start.failed ? err_set(ENOMEM, "no memory for a listing") : 0;
	for (size_t i = lower_bound(block, start.text); i < block->n && rc == 0; i++) {
		if (strncmp(block->entries[i].key, start.text, start.size) != 0)
			break;
		const char *rest = block->entries[i].key + start.size;
		size_t n = strcspn(rest, "/");
		const char *last = listing.n ? listing.entries[listing.n - 1].name : "";
		bool is_last = strncmp(last, rest, n) == 0 && last[n] == '\0';
		if (rest[n] == '/' && !is_last)
			rc = append_name(&listing, &capacity, rest, n);
	}
	if (rc) {
		store_listing_finish(&listing);
		return rc;
	}
	sort_unique(&listing);
	*ret_listing = listing;
	return 0;
}

static bool is_same_value(const struct json *a, const struct json *b)
{
	autofree char *text_a = json_print(a);
	autofree char *text_b = json_print(b);
	return !text_a || !text_b || strcmp(text_a, text_b) == 0;
}

/* zarr-python puts a block of its own into each group that it consolidates, and null into others: no difference. */
static bool is_compared(const struct json *member)
{
	return strcmp(json_name(member), "consolidated_metadata") != 0;
}

static bool is_same_document(const struct json *a, const struct json *b)
{
	if (json_type(a) != JSON_OBJECT || json_type(b) != JSON_OBJECT)
		return is_same_value(a, b);
	size_t balance = json_count(b);
	for (const struct json *item = json_first(b); item; item = json_next(item))
		balance -= !is_compared(item);
	for (const struct json *item = json_first(a); item; item = json_next(item)) {
		if (!is_compared(item))
			continue;
		const struct json *other = json_get(b, json_name(item));
		if (!other || balance-- == 0 || !is_same_value(item, other))
			return false;
	}
	return balance == 0;
}

static void log_difference(struct hierarchy *hierarchy, const char *key)
{
	if (!atomic_exchange(&hierarchy->difference_logged, true))
		log_line(LOG_LEVEL_WARN, "hierarchy",
				 "%s: %s: the consolidated metadata is another than the node's own, which is used",
				 store_url(hierarchy->env.store), key);
}

void block_check(struct hierarchy *hierarchy, const struct block *block, const char *key, const struct buf *own)
{
	if (atomic_load(&hierarchy->difference_logged))
		return;
	const struct json *consolidated = find_document(block, key);
	struct json *root = NULL;
	if (own && json_parse((const char *)own->data, own->size, LIMIT_JSON_CONSOLIDATED_BYTES, NULL, &root))
		return; /* the node is broken, and says so */
	bool same = root && consolidated ? is_same_document(root, consolidated) : !root == !consolidated;
	if (!same && (!root || !consolidated)) { /* absent attributes are no attributes */
		const struct json *present = root ? root : consolidated;
		size_t n = strlen(key), suffix = strlen(".zattrs");
		same = n >= suffix && strcmp(key + n - suffix, ".zattrs") == 0 && json_count(present) == 0;
	}
	json_free(root);
	if (!same)
		log_difference(hierarchy, key);
}

void block_check_names(struct hierarchy *hierarchy, const struct block *block, const char *path,
					   const struct store_listing *own)
{
	struct store_listing listing;
	if (atomic_load(&hierarchy->difference_logged) || block_list(block, path, &listing))
		return;
	for (size_t i = 0; i < listing.n; i++)
		if (!name_is_reserved(3, listing.entries[i].name) && !listing_has(own, listing.entries[i].name)) {
			autofree char *key = str_join_key(path, listing.entries[i].name);
			log_difference(hierarchy, key ? key : path);
			break;
		}
	store_listing_finish(&listing);
}
