/*
 * pack_output.c: temporary directory, mode, rename, fsync (reliability.md, section 7).
 */
#include "tools/pack_output.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/str.h"

/* Descriptors that nftw may hold; deeper trees cost it more calls. */
#define TREE_DESCRIPTORS 16

static int exists(const struct pack_output *output)
{
	return err_set(EEXIST, "%s: exists already", output->name);
}

/* Splits off the last name; the rest must be a directory that is there. */
static int find_parent(struct pack_output *output, const char *path)
{
	char real[PATH_MAX];
	autofree char *copy = strdup(path);
	if (!copy)
		return err_set(ENOMEM, "no memory for a path");
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	char *slash = strrchr(copy, '/');
	const char *name = slash ? slash + 1 : copy;
	const char *parent = !slash ? "." : slash == copy ? "/" : copy;
	if (!str_is_name(name, strlen(name)))
		return err_set(EINVAL, "%s: not the name of a new directory", path);
	output->name = strdup(name);
	if (slash)
		*slash = '\0';
	if (!output->name)
		return err_set(ENOMEM, "no memory for a path");
	if (!realpath(parent, real))
		return err_set(errno, "%s: %s", parent, strerror(errno));
	output->parent = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (output->parent < 0)
		return err_set(errno, "%s: %s", parent, strerror(errno));
	struct stat st;
	if (fstatat(output->parent, output->name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return exists(output);
	output->path = strdup(real);
	return output->path ? 0 : err_set(ENOMEM, "no memory for a path");
}

/* As the store names values that it is writing, so that every listing leaves it out. */
static int make_temporary(struct pack_output *output)
{
	char name[LIMIT_NAME_BYTES + 1];
	uint64_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return err_set(EIO, "getrandom: %s", strerror(errno));
	snprintf(name, sizeof(name), ".%.200s.zarrfs-%d-%016" PRIx64, output->name, (int)getpid(), random);
	char *path = str_join_key(strcmp(output->path, "/") == 0 ? "" : output->path, name);
	free(output->path);
	output->path = path;
	char *temporary = strdup(name);
	if (!path || !temporary || mkdirat(output->parent, name, 0700) < 0) {
		free(temporary);
		return err_set(path && temporary ? errno : ENOMEM, "%s: cannot make a directory beside it: %s", output->name,
					   strerror(errno));
	}
	output->temporary = temporary;
	return 0;
}

int pack_output_begin(const char *path, struct pack_output *ret_output)
{
	struct pack_output output = {.parent = -1};
	int rc = find_parent(&output, path);
	if (!rc)
		rc = make_temporary(&output);
	if (rc) {
		pack_output_finish(&output);
		return rc;
	}
	*ret_output = output;
	return 0;
}

/* The mode that mkdir would have given it; and durable, names of its files included. */
static int open_up(const struct pack_output *output)
{
	mode_t mask = umask(0);
	umask(mask);
	int fd = openat(output->parent, output->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int rc = fd < 0 || fchmod(fd, 0777 & ~mask) < 0 || fsync(fd) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return rc ? err_set(-rc, "%s: %s", output->path, strerror(-rc)) : 0;
}

/* Renames unless there is something. Where the file system knows no such rename, rename(2) still replaces no file and no full directory. */
static int rename_new(int parent, const char *from, const char *to)
{
	if (renameat2(parent, from, parent, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	struct stat st;
	if (fstatat(parent, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(parent, from, parent, to) == 0 ? 0 : -errno;
}

int pack_output_commit(struct pack_output *output)
{
	int rc = open_up(output);
	if (rc)
		return rc;
	rc = rename_new(output->parent, output->temporary, output->name);
	if (rc == -EEXIST || rc == -ENOTEMPTY || rc == -ENOTDIR)
		return exists(output);
	if (rc)
		return err_set(-rc, "%s: rename: %s", output->name, strerror(-rc));
	if (fsync(output->parent) == 0) {
		free(output->temporary);
		output->temporary = NULL;
		return 0;
	}
	/* Whether the name would survive is not known: it is taken back. */
	rc = err_set(errno, "%s: fsync: %s", output->name, strerror(errno));
	rename_new(output->parent, output->name, output->temporary);
	return rc;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	remove(path);
	return 0;
}

void pack_output_finish(struct pack_output *output)
{
	if (output->temporary)
		nftw(output->path, remove_one, TREE_DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
	if (output->parent >= 0)
		close(output->parent);
	free(output->name);
	free(output->temporary);
	free(output->path);
}
