/*
 * detect.c: what a root without a document is (zarr-format, section 4.6): another format, refused by name; a plain directory with
 * nodes below; or nothing of ours. And the same bounded look for documents below a broken node.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "hierarchy/hierarchy_impl.h"

#define SEARCH_DEPTH 3
#define SEARCH_DIRECTORIES 1000

static int key_exists(struct store *store, const char *key, bool *ret_exists)
{
	struct value *value;
	int rc = store_open_value(store, key, STORE_WAIT, &value);
	if (rc && rc != -ENOENT)
		return message_add_key(rc, key);
	*ret_exists = rc == 0;
	if (rc == 0)
		value_unref(value);
	return 0;
}

static int has_document(struct store *store, const char *path, bool *ret_has)
{
	static const char *const names[] = {"zarr.json", ".zarray", ".zgroup"};
	*ret_has = false;
	for (size_t i = 0; i < ARRAY_LEN(names) && !*ret_has; i++) {
		autofree char *key = str_join_key(path, names[i]);
		int rc = key ? key_exists(store, key, ret_has) : err_set(ENOMEM, "%s: no memory", path);
		if (rc)
			return rc;
	}
	return 0;
}

/* Directories still to be listed, breadth first: documents near the root are found before a large tree is walked. */
struct search {
	struct store *store;
	struct directory {
		char *path;
		int depth;
	} queue[SEARCH_DIRECTORIES];
	int head, tail;
	int looked_at;
	int error; /* the first failure other than a refusal: nothing found is no proof then */
	struct err_text message;
};

static void note_failure(struct search *search, int rc)
{
	if (search->error || rc == -EACCES || rc == -EPERM || rc == -ENOENT)
		return;
	search->error = rc;
	err_save(&search->message);
}

/* Looks into the directories right below; true when one holds a document. */
static bool look_below(struct search *search, const char *path, int depth, int max_depth)
{
	struct store_listing listing;
	int rc = store_list(search->store, path, &listing);
	if (rc) {
		note_failure(search, rc);
		return false;
	}
	bool found = false;
	for (size_t i = 0; i < listing.n && !found && search->looked_at < SEARCH_DIRECTORIES; i++) {
		const struct store_entry *entry = &listing.entries[i];
		if (!entry->is_prefix || name_is_reserved(0, entry->name))
			continue;
		search->looked_at++;
		char *below = str_join_key(path, entry->name);
		rc = below ? has_document(search->store, below, &found) : err_set(ENOMEM, "%s: no memory", path);
		if (rc)
			note_failure(search, rc);
		if (rc == 0 && !found && depth + 1 < max_depth) {
			search->queue[search->tail++] = (struct directory){.path = below, .depth = depth + 1};
			continue;
		}
		free(below);
	}
	store_listing_finish(&listing);
	return found;
}

/* Failures are kept in search->error. */
static bool search_down(struct search *search, const char *path, int max_depth)
{
	bool found = look_below(search, path, 0, max_depth);
	while (search->head < search->tail) {
		struct directory *directory = &search->queue[search->head++];
		found = found || look_below(search, directory->path, directory->depth, max_depth);
		free(directory->path);
	}
	return found;
}

static struct search *search_new(struct store *store)
{
	struct search *search = calloc(1, sizeof(*search));
	if (search)
		search->store = store;
	return search;
}

bool detect_below(struct hierarchy *hierarchy, const struct block *block, const char *path)
{
	if (!hierarchy->lists) {
		struct store_listing listing = {0};
		bool found = block && block_list(block, path, &listing) == 0 && listing.n > 0;
		store_listing_finish(&listing);
		return found;
	}
	autofree struct search *search = search_new(hierarchy->env.store);
	return search && search_down(search, path, 1);
}

static int has_prefixes(struct store *store, const char *a, const char *b, bool *ret_has)
{
	struct store_listing listing;
	int rc = store_list(store, "", &listing);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	*ret_has = listing_has(&listing, a) && listing_has(&listing, b);
	store_listing_finish(&listing);
	return 0;
}

/* Version 2 keeps its list of refs in one object that begins with these bytes, version 1 in a directory (4.5). */
static int is_icechunk(struct hierarchy *hierarchy, bool *ret_is)
{
	static const uint8_t magic[] = {'I', 'C', 'E', 0xf0, 0x9f, 0xa7, 0x8a, 'C', 'H', 'U', 'N', 'K'};
	struct store *store = hierarchy->env.store;
	struct value *value;
	*ret_is = false;
	int rc = store_open_value(store, "repo", STORE_WAIT, &value);
	if (rc == 0) {
		uint8_t bytes[sizeof(magic)];
		size_t n;
		rc = value_read(value, (struct range){.length = sizeof(bytes)}, STORE_WAIT, bytes, &n);
		*ret_is = rc == 0 && n == sizeof(magic) && memcmp(bytes, magic, n) == 0;
		value_unref(value);
	}
	if (rc && rc != -ENOENT)
		return message_add_key(rc, "repo");
	if (*ret_is)
		return 0;
	return hierarchy->lists ? has_prefixes(store, "refs", "snapshots", ret_is)
							: key_exists(store, "refs/branch.main/ref.json", ret_is);
}

static int refuse_foreign(struct hierarchy *hierarchy)
{
	static const struct {
		const char *key, *what;
	} signs[] = {
		{"attributes.json", "an N5 container (attributes.json)"},
		{"manifest.ocdbt", "a TensorStore OCDBT database (manifest.ocdbt)"},
	};
	bool found;
	int rc = is_icechunk(hierarchy, &found);
	if (rc)
		return rc;
	if (found)
		return err_set(ENOTSUP, "an Icechunk repository, not a Zarr store");
	for (size_t i = 0; i < ARRAY_LEN(signs); i++) {
		rc = key_exists(hierarchy->env.store, signs[i].key, &found);
		if (rc)
			return rc;
		if (found)
			return err_set(ENOTSUP, "%s, not a Zarr store", signs[i].what);
	}
	return 0;
}

int detect_root(struct hierarchy *hierarchy)
{
	int rc = refuse_foreign(hierarchy);
	if (rc)
		return rc;
	if (hierarchy->lists) {
		autofree struct search *search = search_new(hierarchy->env.store);
		if (!search)
			return err_set(ENOMEM, "no memory");
		if (search_down(search, "", SEARCH_DEPTH))
			return 0;
		if (search->error) {
			err_restore(&search->message);
			return search->error;
		}
	}
	return err_set(ENOENT, "not a Zarr store (no zarr.json, .zarray or .zgroup down to depth %d)", SEARCH_DEPTH);
}
