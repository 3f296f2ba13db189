/*
 * file.h: an open file, for the files of fs/.
 */
#ifndef ZARRFS_FILE_H
#define ZARRFS_FILE_H

#include "fs/fs.h"

/* The one being taken, the next, and one for requests that come late. */
#define FS_BANDS 3

struct band;

/* What band.c knows of a file's reader. */
struct bands {
	pthread_mutex_t lock;
	uint64_t next;		 /* offset behind the last read */
	uint64_t sequential; /* bytes that were read in a row up to there */
	uint64_t grown;		 /* size of the last band; 0: none yet */
	uint64_t used_ns;	 /* time of the last read */
	struct band *slots[FS_BANDS];
};

struct fs_file {
	atomic_int refs;
	struct view *view; /* or, for the counters: */
	char *text;
	uint64_t size; /* bytes */
	struct readahead *readahead;
	struct bands bands;
	struct fs *fs;
	struct fs_file *prev, *next;
};

/* Waits with a request for a band that is being put together and has all of it; false when there is none. */
bool bands_join(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst, struct request *request);

/* Gives up what is put together; nothing may be under way. */
void bands_finish(struct bands *bands, struct fs *fs);

#endif
