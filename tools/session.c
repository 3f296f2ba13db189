/*
 * session.c: finds where in STORE/PATH the store ends.
 */
#include "tools/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/err.h"
#include "base/str.h"

/* Where a local path begins in a url; NULL for the url of another scheme. */
static char *local_path(char *url)
{
	static const char *const schemes[] = {"file://", "zip://", "reference://"};
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (strncmp(url, schemes[i], strlen(schemes[i])) == 0)
			return url + strlen(schemes[i]);
	return strstr(url, "://") ? NULL : url;
}

static void strip_slashes(char *path)
{
	size_t n = strlen(path);
	while (n > 1 && path[n - 1] == '/')
		path[--n] = '\0';
}

/*
 * Moves the last component of `local` to the front of `path`, which has the room. "x.zarr" lies in "."; "/" and "." in nothing:
 * false.
 */
static bool move_up(char *local, char *path)
{
	char *slash = strrchr(local, '/');
	const char *name = slash ? slash + 1 : local;
	if (!name[0] || strcmp(local, ".") == 0)
		return false;
	size_t n = strlen(name), old = strlen(path);
	memmove(path + n + (old > 0), path, old + 1);
	memcpy(path, name, n);
	if (old > 0)
		path[n] = '/';
	if (slash)
		slash[slash == local] = '\0'; /* "/x" lies in "/" */
	else
		strcpy(local, ".");
	strip_slashes(local);
	return true;
}

/*
 * Whether a directory is a node by itself: any directory above some store would open as an implicit group. A file in place of a
 * directory may be a zip.
 */
static bool has_document(const char *directory)
{
	static const char *const names[] = {"zarr.json", ".zgroup", ".zarray", ".zmetadata"};
	struct stat st;
	if (stat(directory, &st) == 0 && S_ISREG(st.st_mode))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		autofree char *path = str_join_key(directory, names[i]);
		if (path && access(path, F_OK) == 0)
			return true;
	}
	return false;
}

static int open_fs(const char *url, const struct fs_options *options, struct fs **ret_fs)
{
	struct fs_options here = *options;
	here.url = url;
	return fs_open(&here, ret_fs);
}

static bool is_absence(int rc)
{
	return rc == -ENOENT || rc == -ENOTDIR;
}

int session_open(const char *argument, const struct fs_options *options, struct session *ret_session)
{
	struct session session = {.url = strdup(argument), .path = calloc(1, strlen(argument) + 2)};
	if (!session.url || !session.path) {
		session_close(&session);
		return err_set(ENOMEM, "no memory for the path");
	}
	char *local = local_path(session.url);
	if (local)
		strip_slashes(local);
	int rc = open_fs(session.url, options, &session.fs);
	/* Going up must not replace the reason why the whole is no store. */
	struct err_text reason;
	err_save(&reason);
	bool is_whole = true;
	while (is_absence(rc) && local && move_up(local, session.path))
		if (has_document(local)) {
			is_whole = false;
			rc = open_fs(session.url, options, &session.fs);
		}
	if (rc) {
		if (is_whole)
			err_restore(&reason);
		session_close(&session);
		return err_prefix(rc, "%s", argument);
	}
	session.hierarchy = fs_hierarchy(session.fs);
	*ret_session = session;
	return 0;
}

void session_close(struct session *session)
{
	if (session->fs)
		fs_close(session->fs);
	free(session->url);
	free(session->path);
}

int session_node(struct session *session, struct node **ret_node)
{
	return hierarchy_find(session->hierarchy, session->path, ret_node);
}
