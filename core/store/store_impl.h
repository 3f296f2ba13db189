/*
 * store_impl.h: what a store must supply. store.c checks keys and ranges, counts, resumes and falls back; an
 * implementation computes. Slots in brackets are optional; NULL means what the comment says.
 */
#ifndef ZARRFS_STORE_IMPL_H
#define ZARRFS_STORE_IMPL_H

#include <stdatomic.h>

#include "store/store.h"

struct store_ops;

/* Implementations embed these as their first member. */
struct store {
	const struct store_ops *ops;
	char *url;
	char *base_name;
	bool recodes; /* of store_recodes; set by open */
};
struct value {
	struct store *store;
	struct value_info info;
	atomic_int refs;
};
struct store_write {
	struct store *store;
};

struct store_ops {
	const char *scheme; /* "file", "mem", "zip" */

	/* `rest` is the url without scheme; options may be NULL. *ret_store: ops, url and base_name are set by store.c afterwards. */
	int (*open)(const char *rest, const struct store_options *options, struct store **ret_store);
	void (*close)(struct store *store);

	/* Keys are checked. Fill in value->info; store and refs are set by store.c. */
	int (*open_value)(struct store *store, const char *key, enum store_how how, struct value **ret_value);
	/* offset + size lies inside the value; may read fewer (store.c resumes), -EAGAIN only with STORE_TRY. */
	int (*read)(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how, size_t *ret_size);
	void (*close_value)(struct value *value);

	/* [Calls emit for each child in any order.] NULL: the store cannot list. emit fails: pass its errno on. */
	int (*list)(struct store *store, const char *prefix, int (*emit)(void *arg, const char *name, bool is_prefix),
				void *arg);

	/* [All four or none.] NULL: read-only. */
	int (*write_begin)(struct store *store, const char *key, struct store_write **ret_write);
	int (*write_append)(struct store_write *write, const void *bytes, size_t size);
	int (*write_commit)(struct store_write *write); /* frees the write, also on failure */
	void (*write_abort)(struct store_write *write);

	int concurrency; /* [fetches at once] 0: 16 */
	bool verifies;	 /* see store_verifies */
};

extern const struct store_ops dir_store_ops;
extern const struct store_ops mem_store_ops;
extern const struct store_ops reference_store_ops;
extern const struct store_ops zip_store_ops;

/* Whether `size` bytes are a well-formed key, one that stays in the store. For stores whose keys are a stranger's. */
bool store_is_key(const char *key, size_t size);

/* Gives an opened store its name; for stores that are not opened by url (tests). */
int store_init(struct store *store, const struct store_ops *ops, const char *url);

#endif
