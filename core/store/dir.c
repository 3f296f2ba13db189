/*
 * dir.c: a directory as a store: a key is a path beneath it, a value a regular file. The root is one O_PATH descriptor.
 *
 * STORE_TRY (reference/kernel-trials.md, rows 2a to 2d): on file systems that keep RWF_NOWAIT, a path walk within the
 * dentry cache and a read within the page cache; on tmpfs plain calls; elsewhere never, because there even a cached
 * open may wait. What a try cannot tell for certain is -EAGAIN: the waiting call says what is wrong.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"
#include "store/beneath.h"
#include "store/dir_write.h"
#include "store/local.h"
#include "store/store_impl.h"

/* O_NONBLOCK: a FIFO opens without waiting for its writer, to be refused afterwards. */
#define OPEN_VALUE (O_RDONLY | O_NONBLOCK | O_NOCTTY)

struct dir_store {
	struct store store;
	int root;
	bool root_has_links; /* st_nlink at open: a directory without a name left was removed, and all in it */
	dev_t device;
	atomic_int tries; /* enum local_tries; becomes LOCAL_NEVER when the kernel turns out not to support it */
};

struct dir_value {
	struct value value;
	int fd;
	bool has_links; /* st_nlink at open: a file that loses its last name was replaced or removed */
	bool is_on_root_device;
	char key[];
};

/* Another mount beneath the root may be of any file system, hence NO_XDEV. */
static int open_trying(struct dir_store *dir, const char *key)
{
	int tries = atomic_load_explicit(&dir->tries, memory_order_relaxed);
	if (tries == LOCAL_NEVER)
		return -EAGAIN;
	uint64_t resolve = RESOLVE_NO_XDEV | (tries == LOCAL_NOWAIT ? RESOLVE_CACHED : 0);
	int fd = beneath_open_once(dir->root, key, OPEN_VALUE, resolve | RESOLVE_NO_SYMLINKS);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return fd;
	if (fd == -ELOOP)
		fd = beneath_open_once(dir->root, key, OPEN_VALUE, resolve);
	if (fd == -EINVAL) /* RESOLVE_CACHED came with Linux 5.12 */
		atomic_store_explicit(&dir->tries, LOCAL_NEVER, memory_order_relaxed);
	return fd < 0 ? -EAGAIN : fd;
}

static int absent(const struct dir_store *dir, const char *key)
{
	struct stat st;
	if (fstat(dir->root, &st) < 0 || (dir->root_has_links && st.st_nlink == 0))
		return err_set(ESTALE, "%s: the store's directory was removed", key);
	return err_set(ENOENT, "%s: no such key", key);
}

static int open_failed(const struct dir_store *dir, int errnum, const char *key)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return absent(dir, key);
	case ENOLINK:
		return err_set(EIO, "%s: a symbolic link leads to nothing", key);
	case EXDEV:
		return err_set(EIO, "%s: a symbolic link leads out of the store", key);
	case ELOOP:
		return err_set(EIO, "%s: symbolic links lead in a circle, or through /proc", key);
	case ENXIO:
	case ENODEV:
		return err_set(EIO, "%s: not a regular file", key);
	default:
		return local_failed(errnum, key);
	}
}

/* Whether the kernel has openat2 and lets us use it: old ones have not, and some sandboxes forbid it. */
static int probe_openat2(int root)
{
	int fd = beneath_open_once(root, ".", O_PATH, 0);
	if (fd == -ENOSYS)
		return err_set(ENOSYS, "a directory store needs openat2, which came with Linux 5.6");
	if (fd < 0)
		return err_set(-fd, "openat2: %s", strerror(-fd));
	close(fd);
	return 0;
}

static int dir_open(const char *path, const struct store_options *options, struct store **ret_store)
{
	int root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return err_set(errno, "%s", strerror(errno));
	struct stat st;
	int rc = fstat(root, &st) < 0 ? err_set(errno, "%s", strerror(errno)) : probe_openat2(root);
	struct dir_store *dir = rc ? NULL : calloc(1, sizeof(*dir));
	if (!dir) {
		close(root);
		return rc ? rc : err_set(ENOMEM, "no memory for a store");
	}
	dir->root = root;
	dir->root_has_links = st.st_nlink > 0;
	dir->device = st.st_dev;
	atomic_init(&dir->tries, local_tries_of(root));
	*ret_store = &dir->store;
	return 0;
}

static void dir_close(struct store *store)
{
	struct dir_store *dir = container_of(store, struct dir_store, store);
	close(dir->root);
	free(dir);
}

