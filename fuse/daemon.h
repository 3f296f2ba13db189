/*
 * daemon.h: going to the background, with the outcome of the start told to the parent.
 */
#ifndef ZARRFS_DAEMON_H
#define ZARRFS_DAEMON_H

/*
 * Forks. In the child: 0, and *ret_fd takes the outcome. In the parent: waits for it; 1 when the child serves, else the child's
 * negative errno with its message. Must be called before any thread is started.
 */
int daemon_start(int *ret_fd);

/* The child's outcome: rc 0, or a negative errno with this thread's message. Closes fd. */
void daemon_report(int fd, int rc);

/* Leaves the caller's terminal: standard streams to /dev/null, the log to `log_file` or, when NULL, to syslog. */
int daemon_detach(const char *log_file);

#endif
