/*
 * test_dir.c: a directory as a store: links, things that are no files, files that change, and what a try may do on
 * which file system. What it shares with other stores is in contract/.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/un.h>

#include <linux/magic.h>

#include "../lib/check_main.h"
#include "../lib/scratch.h"

#include "base/base.h"
#include "base/err.h"
#include "store/store.h"

static char outer[PATH_MAX]; /* a directory that holds the store's, and a secret beside it */
static char root[PATH_MAX];
static struct store *store;

static void begin_at(const char *where)
{
	scratch_make(where, outer);
	snprintf(root, sizeof(root), "%.4000s/s.zarr", outer);
	ck_assert_int_eq(mkdir(root, 0755), 0);
	ck_assert(scratch_write(outer, "secret", "secret"));
	ck_assert_int_eq(mkdir(scratch_path(root, "d"), 0755), 0);
	ck_assert(scratch_write(root, "v", "0123456789") && scratch_write(root, "d/v", "inside"));
	ck_assert_msg(store_open(root, &store) == 0, "%s", err_message());
}

static void begin(void)
{
	begin_at(scratch_disk());
}

static void end(void)
{
	store_close(store);
	scratch_remove(outer);
}

static int open_it(const char *key)
{
	struct value *value;
	int rc = store_open_value(store, key, STORE_WAIT, &value);
	if (rc == 0)
		value_unref(value);
	return rc;
}

static bool reads_as(const char *key, const char *text)
{
	struct buf *buf;
	if (store_get(store, key, STORE_WAIT, 100, &buf, NULL) < 0)
		return false;
	bool same = buf->size == strlen(text) && memcmp(buf->data, text, buf->size) == 0;
	buf_unref(buf);
	return same;
}

/* A link "d/link" to `target`, and what opening `key` gives. */
static const struct {
	const char *target, *key;
	int rc;
	const char *text; /* the value, or part of the message */
} links[] = {
	{"v", "d/link", 0, "inside"},
	{"../v", "d/link", 0, "0123456789"},
	{"../d", "d/link/v", 0, "inside"},
	{"../d/../v", "d/link", 0, "0123456789"},
	{"../d", "d/link/no", -ENOENT, "no such key"},
	{"../d", "d/link", -ENOENT, "no such key"},
	{"v", "d/link/x", -ENOENT, "no such key"},
	{"../d", "d/link/link/link/v", 0, "inside"},
	{"no", "d/link", -EIO, "leads to nothing"},
	{"no", "d/link/x", -EIO, "leads to nothing"},
	{"../no/v", "d/link", -EIO, "leads to nothing"},
	{"../../secret", "d/link", -EIO, "leads out"},
	{"../..", "d/link/secret", -EIO, "leads out"},
	{"../../s.zarr/v", "d/link", -EIO, "leads out"},
	{"../../../../../../../../etc/passwd", "d/link", -EIO, "leads out"},
	{"/etc/passwd", "d/link", -EIO, "leads out"},
	{"/", "d/link/etc/passwd", -EIO, "leads out"},
	{"/proc/self/root", "d/link/etc/passwd", -EIO, "leads out"},
	{"link", "d/link", -EIO, "circle"},
	{"link/x", "d/link", -EIO, "circle"},
	{"link", "d/link/x", -EIO, "circle"},
};

START_TEST(a_link_is_followed_beneath_the_root_and_is_never_absent)
{
	begin();
	ck_assert_int_eq(symlink(links[_i].target, scratch_path(root, "d/link")), 0);
	struct value *value;
	int rc = store_open_value(store, links[_i].key, STORE_TRY, &value);
	ck_assert_msg(rc == links[_i].rc || rc == -EAGAIN, "try %s: %d", links[_i].target, rc);
	if (rc == 0)
		value_unref(value);
	rc = open_it(links[_i].key);
	ck_assert_msg(rc == links[_i].rc, "%s: %d, %s", links[_i].target, rc, err_message());
	if (rc)
		ck_assert_msg(strstr(err_message(), links[_i].text) != NULL, "%s", err_message());
	else
		ck_assert(reads_as(links[_i].key, links[_i].text));
	end();
}
END_TEST

