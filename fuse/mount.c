/*
 * mount.c: from options to a served mount, and its orderly end.
 *
 * The end: SIGTERM or SIGINT detaches the mount at once; open files are served for up to two seconds; then the loop is told to
 * exit, by flag and by a signal to its thread (fuse_session_exit alone only sets a flag). A second signal ends at once.
 */
#include "fuse/mount.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fs/machine.h"
#include "fuse/daemon.h"
#include "fuse/ops.h"
#include "fuse/unmount.h"

#define GRACE_S 2
#define WAKE_SIGNAL SIGUSR1
#define MIN_FUSE_THREADS 2
#define MAX_FUSE_THREADS 8

struct mount {
	const struct mount_options *options;
	char *path; /* real path of the mount point */
	struct mount_context context;
	struct fuse_session *session;
	int report_fd; /* of the background process; -1 */
	pthread_t loop_thread, signal_thread;
	atomic_bool ended;
};

const char *mount_fuse_version(void)
{
	return fuse_pkgversion();
}

/* Each cached index keeps a descriptor open, and so does each fetch. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static void ignore_signal(int number)
{
	(void)number;
}

static void end_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGHUP);
}

/* Before any thread starts: the ending signals go to the thread that waits for them, and one wakes the loop. */
static void block_signals(void)
{
	sigset_t set;
	end_signals(&set);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	struct sigaction action = {.sa_handler = ignore_signal};
	sigaction(WAKE_SIGNAL, &action, NULL);
}

/* An unprivileged mount's queue is capped silently (max_user_bgreq): then fewer reads may wait for a dead store. */
static void log_granted_background(const char *path)
{
	char name[64], text[16] = "";
	snprintf(name, sizeof(name), "/sys/fs/fuse/connections/%d/max_background", mountpoint_connection(path));
	FILE *file = fopen(name, "re");
	if (file && fgets(text, sizeof(text), file)) {
		int granted = atoi(text);
		log_line(granted < MAX_BACKGROUND ? LOG_LEVEL_WARN : LOG_LEVEL_INFO, "mount",
				 "max_background: %d granted of %d", granted, MAX_BACKGROUND);
	}
	if (file)
		fclose(file);
}

static void *signal_main(void *arg)
{
	struct mount *mount = arg;
	const struct timespec settled = {.tv_sec = 1};
	sigset_t set;
	end_signals(&set);
	int number = sigtimedwait(&set, NULL, &settled);
	if (number < 0) {
		log_granted_background(mount->path);
		sigwait(&set, &number);
	}
	if (atomic_load(&mount->ended))
		return NULL;
	if (mount_end(mount->path, true))
		log_line(LOG_LEVEL_ERROR, "mount", "%s", err_message());
	struct timespec grace = {.tv_sec = GRACE_S};
	/* a second signal, or the end of the grace: the loop may have ended by itself meanwhile */
	sigtimedwait(&set, NULL, &grace);
	while (!atomic_load(&mount->ended)) {
		fuse_session_exit(mount->session);
		pthread_kill(mount->loop_thread, WAKE_SIGNAL);
		usleep(10000);
	}
	return NULL;
}

/* The kernel's options. Commas and backslashes in the store's name are escaped, as libfuse has it. */
static int make_args(const struct mount_options *options, struct fuse_args *args)
{
	autostr(list);
	str_append(&list, "-oro,nosuid,nodev,default_permissions,subtype=zarrfs,fsname=");
	for (const char *c = options->fs.url ? options->fs.url : "zarrfs"; *c; c++)
		str_appendf(&list, "%s%c", *c == ',' || *c == '\\' ? "\\" : "", *c);
	if (options->allow_other)
		str_append(&list, ",allow_other");
	if (options->fuse_options && *options->fuse_options)
		str_appendf(&list, ",%s", options->fuse_options);
	int rc = list.failed || fuse_opt_add_arg(args, "zarrfs") || fuse_opt_add_arg(args, list.text) ||
			 (options->debug && fuse_opt_add_arg(args, "-d"));
	return rc ? err_set(ENOMEM, "no memory for mount options") : 0;
}

/* libfuse ends the session unless init asks for what the option max_read=N says; 0: it is not given. */
static unsigned find_max_read(const char *fuse_options)
{
	static const char name[] = "max_read=";
	const char *at = fuse_options;
	while (at && *at && strncmp(at, name, strlen(name)) != 0) {
		at = strchr(at, ',');
		at += at != NULL;
	}
	return at && *at ? (unsigned)strtoul(at + strlen(name), NULL, 10) : 0;
}

