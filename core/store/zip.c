/*
 * zip.c: a zip file as a store: a key is a member's name, a value its data. One descriptor is open; the directory is in memory, so
 * absence and listings cost nothing but a look at the file: one that was replaced or appended to is no longer this store.
 *
 * A stored member's ranges are ranges of the file. A compressed one is read whole, and its ranges are dear. A read of a whole value
 * checks its CRC-32; so it is all or nothing, also when it only tries.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/err.h"
#include "base/limits.h"
#include "store/zip_impl.h"

struct zip_store {
	struct store store;
	struct local_file file;
	struct zip_directory directory;
};

struct zip_value {
	struct value value;
	const struct zip_member *member;
	const char *key; /* the directory's */
	uint64_t data;	 /* where its data are in the file */
};

static struct zip_store *zip_of(struct store *store)
{
	return container_of(store, struct zip_store, store);
}

static int zip_open(const char *path, const struct store_options *options, struct store **ret_store)
{
	struct zip_store *zip = calloc(1, sizeof(*zip));
	if (!zip)
		return err_set(ENOMEM, "no memory for a store");
	int rc = local_file_open(path, "the zip file", &zip->file);
	if (rc) {
		free(zip);
		return rc;
	}
	rc = zip_directory_read(&zip->file, path, &zip->directory);
	if (rc) {
		close(zip->file.fd);
		free(zip);
		return rc;
	}
	zip->store.recodes = zip->directory.recodes;
	*ret_store = &zip->store;
	return 0;
}

static void zip_close(struct store *store)
{
	struct zip_store *zip = zip_of(store);
	close(zip->file.fd);
	zip_directory_finish(&zip->directory);
	free(zip);
}

/* Absence is proved by the directory, while the file is still the one that it is of. */
static int check_present(struct zip_store *zip)
{
	return local_file_check(&zip->file);
}

static int zip_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	struct zip_store *zip = zip_of(store);
	const struct zip_directory *directory = &zip->directory;
	struct key_table keys = zip_directory_keys(directory);
	size_t i;
	int rc;
	if (!key_table_get(&keys, key, &i)) {
		rc = check_present(zip);
		return rc ? rc : err_set(ENOENT, "%s: no such key", key);
	}
	const struct zip_member *member = &directory->members[i];
	uint64_t data;
	rc = zip_member_locate(&zip->file, member, key, how, &data);
	if (rc)
		return rc;
	struct zip_value *zv = malloc(sizeof(*zv));
	if (!zv)
		return err_set(ENOMEM, "%s: no memory for a value", key);
	*zv = (struct zip_value){
		.value.info =
			{
				.size = member->size,
				.mtime_ns = zip->file.info.mtime_ns,
				.version = local_mix(local_mix(zip->file.info.version, member->header), member->crc),
				.ranges_cheap = member->method == ZIP_STORED,
			},
		.member = member,
		.key = zip_member_key(directory, member),
		.data = data,
	};
	*ret_value = &zv->value;
	return 0;
}

/* A part of a compressed member; who needs more than one reads it whole instead. */
static int read_part(struct local_file *file, const struct zip_value *zv, uint64_t offset, void *dst, size_t size,
					 enum store_how how)
{
	if (zv->member->size > LIMIT_CHUNK_BYTES)
		return err_set(EFBIG, "%s: %" PRIu64 " bytes, compressed in the zip file: too large to be read in parts",
					   zv->key, zv->member->size);
	autobuf whole = NULL;
	int rc = buf_new((size_t)zv->member->size, &whole);
	if (!rc)
		rc = zip_member_read(file, zv->member, zv->data, zv->key, how, whole->data);
	if (!rc)
		memcpy(dst, whole->data + offset, size);
	return rc;
}

static int zip_read(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how, size_t *ret_size)
{
	struct zip_value *zv = container_of(value, struct zip_value, value);
	struct local_file *file = &zip_of(value->store)->file;
	int rc;
	if (size == zv->member->size)
		rc = zip_member_read(file, zv->member, zv->data, zv->key, how, dst);
	else if (value->info.ranges_cheap)
		rc = local_file_read(file, zv->data + offset, dst, size, how, zv->key);
	else
		rc = read_part(file, zv, offset, dst, size, how);
	if (rc == 0)
		*ret_size = size;
	return rc;
}

static void zip_close_value(struct value *value)
{
	free(container_of(value, struct zip_value, value));
}

static int zip_list(struct store *store, const char *prefix, int (*emit)(void *arg, const char *name, bool is_prefix),
					void *arg)
{
	struct zip_store *zip = zip_of(store);
	struct key_table keys = zip_directory_keys(&zip->directory);
	int rc = check_present(zip);
	return rc ? rc : key_table_list(&keys, prefix, emit, arg);
}

const struct store_ops zip_store_ops = {
	.scheme = "zip",
	.open = zip_open,
	.close = zip_close,
	.open_value = zip_open_value,
	.read = zip_read,
	.close_value = zip_close_value,
	.list = zip_list,
	.verifies = true,
};