START_TEST(the_root_itself_may_be_a_link_and_may_be_renamed)
{
	begin();
	char link[PATH_MAX];
	snprintf(link, sizeof(link), "%s", scratch_path(outer, "l.zarr"));
	ck_assert_int_eq(symlink("s.zarr", link), 0);
	struct store *linked;
	ck_assert_int_eq(store_open(link, &linked), 0);
	ck_assert_str_eq(store_base_name(linked), "l");
	char moved[PATH_MAX];
	snprintf(moved, sizeof(moved), "%s", scratch_path(outer, "moved"));
	ck_assert_int_eq(rename(root, moved), 0);
	ck_assert(reads_as("v", "0123456789"));
	struct value *value;
	ck_assert_int_eq(store_open_value(linked, "d/v", STORE_WAIT, &value), 0);
	value_unref(value);
	store_close(linked);
	end();
}
END_TEST

static atomic_int stop, leaks;

/* "x" is in turn a directory whose "secret" says "inside", and a link to where the secret is. */
static void *exchange(void *arg)
{
	char one[PATH_MAX], two[PATH_MAX];
	snprintf(one, sizeof(one), "%s", scratch_path(root, "x"));
	snprintf(two, sizeof(two), "%s", scratch_path(root, "y"));
	while (!stop)
		if (renameat2(AT_FDCWD, one, AT_FDCWD, two, RENAME_EXCHANGE) < 0)
			leaks++;
	return NULL;
}

START_TEST(a_link_swapped_in_during_the_walk_leads_nowhere_either)
{
	begin();
	ck_assert_int_eq(mkdir(scratch_path(root, "x"), 0755), 0);
	ck_assert(scratch_write(root, "x/secret", "inside"));
	ck_assert_int_eq(symlink("..", scratch_path(root, "y")), 0);
	stop = leaks = 0;
	pthread_t thread;
	ck_assert_int_eq(pthread_create(&thread, NULL, exchange, NULL), 0);
	int whole = 0, refused = 0;
	for (int i = 0; i < 3000 || ((!whole || !refused) && i < 300000); i++) {
		struct buf *buf;
		int rc = store_get(store, "x/secret", i % 2 ? STORE_TRY : STORE_WAIT, 100, &buf, NULL);
		refused += rc == -EIO;
		if (rc) {
			leaks += rc == -ENOENT;
			continue;
		}
		whole++;
		leaks += buf->size != 6 || memcmp(buf->data, "inside", 6) != 0;
		buf_unref(buf);
	}
	stop = 1;
	pthread_join(thread, NULL);
	ck_assert_int_eq(leaks, 0);
	ck_assert_int_gt(whole, 0);
	ck_assert_int_gt(refused, 0);
	end();
}
END_TEST

START_TEST(what_is_no_regular_file_is_EIO_at_once_and_a_directory_absent)
{
	begin();
	ck_assert_int_eq(mkfifo(scratch_path(root, "fifo"), 0644), 0);
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%.90s", scratch_path(root, "socket"));
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	static const char *const keys[] = {"fifo", "socket"};
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct value *value;
		ck_assert_int_eq(open_it(keys[i]), -EIO);
		ck_assert_ptr_nonnull(strstr(err_message(), "not a regular file"));
		int rc = store_open_value(store, keys[i], STORE_TRY, &value);
		ck_assert_msg(rc == -EIO || rc == -EAGAIN, "try %s: %d", keys[i], rc);
	}
	ck_assert_int_eq(open_it("d"), -ENOENT);
	ck_assert_int_eq(open_it("v/x"), -ENOENT);
	ck_assert_int_eq(open_it("fifo/x"), -ENOENT);
	end();
}
END_TEST

START_TEST(a_device_is_EIO)
{
	struct store *devices;
	ck_assert_int_eq(store_open("/dev", &devices), 0);
	struct value *value;
	ck_assert_int_eq(store_open_value(devices, "null", STORE_WAIT, &value), -EIO);
	ck_assert_int_eq(store_open_value(devices, "zero", STORE_WAIT, &value), -EIO);
	store_close(devices);
}
END_TEST