/* libfuse prints its own reason on standard error; the frequent causes are named here too. */
static int mount_failed(const char *path)
{
	if (access("/dev/fuse", R_OK | W_OK))
		return err_set(errno == ENOENT ? ENODEV : errno, "/dev/fuse: %s (root can run: chmod 0666 /dev/fuse)",
					   strerror(errno));
	return err_set(EPERM,
				   "%s: the kernel or fusermount3 refused the mount (is allow_other given without "
				   "user_allow_other in /etc/fuse.conf? may you write to the directory?)",
				   path);
}

static int open_session(struct mount *mount)
{
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	int rc = make_args(mount->options, &args);
	if (!rc) {
		mount->session = fuse_session_new(&args, &zarrfs_ops, sizeof(zarrfs_ops), &mount->context);
		if (!mount->session)
			rc = err_set(EINVAL, "libfuse refused the mount options");
	}
	fuse_opt_free_args(&args);
	if (!rc && fuse_session_mount(mount->session, mount->path))
		rc = mount_failed(mount->path);
	return rc;
}

/* The kernel's first request has come: the mount answers. */
static void report_ready(void *arg)
{
	struct mount *mount = arg;
	if (mount->report_fd < 0)
		return;
	daemon_report(mount->report_fd, 0);
	mount->report_fd = -1;
	daemon_detach(mount->options->log_file);
}

static int serve(struct mount *mount)
{
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	if (!config)
		return err_set(ENOMEM, "no memory for the FUSE loop");
	int threads = machine_cpus();
	threads = MAX(MIN(threads, MAX_FUSE_THREADS), MIN_FUSE_THREADS);
	fuse_loop_cfg_set_max_threads(config, (unsigned)threads);
	fuse_loop_cfg_set_idle_threads(config, (unsigned)threads);
	mount->loop_thread = pthread_self();
	int rc = pthread_create(&mount->signal_thread, NULL, signal_main, mount);
	if (rc) {
		fuse_loop_cfg_destroy(config);
		return err_set(rc, "cannot start a thread");
	}
	rc = fuse_session_loop_mt(mount->session, config);
	fuse_loop_cfg_destroy(config);

	atomic_store(&mount->ended, true);
	pthread_kill(mount->signal_thread, SIGTERM);
	pthread_join(mount->signal_thread, NULL);
	return rc < 0 && rc != -EINTR ? err_set(-rc, "the FUSE loop failed: %s", strerror(-rc)) : 0;
}

/* Requests that are still loading get the grace; a dead disk does not keep the process. */
static void drain(struct mount *mount)
{
	for (int i = 0; i < GRACE_S * 100 && atomic_load(&mount->context.open_requests); i++)
		usleep(10000);
	if (atomic_load(&mount->context.open_requests) || pool_stuck(fs_pool(mount->context.fs)))
		_exit(EXIT_SUCCESS);
}

static int start(struct mount *mount)
{
	const struct mount_options *options = mount->options;
	int rc = options->log_file ? daemon_open_log(options->log_file) : 0;
	if (rc)
		return rc;
	rc = fs_open(&options->fs, &mount->context.fs);
	if (rc)
		return options->fs.url ? err_prefix(rc, "%s", options->fs.url) : rc;
	mount->context.uid = options->uid == (uid_t)-1 ? getuid() : options->uid;
	mount->context.gid = options->gid == (gid_t)-1 ? getgid() : options->gid;
	mount->context.umask = options->umask;
	mount->context.max_read = find_max_read(options->fuse_options);
	mount->context.ready = report_ready;
	mount->context.ready_arg = mount;
	return open_session(mount);
}

/*
 * Frees what fuse_session_mount made. fuse_session_unmount would also unmount the path, which may be another's mount by now;
 * it does not when the connection has ended, as POLLERR tells.
 */
static void end_session(struct fuse_session *session)
{
	if (!session)
		return;
	struct pollfd device = {.fd = fuse_session_fd(session)};
	if (device.fd >= 0 && poll(&device, 1, 0) == 1 && (device.revents & POLLERR))
		fuse_session_unmount(session);
	fuse_session_destroy(session);
}

static int run(struct mount *mount)
{
	raise_descriptor_limit();
	block_signals();
	int rc = start(mount);
	if (!rc) {
		rc = serve(mount);
		drain(mount);
	}
	struct err_text message;
	err_save(&message);
	fs_close(mount->context.fs);
	end_session(mount->session);
	err_restore(&message);
	if (mount->report_fd >= 0)
		daemon_report(mount->report_fd, rc ? rc : err_set(EIO, "the mount ended before it was there"));
	return rc;
}

int mount_run(const struct mount_options *options)
{
	struct mount mount = {.options = options, .report_fd = -1};
	int rc = mountpoint_prepare(options->mountpoint, options->fs.store ? NULL : options->fs.url, &mount.path);
	if (rc)
		return rc;
	if (!options->foreground && !options->debug)
		rc = daemon_start(&mount.report_fd);
	if (!rc)
		rc = run(&mount);
	free(mount.path);
	return MIN(rc, 0);
}
