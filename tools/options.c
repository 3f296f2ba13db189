/*
 * options.c: reads a command line by its table.
 */
#include "tools/options.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>

#include "base/base.h"
#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"

struct unit {
	const char *name;
	uint64_t factor;
};

/* As dd(1) reads them: K is 1024, KB is 1000. */
static const struct unit size_units[] = {
	{"", 1},
	{"B", 1},
	{"K", UINT64_C(1) << 10},
	{"KiB", UINT64_C(1) << 10},
	{"KB", UINT64_C(1000)},
	{"M", UINT64_C(1) << 20},
	{"MiB", UINT64_C(1) << 20},
	{"MB", UINT64_C(1000000)},
	{"G", UINT64_C(1) << 30},
	{"GiB", UINT64_C(1) << 30},
	{"GB", UINT64_C(1000000000)},
	{"T", UINT64_C(1) << 40},
	{"TiB", UINT64_C(1) << 40},
	{"TB", UINT64_C(1000000000000)},
	{NULL, 0},
};

static const struct unit time_units[] = {
	{"", UINT64_C(1000000000)},	  {"s", UINT64_C(1000000000)},	  {"ms", UINT64_C(1000000)},
	{"m", UINT64_C(60000000000)}, {"h", UINT64_C(3600000000000)}, {NULL, 0},
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Digits at *text, which moves behind them; false when they do not fit. */
static bool read_digits(const char **text, uint64_t *ret_number)
{
	uint64_t number = 0;
	for (; is_digit(**text); (*text)++)
		if (!checked_mul(number, 10, &number) || !checked_add(number, (uint64_t)(**text - '0'), &number))
			return false;
	*ret_number = number;
	return true;
}

/* A number, with at most six decimals (so that no product overflows), and a unit of the table; what is left of one is cut. */
static bool read_quantity(const char *text, const struct unit *units, uint64_t *ret_value)
{
	uint64_t whole, decimals = 0, scale = 1, value;
	if (!is_digit(*text) || !read_digits(&text, &whole))
		return false;
	if (*text == '.') {
		const char *first = ++text;
		if (!is_digit(*text) || !read_digits(&text, &decimals) || text - first > 6)
			return false;
		for (; first < text; first++)
			scale *= 10;
	}
	while (units->name && strcasecmp(units->name, text) != 0)
		units++;
	if (!units->name || !checked_mul(whole, units->factor, &value) ||
		!checked_add(value, units->factor * decimals / scale, &value))
		return false;
	*ret_value = value;
	return true;
}

int options_parse_size(const char *text, uint64_t *ret_bytes)
{
	if (!read_quantity(text, size_units, ret_bytes))
		return err_set(EINVAL, "\"%s\" is not a size such as 4096, 512M or 1.5G", text);
	return 0;
}

int options_parse_time(const char *text, uint64_t *ret_ns)
{
	if (!read_quantity(text, time_units, ret_ns))
		return err_set(EINVAL, "\"%s\" is not a time such as 30s, 500ms or 2m", text);
	return 0;
}

static int parse_count(const char *text, int *ret_count)
{
	uint64_t number;
	const char *end = text;
	if (!is_digit(*text) || !read_digits(&end, &number) || *end || number > INT_MAX)
		return err_set(EINVAL, "\"%s\" is not a number", text);
	*ret_count = (int)number;
	return 0;
}

/* (uid_t)-1 stands for "none" in every call that takes one. */
static int parse_id(const char *text, uint32_t *ret_id)
{
	uint64_t number;
	const char *end = text;
	if (!is_digit(*text) || !read_digits(&end, &number) || *end || number >= UINT32_MAX)
		return err_set(EINVAL, "\"%s\" is not the number of a user or group", text);
	*ret_id = (uint32_t)number;
	return 0;
}

static int parse_mode(const char *text, mode_t *ret_mode)
{
	unsigned mode = 0;
	const char *p = text;
	for (; *p >= '0' && *p <= '7' && mode <= 0777; p++)
		mode = mode * 8 + (unsigned)(*p - '0');
	if (p == text || *p || mode > 0777)
		return err_set(EINVAL, "\"%s\" is not an octal number from 0 to 777", text);
	*ret_mode = (mode_t)mode;
	return 0;
}

char *options_next_piece(char **list)
{
	char *piece = *list, *from = piece, *to = piece;
	for (; *from && *from != ','; from++) {
		if (from[0] == '\\' && (from[1] == ',' || from[1] == '\\'))
			from++;
		*to++ = *from;
	}
	*list = *from ? from + 1 : NULL;
	*to = '\0';
	return piece;
}

static const struct option_row *row_of_letter(const struct option_row *rows, char letter)
{
	for (; rows->kind != OPTION_END; rows++)
		if (rows->letter == letter)
			return rows;
	return NULL;
}

/* `name` has `size` bytes; in a list of mount(8) an underscore does for a dash: allow_other. */
static const struct option_row *row_of_name(const struct option_row *rows, const char *name, size_t size, bool in_list)
{
	for (; rows->kind != OPTION_END; rows++) {
		size_t i = 0;
		while (rows->name && i < size &&
			   (name[i] == rows->name[i] || (in_list && name[i] == '_' && rows->name[i] == '-')))
			i++;
		if (rows->name && i == size && !rows->name[i])
			return rows;
	}
	return NULL;
}

static int apply(const struct option_row *rows, const struct option_row *row, char *text, void *values);

static int apply_list(const struct option_row *rows, char *list, void *values, struct str *rest)
{
	while (list) {
		char *piece = options_next_piece(&list);
		char *value = strchr(piece, '=');
		size_t size = value ? (size_t)(value - piece) : strlen(piece);
		const struct option_row *row = row_of_name(rows, piece, size, true);
		if (row && (row->kind == OPTION_FLAG) != (value == NULL))
			return err_set(EINVAL, value ? "-o %s: takes no value" : "-o %s: needs a value", row->name);
		if (row) {
			int rc = apply(rows, row, value ? value + 1 : NULL, values);
			if (rc)
				return rc;
			continue;
		}
		if (piece[0] && rest->size)
			str_append(rest, ",");
		for (const char *p = piece; *p; p++)
			str_appendf(rest, *p == ',' || *p == '\\' ? "\\%c" : "%c", *p);
	}
	return rest->failed ? err_set(ENOMEM, "no memory for the options") : 0;
}

static int parse_value(const struct option_row *rows, const struct option_row *row, char *text, void *values)
{
	void *member = (char *)values + row->offset;
	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)member = text;
		return 0;
	case OPTION_SIZE:
		return options_parse_size(text, member);
	case OPTION_TIME:
		return options_parse_time(text, member);
	case OPTION_COUNT:
		return parse_count(text, member);
	case OPTION_ID:
		return parse_id(text, member);
	case OPTION_MODE:
		return parse_mode(text, member);
	case OPTION_LIST:
		return apply_list(rows, text, values, member);
	case OPTION_END:
		break;
	}
	return 0;
}

