/*
 * reference_impl.h: what the files of the reference store share. The format is kerchunk's, as fsspec's ReferenceFileSystem reads it
 * (https://fsspec.github.io/kerchunk/spec.html).
 *
 *     reference.c           the store: the file, the values, listings
 *     reference_table.c     the document -> a sorted table of keys
 *     reference_gen.c       its `gen`: keys made from ranges of numbers
 *     reference_template.c  {{name}} in a text
 *     reference_value.c     a table's value -> bytes, or a part of a target
 *     reference_target.c    a target's url -> a file beneath a folder that may be read
 *
 *     version 0     { KEY: VALUE, ... }
 *     version 1     { "version": 1, "templates": {...}, "gen": [...], "refs": { KEY: VALUE, ... } }
 *     VALUE         "text" | "base64:..." | {...} | [url] | [url, offset, length]
 *
 * The text stays in memory as it is; a value is read when it is asked for.
 */
#ifndef ZARRFS_REFERENCE_IMPL_H
#define ZARRFS_REFERENCE_IMPL_H

#include "base/json.h"
#include "base/str.h"
#include "store/key_table.h"
#include "store/store_impl.h"

/* ---------------------------------------------------------------- reference_table.c */

/* Places in the table's text. The key is ended by NUL; the value is JSON. */
struct reference_entry {
	uint32_t key, value, value_size;
};

struct reference_table {
	char *text;
	size_t text_size;
	struct reference_entry *entries; /* sorted by key, each key once */
	size_t n;
	struct json *templates; /* of version 1, if it has some */
	bool has_large_text;	/* some value is a string of more than REFERENCE_TEXT_BYTES */
};

/* A string that is longer than this counts as memory of its own while it is read. */
#define REFERENCE_TEXT_BYTES ((size_t)64 << 10)

/*
 * Reads a document. `text` is taken over, in success and failure. `url` is for the log. ENOENT: a JSON document of something
 * else; EIO: damaged; ENOTSUP, EFBIG, ENOMEM.
 */
int reference_table_read(char *text, size_t size, const char *url, struct reference_table *ret_table);
void reference_table_finish(struct reference_table *table);

struct key_table reference_table_keys(const struct reference_table *table);

/* ---------------------------------------------------------------- reference_gen.c */

/*
 * Makes what `gen` says: emit gets each key and its value as JSON. EIO: malformed; ENOTSUP: an expression that is not read; EFBIG: more
 * than LIMIT_REFERENCE_MADE keys; what emit says.
 */
int reference_gen(const struct json *gen, const struct json *templates,
				  int (*emit)(void *arg, const struct str *key, const struct str *value), void *arg);

/* ---------------------------------------------------------------- reference_template.c */

struct reference_variable {
	const char *name;
	size_t name_size;
	const char *text;
	size_t text_size;
};

/*
 * Appends `text` with each {{name}} replaced by the variable, else the template, of that name, and each {{name(a='x', b='y')}} by the
 * template with these variables. ENOTSUP: any other expression (a stranger's text is not evaluated); EIO: no such name; ENOMEM.
 */
int reference_render(const char *text, const struct json *templates, const struct reference_variable *variables,
					 size_t n_variables, struct str *out);

/* ---------------------------------------------------------------- reference_value.c */

struct reference {
	struct buf *bytes; /* the value itself; NULL: it is a part of a target */
	char *url;
	bool is_whole;
	uint64_t offset, size; /* unless it is whole */
};

/* Reads a value of the table; bytes may lie in its text. EIO, ENOTSUP, ENOMEM, with the reason but not the key. */
int reference_read(const struct reference_table *table, const struct reference_entry *entry,
				   struct reference *ret_reference);
void reference_finish(struct reference *reference);

/* Whether reference_read takes longer than a thread that only tries may. */
bool reference_is_slow(const struct reference_table *table, const struct reference_entry *entry);

/* ---------------------------------------------------------------- reference_target.c */

/* A folder, beneath which targets are opened (dir.c), and the absolute names that it has. */
struct reference_folder {
	struct store *dir;
	char *names[2];
};
struct reference_folders {
	struct reference_folder own; /* the reference file's */
	struct reference_folder allowed;
};

/* The folder of the file at `path`, and `root`, or NULL. What the paths say; ENOMEM. */
int reference_folders_open(const char *path, const char *root, struct reference_folders *ret_folders);
void reference_folders_close(struct reference_folders *folders);

/*
 * Finds the folder that holds a target, and the target's key there; the caller frees. The url is looked at, not the file. ENOTSUP: not a
 * local file; EACCES: outside of the folders; EIO: no name of a file.
 */
int reference_locate(const struct reference_folders *folders, const char *url, struct store **ret_dir, char **ret_key);

/* Whether a file begins as a JSON object does. A file that cannot be read does not. */
bool reference_file_begins(int fd);

#endif
