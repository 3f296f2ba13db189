/*
 * scratch.h: a directory for one test: made, filled, emptied, removed.
 */
#ifndef ZARRFS_SCRATCH_H
#define ZARRFS_SCRATCH_H

#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where directories of the disk and of tmpfs are made; the same where there is no /dev/shm. */
static inline const char *scratch_disk(void)
{
	const char *given = getenv("TMPDIR");
	return given && given[0] ? given : "/tmp";
}

static inline const char *scratch_tmpfs(void)
{
	return access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : scratch_disk();
}

/* A new directory beneath `where`, open to all users; its path. */
static inline void scratch_make(const char *where, char path[PATH_MAX])
{
	if (snprintf(path, PATH_MAX, "%s/zarrfs-test-XXXXXX", where) >= PATH_MAX || !mkdtemp(path) ||
		chmod(path, 0755) < 0) {
		perror(path);
		abort();
	}
}

/* "path/name" in a static buffer of this thread, good until the next call. */
static inline const char *scratch_path(const char *path, const char *name)
{
	static _Thread_local char joined[PATH_MAX];
	if (snprintf(joined, sizeof(joined), "%s/%s", path, name) >= PATH_MAX)
		abort();
	return joined;
}

/* A regular file with that text; false when it cannot be. */
static inline bool scratch_write(const char *path, const char *name, const char *text)
{
	FILE *file = fopen(scratch_path(path, name), "w");
	bool written = file && fputs(text, file) >= 0;
	return file && fclose(file) == 0 && written;
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static inline void scratch_remove(const char *path)
{
	nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