/* Root reads everything, so it looks as somebody else for a moment. */
START_TEST(what_we_may_not_read_is_EACCES)
{
	begin();
	ck_assert_int_eq(chmod(scratch_path(root, "v"), 0), 0);
	ck_assert_int_eq(chmod(scratch_path(root, "d"), 0), 0);
	bool is_root = geteuid() == 0;
	if (is_root)
		ck_assert_int_eq(seteuid(65534), 0);
	struct store_listing listing;
	int file = open_it("v"), beneath = open_it("d/v"), missing = open_it("d/no"),
		list = store_list(store, "d", &listing);
	struct store *shut = NULL;
	int shut_rc = store_open(scratch_path(root, "d/v"), &shut);
	if (is_root)
		ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chmod(scratch_path(root, "d"), 0755), 0);
	ck_assert_int_eq(file, -EACCES);
	ck_assert_int_eq(beneath, -EACCES);
	ck_assert_int_eq(missing, -EACCES);
	ck_assert_int_eq(list, -EACCES);
	ck_assert_int_eq(shut_rc, -EACCES);
	end();
}
END_TEST

START_TEST(no_descriptor_left_is_EMFILE_and_not_absent)
{
	begin();
	struct rlimit old, none;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = old.rlim_max};
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct store_listing listing;
	struct store_write *write;
	int there = open_it("v"), missing = open_it("no"), list = store_list(store, "", &listing);
	int begun = store_write_begin(store, "new", &write);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
	ck_assert_int_eq(there, -EMFILE);
	ck_assert_msg(missing == -EMFILE || missing == -ENOENT, "%d", missing);
	ck_assert_int_eq(list, -EMFILE);
	ck_assert_int_eq(begun, -EMFILE);
	end();
}
END_TEST

enum change { CHANGE_GROW, CHANGE_CUT, CHANGE_IN_PLACE, CHANGE_RENAME_OVER, CHANGE_REMOVE, CHANGE_NONE, CHANGE_MODE };

static void change(enum change how)
{
	char file[PATH_MAX];
	snprintf(file, sizeof(file), "%s", scratch_path(root, "v"));
	int fd = open(file, O_WRONLY | O_APPEND);
	struct stat st;
	switch (how) {
	case CHANGE_GROW: /* by somebody who sets the time back */
		ck_assert_int_eq(fstat(fd, &st), 0);
		ck_assert_int_eq(write(fd, "x", 1), 1);
		ck_assert_int_eq(futimens(fd, (struct timespec[2]){st.st_atim, st.st_mtim}), 0);
		break;
	case CHANGE_CUT:
		ck_assert_int_eq(ftruncate(fd, 4), 0);
		break;
	case CHANGE_IN_PLACE: /* of the same size; a coarse clock may need another second */
		ck_assert_int_eq(ftruncate(fd, 0) || write(fd, "abcdefghij", 10) != 10, 0);
		ck_assert_int_eq(utimes(file, (struct timeval[2]){{.tv_sec = 1}, {.tv_sec = 2}}), 0);
		break;
	case CHANGE_RENAME_OVER:
		ck_assert(scratch_write(root, "w", "0123456789"));
		ck_assert_int_eq(renameat(AT_FDCWD, scratch_path(root, "w"), AT_FDCWD, file), 0);
		break;
	case CHANGE_REMOVE:
		ck_assert_int_eq(unlink(file), 0);
		break;
	case CHANGE_MODE:
		ck_assert_int_eq(chmod(file, 0600), 0);
		break;
	case CHANGE_NONE:
		break;
	}
	close(fd);
}

static const struct {
	enum change change;
	int rc;
} changes[] = {
	{CHANGE_GROW, -ESTALE},	  {CHANGE_CUT, -ESTALE}, {CHANGE_IN_PLACE, -ESTALE}, {CHANGE_RENAME_OVER, -ESTALE},
	{CHANGE_REMOVE, -ESTALE}, {CHANGE_NONE, 0},		 {CHANGE_MODE, 0},
};

