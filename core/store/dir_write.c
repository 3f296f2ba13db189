/*
 * dir_write.c: a value is written under a temporary name beside its own, synced, renamed, and the name synced.
 *
 * Directories on the way are made at once and stay, whatever becomes of the write: another one may need them by then.
 */
#include "store/dir_write.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/base.h"
#include "base/err.h"
#include "base/limits.h"
#include "store/beneath.h"
#include "store/store_impl.h"

struct dir_write {
	struct store_write write;
	int fd;
	int parent;
	char temporary[LIMIT_NAME_BYTES + 1];
	char name[];
};

/* ".NAME.zarrfs-PID-16 hex digits": a value that is being written. */
bool dir_write_is_temporary(const char *name)
{
	const char *mark = name[0] == '.' ? strrchr(name + 1, '.') : NULL;
	if (!mark || strncmp(mark, ".zarrfs-", strlen(".zarrfs-")) != 0)
		return false;
	const char *pid = mark + strlen(".zarrfs-");
	const char *random = pid + strspn(pid, "0123456789");
	return random > pid && random[0] == '-' && strspn(random + 1, "0123456789abcdef") == 16 && random[17] == '\0';
}

/* In the directory where the value will be: a rename within it is atomic. */
static int open_temporary(int root, const char *key, struct dir_write *dw)
{
	int parent = beneath_open_parent(root, key);
	if (parent < 0)
		return parent;
	int fd = openat(parent, dw->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0) {
		int rc = -errno;
		close(parent);
		return rc;
	}
	dw->parent = parent;
	dw->fd = fd;
	return 0;
}

int dir_write_begin(int root, const char *key, struct store_write **ret_write)
{
	const char *slash = strrchr(key, '/');
	const char *name = slash ? slash + 1 : key;
	struct dir_write *dw = malloc(sizeof(*dw) + strlen(name) + 1);
	if (!dw)
		return err_set(ENOMEM, "%s: no memory", key);
	memcpy(dw->name, name, strlen(name) + 1);
	uint64_t random = 0;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint64_t)(uintptr_t)dw; /* O_EXCL finds out what is not unique */
	snprintf(dw->temporary, sizeof(dw->temporary), ".%.200s.zarrfs-%d-%016" PRIx64, name, (int)getpid(), random);
	int rc = open_temporary(root, key, dw);
	if (rc) {
		free(dw);
		return err_set(rc == -EXDEV || rc == -ENOLINK ? EIO : -rc, "%s: %s", key, strerror(-rc));
	}
	*ret_write = &dw->write;
	return 0;
}

int dir_write_append(struct store_write *stream, const void *bytes, size_t size)
{
	struct dir_write *dw = container_of(stream, struct dir_write, write);
	for (size_t done = 0; done < size;) {
		ssize_t n = TEMP_FAILURE_RETRY(write(dw->fd, (const char *)bytes + done, size - done));
		if (n < 0)
			return err_set(errno, "%s: %s", dw->name, strerror(errno));
		done += (size_t)n;
	}
	return 0;
}

static void finish_write(struct dir_write *dw, bool unlink_temporary)
{
	if (unlink_temporary)
		unlinkat(dw->parent, dw->temporary, 0);
	if (dw->fd >= 0)
		close(dw->fd);
	close(dw->parent);
	free(dw);
}

/* Synced, closed (a full quota may show only then), renamed, and the name synced. */
int dir_write_commit(struct store_write *write)
{
	struct dir_write *dw = container_of(write, struct dir_write, write);
	int rc = fsync(dw->fd) < 0 ? -errno : 0;
	if (close(dw->fd) < 0 && rc == 0)
		rc = -errno;
	dw->fd = -1;
	if (rc == 0 && renameat(dw->parent, dw->temporary, dw->parent, dw->name) < 0)
		rc = -errno;
	bool renamed = rc == 0;
	if (renamed)
		rc = beneath_sync(dw->parent);
	if (rc)
		err_set(-rc, "%s: %s", dw->name, strerror(-rc));
	finish_write(dw, !renamed);
	return rc;
}

void dir_write_abort(struct store_write *write)
{
	finish_write(container_of(write, struct dir_write, write), true);
}