/* Whether a number is below its row's least value. */
static bool is_too_small(const struct option_row *row, const void *values)
{
	const void *member = (const char *)values + row->offset;
	if (row->kind == OPTION_COUNT)
		return (uint64_t) * (const int *)member < row->min;
	return (row->kind == OPTION_SIZE || row->kind == OPTION_TIME) && *(const uint64_t *)member < row->min;
}

static int apply(const struct option_row *rows, const struct option_row *row, char *text, void *values)
{
	int rc = parse_value(rows, row, text, values);
	if (!rc && is_too_small(row, values))
		rc = err_set(EINVAL, "\"%s\" is less than %" PRIu64, text, row->min);
	if (!rc || row->kind == OPTION_LIST)
		return rc;
	return row->name ? err_prefix(rc, "--%s", row->name) : err_prefix(rc, "-%c", row->letter);
}

/* What is left of the command line. */
struct words {
	const struct option_row *rows;
	char **argv;
	int argc, next;
	void *values;
	bool help;
};

/* The value of an option that stands in the next word. */
static char *next_word(struct words *words)
{
	return words->next < words->argc ? words->argv[words->next++] : NULL;
}

/* "name" or "name=value", behind the dashes. */
static int parse_long(struct words *words, char *word)
{
	if (strcmp(word, "help") == 0) {
		words->help = true;
		return 0;
	}
	char *value = strchr(word, '=');
	size_t size = value ? (size_t)(value - word) : strlen(word);
	const struct option_row *row = row_of_name(words->rows, word, size, false);
	if (!row)
		return err_set(EINVAL, "no option --%.*s", (int)MIN(size, 64), word);
	if (row->kind == OPTION_FLAG)
		return value ? err_set(EINVAL, "--%s: takes no value", row->name)
					 : apply(words->rows, row, NULL, words->values);
	value = value ? value + 1 : next_word(words);
	return value ? apply(words->rows, row, value, words->values) : err_set(EINVAL, "--%s: needs a value", row->name);
}

/* "lR", "ovalue": flags in a bunch, or an option with the rest as its value. */
static int parse_letters(struct words *words, char *word)
{
	for (; *word; word++) {
		if (*word == 'h') {
			words->help = true;
			return 0;
		}
		const struct option_row *row = row_of_letter(words->rows, *word);
		if (!row)
			return err_set(EINVAL, "no option -%c", *word);
		int rc;
		if (row->kind != OPTION_FLAG) {
			char *value = word[1] ? word + 1 : next_word(words);
			return value ? apply(words->rows, row, value, words->values) : err_set(EINVAL, "-%c: needs a value", *word);
		}
		rc = apply(words->rows, row, NULL, words->values);
		if (rc)
			return rc;
	}
	return 0;
}

int options_parse(const struct option_row *rows, int argc, char **argv, void *values, int *ret_n, bool *ret_help)
{
	struct words words = {.rows = rows, .argv = argv, .argc = argc, .values = values};
	bool only_arguments = false;
	int n = 0;
	while (words.next < argc && !words.help) {
		char *word = argv[words.next++];
		int rc = 0;
		if (only_arguments || word[0] != '-' || !word[1])
			argv[n++] = word;
		else if (strcmp(word, "--") == 0)
			only_arguments = true;
		else
			rc = word[1] == '-' ? parse_long(&words, word + 2) : parse_letters(&words, word + 1);
		if (rc)
			return rc;
	}
	*ret_n = n;
	*ret_help = words.help;
	return 0;
}

#define HELP_COLUMN 26

static void print_row(const struct option_row *row, FILE *file)
{
	int width = row->letter ? fprintf(file, "  -%c", row->letter) : fprintf(file, "    ");
	if (row->name)
		width += fprintf(file, row->letter ? ", --%s" : "  --%s", row->name);
	if (row->value)
		width += fprintf(file, " %s", row->value);
	if (width >= HELP_COLUMN) {
		fputc('\n', file);
		width = 0;
	}
	for (const char *line = row->help; line;) {
		const char *end = strchr(line, '\n');
		int size = end ? (int)(end - line) : (int)strlen(line);
		fprintf(file, "%*s%.*s\n", HELP_COLUMN - width, "", size, line);
		width = 0;
		line = end ? end + 1 : NULL;
	}
}

void options_print(const struct option_row *rows, FILE *file)
{
	static const struct option_row help = {OPTION_FLAG, 'h', "help", NULL, "print this", 0, 0};
	for (; rows->kind != OPTION_END; rows++)
		print_row(rows, file);
	print_row(&help, file);
}
