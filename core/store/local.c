/* local.c: reads of local files that wait or only try, and their versions. */
#include "store/local.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "base/err.h"

enum local_tries local_tries_of(int fd)
{
	struct statfs st;
	if (fstatfs(fd, &st) < 0)
		return LOCAL_NEVER;
	switch ((uint32_t)st.f_type) {
	case EXT4_SUPER_MAGIC:
	case XFS_SUPER_MAGIC:
	case BTRFS_SUPER_MAGIC:
		return LOCAL_NOWAIT;
	case TMPFS_MAGIC:
		return LOCAL_PLAIN;
	default:
		return LOCAL_NEVER;
	}
}

int local_read(int fd, uint64_t offset, void *dst, size_t size, size_t *ret_size)
{
	bool blocks = false;
	for (;;) {
		ssize_t got = pread(fd, dst, size, (off_t)offset);
		if (got >= 0) {
			*ret_size = (size_t)got;
			return 0;
		}
		if (errno == EAGAIN && !blocks) { /* a few file systems heed the O_NONBLOCK that the open needed */
			blocks = fcntl(fd, F_SETFL, O_RDONLY) == 0;
			if (blocks)
				continue;
		}
		if (errno != EINTR)
			return -errno;
	}
}

/* 0 bytes before the end are no answer either: Linux 5.9 gives them where it should give EAGAIN (preadv2(2), BUGS). */
int local_try_read(int fd, atomic_int *tries, uint64_t offset, void *dst, size_t size, size_t *ret_size)
{
	int known = atomic_load_explicit(tries, memory_order_relaxed);
	if (known == LOCAL_NEVER)
		return -EAGAIN;
	struct iovec into = {.iov_base = dst, .iov_len = size};
	ssize_t got = preadv2(fd, &into, 1, (off_t)offset, known == LOCAL_NOWAIT ? RWF_NOWAIT : 0);
	if (got < 0 && errno == EOPNOTSUPP)
		atomic_store_explicit(tries, LOCAL_NEVER, memory_order_relaxed);
	if (got <= 0)
		return -EAGAIN;
	*ret_size = (size_t)got;
	return 0;
}

int local_failed(int errnum, const char *key)
{
	int meant = errnum == ENOENT ? ESTALE : errnum == EAGAIN ? EIO : errnum;
	return err_set(meant, "%s: %s", key, strerror(errnum));
}

int64_t local_nanoseconds(struct timespec time)
{
	int64_t ns;
	if (__builtin_mul_overflow((int64_t)time.tv_sec, INT64_C(1000000000), &ns) ||
		__builtin_add_overflow(ns, (int64_t)time.tv_nsec, &ns))
		return 0;
	return ns;
}

/* The finalizer of splitmix64, over one number more. */
uint64_t local_mix(uint64_t hash, uint64_t number)
{
	hash = (hash ^ number) + UINT64_C(0x9e3779b97f4a7c15);
	hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
	return hash ^ (hash >> 31);
}

struct value_info local_info(const struct stat *st)
{
	uint64_t hash = local_mix((uint64_t)local_nanoseconds(st->st_mtim), (uint64_t)local_nanoseconds(st->st_ctim));
	return (struct value_info){
		.size = (uint64_t)st->st_size,
		.mtime_ns = local_nanoseconds(st->st_mtim),
		.version = local_mix(local_mix(hash, (uint64_t)st->st_size), (uint64_t)st->st_ino),
		.ranges_cheap = true,
	};
}

int local_check_unchanged(int fd, const struct value_info *opened, bool has_links, const char *name)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return local_failed(errno, name);
	if ((uint64_t)st.st_size != opened->size || local_nanoseconds(st.st_mtim) != opened->mtime_ns)
		return err_set(ESTALE, "%s: changed while it was open", name);
	if (has_links && st.st_nlink == 0)
		return err_set(ESTALE, "%s: replaced or removed while it was open", name);
	return 0;
}

int local_file_open(const char *path, const char *what, struct local_file *ret_file)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return err_set(errno, "%s", strerror(errno));
	int rc = fstat(fd, &st) < 0 ? err_set(errno, "%s", strerror(errno)) : 0;
	if (!rc && !S_ISREG(st.st_mode))
		rc = err_set(EIO, "not a regular file");
	if (rc) {
		close(fd);
		return rc;
	}
	ret_file->what = what;
	ret_file->fd = fd;
	ret_file->info = local_info(&st);
	ret_file->has_links = st.st_nlink > 0;
	atomic_init(&ret_file->tries, local_tries_of(fd));
	return 0;
}

int local_file_read(struct local_file *file, uint64_t offset, void *dst, size_t size, enum store_how how,
					const char *name)
{
	for (size_t done = 0; done < size;) {
		size_t got = 0;
		uint8_t *to = (uint8_t *)dst + done;
		int rc = how == STORE_TRY ? local_try_read(file->fd, &file->tries, offset + done, to, size - done, &got)
								  : local_read(file->fd, offset + done, to, size - done, &got);
		if (rc == -EAGAIN && how == STORE_TRY)
			return rc;
		if (rc)
			return local_failed(-rc, name);
		if (got == 0)
			return err_set(ESTALE, "%s: %s ended at byte %" PRIu64, name, file->what, offset + done);
		done += got;
	}
	return local_file_check(file);
}

int local_file_check(const struct local_file *file)
{
	return local_check_unchanged(file->fd, &file->info, file->has_links, file->what);
}
