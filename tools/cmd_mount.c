/*
 * cmd_mount.c: zarrfs mount, and the forms in which mount(8) calls it:
 *
 *     mount.fuse3      zarrfs STORE MOUNTPOINT -o rw,dev,suid,...
 *     /sbin/mount.zarrfs      STORE MOUNTPOINT [-sfnv] [-N NAMESPACE] [-t TYPE] [-o ...]
 */
#include "tools/cmd_mount.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "fuse/mount.h"
#include "tools/command.h"

#define TIMEOUT_NS UINT64_C(30000000000)

struct mount_values {
	struct mount_options mount;
	struct str list; /* what -o says beside our own options */
};

#define MEMBER(name) offsetof(struct mount_values, mount.name)

static const struct option_row rows[] = {
	{OPTION_FLAG, 'f', "foreground", NULL, "stay in the foreground", MEMBER(foreground), 0},
	{OPTION_FLAG, 'd', "debug", NULL, "print libfuse's trace; implies -f", MEMBER(debug), 0},
	{OPTION_LIST, 'o', NULL, "OPTION,...",
	 "options of FUSE, or these ones without dashes:\n-o cache-size=1G,allow_other",
	 offsetof(struct mount_values, list), 0},
	{OPTION_SIZE, 0, "cache-size", "SIZE",
	 "memory for decoded chunks and all that is in flight\n(a quarter of what the process may use, at most 1G)",
	 MEMBER(fs.cache_bytes), 1},
	{OPTION_COUNT, 0, "threads", "N", "threads that decode (the CPUs that the process may use)",
	 MEMBER(fs.decode_threads), 1},
	{OPTION_TIME, 0, "timeout", "TIME", "a read that takes longer fails; 0: it waits for ever (30s)",
	 MEMBER(fs.timeout_ns), 0},
	{OPTION_SIZE, 0, "max-chunk", "SIZE", "arrays of larger chunks are refused (1G)", MEMBER(fs.max_chunk), 1},
	{OPTION_TEXT, 0, "reference-root", "DIR", "targets of a reference file may lie in this folder, too",
	 MEMBER(fs.reference_root), 0},
	{OPTION_TEXT, 0, "views", "SUFFIX,...", "files that are listed for an array (npy,raw,json)", MEMBER(fs.views), 0},
	{OPTION_FLAG, 0, "allow-other", NULL, "other users may read, too", MEMBER(allow_other), 0},
	{OPTION_ID, 0, "uid", "N", "owner of the files (who mounts)", MEMBER(uid), 0},
	{OPTION_ID, 0, "gid", "N", "group of the files (that of who mounts)", MEMBER(gid), 0},
	{OPTION_MODE, 0, "umask", "MODE", "permission bits that are taken away, octal (0)", MEMBER(umask), 0},
	{OPTION_TEXT, 0, "log-file", "FILE", "messages of the background process go here", MEMBER(log_file), 0},
	{0},
};

/*
 * Words of fstab and of mount(8) that are nothing to FUSE: they are for others, or a zarrfs mount is always ro,nosuid,nodev.
 */
