/*
 * test_slow_store.c: a real mount of a store that cannot list, and whose every value takes five seconds.
 *
 *     here: readers, statx, look-ups  ->  kernel  ->  child: mount_run over a mem store with a delay
 *
 * What is promised while a hundred readers wait: statx(AT_STATX_FORCE_SYNC) and the first look-ups of names that nobody
 * has asked for answer within 10 ms each; every reader gets its bytes, or ETIMEDOUT soon after --timeout. Prints a line for
 * each promise; exits 1 when one is broken. tests/mount/test_programs.py runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "fuse/mount.h"
#include "pool/request.h"
#include "store/mem.h"

enum {
	READERS = 100,
	CALLS = 200,
	BATCHES = 3, /* of calls; the machine does other things too: one batch must keep the promise */
	CHUNK = 4096,
	DELAY_MS = 2500, /* of the open, and of the read */
	CALL_MS = 10,
};

static const uint64_t second = UINT64_C(1000000000);
static bool broken;

static void promise(bool kept, const char *fmt, ...) printf_like(2, 3);
static void promise(bool kept, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	printf("%s: ", kept ? "kept" : "BROKEN");
	vprintf(fmt, args);
	printf("\n");
	fflush(stdout);
	va_end(args);
	broken |= !kept;
}

static void give_up(const char *what)
{
	printf("BROKEN: %s: %s\n", what, strerror(errno));
	exit(EXIT_FAILURE);
}

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

/* ------------------------------------------------ the child: a slow mount ------------------------------------------------ */

/* Arrays r0 ... that are read, and n0 ... that are only looked up; the root's document has all of theirs inside. */
static struct store *make_store(void)
{
	static const char array[] =
		"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4096],\"data_type\":\"uint8\",\"chunk_grid\":{\"name\":"
		"\"regular\",\"configuration\":{\"chunk_shape\":[4096]}},\"chunk_key_encoding\":{\"name\":\"default\"},"
		"\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}]}";
	struct store *store = NULL;
	autostr(document);
	str_append(&document, "{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","
						  "\"must_understand\":false,\"metadata\":{");
	for (int i = 0; i < READERS; i++)
		str_appendf(&document, "\"r%d\":%s,", i, array);
	for (int i = 0; i < BATCHES * CALLS; i++)
		str_appendf(&document, "%s\"n%d\":%s", i ? "," : "", i, array);
	str_append(&document, "}}}");
	int rc = mem_store_new("slow", false, &store);
	if (!rc)
		rc = mem_store_put(store, "zarr.json", document.text, document.size);
	for (int i = 0; i < READERS && !rc; i++) {
		char key[32];
		uint8_t bytes[CHUNK];
		snprintf(key, sizeof(key), "r%d/c/0", i);
		memset(bytes, i + 1, sizeof(bytes));
		rc = mem_store_put(store, key, bytes, sizeof(bytes));
	}
	if (rc) {
		fprintf(stderr, "%s\n", err_message());
		_exit(1);
	}
	return store;
}

/* A byte from the parent: the mount is there, so from now on every value is slow. A byte back: it is. */
struct switch_args {
	struct store *store;
	int fd[2];
};

static void *become_slow(void *arg)
{
	struct switch_args *args = arg;
	const struct mem_fault slow = {.key_part = "", .delay_ms = DELAY_MS};
	char byte = 0;
	if (read(args->fd[0], &byte, 1) != 1 || mem_store_set_faults(args->store, &slow, 1) ||
		write(args->fd[1], &byte, 1) != 1)
		_exit(1);
	return NULL;
}

static void serve(const char *mountpoint, uint64_t timeout_ns, int in, int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct switch_args args = {.store = make_store(), .fd = {in, out}};
	struct mount_options options = {
		.fs = {.store = args.store, .cache_bytes = 64 << 20, .decode_threads = 1, .timeout_ns = timeout_ns},
		.mountpoint = mountpoint,
		.foreground = true,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
	};
	/* signals are mount_run's */
	sigset_t all, old;
	pthread_t thread;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, become_slow, &args) || pthread_detach(thread))
		_exit(1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	int rc = mount_run(&options);
	if (rc)
		fprintf(stderr, "mount_run: %d %s\n", rc, err_message());
	_exit(rc ? 1 : 0);
}

/* ------------------------------------------------ here: a mount and its readers ------------------------------------------------ */

struct session {
	char mountpoint[32];
	pid_t child;
};

static bool is_mounted(const char *path)
{
	struct stat here, above;
	return !lstat(path, &here) && !lstat("/tmp", &above) && here.st_dev != above.st_dev;
}

