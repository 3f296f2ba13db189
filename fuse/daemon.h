/*
 * daemon.h: going to the background, with the outcome of the start told to the parent.
 */
#ifndef ZARRFS_DAEMON_H
#define ZARRFS_DAEMON_H

#include <stdbool.h>

/*
 * Forks. In the child: 0, and *ret_fd takes the outcome. In the parent: waits for it; 1 when the child serves, else the child's
 * negative errno with its message. Must be called before any thread is started.
 */
int daemon_start(int *ret_fd);

/* The child's outcome: rc 0, or a negative errno with this thread's message. Closes fd. */
void daemon_report(int fd, int rc);

/* Sends log lines to the end of `log_file`. Before the outcome is reported, so that the parent learns of a failure. */
int daemon_open_log(const char *log_file);

/* Leaves the caller's terminal and directory: standard streams to /dev/null; the log, unless it has a file, to syslog. */
void daemon_detach(bool has_log);

#endif
