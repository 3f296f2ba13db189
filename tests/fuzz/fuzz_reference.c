/*
 * fuzz_reference.c: a reference file, as the input is, beside a target, a folder, a link that leads out, and a secret that is outside.
 *
 * Invariants: an errno of the contract; listings are sorted; a value read twice is the same, and its parts are parts of it; the secret
 * is in no value; memory is bounded by the file's size and what `gen` may make.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fuzz.h"
#include "../lib/live_bytes.h"
#include "../lib/scratch.h"

#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/str.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECRET "\xf1\x9e\x03Zq\xd0\x88 nobody may read this \x17\xc2\xee\x05"
#define VALUE_MOST ((uint64_t)1 << 20)
#define DEPTH_MOST 8
#define VISITS_MOST 200
#define MEMORY_MOST ((int64_t)4 << 20)

static char top[PATH_MAX];

static void remove_top(void)
{
	scratch_remove(top);
}

static void set_up(void)
{
	static bool done;
	if (done)
		return;
	done = true;
	log_set_sink(discard_line, NULL);
	buf_set_recycled_limit(0);
	scratch_make(scratch_tmpfs(), top);
	atexit(remove_top);
	check(mkdir(scratch_path(top, "own"), 0777) == 0 && mkdir(scratch_path(top, "own/d"), 0777) == 0);
	check(scratch_write(top, "secret", SECRET) && scratch_write(top, "own/t", "0123456789abcdef") &&
		  scratch_write(top, "own/d/t", "target in a folder"));
	check(symlink("../secret", scratch_path(top, "own/out")) == 0 &&
		  symlink("../..", scratch_path(top, "own/d/up")) == 0);
	live_bytes_begin();
}

static bool is_refusal(int rc)
{
	return rc == -EIO || rc == -ENOTSUP || rc == -EFBIG || rc == -ENOMEM || rc == -EACCES;
}

static void check_value(struct store *store, const char *key)
{
	struct value *value;
	int rc = store_open_value(store, key, STORE_WAIT, &value);
	check(rc == 0 || rc == -ENOENT || is_refusal(rc));
	if (rc)
		return;
	struct buf *first = NULL, *second = NULL;
	int one = store_get(store, key, STORE_WAIT, VALUE_MOST, &first, NULL);
	int two = store_get(store, key, STORE_WAIT, VALUE_MOST, &second, NULL);
	check(one == two && (one == 0 || is_refusal(one)));
	if (one == 0) {
		check(first->size == value_info(value)->size && first->size == second->size);
		check(first->size == 0 || memcmp(first->data, second->data, first->size) == 0);
		check(!memmem(first->data, first->size, SECRET, strlen(SECRET) / 2));
		check_parts(value, first);
	}
	buf_unref(first);
	buf_unref(second);
	value_unref(value);
}

static void visit(struct store *store, const char *prefix, int depth, int *visits)
{
	struct store_listing listing;
	int rc = store_list(store, prefix, &listing);
	check(rc == 0 || rc == -ENOMEM || rc == -EINVAL);
	if (rc)
		return;
	for (size_t i = 0; i < listing.n && (*visits)++ < VISITS_MOST; i++) {
		autofree char *key = str_join_key(prefix, listing.entries[i].name);
		check(key && (i == 0 || strcmp(listing.entries[i - 1].name, listing.entries[i].name) < 0));
		check_value(store, key);
		if (listing.entries[i].is_prefix && depth < DEPTH_MOST)
			visit(store, key, depth + 1, visits);
	}
	store_listing_finish(&listing);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct store *store;
	int visits = 0;
	set_up();
	FILE *file = fopen(scratch_path(top, "own/refs.json"), "w");
	check(file && fwrite(data, 1, size, file) == size && fclose(file) == 0);
	autostr(url);
	str_appendf(&url, "reference://%s/own/refs.json", top);
	int64_t before = live_bytes_peak = live_bytes;
	int rc = store_open(url.text, &store);
	check(rc == 0 || rc == -ENOENT || is_refusal(rc));
	if (rc == 0) {
		visit(store, "", 0, &visits);
		store_close(store);
	}
	bool makes = memmem(data, size, "gen", 3);
	int64_t made = makes ? 4 * (int64_t)LIMIT_REFERENCE_MADE_BYTES + 32 * (int64_t)LIMIT_REFERENCE_MADE : 0;
	check(live_bytes_peak - before <= MEMORY_MOST + 16 * (int64_t)size + made);
	return 0;
}
