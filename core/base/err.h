/*
 * err.h: a message beside the errno.
 *
 * A function that fails returns a negative errno and leaves one line of text for its caller, per thread. The core never
 * prints; the edge (fuse/, tools/) logs once. The text does not repeat what the caller knows: each layer prefixes its
 * own part, so that the whole reads "temp/zarr.json: codecs[1]: unknown codec "jpegxl"".
 */
#ifndef ZARRFS_ERR_H
#define ZARRFS_ERR_H

#include "base/base.h"

#define ERR_TEXT_BYTES 512

struct err_text {
	char text[ERR_TEXT_BYTES];
};

/* Sets this thread's message and returns -errnum (errnum > 0), for `return err_set(EIO, ...)`. Long text is cut. */
int err_set(int errnum, const char *fmt, ...) printf_like(2, 3);

/* Sets the message to "prefix: old message" and returns rc unchanged. */
int err_prefix(int rc, const char *fmt, ...) printf_like(2, 3);

/* This thread's message: that of the last err_set; "" when none. Valid until the next err_ call of this thread. */
const char *err_message(void);

/* A message travels to another thread: save it there, restore it here. */
void err_save(struct err_text *ret_text);
void err_restore(const struct err_text *text);

#endif