static bool is_for_others(const char *option)
{
	static const char *const words[] = {
		"ro",	"rw",	  "dev",   "nodev", "suid",	 "nosuid",	"defaults", "auto",		"noauto",
		"user", "nouser", "users", "owner", "group", "_netdev", "nofail",	"relatime", "strictatime",
	};
	static const char *const beginnings[] = {"x-", "X-", "comment=", "user="};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(option, words[i]) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(beginnings); i++)
		if (strncmp(option, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

/* What of the list is for FUSE, as it was spelled (`\,` stays escaped: libfuse reads it so). */
static int fuse_options_of(const char *list, struct str *ret_options)
{
	while (list[0]) {
		size_t n = 0;
		while (list[n] && list[n] != ',')
			n += list[n] == '\\' && list[n + 1] ? 2 : 1;
		autofree char *option = strndup(list, n);
		if (!option)
			return err_set(ENOMEM, "no memory for the options");
		if (!is_for_others(option)) {
			str_append(ret_options, ret_options->size ? "," : "");
			str_append(ret_options, option);
		}
		list += n + (list[n] == ',');
	}
	return ret_options->failed ? err_set(ENOMEM, "no memory for the options") : 0;
}

static int check_views(const char *views)
{
	autofree char *copy = strdup(views);
	if (!copy)
		return err_set(ENOMEM, "no memory for the options");
	for (char *list = copy; list;) {
		const char *suffix = options_next_piece(&list);
		int i = 0;
		while (view_row(i) && strcmp(view_suffix(view_row(i)), suffix) != 0)
			i++;
		if (!view_row(i))
			return err_set(EINVAL, "--views: \"%s\" is no view", suffix);
	}
	return 0;
}

/* So that what mount_run calls ENOENT is the store. A dead mount point answers ENOTCONN, and is for mount_run to clean. */
static int check_mountpoint(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR ? err_set(EINVAL, "%s: no such directory", path) : 0;
	return S_ISDIR(st.st_mode) ? 0 : err_set(EINVAL, "%s: not a directory", path);
}

static int mount_values(struct mount_values *values, const char *store, const char *mountpoint)
{
	autostr(fuse_options);
	int rc = fuse_options_of(values->list.text, &fuse_options);
	if (!rc && values->mount.fs.views)
		rc = check_views(values->mount.fs.views);
	if (!rc)
		rc = check_mountpoint(mountpoint);
	if (rc)
		return rc;
	values->mount.fs.url = store;
	values->mount.mountpoint = mountpoint;
	values->mount.fuse_options = fuse_options.size ? fuse_options.text : NULL;
	return mount_run(&values->mount);
}

static int run_form(int argc, char **argv, int (*code_of)(int rc), int usage_code)
{
	struct mount_values values = {
		.mount = {.fs.timeout_ns = TIMEOUT_NS, .uid = (uid_t)-1, .gid = (gid_t)-1},
	};
	str_init(&values.list);
	int n, code;
	if (!command_parse(&mount_command, argc, argv, &values, &n, &code)) {
		str_finish(&values.list);
		return code == CODE_OK ? CODE_OK : usage_code;
	}
	pid_t pid = getpid();
	int rc = mount_values(&values, argv[0], argv[1]);
	str_finish(&values.list);
	/* What a background process could not do it has told its parent, who prints it. */
	if (rc && getpid() == pid)
		command_fail(rc);
	return code_of(rc);
}

static int run_mount(int argc, char **argv)
{
	return run_form(argc, argv, command_code, CODE_USAGE);
}

int mount_as_fuse_helper(int argc, char **argv)
{
	return run_form(argc, argv, command_mount8_code, MOUNT8_USAGE);
}

/* mount(8) hands its own flags down one by one (mount(8), "External helpers"); -f there is: do all but mount. */
int mount_as_mount_helper(int argc, char **argv)
{
	bool fake = false;
	int n = 0;
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		bool is_flag = word[0] == '-' && word[1] && !word[2];
		if (is_flag && strchr("tN", word[1]))
			i++;
		else if (is_flag && word[1] == 'f')
			fake = true;
		else if (is_flag && word[1] == 'o' && i + 1 < argc) {
			argv[n++] = argv[i++];
			argv[n++] = argv[i];
		} else if (!is_flag || !strchr("snv", word[1]))
			argv[n++] = argv[i];
	}
	return fake ? MOUNT8_OK : mount_as_fuse_helper(n, argv);
}

const struct command mount_command = {
	.name = "mount",
	.arguments = "STORE MOUNTPOINT",
	.summary = "Mounts a Zarr store: each array NAME is the files NAME.npy, NAME.raw and NAME.json.",
	.details = "Returns when the mount answers; the process that serves it stays in the background.",
	.options = rows,
	.min_arguments = 2,
	.max_arguments = 2,
	.run = run_mount,
};
