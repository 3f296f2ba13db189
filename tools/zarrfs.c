/*
 * zarrfs.c: the program: a table of subcommands.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "codec/codec.h"
#include "meta/dtype.h"
#include "store/store.h"
#include "tools/command.h"
#ifdef HAVE_FUSE
#include "fuse/mount.h"
#include "tools/cmd_mount.h"
#endif

#ifndef HAVE_FUSE
/* Known, not built in. */
const struct command mount_command = {.name = "mount", .summary = "Mounts a Zarr store."};
const struct command umount_command = {.name = "umount", .summary = "Unmounts what zarrfs mount has mounted."};
#endif

static const struct command *const commands[] = {
	&mount_command, &umount_command, &ls_command, &info_command, &cat_command, &check_command, &pack_command,
};

static void print_usage(FILE *file)
{
	fprintf(file, "Usage: zarrfs COMMAND [OPTION]... ARGUMENT...\n"
				  "       zarrfs STORE MOUNTPOINT [-o OPTION,...]\n"
				  "Shows the arrays of a Zarr store as plain .npy and .raw files.\n\n"
				  "Commands (zarrfs COMMAND --help says more):\n");
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(file, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fprintf(file, "\nOptions:\n"
				  "  -h, --help     print this\n"
				  "  --version      print the version, and what is built in\n\n"
				  "Exit codes: 0 ok, 1 the answer is no, 2 usage, 3 not a Zarr store, 4 unsupported,\n"
				  "5 input/output error or damaged data, 6 corrupt, 130 interrupted.\n");
}

static void print_version(void)
{
	autostr(codecs);
	autostr(libraries);
	autostr(stores);
	autostr(missing);
	codec_known(&codecs);
	store_known(&stores, &missing);
	codec_libraries(&libraries);
	printf("zarrfs %s\ncodecs: %s\ndata types: %s\nstores: %s\nstores not built in: %s\n", ZARRFS_VERSION, codecs.text,
		   dtype_known(), stores.text, missing.text);
	printf("libraries: %s, %s\n", libraries.text, json_library());
#ifdef HAVE_FUSE
	printf("libfuse: %s\n", mount_fuse_version());
#else
	printf("libfuse: not built in\n");
#endif
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

/*
 * A descriptor 0, 1 or 2 that is closed would be given to the first file that is opened, and an error message would be written to a
 * store. The placeholder is opened the wrong way round, so that what is written to it still fails.
 */
static void hold_standard_descriptors(void)
{
	for (int fd = 0; fd <= 2; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) != fd)
			_exit(CODE_IO);
}

/* Whether mount(8) calls us: as mount.zarrfs, or with STORE MOUNTPOINT, where a word that is no file is a mistyped command. */
static bool run_for_mount8(int argc, char **argv, int *ret_code)
{
#ifdef HAVE_FUSE
	const char *slash = strrchr(argv[0], '/');
	if (strcmp(slash ? slash + 1 : argv[0], "mount.zarrfs") == 0)
		*ret_code = mount_as_mount_helper(argc - 1, argv + 1);
	else if (argc >= 3 && argv[1][0] != '-' && argv[2][0] != '-' && !find_command(argv[1]) &&
			 (strchr(argv[1], '/') || access(argv[1], F_OK) == 0))
		*ret_code = mount_as_fuse_helper(argc - 1, argv + 1);
	else
		return false;
	return true;
#else
	return false;
#endif
}

static int run_command(const struct command *command, int argc, char **argv)
{
	if (!command->run)
		return command_error(CODE_UNSUPPORTED, "%s: known, not built in", command->name);
	return command->run(argc, argv);
}

static int run(int argc, char **argv)
{
	int code;
	if (run_for_mount8(argc, argv, &code))
		return code;
	if (argc < 2) {
		print_usage(stderr);
		return CODE_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_usage(stdout);
		return command_flush(CODE_OK);
	}
	if (strcmp(argv[1], "--version") == 0) {
		print_version();
		return command_flush(CODE_OK);
	}
	const struct command *command = find_command(argv[1]);
	if (!command)
		return command_error(CODE_USAGE, "\"%s\" is no command (see zarrfs --help)", argv[1]);
	return run_command(command, argc - 2, argv + 2);
}

int main(int argc, char **argv)
{
	hold_standard_descriptors();
	if (argc < 1)
		return CODE_USAGE;
	return run(argc, argv);
}
