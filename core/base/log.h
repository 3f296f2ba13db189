/*
 * log.h: one line an event, levels, a rate limit, a sink that can be set. Only the edges (fuse/, tools/) and the
 * owners of background work use it; names are escaped by the caller with str_append_escaped or here with %s of an
 * escaped string.
 *
 * Any thread. The sink is called with a lock held: it must not log.
 */
#ifndef ZARRFS_LOG_H
#define ZARRFS_LOG_H

#include <stdbool.h>

#include "base/base.h"

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Where lines go; NULL restores the default, standard error as "zarrfs: text\n". */
void log_set_sink(void (*sink)(enum log_level level, const char *line, void *arg), void *arg);

/* Lines less urgent than `level` are dropped; the default is LOG_LEVEL_WARN. */
void log_set_level(enum log_level level);

/* Control bytes in the finished line are written as \xNN, so a name from a store cannot forge a line. */
void log_line(enum log_level level, const char *category, const char *fmt, ...) printf_like(3, 4);

/*
 * The same, but at most one line for a (category, subject) each 10 seconds; the next one that passes says how many
 * were suppressed. `subject` is what the event is about, such as an array's path.
 */
void log_limited(enum log_level level, const char *category, const char *subject, const char *fmt, ...)
	printf_like(4, 5);

#endif
