/*
 * cmd_umount.c: zarrfs umount.
 */
#include <errno.h>
#include <stddef.h>

#include "base/err.h"
#include "fuse/mount.h"
#include "tools/command.h"

struct umount_values {
	bool lazy;
};

static const struct option_row rows[] = {
	{OPTION_FLAG, 0, "lazy", NULL, "unmount now, end when the last file is closed",
	 offsetof(struct umount_values, lazy), 0},
	{0},
};

static int run_umount(int argc, char **argv)
{
	struct umount_values values = {0};
	int n, code;
	if (!command_parse(&umount_command, argc, argv, &values, &n, &code))
		return code;
	int rc = mount_end(argv[0], values.lazy);
	if (!rc)
		return CODE_OK;
	/* Nothing is wrong with the command line, and no store is in play. */
	bool is_no = rc == -EINVAL || rc == -ENOENT || rc == -ENOTDIR || rc == -EBUSY;
	return command_error(is_no ? CODE_NO : CODE_IO, "%s", err_message());
}

const struct command umount_command = {
	.name = "umount",
	.arguments = "MOUNTPOINT",
	.summary = "Unmounts what zarrfs mount has mounted.",
	.options = rows,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_umount,
};
