/*
 * store.h: a thread-safe map from key to value: where bytes are. For callers; implementers read store_impl.h.
 *
 * Keys are paths without a leading slash ("temp/c/0/1"); prefixes are keys of directories ("temp", "" is the root). No
 * key can name anything outside the store. -ENOENT is proof of absence, any other failure is a failure: never "absent".
 */
#ifndef ZARRFS_STORE_H
#define ZARRFS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct str;
struct store; /* an opened store; const after open */
struct value; /* one opened value; counted, any thread; all its reads are of one version */

/* Whether a call may wait for a device. STORE_TRY answers -EAGAIN where it would (design, section 6). */
enum store_how { STORE_WAIT, STORE_TRY };

/* Part of a value: `length` bytes from `offset`, or the last `length` bytes (what a shard index at the end needs). */
struct range {
	uint64_t offset;
	uint64_t length;
	bool suffix;
};

struct value_info {
	uint64_t size;	   /* bytes */
	int64_t mtime_ns;  /* since the epoch; 0 when unknown */
	uint64_t version;  /* differs when the content may differ */
	bool ranges_cheap; /* a range costs about its own bytes, not the whole value */
};

/* Children of a prefix, sorted by name. A directory that is also a value counts as both. */
struct store_entry {
	char *name;
	bool is_prefix;
};
struct store_listing {
	struct store_entry *entries;
	size_t n;
};

/*
 * Opens what `url` names: "file:///path", a plain path, or another scheme of the table. Errors: ENOENT, ENOTDIR, EACCES ...
 * of the path; ENOTSUP for a scheme that is unknown or known and not built in.
 */
int store_open(const char *url, struct store **ret_store);

/* What the user allows beyond what the url says. */
struct store_options {
	const char *reference_root; /* [targets of a reference file may lie beneath it, too] */
};
int store_open_with(const char *url, const struct store_options *options, struct store **ret_store);

void store_close(struct store *store);

/* The place as the user gave it, for messages; and its last name without ".zarr", ".zip", ".json" (a root array's name). */
const char *store_url(const struct store *store);
const char *store_base_name(const struct store *store);

/* Whether store_list works, and is cheap enough to prefer a node's own document to consolidated metadata. */
bool store_can_list(const struct store *store);

/* Whether some values are compressed or text in the store itself: to read one takes about its size in memory once more. */
bool store_recodes(const struct store *store);

/* Whether it verifies what it gives by checksums of its own (a zip's CRC-32): EIO may then be damage that it has found. */
bool store_verifies(const struct store *store);

/*
 * Opens a value. -ENOENT: proved absent. -EAGAIN: STORE_TRY and it might wait. -ESTALE, -EACCES, -EMFILE, -EIO ...: failed.
 * A key that is a directory is absent; a device, FIFO or socket is EIO. EINVAL: a malformed key.
 */
int store_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value);
struct value *value_ref(struct value *value);
void value_unref(struct value *value);
const struct value_info *value_info(const struct value *value);

/*
 * Reads a range into dst (range.length bytes of room). Fewer bytes come only at the value's end (*ret_size, 0 past it).
 * A suffix longer than the value gives the whole value. -EAGAIN as above, *ret_size then
 * says how many bytes were there, from the beginning: ask for the rest; -ESTALE when the value has changed since it was opened.
 */
int value_read(struct value *value, struct range range, enum store_how how, void *dst, size_t *ret_size);

/* Opens, reads whole and closes. -EFBIG when the value is larger than `max` bytes. *ret_info may be NULL. */
int store_get(struct store *store, const char *key, enum store_how how, uint64_t max, struct buf **ret_buf,
			  struct value_info *ret_info);

/* The children of a prefix. -ENOENT: no such prefix; -ENOTSUP: this store cannot list; names that str_is_name refuses are left out. */
int store_list(struct store *store, const char *prefix, struct store_listing *ret_listing);
void store_listing_finish(struct store_listing *listing);

/*
 * Writing one value: begin, append in order, then commit or abort (either frees the write). The value appears at commit,
 * durable, or not at all. -EROFS when the store has no write slots.
 */
struct store_write;
int store_write_begin(struct store *store, const char *key, struct store_write **ret_write);
int store_write_append(struct store_write *write, const void *bytes, size_t size);
int store_write_commit(struct store_write *write);
void store_write_abort(struct store_write *write);

/* How many fetches at once suit the store (a disk: some, a remote store: many). */
int store_concurrency(const struct store *store);

/* Names of the table, separated by ", ": of the stores that are built in, and of those that are only known. */
void store_known(struct str *built, struct str *missing);

#endif
