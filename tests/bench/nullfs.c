/*
 * nullfs.c: the ceiling of the transport. A FUSE file system with one file, null.npy, as long as FILE and made of FILE's first
 * MiB again and again (so its npy header is right): each read is answered at once, from memory that stays in the CPU's cache,
 * with the kernel settings of `zarrfs mount`. What a reader gets here no FUSE file system in the page cache can exceed.
 *
 *   nullfs [WORD...] FILE MOUNTPOINT      in the foreground; the words are ignored, so it is called as `zarrfs mount -f` is
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <fuse_lowlevel.h>

#include "base/base.h"

#define BLOCK (1 << 20) /* the largest read that the kernel asks for */
#define FILE_INO 2
#define TIMEOUT_S 3600.0
#define MAX_BACKGROUND 4096

static char block[2 * BLOCK]; /* the MiB twice: a read of any offset is one piece */
static off_t size;

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	conn->max_background = MAX_BACKGROUND;
	conn->congestion_threshold = MAX_BACKGROUND / 4 * 3;
	conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
	conn->want |= conn->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
}

static struct stat stat_of(fuse_ino_t ino)
{
	if (ino == FILE_INO)
		return (struct stat){
			.st_ino = ino, .st_mode = S_IFREG | 0444, .st_nlink = 1, .st_size = size, .st_blksize = 4096};
	return (struct stat){.st_ino = ino, .st_mode = S_IFDIR | 0555, .st_nlink = 2};
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct fuse_entry_param entry = {.ino = FILE_INO, .attr_timeout = TIMEOUT_S, .entry_timeout = TIMEOUT_S};
	entry.attr = stat_of(FILE_INO);
	if (strcmp(name, "null.npy") == 0)
		fuse_reply_entry(req, &entry);
	else
		fuse_reply_err(req, ENOENT);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct stat st = stat_of(ino);
	fuse_reply_attr(req, &st, TIMEOUT_S);
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	fi->keep_cache = 1;
	fuse_reply_open(req, fi);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t n, off_t at, struct fuse_file_info *fi)
{
	off_t left = at < size ? size - at : 0;
	fuse_reply_buf(req, block + at % BLOCK, MIN(MIN(n, (size_t)BLOCK), (size_t)left));
}

static const struct fuse_lowlevel_ops null_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.getattr = op_getattr,
	.open = op_open,
	.read = op_read,
};

static int load_block(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || pread(fd, block, BLOCK, 0) != BLOCK) {
		fprintf(stderr, "nullfs: %s: cannot read its first MiB\n", path);
		return 1;
	}
	close(fd);
	memcpy(block + BLOCK, block, BLOCK);
	size = st.st_size;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: nullfs [WORD...] FILE MOUNTPOINT\n");
		return 2;
	}
	if (load_block(argv[argc - 2]))
		return 1;
	struct fuse_args args = FUSE_ARGS_INIT(0, NULL);
	fuse_opt_add_arg(&args, "nullfs");
	fuse_opt_add_arg(&args, "-oro,nosuid,nodev,subtype=nullfs");
	struct fuse_session *session = fuse_session_new(&args, &null_ops, sizeof(null_ops), NULL);
	fuse_opt_free_args(&args);
	if (!session || fuse_set_signal_handlers(session) || fuse_session_mount(session, argv[argc - 1]))
		return 1;
	unsigned threads = (unsigned)MAX(MIN(get_nprocs(), 8), 2); /* as zarrfs has */
	struct fuse_loop_config *config = fuse_loop_cfg_create();
	fuse_loop_cfg_set_max_threads(config, threads);
	fuse_loop_cfg_set_idle_threads(config, threads);
	int rc = fuse_session_loop_mt(session, config);
	fuse_loop_cfg_destroy(config);
	fuse_session_unmount(session);
	fuse_remove_signal_handlers(session);
	fuse_session_destroy(session);
	return rc < 0;
}
