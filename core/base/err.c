/*
 * err.c: the message of the last failure, one a thread.
 *
 * Text is formatted beside the slot and copied over, because an argument may be the old message itself.
 */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct err_text err_current;

int err_set(int errnum, const char *fmt, ...)
{
	int saved_errno = errno;
	struct err_text next;
	va_list args;
	va_start(args, fmt);
	vsnprintf(next.text, sizeof(next.text), fmt, args);
	va_end(args);
	strcpy(err_current.text, next.text);
	errno = saved_errno;
	return -errnum;
}

int err_prefix(int rc, const char *fmt, ...)
{
	int saved_errno = errno;
	struct err_text next;
	va_list args;
	va_start(args, fmt);
	int printed = vsnprintf(next.text, sizeof(next.text), fmt, args);
	va_end(args);
	size_t used = printed < 0 ? 0 : MIN((size_t)printed, sizeof(next.text) - 1);
	const char *const rest[] = {": ", err_current.text};
	for (size_t i = 0; i < ARRAY_LEN(rest); i++) {
		size_t size = MIN(strlen(rest[i]), sizeof(next.text) - 1 - used);
		memcpy(next.text + used, rest[i], size);
		used += size;
	}
	next.text[used] = '\0';
	strcpy(err_current.text, next.text);
	errno = saved_errno;
	return rc;
}

const char *err_message(void)
{
	return err_current.text;
}

void err_save(struct err_text *ret_text)
{
	*ret_text = err_current;
}

void err_restore(const struct err_text *text)
{
	err_current = *text;
}