/* Wherever the range lies, for an index read long ago must not meet data of now. */
START_TEST(a_value_that_changes_after_its_open_is_ESTALE)
{
	static const struct range ranges[] = {
		{.length = 10}, {.length = 2}, {.offset = 8, .length = 2}, {.length = 3, .suffix = true}};
	begin();
	struct value *value;
	ck_assert_int_eq(store_open_value(store, "v", STORE_WAIT, &value), 0);
	char dst[10];
	size_t size;
	ck_assert_int_eq(value_read(value, ranges[0], STORE_WAIT, dst, &size), 0);
	change(changes[_i].change);
	for (size_t i = 0; i < ARRAY_LEN(ranges); i++) {
		size = 77;
		int rc = value_read(value, ranges[i], STORE_WAIT, dst, &size);
		ck_assert_msg(rc == changes[_i].rc, "change %d, range %zu: %d", changes[_i].change, i, rc);
		if (rc)
			ck_assert_uint_eq(size, 77);
		rc = value_read(value, ranges[i], STORE_TRY, dst, &size);
		ck_assert_msg(rc == changes[_i].rc || rc == -EAGAIN, "try: change %d, range %zu: %d", changes[_i].change, i,
					  rc);
	}
	value_unref(value);
	end();
}
END_TEST

START_TEST(a_store_whose_directory_was_removed_has_no_absent_keys)
{
	begin();
	ck_assert_int_eq(open_it("no"), -ENOENT);
	scratch_remove(root);
	ck_assert_int_eq(open_it("v"), -ESTALE);
	ck_assert_int_eq(open_it("no"), -ESTALE);
	struct value *value;
	int rc = store_open_value(store, "no", STORE_TRY, &value);
	ck_assert_msg(rc == -ESTALE || rc == -EAGAIN, "%d", rc);
	end();
}
END_TEST

START_TEST(a_listing_knows_links_and_hides_writes)
{
	begin();
	static const char *const made[][2] = {{"d", "to-dir"}, {"v", "to-file"}, {"../..", "to-out"}, {"no", "to-nothing"}};
	for (size_t i = 0; i < ARRAY_LEN(made); i++)
		ck_assert_int_eq(symlink(made[i][0], scratch_path(root, made[i][1])), 0);
	static const char *const shown[] = {".hidden", ".v.zarrfs-12-0123456789abcde", ".v.zarrfs-x-0123456789abcdef",
										"v.zarrfs-12-0123456789abcdef"};
	static const char *const hidden[] = {".v.zarrfs-12-0123456789abcdef", "..a.zarrfs-1-1.zarrfs-12-0123456789abcdef"};
	for (size_t i = 0; i < ARRAY_LEN(shown); i++)
		ck_assert(scratch_write(root, shown[i], ""));
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		ck_assert(scratch_write(root, hidden[i], ""));
	struct store_write *write;
	ck_assert_int_eq(store_write_begin(store, "being-written", &write), 0);
	struct store_listing listing;
	ck_assert_int_eq(store_list(store, "", &listing), 0);
	store_write_abort(write);
	ck_assert_uint_eq(listing.n, 2 + ARRAY_LEN(made) + ARRAY_LEN(shown));
	for (size_t i = 0; i < listing.n; i++) {
		const char *name = listing.entries[i].name;
		bool expected = strcmp(name, "d") == 0 || strcmp(name, "to-dir") == 0;
		ck_assert_msg(listing.entries[i].is_prefix == expected, "%s", name);
		for (size_t j = 0; j < ARRAY_LEN(hidden); j++)
			ck_assert_str_ne(name, hidden[j]);
	}
	store_listing_finish(&listing);
	ck_assert_int_eq(store_list(store, "to-dir", &listing), 0);
	ck_assert_uint_eq(listing.n, 1);
	store_listing_finish(&listing);
	ck_assert_int_eq(store_list(store, "to-out", &listing), -EIO);
	ck_assert_int_eq(store_list(store, "to-nothing", &listing), -EIO);
	ck_assert_int_eq(store_list(store, "to-file", &listing), -ENOENT);
	end();
}
END_TEST

