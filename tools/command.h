/*
 * command.h: a subcommand of `zarrfs`, the exit codes, and how errors reach standard error. The subcommands are the rows of
 * zarrfs.c; each has a file of its own.
 */
#ifndef ZARRFS_COMMAND_H
#define ZARRFS_COMMAND_H

#include <stdbool.h>

#include "base/base.h"
#include "tools/options.h"

enum exit_code {
	CODE_OK = 0,
	CODE_NO = 1, /* the answer is no: no such node or file, not mounted */
	CODE_USAGE = 2,
	CODE_NOT_ZARR = 3,
	CODE_UNSUPPORTED = 4,
	CODE_IO = 5,	  /* the store failed, or its metadata or data are damaged */
	CODE_CORRUPT = 6, /* zarrfs check has found damage */
	CODE_INTERRUPTED = 130,
};

/* What mount(8) expects of a helper. */
enum mount8_code {
	MOUNT8_OK = 0,
	MOUNT8_USAGE = 1,
	MOUNT8_SYSTEM = 2, /* out of memory, cannot fork ... */
	MOUNT8_FAILED = 32,
};

struct command {
	const char *name;
	const char *arguments; /* "STORE[/PATH]", for --help */
	const char *summary;   /* one line */
	const char *details;   /* [lines below it] */
	const struct option_row *options;
	int min_arguments, max_arguments;
	int (*run)(int argc, char **argv); /* without the names in front; an exit code. NULL: not built in */
};

extern const struct command cat_command, check_command, info_command, ls_command, mount_command, pack_command,
	umount_command;

/*
 * Reads the command line of a subcommand into `values`; its arguments are argv[0 .. *ret_n). False: it ends here with
 * *ret_code, --help or the error having been printed.
 */
bool command_parse(const struct command *command, int argc, char **argv, void *values, int *ret_n, int *ret_code);

/* The exit code of a negative errno; CODE_OK for 0. ENOENT is not a Zarr store: those who mean another absence say CODE_NO. */
int command_code(int rc);
int command_mount8_code(int rc);

/* Prints "zarrfs: " and a line, control bytes escaped; returns `code`. */
int command_error(int code, const char *fmt, ...) printf_like(2, 3);

/* The same with this thread's message; returns command_code(rc). */
int command_fail(int rc);

/* Writes out what stdio holds for standard output: `code`, or CODE_IO with a message when that fails. */
int command_flush(int code);

#endif