static int value_of_fd(const struct dir_store *dir, const char *key, int fd, struct value **ret_value)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return local_failed(errno, key);
	if (S_ISDIR(st.st_mode))
		return absent(dir, key);
	if (!S_ISREG(st.st_mode))
		return open_failed(dir, ENXIO, key);
	size_t key_size = strlen(key) + 1;
	struct dir_value *value = malloc(sizeof(*value) + key_size);
	if (!value)
		return err_set(ENOMEM, "%s: no memory for a value", key);
	*value = (struct dir_value){
		.value.info = local_info(&st),
		.fd = fd,
		.has_links = st.st_nlink > 0,
		.is_on_root_device = st.st_dev == dir->device,
	};
	memcpy(value->key, key, key_size);
	*ret_value = &value->value;
	return 0;
}

static int dir_open_value(struct store *store, const char *key, enum store_how how, struct value **ret_value)
{
	struct dir_store *dir = container_of(store, struct dir_store, store);
	int fd = how == STORE_TRY ? open_trying(dir, key) : beneath_open(dir->root, key, OPEN_VALUE);
	if (fd == -EAGAIN && how == STORE_TRY)
		return fd;
	if (fd < 0)
		return open_failed(dir, -fd, key);
	int rc = value_of_fd(dir, key, fd, ret_value);
	if (rc)
		close(fd);
	return rc;
}

static void dir_close_value(struct value *value)
{
	struct dir_value *dv = container_of(value, struct dir_value, value);
	close(dv->fd);
	free(dv);
}

static int dir_read(struct value *value, uint64_t offset, void *dst, size_t size, enum store_how how, size_t *ret_size)
{
	struct dir_value *dv = container_of(value, struct dir_value, value);
	struct dir_store *dir = container_of(value->store, struct dir_store, store);
	size_t got = 0;
	int rc;
	if (how == STORE_TRY) {
		rc = dv->is_on_root_device ? local_try_read(dv->fd, &dir->tries, offset, dst, size, &got) : -EAGAIN;
	} else {
		rc = local_read(dv->fd, offset, dst, size, &got);
		if (rc)
			return local_failed(-rc, dv->key);
	}
	if (rc == 0)
		rc = local_check_unchanged(dv->fd, &value->info, dv->has_links, dv->key);
	if (rc == 0)
		*ret_size = got;
	return rc;
}

/* Of links and where the file system gives no types; what leads out of the store or nowhere is no prefix. */
static bool is_directory(const struct dir_store *dir, const char *prefix, const char *name)
{
	autofree char *path = str_join_key(prefix, name);
	int fd = path ? beneath_open(dir->root, path, O_PATH | O_DIRECTORY) : -ENOMEM;
	if (fd < 0)
		return false;
	close(fd);
	return true;
}

static int dir_list(struct store *store, const char *prefix, int (*emit)(void *arg, const char *name, bool is_prefix),
					void *arg)
{
	const struct dir_store *dir = container_of(store, struct dir_store, store);
	const char *path = prefix[0] ? prefix : ".";
	int fd = beneath_open(dir->root, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return open_failed(dir, -fd, path);
	DIR *stream = fdopendir(fd);
	if (!stream) {
		int rc = err_set(errno, "%s: %s", path, strerror(errno));
		close(fd);
		return rc;
	}
	int rc = 0;
	while (rc == 0) {
		errno = 0;
		const struct dirent *entry = readdir(stream);
		if (!entry) {
			rc = errno ? local_failed(errno, path) : 0;
			break;
		}
		if (dir_write_is_temporary(entry->d_name) || !str_is_name(entry->d_name, strlen(entry->d_name)))
			continue;
		bool unsure = entry->d_type == DT_LNK || entry->d_type == DT_UNKNOWN;
		bool is_prefix = unsure ? is_directory(dir, prefix, entry->d_name) : entry->d_type == DT_DIR;
		rc = emit(arg, entry->d_name, is_prefix);
	}
	closedir(stream);
	return rc;
}

static int dir_begin_write(struct store *store, const char *key, struct store_write **ret_write)
{
	return dir_write_begin(container_of(store, struct dir_store, store)->root, key, ret_write);
}

const struct store_ops dir_store_ops = {
	.scheme = "file",
	.open = dir_open,
	.close = dir_close,
	.open_value = dir_open_value,
	.read = dir_read,
	.close_value = dir_close_value,
	.list = dir_list,
	.write_begin = dir_begin_write,
	.write_append = dir_write_append,
	.write_commit = dir_write_commit,
	.write_abort = dir_write_abort,
};
