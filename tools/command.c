/*
 * command.c: what all subcommands share: command lines, exit codes, error lines.
 */
#include "tools/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

int command_code(int rc)
{
	switch (-rc) {
	case 0:
		return CODE_OK;
	case ENOENT:
	case ENOTDIR:
		return CODE_NOT_ZARR;
	case ENOTSUP:
	case EFBIG:
		return CODE_UNSUPPORTED;
	case EINVAL:
		return CODE_USAGE;
	case EINTR:
		return CODE_INTERRUPTED;
	default:
		return CODE_IO;
	}
}

int command_mount8_code(int rc)
{
	switch (-rc) {
	case 0:
		return MOUNT8_OK;
	case EINVAL:
		return MOUNT8_USAGE;
	case ENOMEM:
	case EAGAIN:
	case EMFILE:
	case ENFILE:
		return MOUNT8_SYSTEM;
	default:
		return MOUNT8_FAILED;
	}
}

int command_error(int code, const char *fmt, ...)
{
	char text[2 * ERR_TEXT_BYTES];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	for (unsigned char *p = (unsigned char *)text; *p; p++)
		if (*p < 0x20 || *p == 0x7f)
			*p = '?';
	fprintf(stderr, "zarrfs: %s\n", text);
	return code;
}

int command_fail(int rc)
{
	const char *message = err_message();
	return command_error(command_code(rc), "%s", message[0] ? message : strerror(-rc));
}

int command_flush(int code)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code;
	/* Whoever read our output has had enough. */
	if (errno == EPIPE)
		return code;
	return command_error(CODE_IO, "standard output: %s", strerror(errno));
}

static void print_help(const struct command *command)
{
	printf("Usage: zarrfs %s [OPTION]... %s\n%s\n", command->name, command->arguments, command->summary);
	if (command->details)
		printf("\n%s\n", command->details);
	printf("\nOptions:\n");
	options_print(command->options, stdout);
}

bool command_parse(const struct command *command, int argc, char **argv, void *values, int *ret_n, int *ret_code)
{
	bool help = false;
	int n = 0;
	int rc = options_parse(command->options, argc, argv, values, &n, &help);
	if (help) {
		print_help(command);
		*ret_code = command_flush(CODE_OK);
		return false;
	}
	if (!rc && n < command->min_arguments)
		rc = err_set(EINVAL, "%s is missing", n == 0 ? "an argument" : "the second argument");
	if (!rc && n > command->max_arguments)
		rc = err_set(EINVAL, "\"%s\": one argument too many", argv[command->max_arguments]);
	if (!rc) {
		*ret_n = n;
		return true;
	}
	*ret_code =
		command_error(command_code(rc), "%s: %s (see zarrfs %s --help)", command->name, err_message(), command->name);
	return false;
}