START_TEST(a_write_that_cannot_be_fails_and_leaves_nothing)
{
	begin();
	ck_assert_int_eq(symlink("../..", scratch_path(root, "d/out")), 0);
	struct store_write *write = NULL;
	ck_assert_int_eq(store_write_begin(store, "v/x", &write), -ENOTDIR);
	ck_assert_int_eq(store_write_begin(store, "d/out/new", &write), -EIO);
	ck_assert_int_eq(access(scratch_path(outer, "new"), F_OK), -1);
	ck_assert_ptr_null(write);
	ck_assert_int_eq(store_write_begin(store, "d", &write), 0);
	ck_assert_int_eq(store_write_append(write, "x", 1), 0);
	ck_assert_int_eq(store_write_commit(write), -EISDIR);
	ck_assert(reads_as("d/v", "inside"));
	ck_assert_int_eq(store_write_begin(store, "aborted", &write), 0);
	store_write_abort(write);
	struct dirent **entries;
	int n = scandir(root, &entries, NULL, alphasort);
	ck_assert_int_eq(n, 4); /* ".", "..", "d", "v" */
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	end();
}
END_TEST

/* A link in the place of a value is replaced itself; what it led to stays. */
START_TEST(a_write_replaces_a_link_and_not_its_target)
{
	begin();
	ck_assert_int_eq(symlink("../v", scratch_path(root, "d/link")), 0);
	struct store_write *write;
	ck_assert_int_eq(store_write_begin(store, "d/link", &write), 0);
	ck_assert_int_eq(store_write_append(write, "new", 3), 0);
	ck_assert_int_eq(store_write_commit(write), 0);
	ck_assert(reads_as("d/link", "new"));
	ck_assert(reads_as("v", "0123456789"));
	end();
}
END_TEST

static bool is_of_type(uint32_t type)
{
	struct statfs st;
	ck_assert_int_eq(statfs(root, &st), 0);
	return (uint32_t)st.f_type == type;
}

