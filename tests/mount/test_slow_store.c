/*
 * test_slow_store.c: a real mount of a store that takes five seconds for each value. While a hundred readers wait for it,
 * statx and the first look-ups of names that nobody asked for before answer at once; and every reader gets its bytes.
 *
 *     parent: readers, statx, look-ups  ->  kernel  ->  child: mount_run over a mem store with a delay
 *
 * tests/mount/test_programs.py runs it.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "fuse/mount.h"
#include "pool/request.h"
#include "store/mem.h"

enum { READERS = 100, CHUNK = 4096, DELAY_MS = 5000, ARRAYS = 20 };

#define ARRAY_DOCUMENT                                                                                                 \
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[100,4096],\"data_type\":\"uint8\","                         \
	"\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[1,4096]}},"                              \
	"\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":0,\"codecs\":[{\"name\":\"bytes\"}],\"attributes\":" \
	"{}}"

/* The root's document has all others inside, as the store cannot list. */
static struct store *make_store(void)
{
	struct store *store = NULL;
	if (mem_store_new("slow", false, &store))
		return NULL;
	char document[ARRAYS * 600];
	size_t n =
		(size_t)snprintf(document, sizeof(document),
						 "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{},\"consolidated_metadata\":"
						 "{\"kind\":\"inline\",\"must_understand\":false,\"metadata\":{");
	for (int i = 0; i < ARRAYS; i++)
		n += (size_t)snprintf(document + n, sizeof(document) - n, "%s\"a%d\":" ARRAY_DOCUMENT, i ? "," : "", i);
	n += (size_t)snprintf(document + n, sizeof(document) - n, "}}}");
	int rc = mem_store_put(store, "zarr.json", document, n);
	for (int i = 0; i < READERS && !rc; i++) {
		char key[32];
		uint8_t bytes[CHUNK];
		snprintf(key, sizeof(key), "a0/c/%d/0", i);
		memset(bytes, i + 1, sizeof(bytes));
		rc = mem_store_put(store, key, bytes, sizeof(bytes));
	}
	/* Every value: documents too, but the root's is read before anybody waits. */
	const struct mem_fault slow = {.key_part = "", .delay_ms = DELAY_MS};
	return rc || mem_store_set_faults(store, &slow, 1) ? NULL : store;
}

static void serve(const char *mountpoint)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	struct mount_options options = {
		.fs = {.store = make_store(),
			   .cache_bytes = 64 << 20,
			   .decode_threads = 1,
			   .timeout_ns = UINT64_C(60000000000)},
		.mountpoint = mountpoint,
		.foreground = true,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
	};
	int rc = options.fs.store ? mount_run(&options) : -ENOMEM;
	if (rc)
		fprintf(stderr, "mount_run: %d %s\n", rc, err_message());
	_exit(rc ? 1 : 0);
}

static bool is_mounted(const char *path)
{
	struct stat here, above;
	char parent[300];
	snprintf(parent, sizeof(parent), "%s/..", path);
	return lstat(path, &here) == 0 && lstat(parent, &above) == 0 && here.st_dev != above.st_dev;
}

static void sleep_ms(int ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

struct reader {
	const char *path;
	int row;
	atomic_int *ready;
	ssize_t got;
	uint8_t bytes[CHUNK];
};

static void *read_row(void *arg)
{
	struct reader *reader = arg;
	int fd = open(reader->path, O_RDONLY);
	atomic_fetch_add(reader->ready, 1);
	reader->got = fd < 0 ? -errno : pread(fd, reader->bytes, CHUNK, (off_t)reader->row * CHUNK);
	if (fd >= 0)
		close(fd);
	return NULL;
}

static double ms_of(const char *path, int flags)
{
	uint64_t began = monotonic_ns();
	struct statx found;
	ck_assert_msg(statx(AT_FDCWD, path, flags, STATX_SIZE, &found) == 0, "%s: %s", path, strerror(errno));
	return (double)(monotonic_ns() - began) / 1e6;
}

/* All but one in ten within 10 ms (the machine does other things too), and none near the store's delay. */
static void check_times(const char *what, const double *ms, int n)
{
	int late = 0;
	for (int i = 0; i < n; i++) {
		ck_assert_msg(ms[i] < 1000, "%s: %.1f ms", what, ms[i]);
		late += ms[i] > 10;
	}
	ck_assert_msg(late <= n / 10, "%s: %d of %d took more than 10 ms", what, late, n);
}

START_TEST(metadata_answers_at_once_while_a_hundred_readers_wait)
{
	char mountpoint[] = "/tmp/zarrfs-slow-XXXXXX", path[64];
	ck_assert_ptr_nonnull(mkdtemp(mountpoint));
	pid_t child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		serve(mountpoint);
	for (int i = 0; i < 300 && !is_mounted(mountpoint); i++)
		sleep_ms(100);
	ck_assert(is_mounted(mountpoint));

	snprintf(path, sizeof(path), "%s/a0.raw", mountpoint);
	ck_assert_double_gt(ms_of(path, 0), 0);
	static struct reader readers[READERS];
	pthread_t threads[READERS];
	atomic_int ready = 0;
	for (int i = 0; i < READERS; i++) {
		readers[i] = (struct reader){.path = path, .row = i, .ready = &ready};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, read_row, &readers[i]), 0);
	}
	while (atomic_load(&ready) < READERS)
		sleep_ms(10);
	sleep_ms(200);

	double stats[ARRAYS], lookups[ARRAYS];
	char untouched[64];
	for (int i = 0; i < ARRAYS; i++)
		stats[i] = ms_of(path, AT_STATX_FORCE_SYNC);
	for (int i = 0; i < ARRAYS; i++) {
		snprintf(untouched, sizeof(untouched), "%s/a%d.npy", mountpoint, i);
		lookups[i] = ms_of(untouched, 0);
	}
	int waiting = 0;
	for (int i = 0; i < READERS; i++)
		waiting += pthread_tryjoin_np(threads[i], NULL) == EBUSY;
	ck_assert_int_eq(waiting, READERS);
	check_times("statx", stats, ARRAYS);
	check_times("the first look-up", lookups, ARRAYS);

	for (int i = 0; i < READERS; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_msg(readers[i].got == CHUNK, "row %d: %zd", i, readers[i].got);
		for (int k = 0; k < CHUNK; k++)
			ck_assert_int_eq(readers[i].bytes[k], i + 1);
	}
	ck_assert_int_eq(mount_end(mountpoint, false), 0);
	int status = -1;
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	rmdir(mountpoint);
}
END_TEST

static Suite *slow_store_suite(void)
{
	Suite *suite = suite_create("slow store");
	TCase *tcase = tcase_create("mount");
	tcase_add_test(tcase, metadata_answers_at_once_while_a_hundred_readers_wait);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(slow_store_suite)
