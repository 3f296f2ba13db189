/*
 * unmount.c: umount2(2) as root, fusermount3(1) as anybody else.
 */
#include "fuse/unmount.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "fuse/mount.h"

extern char **environ;

static int run_fusermount(const char *path, bool lazy)
{
	char *const argv[] = {"fusermount3", "-u", lazy ? "-qz" : "-q", "--", (char *)path, NULL};
	pid_t pid;
	int status, rc = posix_spawnp(&pid, "fusermount3", NULL, NULL, argv, environ);
	if (rc)
		return err_set(rc, "fusermount3: %s", strerror(rc));
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return err_set(errno, "fusermount3: %s", strerror(errno));
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return err_set(EBUSY, "%s: fusermount3 could not unmount it (busy, or not yours)", path);
	return 0;
}

static int unmount(const char *path, bool lazy)
{
	if (geteuid())
		return run_fusermount(path, lazy);
	if (!umount2(path, UMOUNT_NOFOLLOW | (lazy ? MNT_DETACH : 0)))
		return 0;
	return err_set(errno, "%s: %s", path,
				   errno == EBUSY ? "busy (files are open there; --lazy unmounts all the same)" : strerror(errno));
}

/* mountinfo writes space, tab, newline and backslash as \ooo (proc(5)). */
static void unescape(char *text)
{
	char *to = text;
	for (; *text; to++)
		if (text[0] == '\\' && text[1] >= '0' && text[1] <= '3' && text[2] && text[3]) {
			*to = (char)((text[1] - '0') << 6 | (text[2] - '0') << 3 | (text[3] - '0'));
			text += 4;
		} else {
			*to = *text++;
		}
	*to = 0;
}

int mountpoint_connection(const char *path)
{
	char *line = NULL;
	size_t room = 0;
	int found = -1;
	FILE *file = fopen("/proc/self/mountinfo", "re");
	while (file && getline(&line, &room, file) > 0) {
		char point[PATH_MAX], type[64];
		int minor;
		const char *dash = strstr(line, " - ");
		if (!dash || sscanf(line, "%*s %*s %*d:%d %*s %4095s", &minor, point) != 2 ||
			sscanf(dash, " - %63s", type) != 1)
			continue;
		unescape(point);
		/* the last line is the mount on top */
		if (!strcmp(point, path))
			found = strcmp(type, "fuse.zarrfs") ? -1 : minor;
	}
	if (file)
		fclose(file);
	free(line);
	return found;
}

static bool is_ours(const char *path)
{
	return mountpoint_connection(path) >= 0;
}

/* realpath(3) stats the last component, which a dead mount refuses: only its parent is resolved. */
static char *real_mountpoint(const char *path)
{
	autofree char *copy = strdup(path);
	if (!copy)
		return NULL;
	size_t n = strlen(copy);
	while (n > 1 && copy[n - 1] == '/')
		copy[--n] = 0;
	char *slash = strrchr(copy, '/'), *name = slash ? slash + 1 : copy;
	if (!*name || !strcmp(name, ".") || !strcmp(name, ".."))
		return realpath(copy, NULL);
	char *parent;
	if (slash == copy)
		parent = strdup("");
	else if (slash) {
		*slash = 0;
		parent = realpath(copy, NULL);
	} else {
		parent = realpath(".", NULL);
	}
	char *joined = NULL;
	if (parent && asprintf(&joined, "%s/%s", strcmp(parent, "/") ? parent : "", name) < 0)
		joined = NULL;
	free(parent);
	return joined;
}

int mount_end(const char *mountpoint, bool lazy)
{
	autofree char *path = real_mountpoint(mountpoint);
	if (!path)
		return err_set(errno, "%s: %s", mountpoint, strerror(errno));
	if (!is_ours(path))
		return err_set(EINVAL, "%s: no zarrfs is mounted there", mountpoint);
	return unmount(path, lazy);
}

static bool contains(const char *outer, const char *inner)
{
	size_t n = strlen(outer);
	return !strncmp(outer, inner, n) && (!inner[n] || inner[n] == '/' || n == 1);
}

static int check_store(const char *mountpoint, const char *url, const char *path)
{
	autofree char *store = url ? realpath(strncmp(url, "file://", 7) ? url : url + 7, NULL) : NULL;
	if (!store)
		return 0;
	if (contains(path, store))
		return err_set(EINVAL, "%s: the store lies inside its own mount point", mountpoint);
	if (contains(store, path))
		return err_set(EINVAL, "%s: the mount point lies inside the store", mountpoint);
	return 0;
}

/* Whether a mount's process is gone. stat(2) may be answered from the kernel's cache; statfs(2) never is. */
static bool is_dead(const char *path)
{
	struct statvfs st;
	return statvfs(path, &st) && errno == ENOTCONN;
}

int mountpoint_prepare(const char *mountpoint, const char *url, char **ret_path)
{
	struct stat st;
	char *path = real_mountpoint(mountpoint);
	if (!path)
		return err_set(errno == ENOENT ? ENOTDIR : errno, "%s: %s", mountpoint, strerror(errno));
	int rc = 0;
	if (is_ours(path) && is_dead(path))
		unmount(path, true);
	if (stat(path, &st)) {
		/* ENOENT is kept for "not a Zarr store" */
		rc = err_set(errno == ENOENT ? ENOTDIR : errno, "%s: %s", mountpoint, strerror(errno));
	} else if (!S_ISDIR(st.st_mode)) {
		rc = err_set(ENOTDIR, "%s: not a directory", mountpoint);
	} else if (is_ours(path)) {
		rc = err_set(EBUSY, "%s: a zarrfs is mounted there already", mountpoint);
	} else {
		/* a symbolic link as last component */
		char *whole = realpath(path, NULL);
		if (whole) {
			free(path);
			path = whole;
		}
		rc = check_store(mountpoint, url, path);
	}
	if (rc) {
		free(path);
		return rc;
	}
	*ret_path = path;
	return 0;
}
