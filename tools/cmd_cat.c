/*
 * cmd_cat.c: zarrfs cat: a file of the mount, without the mount. Names are looked up and bytes read by core/fs, as a mount
 * does it, so both give the same.
 *
 *     piece 0   |--load--|--write--|--load--|--write--|          two pieces: while one is written, the pool loads the other
 *     piece 1            |--load--  |--write--|--load--
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "tools/command.h"
#include "tools/progress.h"
#include "tools/session.h"

#define PIECE_BYTES ((size_t)4 << 20)
#define PIECES 2

struct cat_values {
	uint64_t offset, length;
	struct fs_options fs;
};

#define MEMBER(name) offsetof(struct cat_values, name)

static const struct option_row rows[] = {
	{OPTION_SIZE, 0, "offset", "N", "begin at this byte of the file (0)", MEMBER(offset), 0},
	{OPTION_SIZE, 0, "length", "N", "so many bytes, or fewer at the end of the file (all)", MEMBER(length), 0},
	{OPTION_SIZE, 0, "cache-size", "SIZE",
	 "memory for decoded chunks and all that is in flight\n(a quarter of what the process may use, at most 1G)",
	 MEMBER(fs.cache_bytes), 1},
	{OPTION_COUNT, 0, "threads", "N", "threads that decode (the CPUs that the process may use)",
	 MEMBER(fs.decode_threads), 1},
	{OPTION_SIZE, 0, "max-chunk", "SIZE", "arrays of larger chunks are refused (1G)", MEMBER(fs.max_chunk), 1},
	{OPTION_TEXT, 0, "reference-root", "DIR", "targets of a reference file may lie in this folder, too",
	 MEMBER(fs.reference_root), 0},
	{0},
};

/* A part of the file that is being read, or has been. */
struct piece {
	uint8_t *bytes;
	size_t size;
	struct waited_request *request; /* NULL: none under way */
};

struct copy {
	const char *argument; /* for messages */
	struct fs_file *file;
	uint64_t next, end; /* what is not yet begun */
	struct piece pieces[PIECES];
};

static int piece_start(struct copy *copy, struct piece *piece)
{
	int rc = waited_request_new(NULL, &piece->request);
	if (rc)
		return rc;
	piece->size = (size_t)MIN(copy->end - copy->next, PIECE_BYTES);
	fs_read(copy->file, copy->next, piece->size, piece->bytes, &piece->request->request);
	request_finish_part(&piece->request->request, 0);
	copy->next += piece->size;
	return 0;
}

static int piece_wait(struct piece *piece)
{
	struct waited_request *request = piece->request;
	piece->request = NULL;
	return request ? waited_request_wait(request) : 0;
}

