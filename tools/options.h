/*
 * options.h: one table of options a subcommand; it feeds the parser, --help and the -o list of mount(8).
 *
 * Options and arguments may be mixed; `--` ends the options. `-h` and `--help` are every table's, and stand in none.
 * Texts are not copied: they point into argv, which the parser rearranges.
 */
#ifndef ZARRFS_OPTIONS_H
#define ZARRFS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What a value is, and the type of the member that takes it. */
enum option_kind {
	OPTION_END = 0,
	OPTION_FLAG,  /* bool; has no value */
	OPTION_TEXT,  /* const char * */
	OPTION_SIZE,  /* uint64_t, bytes: 4096, 512M, 1.5GiB, 2GB */
	OPTION_TIME,  /* uint64_t, nanoseconds: 30, 30s, 500ms, 2m, 1h */
	OPTION_COUNT, /* int */
	OPTION_ID,	  /* uint32_t: a user's or group's number */
	OPTION_MODE,  /* mode_t: octal permission bits */
	OPTION_LIST, /* struct str: `name[=value],...`: rows of this table are applied, what is in none of them is appended */
};

struct option_row {
	enum option_kind kind;
	char letter;	   /* 0: none */
	const char *name;  /* without dashes; NULL: none */
	const char *value; /* what --help calls the value; NULL for a flag */
	const char *help;  /* lines separated by \n */
	size_t offset;	   /* of the member in the subcommand's struct */
	uint64_t min;	   /* least value of OPTION_SIZE, OPTION_TIME and OPTION_COUNT */
};

/*
 * Parses argv[0 .. argc) (without the program's and the subcommand's names) into `values`. The arguments that are no
 * options end up in argv[0 .. *ret_n). *ret_help: -h was there, and the rest was not looked at. EINVAL, ENOMEM with a message.
 */
int options_parse(const struct option_row *rows, int argc, char **argv, void *values, int *ret_n, bool *ret_help);

/* The table as --help shows it. */
void options_print(const struct option_row *rows, FILE *file);

/* Values by themselves; `text` whole. EINVAL with a message that repeats it. */
int options_parse_size(const char *text, uint64_t *ret_bytes);
int options_parse_time(const char *text, uint64_t *ret_ns);

/*
 * Cuts the first piece off a list that commas separate: *list moves behind it, NULL at its end. `\,` is a comma inside a piece
 * and `\\` a backslash; any other backslash stays. In place.
 */
char *options_next_piece(char **list);

#endif
