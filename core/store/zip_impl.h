/*
 * zip_impl.h: what the files of the zip store share. Section numbers are those of PKWARE's APPNOTE 6.3.
 *
 *     zip.c            the store: the file, the values, listings
 *     zip_directory.c  the central directory as a sorted table of members
 *     zip_end.c        where the central directory is: the end records, data before the zip
 *     zip_name.c       a member's name as a key
 *     zip_member.c     a member's data: local header, decompression, CRC-32
 *
 *     [data before] { local header, data, [descriptor] } ... { central header } ... [zip64 end, locator] end, comment
 *
 * Nothing that a zip says is believed before it was checked against the file; sizes are those of the central directory.
 */
#ifndef ZARRFS_ZIP_IMPL_H
#define ZARRFS_ZIP_IMPL_H

#include "base/str.h"
#include "store/key_table.h"
#include "store/local.h"
#include "store/store_impl.h"

/* ---------------------------------------------------------------- zip_end.c */

struct zip_end {
	uint64_t start, size; /* of the central directory in the file */
	uint64_t before;	  /* bytes before the zip: to be added to the offsets that it gives */
	uint64_t members;	  /* as it says; of a number of 16 bits, the rest modulo 2^16 */
	bool is_short;		  /* a number of 16 bits */
};

/* Whether an end record closes the file. Reads at most 64 KiB; a file that cannot be read is none. */
bool zip_file_has_end(int fd, uint64_t size);

/* EIO: no zip, or a damaged one. ENOTSUP: one of several volumes. */
int zip_find_end(struct local_file *file, struct zip_end *ret_end);

/* ---------------------------------------------------------------- zip_directory.c */

enum zip_method { ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_ZSTD_OLD = 20, ZIP_ZSTD = 93 };

/* One member. A directory's name ends with a slash. */
struct zip_member {
	uint64_t header; /* its local header in the file */
	uint64_t end;	 /* the next member's header or the central directory: its data end before */
	uint64_t stored; /* bytes in the file */
	uint64_t size;	 /* bytes of the value */
	uint32_t crc;
	uint32_t name;	   /* where in names */
	uint32_t raw_crc;  /* of the name's bytes as they are in the zip, which the local header repeats */
	uint16_t raw_size; /* bytes of it */
	uint16_t method;
	uint16_t flags;
	bool is_link; /* its data are a symbolic link's target */
};

struct zip_directory {
	struct zip_member *members; /* sorted by name, each name once */
	size_t n;
	char *names;   /* each ended by NUL */
	uint32_t root; /* bytes of the one top folder with its slash, which every name begins with; 0: none */
	bool recodes;  /* some member is compressed */
};

/* Reads the directory. `url` is for the log. EIO: damaged; EFBIG: over LIMIT_ZIP_DIRECTORY_BYTES; ENOTSUP; ENOMEM. */
int zip_directory_read(struct local_file *file, const char *url, struct zip_directory *ret_directory);
void zip_directory_finish(struct zip_directory *directory);

/* A member's key: its name without the top folder. */
const char *zip_member_key(const struct zip_directory *directory, const struct zip_member *member);

/* The members' keys, by their place in the table. */
struct key_table zip_directory_keys(const struct zip_directory *directory);

/* ---------------------------------------------------------------- zip_name.c */

/* The local and central headers' flags (4.4.4). */
#define ZIP_FLAG_ENCRYPTED (1u << 0)
#define ZIP_FLAG_DESCRIPTOR (1u << 3)
#define ZIP_FLAG_UTF8 (1u << 11)

/* Finds an extra field (4.5.1) of this id; NULL when it is not there or the list is broken before it. */
const uint8_t *zip_extra_find(const uint8_t *extra, size_t size, uint16_t id, size_t *ret_size);

/* Appends a member's name in UTF-8 (or as it is, when it says that it is UTF-8 and is not). */
void zip_name_append(struct str *str, const uint8_t *raw, size_t size, unsigned flags, const uint8_t *extra,
					 size_t extra_size);

/* ---------------------------------------------------------------- zip_member.c */

/* Checks what can be known of a member without its data, and finds these. EIO, ENOTSUP, ESTALE, EAGAIN. */
int zip_member_locate(struct local_file *file, const struct zip_member *member, const char *name, enum store_how how,
					  uint64_t *ret_data);

/* Reads the whole value into dst (member->size bytes) and checks its CRC-32. */
int zip_member_read(struct local_file *file, const struct zip_member *member, uint64_t data, const char *name,
					enum store_how how, void *dst);

#endif
