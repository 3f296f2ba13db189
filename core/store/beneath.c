/*
 * beneath.c: opens of paths beneath a root.
 *
 * An open first refuses links: then ENOENT proves absence, in one call. Only where a link is in the way the path is
 * walked again with links, and an ENOENT of that is looked into.
 */
#include "store/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/openat2.h>

#include "base/limits.h"

int beneath_open_once(int root, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve,
	};
	long fd;
	do
		fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : (int)fd;
}

/* EAGAIN: a rename raced with a ".." in a link, or somebody holds a lease on the file. Both end soon: 50 ms in all. */
static int open_patiently(int root, const char *path, int flags, uint64_t resolve)
{
	int fd = beneath_open_once(root, path, flags, resolve);
	for (long ns = 50000; fd == -EAGAIN && ns < 40000000; ns *= 2) {
		nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
		fd = beneath_open_once(root, path, flags, resolve);
	}
	return fd;
}

/* After ENOENT on a path with links: finds the first name that fails, and whether it is missing or a link to nothing. */
static int explain_absence(int root, const char *path)
{
	char part[LIMIT_KEY_BYTES];
	for (size_t n = 0;; n++) {
		n += strcspn(path + n, "/");
		memcpy(part, path, n);
		part[n] = '\0';
		int fd = open_patiently(root, part, O_PATH, 0);
		if (fd == -ENOENT) {
			fd = open_patiently(root, part, O_PATH | O_NOFOLLOW, 0);
			if (fd < 0)
				return fd;
			close(fd);
			return -ENOLINK;
		}
		if (fd < 0)
			return fd;
		close(fd);
		if (path[n] == '\0')
			return -ESTALE; /* it has appeared meanwhile */
	}
}

int beneath_open(int root, const char *path, int flags)
{
	int fd = open_patiently(root, path, flags, RESOLVE_NO_SYMLINKS);
	if (fd == -ELOOP) {
		fd = open_patiently(root, path, flags, 0);
		if (fd == -ENOENT)
			fd = explain_absence(root, path);
	}
	return fd;
}

int beneath_sync(int directory)
{
	return fsync(directory) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : -errno;
}

/* Opens `path`, whose last name is `name` in `parent`, and makes it if it is missing. */
static int open_or_make(int root, const char *path, int parent, const char *name)
{
	int fd = beneath_open(root, path, O_RDONLY | O_DIRECTORY);
	if (fd != -ENOENT)
		return fd;
	if (mkdirat(parent, name, 0777) < 0 && errno != EEXIST)
		return -errno;
	int rc = beneath_sync(parent);
	return rc ? rc : beneath_open(root, path, O_RDONLY | O_DIRECTORY);
}

int beneath_open_parent(int root, const char *path)
{
	char part[LIMIT_KEY_BYTES];
	int parent = beneath_open(root, ".", O_RDONLY | O_DIRECTORY);
	size_t start = 0, end = strcspn(path, "/");
	while (parent >= 0 && path[end] == '/') {
		memcpy(part, path, end);
		part[end] = '\0';
		int fd = open_or_make(root, part, parent, part + start);
		close(parent);
		parent = fd;
		start = end + 1;
		end = start + strcspn(path + start, "/");
	}
	return parent;
}
