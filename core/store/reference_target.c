/*
 * reference_target.c: which file a url means, by its text alone: a path is made absolute, "." and ".." are taken out of it (as fsspec
 * does, whatever is a link), and what is left must begin with the name of a folder that may be read. dir.c opens the rest beneath
 * that folder, so links do not lead out either.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/limits.h"
#include "store/reference_impl.h"

/* ---------------------------------------------------------------- paths */

/* Appends the segments of `path`: "/a", "/b" ...; ".." takes the last one away. */
static void append_path(struct str *absolute, const char *path)
{
	for (const char *p = path + strspn(path, "/"); *p; p += strspn(p, "/")) {
		size_t n = strcspn(p, "/");
		if (n == 2 && memcmp(p, "..", 2) == 0) {
			char *slash = strrchr(absolute->text, '/');
			if (slash) {
				*slash = '\0';
				absolute->size = (size_t)(slash - absolute->text);
			}
		} else if (n != 1 || p[0] != '.') {
			str_append(absolute, "/");
			str_append_bytes(absolute, p, n);
		}
		p += n;
	}
}

/* Whether `path` is in the folder called `name`; *ret_rest is then its path there. */
static bool is_beneath(const char *path, const char *name, const char **ret_rest)
{
	size_t n = strlen(name);
	if (strncmp(path, name, n) != 0 || path[n] != '/')
		return false;
	*ret_rest = path + n + 1;
	return true;
}

/* ---------------------------------------------------------------- folders */

static void folder_close(struct reference_folder *folder)
{
	if (folder->dir)
		dir_store_ops.close(folder->dir);
	for (size_t i = 0; i < ARRAY_LEN(folder->names); i++)
		free(folder->names[i]);
	*folder = (struct reference_folder){0};
}

/* Its name without links, and as it was given, where that is the same. "/" is "". */
static int find_names(const char *path, struct reference_folder *folder)
{
	autofree char *real = realpath(path, NULL);
	autofree char *here = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
	if (!real || !here)
		return err_set(errno, "%s: %s", path, strerror(errno));
	autostr(real_name);
	autostr(given_name);
	append_path(&real_name, real);
	append_path(&given_name, here);
	append_path(&given_name, path);
	autofree char *again = realpath(given_name.size ? given_name.text : "/", NULL);
	if (!again || strcmp(again, real) != 0)
		given_name.size = 0;
	bool is_other = given_name.size > 0 && strcmp(given_name.text, real_name.text) != 0;
	int rc = str_take(&real_name, &folder->names[0]);
	return rc || !is_other ? rc : str_take(&given_name, &folder->names[1]);
}

static int folder_open(const char *path, struct reference_folder *ret_folder)
{
	struct reference_folder folder = {0};
	int rc = find_names(path, &folder);
	if (!rc)
		rc = dir_store_ops.open(path, NULL, &folder.dir);
	if (rc)
		folder_close(&folder);
	else
		*ret_folder = folder;
	return rc;
}

int reference_folders_open(const char *path, const char *root, struct reference_folders *ret_folders)
{
	struct reference_folders folders = {0};
	const char *slash = strrchr(path, '/');
	autofree char *own = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	int rc = own ? folder_open(own, &folders.own) : err_set(ENOMEM, "no memory for a store");
	if (!rc && root) {
		rc = folder_open(root, &folders.allowed);
		if (rc) /* no word about the store */
			rc = err_set(rc == -ENOMEM ? ENOMEM : EINVAL, "--reference-root: %s", (char *)strdupa(err_message()));
	}
	if (rc)
		reference_folders_close(&folders);
	else
		*ret_folders = folders;
	return rc;
}

void reference_folders_close(struct reference_folders *folders)
{
	folder_close(&folders->own);
	folder_close(&folders->allowed);
}

/* ---------------------------------------------------------------- targets */

/* The path in a url, or NULL when it is of another file system than ours. */
static const char *local_path(const char *url)
{
	static const char *const schemes[] = {"file://localhost/", "file:///", "local:///", "file:/"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0 && strncmp(url + strlen(schemes[i]) - 1, "//", 2) != 0)
			return url + strlen(schemes[i]) - 1;
	return strstr(url, "://") || strstr(url, "::") ? NULL : url;
}

static int locate_beneath(const struct reference_folder *folder, const char *path, struct store **ret_dir,
						  char **ret_key)
{
	for (size_t i = 0; i < ARRAY_LEN(folder->names); i++) {
		const char *rest;
		if (!folder->names[i] || !is_beneath(path, folder->names[i], &rest))
			continue;
		if (!store_is_key(rest, strlen(rest)))
			return err_set(EIO, "%s: no name of a file", path);
		*ret_key = strdup(rest);
		*ret_dir = folder->dir;
		return *ret_key ? 0 : err_set(ENOMEM, "no memory for a path");
	}
	return -ENOENT;
}

int reference_locate(const struct reference_folders *folders, const char *url, struct store **ret_dir, char **ret_key)
{
	if (strlen(url) > LIMIT_REFERENCE_URL_BYTES)
		return err_set(EFBIG, "a url of %zu bytes, the limit is %zu", strlen(url), LIMIT_REFERENCE_URL_BYTES);
	const char *path = local_path(url);
	if (!path)
		return err_set(ENOTSUP, "%s: not a local file", url);
	autostr(absolute);
	if (path[0] != '/')
		str_append(&absolute, folders->own.names[0]);
	append_path(&absolute, path);
	if (absolute.failed)
		return err_set(ENOMEM, "no memory for a path");
	const struct reference_folder *tried[] = {&folders->own, &folders->allowed};
	for (size_t i = 0; i < ARRAY_LEN(tried); i++) {
		int rc = tried[i]->dir ? locate_beneath(tried[i], absolute.text, ret_dir, ret_key) : -ENOENT;
		if (rc != -ENOENT)
			return rc;
	}
	return err_set(EACCES, "%s: outside of the reference file's folder, and not allowed (--reference-root)", url);
}
