/*
 * reference.c: a kerchunk reference file as a store: its keys are in the file, its values there too or in other files, the targets. The
 * table is in memory, so absence and listings cost nothing but a look at the file: one that was replaced is no longer this store.
 *
 * The file is a stranger's text, and its targets are of his choice. So they are opened as values of a directory store: beneath the
 * file's own folder, or one that the user allows, and nowhere else. A value is of one version of its target.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/err.h"
#include "base/limits.h"
#include "store/local.h"
#include "store/reference_impl.h"

struct reference_store {
	struct store store;
	struct local_file file;
	struct reference_table table;
	struct reference_folders folders;
};

/* Either bytes or a target. */
struct reference_value {
	struct value value;
	const char *key;	  /* the table's */
	struct buf *bytes;	  /* may lie in the table */
	struct value *target; /* of a directory store */
	uint64_t offset;	  /* in the target */
};

static struct reference_store *reference_of(struct store *store)
{
	return container_of(store, struct reference_store, store);
}

bool reference_file_begins(int fd)
{
	static const char mark[] = "\xef\xbb\xbf";
	char text[64];
	size_t size;
	if (local_read(fd, 0, text, sizeof(text) - 1, &size))
		return false;
	text[size] = '\0';
	const char *p = strncmp(text, mark, strlen(mark)) == 0 ? text + strlen(mark) : text;
	return p[strspn(p, " \n\t\r")] == '{';
}

/* ---------------------------------------------------------------- open */

static int read_table(struct reference_store *reference, const char *path)
{
	uint64_t size = reference->file.info.size;
	if (size > LIMIT_REFERENCE_BYTES)
		return err_set(EFBIG, "a reference file of %" PRIu64 " bytes", size);
	char *text = malloc((size_t)size + 1);
	if (!text)
		return err_set(ENOMEM, "no memory for a reference file of %" PRIu64 " bytes", size);
	int rc = local_file_read(&reference->file, 0, text, (size_t)size, STORE_WAIT, "the references");
	if (rc) {
		free(text);
		return rc;
	}
	return reference_table_read(text, (size_t)size, path, &reference->table);
}

static int open_parts(struct reference_store *reference, const char *path, const struct store_options *options)
{
	int rc = local_file_open(path, "the reference file", &reference->file);
	if (rc)
		return rc;
	rc = read_table(reference, path);
	if (!rc)
		rc = reference_folders_open(path, options ? options->reference_root : NULL, &reference->folders);
	if (rc) {
		reference_table_finish(&reference->table);
		close(reference->file.fd);
	}
	return rc;
}

static int reference_open(const char *path, const struct store_options *options, struct store **ret_store)
{
	struct reference_store *reference = calloc(1, sizeof(*reference));
	int rc = reference ? open_parts(reference, path, options) : err_set(ENOMEM, "no memory for a store");
	if (rc) {
		free(reference);
		return rc;
	}
	reference->store.recodes = reference->table.has_large_text;
	*ret_store = &reference->store;
	return 0;
}

static void reference_close(struct store *store)
{
	struct reference_store *reference = reference_of(store);
	reference_folders_close(&reference->folders);
	reference_table_finish(&reference->table);
	close(reference->file.fd);
	free(reference);
}

/* ---------------------------------------------------------------- values */

/* A target that is not there leaves the key without its value, not absent. */
static int open_target(struct reference_store *reference, const char *url, enum store_how how,
					   struct value **ret_target)
{
	struct store *dir;
	autofree char *path = NULL;
	int rc = reference_locate(&reference->folders, url, &dir, &path);
	if (rc)
		return rc;
	rc = dir_store_ops.open_value(dir, path, how, ret_target);
	if (rc == -ENOENT)
		return err_set(EIO, "%s: no such file", url);
	if (rc == 0)
		(*ret_target)->store = dir;
	return rc;
}

