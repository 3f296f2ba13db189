/*
 * mem.h: a store in memory that can wait and fail: the tests' store. Any thread.
 */
#ifndef ZARRFS_MEM_H
#define ZARRFS_MEM_H

#include "store/store.h"

/* What happens to calls on keys that contain `key_part` ("" is every key). */
struct mem_fault {
	const char *key_part;
	int delay_ms; /* open_value and read each wait as long (once a value: at its first read); STORE_TRY answers EAGAIN */
	int open_errnum; /* open_value fails with it; 0: does not */
	int read_errnum; /* read fails with it */
	int short_read;	 /* a read gives at most so many bytes at once; 0: all */
	bool dear;		 /* their ranges are not cheap, and the store recodes from then on */
};

/* An empty store called `name` ("mem://name"), that can list or not. store_close frees it. */
int mem_store_new(const char *name, bool can_list, struct store **ret_store);

/* Sets or replaces a value (copied); each gets a new version. bytes NULL removes it. */
int mem_store_put(struct store *store, const char *key, const void *bytes, size_t size);

/* Replaces the faults; n 0 removes all. Strings are copied. Waiting calls keep waiting; mem_store_release ends every wait. */
int mem_store_set_faults(struct store *store, const struct mem_fault *faults, int n);
void mem_store_release(struct store *store);

/* What was asked since the last reset: opens, and bytes and ranges read, of keys that contain key_part. */
struct mem_counts {
	uint64_t opens, reads, bytes;
};
struct mem_counts mem_store_counts(struct store *store, const char *key_part);
void mem_store_reset_counts(struct store *store);

#endif
