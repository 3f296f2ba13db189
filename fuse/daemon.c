/*
 * daemon.c: a pipe carries the child's outcome, so that the parent returns only when the mount answers, with the child's
 * message when it does not.
 */
#include "fuse/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"

struct outcome {
	int rc;
	struct err_text message;
};

static int wait_for_child(int fd)
{
	struct outcome outcome;
	ssize_t n;
	do
		n = read(fd, &outcome, sizeof(outcome));
	while (n < 0 && errno == EINTR);
	close(fd);
	if (n != sizeof(outcome))
		return err_set(EIO, "the background process ended before the mount was there");
	if (!outcome.rc)
		return 1;
	err_restore(&outcome.message);
	return outcome.rc;
}

int daemon_start(int *ret_fd)
{
	int fds[2];
	if (pipe2(fds, O_CLOEXEC))
		return err_set(errno, "pipe: %s", strerror(errno));
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0) {
		int errnum = errno;
		close(fds[0]);
		close(fds[1]);
		return err_set(errnum, "fork: %s", strerror(errnum));
	}
	if (pid) {
		close(fds[1]);
		int rc = wait_for_child(fds[0]);
		if (rc < 0)
			waitpid(pid, NULL, 0);
		return rc;
	}
	close(fds[0]);
	setsid();
	*ret_fd = fds[1];
	return 0;
}

void daemon_report(int fd, int rc)
{
	struct outcome outcome = {.rc = rc};
	err_save(&outcome.message);
	ssize_t n;
	do
		n = write(fd, &outcome, sizeof(outcome));
	while (n < 0 && errno == EINTR);
	close(fd);
}

static void to_file(enum log_level level, const char *line, void *arg)
{
	(void)level;
	FILE *file = arg;
	fprintf(file, "%s\n", line);
	fflush(file);
}

static void to_syslog(enum log_level level, const char *line, void *arg)
{
	static const int priorities[] = {LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG};
	(void)arg;
	syslog(priorities[level], "%s", line);
}

int daemon_open_log(const char *log_file)
{
	FILE *file = fopen(log_file, "ae");
	if (!file)
		return err_set(errno == ENOENT ? EINVAL : errno, "%s: %s", log_file, strerror(errno));
	log_set_sink(to_file, file);
	return 0;
}

void daemon_detach(bool has_log)
{
	if (!has_log) {
		openlog("zarrfs", LOG_PID, LOG_DAEMON);
		log_set_sink(to_syslog, NULL);
	}
	/* the store and the mount point are open or absolute by now; their file systems stay free to be unmounted */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (chdir("/") || null < 0)
		return;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	if (null > 2)
		close(null);
}