static int check_extent(const struct reference *said, const struct value_info *target)
{
	if (!said->is_whole && said->offset + said->size > target->size)
		return err_set(EIO, "%s: %" PRIu64 " bytes from byte %" PRIu64 " on are not in a file of %" PRIu64, said->url,
					   said->size, said->offset, target->size);
	return 0;
}

static int set_target(struct reference_store *reference, const struct reference *said, enum store_how how,
					  struct reference_value *rv)
{
	int rc = open_target(reference, said->url, how, &rv->target);
	if (rc)
		return rc;
	const struct value_info *target = &rv->target->info;
	rv->value.info = *target;
	if (said->is_whole)
		return 0;
	rv->value.info.size = said->size;
	rv->value.info.version = local_mix(local_mix(target->version, said->offset), said->size);
	rv->offset = said->offset;
	return check_extent(said, target);
}

static void set_bytes(struct reference_store *reference, const struct reference_entry *entry, struct buf *bytes,
					  struct reference_value *rv)
{
	rv->bytes = buf_ref(bytes);
	rv->value.info = (struct value_info){
		.size = bytes->size,
		.mtime_ns = reference->file.info.mtime_ns,
		.version = local_mix(reference->file.info.version, entry->value),
		.ranges_cheap = true,
	};
}

static void reference_close_value(struct value *value)
{
	struct reference_value *rv = container_of(value, struct reference_value, value);
	buf_unref(rv->bytes);
	if (rv->target)
		dir_store_ops.close_value(rv->target);
	free(rv);
}

static int open_entry(struct reference_store *reference, const struct reference_entry *entry, enum store_how how,
					  struct value **ret_value)
{
	struct reference_value *rv = calloc(1, sizeof(*rv));
	struct reference said = {0};
	int rc = rv ? reference_read(&reference->table, entry, &said) : err_set(ENOMEM, "no memory for a value");
	if (!rc && said.bytes)
		set_bytes(reference, entry, said.bytes, rv);
	else if (!rc)
		rc = set_target(reference, &said, how, rv);
	reference_finish(&said);
	if (rc && rv)
		reference_close_value(&rv->value);
	if (rc)
		return rc;
	rv->key = reference->table.text + entry->key;
	*ret_value = &rv->value;
	return 0;
}

static int reference_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	struct reference_store *reference = reference_of(store);
	struct key_table keys = reference_table_keys(&reference->table);
	size_t i;
	int rc = local_file_check(&reference->file);
	if (rc)
		return rc;
	if (!key_table_get(&keys, key, &i))
		return err_set(ENOENT, "%s: no such key", key);
	const struct reference_entry *entry = &reference->table.entries[i];
	if (how == STORE_TRY && reference_is_slow(&reference->table, entry))
		return -EAGAIN;
	rc = open_entry(reference, entry, how, ret_value);
	return rc && rc != -EAGAIN ? err_prefix(rc, "%s", key) : rc;
}

static int reference_read_value(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how,
								size_t *ret_size)
{
	struct reference_value *rv = container_of(value, struct reference_value, value);
	int rc = local_file_check(&reference_of(value->store)->file);
	if (rc)
		return rc;
	if (rv->target) {
		rc = dir_store_ops.read(rv->target, rv->offset + offset, dst, size, how, ret_size);
		return rc && rc != -EAGAIN ? err_prefix(rc, "%s", rv->key) : rc;
	}
	memcpy(dst, rv->bytes->data + offset, size);
	*ret_size = size;
	return 0;
}

static int reference_list(struct store *store, const char *prefix,
						  int (*emit)(void *arg, const char *name, bool is_prefix), void *arg)
{
	struct reference_store *reference = reference_of(store);
	struct key_table keys = reference_table_keys(&reference->table);
	int rc = local_file_check(&reference->file);
	return rc ? rc : key_table_list(&keys, prefix, emit, arg);
}

const struct store_ops reference_store_ops = {
	.scheme = "reference",
	.open = reference_open,
	.close = reference_close,
	.open_value = reference_open_value,
	.read = reference_read_value,
	.close_value = reference_close_value,
	.list = reference_list,
};
