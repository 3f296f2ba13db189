/*
 * shim.c: a library to be preloaded: logs the calls that make files durable and visible, and fails or dies at the n-th.
 *
 * Environment: SHIM_LOG, a file that gets a line a call; SHIM_FAIL_AT and SHIM_KILL_AT, numbers from 1.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_int calls;

static int number_of(const char *name)
{
	const char *text = getenv(name);
	return text ? atoi(text) : 0;
}

static void path_of(int fd, char path[PATH_MAX])
{
	char link[64];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

/* Whether the call may go on. */
static int passes(const char *operation, int fd, const char *name, const char *new_name)
{
	char path[PATH_MAX], line[3 * PATH_MAX];
	int call = atomic_fetch_add(&calls, 1) + 1;
	const char *log = getenv("SHIM_LOG");
	int log_fd = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	path_of(fd, path);
	int n = snprintf(line, sizeof(line), "%s\t%s%s%s\t%s\n", operation, path, name ? "/" : "", name ? name : "",
					 new_name ? new_name : "");
	if (log_fd >= 0) {
		ssize_t (*real)(int, const void *, size_t) = dlsym(RTLD_NEXT, "write");
		if (real(log_fd, line, (size_t)n) != n)
			abort();
		close(log_fd);
	}
	if (call == number_of("SHIM_KILL_AT"))
		raise(SIGKILL);
	if (call != number_of("SHIM_FAIL_AT"))
		return 1;
	errno = EIO;
	return 0;
}

#define REAL(name, type, ...) ((type(*)(__VA_ARGS__))dlsym(RTLD_NEXT, name))

int fsync(int fd)
{
	return passes("fsync", fd, NULL, NULL) ? REAL("fsync", int, int)(fd) : -1;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	/* not the messages */
	if (fd > 2 && !passes("write", fd, NULL, NULL))
		return -1;
	return REAL("write", ssize_t, int, const void *, size_t)(fd, bytes, size);
}

int mkdirat(int fd, const char *path, mode_t mode)
{
	return passes("mkdir", fd, path, NULL) ? REAL("mkdirat", int, int, const char *, mode_t)(fd, path, mode) : -1;
}

int fchmod(int fd, mode_t mode)
{
	return passes("chmod", fd, NULL, NULL) ? REAL("fchmod", int, int, mode_t)(fd, mode) : -1;
}

int renameat(int from, const char *path, int to, const char *new_path)
{
	return passes("rename", from, path, new_path)
			   ? REAL("renameat", int, int, const char *, int, const char *)(from, path, to, new_path)
			   : -1;
}

int renameat2(int from, const char *path, int to, const char *new_path, unsigned flags)
{
	return passes("rename", from, path, new_path)
			   ? REAL("renameat2", int, int, const char *, int, const char *, unsigned)(from, path, to, new_path, flags)
			   : -1;
}