static int write_all(const uint8_t *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(STDOUT_FILENO, bytes, size);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(errno, "standard output: %s", strerror(errno));
		bytes += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Keeps every piece that is not being written under way, and waits for pieces[now]. */
static int next_piece(struct copy *copy, int now)
{
	for (int i = 0; i < PIECES && copy->next < copy->end; i++) {
		struct piece *piece = &copy->pieces[(now + i) % PIECES];
		int rc = piece->request ? 0 : piece_start(copy, piece);
		if (rc)
			return rc;
	}
	int rc = piece_wait(&copy->pieces[now]);
	return rc ? err_prefix(rc, "%s", copy->argument) : 0;
}

static int copy_pieces(struct copy *copy)
{
	struct progress progress;
	uint64_t total = copy->end - copy->next, written = 0;
	int rc = 0;
	progress_begin(&progress, "cat", total);
	for (int now = 0; !rc && written < total; now = (now + 1) % PIECES) {
		rc = next_piece(copy, now);
		if (!rc)
			rc = write_all(copy->pieces[now].bytes, copy->pieces[now].size);
		written += copy->pieces[now].size;
		progress_update(&progress, written);
	}
	progress_end(&progress);
	return rc;
}

static int copy_range(struct fs_file *file, const char *argument, const struct cat_values *values)
{
	uint64_t size = fs_read_size(file, 0, SIZE_MAX);
	uint64_t first = MIN(values->offset, size);
	struct copy copy = {
		.argument = argument,
		.file = file,
		.next = first,
		.end = first + MIN(values->length, size - first),
	};
	int rc = 0;
	for (int i = 0; i < PIECES && !rc; i++) {
		copy.pieces[i].bytes = malloc(MIN(copy.end - first, PIECE_BYTES) + 1);
		if (!copy.pieces[i].bytes)
			rc = err_set(ENOMEM, "no memory for a buffer");
	}
	if (!rc)
		rc = copy_pieces(&copy);
	/* After a failure the other piece is still being written to by the pool. */
	struct err_text reason;
	err_save(&reason);
	for (int i = 0; i < PIECES; i++) {
		piece_wait(&copy.pieces[i]);
		free(copy.pieces[i].bytes);
	}
	err_restore(&reason);
	return rc;
}

/* From the root down to the file, as the kernel would. */
static int look_up(struct fs *fs, char *path, struct fs_attr *ret_attr)
{
	struct fs_attr attr = {.handle = FS_ROOT, .mode = S_IFDIR};
	char *state = NULL;
	for (char *name = strtok_r(path, "/", &state); name; name = strtok_r(NULL, "/", &state)) {
		if (!S_ISDIR(attr.mode))
			return err_set(ENOENT, "no such file");
		int rc = fs_lookup(fs, attr.handle, name, STORE_WAIT, &attr);
		if (rc)
			return rc == -ENOENT ? err_set(ENOENT, "no such file") : rc;
	}
	*ret_attr = attr;
	return 0;
}

static int cat_file(struct session *session, const char *argument, const char *name, const struct cat_values *values)
{
	autofree char *path = str_join_key(session->path, name);
	struct fs_attr attr = {0};
	int rc = path ? look_up(session->fs, path, &attr) : err_set(ENOMEM, "no memory for the path");
	if (rc == -ENOENT)
		return command_error(CODE_NO, "%s: %s", argument, err_message());
	if (!rc && S_ISDIR(attr.mode))
		return command_error(CODE_NO, "%s: a directory", argument);
	struct fs_file *file;
	if (!rc)
		rc = fs_file_open(session->fs, attr.handle, true, STORE_WAIT, &file);
	if (rc)
		return command_fail(err_prefix(rc, "%s", argument));
	rc = copy_range(file, argument, values);
	fs_file_unref(file);
	if (rc == -EPIPE) /* whoever read our output has had enough */
		return CODE_IO;
	return rc ? command_fail(rc) : CODE_OK;
}

static int run_cat(int argc, char **argv)
{
	struct cat_values values = {.length = UINT64_MAX};
	int n, code;
	if (!command_parse(&cat_command, argc, argv, &values, &n, &code))
		return code;
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash ? slash + 1 : argv[0];
	if (!name[0])
		return command_error(CODE_USAGE, "cat: \"%s\" does not end in NAME.VIEW", argv[0]);
	autofree char *directory = slash ? strndup(argv[0], (size_t)(slash - argv[0]) + (slash == argv[0])) : strdup(".");
	if (!directory)
		return command_error(CODE_IO, "no memory for the path");
	progress_catch_signals();
	log_set_level(LOG_LEVEL_ERROR);
	struct session session;
	int rc = session_open(directory, &values.fs, &session);
	if (rc)
		return command_fail(rc);
	code = cat_file(&session, argv[0], name, &values);
	session_close(&session);
	return code;
}

const struct command cat_command = {
	.name = "cat",
	.arguments = "STORE/NAME.VIEW",
	.summary = "Writes a file of the mount to standard output, without mounting.",
	.options = rows,
	.min_arguments = 1,
	.max_arguments = 1,
	.run = run_cat,
};
