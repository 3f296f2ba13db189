/*
 * zips.h: makes zip files in memory, right ones and strange ones; nothing of the reader is used. Failures abort.
 */
#ifndef ZARRFS_TEST_ZIPS_H
#define ZARRFS_TEST_ZIPS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define ZIPS_MOST 64 /* members whose places are remembered */

/* How members are written. Anything else in `method` is stored, and said to be that. */
struct zip_entry {
	const char *name;
	size_t name_size; /* 0: up to its NUL */
	const void *bytes;
	size_t size;
	unsigned method;		  /* 0, 8, 20 or 93 */
	unsigned flags;			  /* of both headers; bit 3: with a data descriptor, and no sizes in the local header */
	bool zip64;				  /* sizes and offset in the zip64 extra field */
	const char *unicode_path; /* [the Unicode path extra field] */
	size_t local_extra;		  /* bytes of padding in the local header's extra field */
	unsigned made_by;		  /* of the central record */
	uint32_t attributes;
};

struct zip_maker {
	struct str bytes; /* the file so far; all of it after zip_maker_end */
	struct str directory;
	uint64_t n;
	size_t base;			   /* what offsets count from */
	size_t headers[ZIPS_MOST]; /* where local headers are in bytes */
	size_t records[ZIPS_MOST]; /* where central records are in directory; in bytes after zip_maker_end */
	size_t end;				   /* where the end record is */
	uint64_t hole;			   /* bytes that lie before `bytes` in the file, in a zip that is written sparse */
};

/* `before` bytes of something else come first; `counted`: offsets count from the start of the file all the same. */
void zip_maker_begin(struct zip_maker *maker, size_t before, bool counted);
void zip_maker_add(struct zip_maker *maker, const struct zip_entry *entry);
/* A stored or compressed text. */
void zip_maker_text(struct zip_maker *maker, const char *name, const char *text, unsigned method);
void zip_maker_end(struct zip_maker *maker, bool zip64, const void *comment, size_t comment_size);
void zip_maker_finish(struct zip_maker *maker);

/* Writes the bytes over a file, or puts another file in its place (by rename). */
void zip_maker_write(const struct zip_maker *maker, const char *path);
void zip_maker_replace(const struct zip_maker *maker, const char *path);

#endif