static void start(struct session *session, uint64_t timeout_ns)
{
	int to[2], from[2];
	char byte = 1;
	strcpy(session->mountpoint, "/tmp/zarrfs-slow-XXXXXX");
	if (!mkdtemp(session->mountpoint) || pipe(to) || pipe(from))
		give_up("a mount point");
	session->child = fork();
	if (session->child < 0)
		give_up("fork");
	if (!session->child)
		serve(session->mountpoint, timeout_ns, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	for (int i = 0; i < 300 && !is_mounted(session->mountpoint); i++)
		sleep_ms(20);
	if (!is_mounted(session->mountpoint) || write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
		give_up("the mount");
	close(to[1]);
	close(from[0]);
}

static void end(struct session *session)
{
	int status = -1;
	bool ended = !mount_end(session->mountpoint, true) && waitpid(session->child, &status, 0) == session->child;
	promise(ended && !status, "the mount ends (status %d)", status);
	rmdir(session->mountpoint);
}

struct reader {
	pthread_t thread;
	const char *mountpoint;
	int i;
	ssize_t got;
	uint64_t took_ns;
	uint8_t bytes[CHUNK];
};
static struct reader readers[READERS];
static atomic_int opened, done;

static void *read_file(void *arg)
{
	struct reader *reader = arg;
	char path[64];
	snprintf(path, sizeof(path), "%s/r%d.raw", reader->mountpoint, reader->i);
	int fd = open(path, O_RDONLY);
	atomic_fetch_add(&opened, 1);
	uint64_t began = monotonic_ns();
	reader->got = fd < 0 ? -errno : pread(fd, reader->bytes, CHUNK, 0);
	if (fd >= 0 && reader->got < 0)
		reader->got = -errno;
	reader->took_ns = monotonic_ns() - began;
	atomic_fetch_add(&done, 1);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static void start_readers(const struct session *session)
{
	atomic_store(&opened, 0);
	atomic_store(&done, 0);
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.mountpoint = session->mountpoint, .i = i};
		if (pthread_create(&readers[i].thread, NULL, read_file, &readers[i]))
			give_up("a thread");
	}
	while (atomic_load(&opened) < READERS)
		sleep_ms(1);
}

/* The longest of many calls, in milliseconds; negative when one failed. */
static double longest(const struct session *session, const char *format, int first, int modulo, int flags)
{
	double most = 0;
	for (int i = 0; i < CALLS; i++) {
		char name[32], path[64];
		struct statx found;
		snprintf(name, sizeof(name), format, (first + i) % modulo);
		snprintf(path, sizeof(path), "%s/%s", session->mountpoint, name);
		uint64_t began = monotonic_ns();
		if (statx(AT_FDCWD, path, flags, STATX_SIZE, &found) || found.stx_size < CHUNK) {
			printf("%s: %s\n", path, strerror(errno));
			return -1;
		}
		most = MAX(most, (double)(monotonic_ns() - began) / 1e6);
	}
	return most;
}

static void check_metadata(const struct session *session, const char *suffix, const char *when)
{
	double stats[BATCHES], names[BATCHES];
	int batch = 0, best_stat = 0, best_name = 0;
	char format[16];
	snprintf(format, sizeof(format), "n%%d.%s", suffix);
	for (; batch < BATCHES; batch++) {
		stats[batch] = longest(session, "r%d.raw", 0, READERS, AT_STATX_FORCE_SYNC);
		names[batch] = longest(session, format, batch * CALLS, BATCHES * CALLS, 0);
		best_stat = stats[batch] >= 0 && stats[batch] < stats[best_stat] ? batch : best_stat;
		best_name = names[batch] >= 0 && names[batch] < names[best_name] ? batch : best_name;
		if (stats[batch] < 0 || names[batch] < 0 || (stats[best_stat] <= CALL_MS && names[best_name] <= CALL_MS))
			break;
	}
	bool failed = batch < BATCHES && (stats[batch] < 0 || names[batch] < 0);
	promise(!failed && stats[best_stat] <= CALL_MS, "%s, the longest of %d statx took %.2f ms (batch %d)", when, CALLS,
			stats[best_stat], best_stat + 1);
	promise(!failed && names[best_name] <= CALL_MS, "%s, the longest of %d first look-ups took %.2f ms (batch %d)",
			when, CALLS, names[best_name], best_name + 1);
}

static void patient(void)
{
	struct session session;
	start(&session, 60 * second);
	start_readers(&session);
	sleep_ms(100);
	check_metadata(&session, "npy", "while readers wait");
	int waiting = READERS - atomic_load(&done);
	promise(waiting == READERS, "%d of %d readers wait meanwhile", waiting, READERS);
	int right = 0;
	uint64_t longest_ns = 0;
	for (int i = 0; i < READERS; i++) {
		uint8_t wanted[CHUNK];
		pthread_join(readers[i].thread, NULL);
		memset(wanted, i + 1, sizeof(wanted));
		right += readers[i].got == CHUNK && !memcmp(readers[i].bytes, wanted, CHUNK);
		longest_ns = MAX(longest_ns, readers[i].took_ns);
	}
	promise(right == READERS, "%d of %d readers got their bytes, the last after %.1f s", right, READERS,
			(double)longest_ns / 1e9);
	end(&session);
}

static void impatient(void)
{
	struct session session;
	start(&session, second);
	start_readers(&session);
	int timed_out = 0;
	uint64_t longest_ns = 0;
	for (int i = 0; i < READERS; i++) {
		pthread_join(readers[i].thread, NULL);
		timed_out += readers[i].got == -ETIMEDOUT;
		longest_ns = MAX(longest_ns, readers[i].took_ns);
	}
	promise(timed_out == READERS, "with --timeout 1, %d of %d readers got ETIMEDOUT", timed_out, READERS);
	promise(longest_ns <= 2 * second, "the last of them after %.2f s", (double)longest_ns / 1e9);
	check_metadata(&session, "raw", "after time-outs");
	end(&session);
}

int main(void)
{
	patient();
	impatient();
	return broken ? EXIT_FAILURE : EXIT_SUCCESS;
}