/* A file of 256 KiB that is on the disk and not in the page cache. */
static void make_cold_file(const char *name)
{
	static char block[4096];
	memset(block, 'c', sizeof(block));
	int fd = open(scratch_path(root, name), O_RDWR | O_CREAT, 0644);
	for (int i = 0; i < 64; i++)
		ck_assert_int_eq(write(fd, block, sizeof(block)), sizeof(block));
	ck_assert_int_eq(fsync(fd), 0);
	ck_assert_int_eq(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
	close(fd);
}

/* ext4: a try gives what is cached and EAGAIN for what is not. tmpfs: it always gives. Elsewhere: never. */
START_TEST(a_try_does_what_the_file_system_can)
{
	begin_at(_i ? scratch_tmpfs() : scratch_disk());
	bool on_ext4 = is_of_type(EXT4_SUPER_MAGIC), on_tmpfs = is_of_type(TMPFS_MAGIC);
	bool may_be_either = is_of_type(XFS_SUPER_MAGIC) || is_of_type(BTRFS_SUPER_MAGIC);
	ck_assert(reads_as("d/v", "inside"));
	struct value *value;
	int rc = store_open_value(store, "d/v", STORE_TRY, &value);
	ck_assert_msg(may_be_either || rc == (on_ext4 || on_tmpfs ? 0 : -EAGAIN), "%d", rc);
	char dst[6];
	size_t size;
	if (rc == 0) {
		ck_assert_int_eq(value_read(value, (struct range){.length = 6}, STORE_TRY, dst, &size), 0);
		ck_assert(size == 6 && memcmp(dst, "inside", 6) == 0);
		value_unref(value);
	}
	/* The disk has to be asked for a name that nobody has asked for yet. */
	rc = store_open_value(store, "d/no", STORE_TRY, &value);
	ck_assert_msg(may_be_either || rc == (on_tmpfs ? -ENOENT : -EAGAIN), "%d", rc);
	ck_assert_int_eq(open_it("d/no"), -ENOENT);
	rc = store_open_value(store, "d/no", STORE_TRY, &value);
	ck_assert_msg(may_be_either || rc == (on_ext4 || on_tmpfs ? -ENOENT : -EAGAIN), "%d", rc);
	make_cold_file("cold");
	ck_assert_int_eq(store_open_value(store, "cold", STORE_WAIT, &value), 0);
	struct range whole = {.length = 64 * 4096};
	static char big[64 * 4096];
	size = 77;
	rc = value_read(value, whole, STORE_TRY, big, &size);
	ck_assert_msg(may_be_either || rc == (on_tmpfs ? 0 : -EAGAIN), "%d", rc);
	/* what was there when it would have had to wait: the beginning */
	ck_assert_uint_le(size, sizeof(big));
	ck_assert(rc == -EAGAIN || size == sizeof(big));
	ck_assert_int_eq(value_read(value, whole, STORE_WAIT, big, &size), 0);
	ck_assert(size == sizeof(big) && big[0] == 'c' && memcmp(big, big + 1, sizeof(big) - 1) == 0);
	rc = value_read(value, whole, STORE_TRY, big, &size);
	ck_assert_msg(may_be_either || rc == (on_ext4 || on_tmpfs ? 0 : -EAGAIN), "%d", rc);
	value_unref(value);
	end();
}
END_TEST

/* /dev is tmpfs, but what is mounted in it may be anything: there a try is declined. */
START_TEST(a_try_does_not_cross_into_another_mount)
{
	begin_at(scratch_tmpfs());
	struct stat above, here;
	char parent[PATH_MAX];
	const char *where = scratch_tmpfs();
	snprintf(parent, sizeof(parent), "%.*s", (int)(strrchr(where, '/') - where), where);
	if (!parent[0])
		snprintf(parent, sizeof(parent), "/");
	ck_assert_int_eq(stat(parent, &above), 0);
	ck_assert_int_eq(stat(root, &here), 0);
	struct store *wide;
	ck_assert_int_eq(store_open(parent, &wide), 0);
	char key[PATH_MAX];
	snprintf(key, sizeof(key), "%.4000s/v", root + strlen(parent) + (parent[1] != '\0'));
	struct value *value;
	char dst[10];
	size_t size;
	ck_assert_int_eq(store_open_value(wide, key, STORE_WAIT, &value), 0);
	ck_assert_int_eq(value_read(value, (struct range){.length = 10}, STORE_WAIT, dst, &size), 0);
	ck_assert_mem_eq(dst, "0123456789", 10);
	int rc = value_read(value, (struct range){.length = 10}, STORE_TRY, dst, &size);
	ck_assert_msg(rc == -EAGAIN || (rc == 0 && above.st_dev == here.st_dev), "read: %d", rc);
	value_unref(value);
	rc = store_open_value(wide, key, STORE_TRY, &value);
	ck_assert_msg(rc == -EAGAIN || (rc == 0 && above.st_dev == here.st_dev), "open: %d", rc);
	if (rc == 0)
		value_unref(value);
	store_close(wide);
	end();
}
END_TEST

static Suite *dir_suite(void)
{
	Suite *suite = suite_create("dir");
	TCase *tcase = tcase_create("dir");
	tcase_set_timeout(tcase, 120);
	tcase_add_loop_test(tcase, a_link_is_followed_beneath_the_root_and_is_never_absent, 0, (int)ARRAY_LEN(links));
	tcase_add_test(tcase, the_root_itself_may_be_a_link_and_may_be_renamed);
	tcase_add_test(tcase, a_link_swapped_in_during_the_walk_leads_nowhere_either);
	tcase_add_test(tcase, what_is_no_regular_file_is_EIO_at_once_and_a_directory_absent);
	tcase_add_test(tcase, a_device_is_EIO);
	tcase_add_test(tcase, what_we_may_not_read_is_EACCES);
	tcase_add_test(tcase, no_descriptor_left_is_EMFILE_and_not_absent);
	tcase_add_loop_test(tcase, a_value_that_changes_after_its_open_is_ESTALE, 0, (int)ARRAY_LEN(changes));
	tcase_add_test(tcase, a_store_whose_directory_was_removed_has_no_absent_keys);
	tcase_add_test(tcase, a_listing_knows_links_and_hides_writes);
	tcase_add_test(tcase, a_write_that_cannot_be_fails_and_leaves_nothing);
	tcase_add_test(tcase, a_write_replaces_a_link_and_not_its_target);
	tcase_add_loop_test(tcase, a_try_does_what_the_file_system_can, 0, 2);
	tcase_add_test(tcase, a_try_does_not_cross_into_another_mount);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(dir_suite)
