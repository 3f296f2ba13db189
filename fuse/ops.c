/*
 * ops.c: one function an operation. Data is in the kernel's page cache: keep_cache on every open, long time-outs.
 */
#include "fuse/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/err.h"
#include "base/log.h"
#include "fuse/job.h"

/* Nothing changes under a mount without --refresh: names and attributes are asked for once. */
#define TIMEOUT_S (365.0 * 24 * 3600)
/* Python's open() reads st_blksize ahead, so a larger one makes small reads dear (design, section 5). */
#define BLOCK_BYTES 4096

static struct mount_context *context_of(fuse_req_t req)
{
	return fuse_req_userdata(req);
}

static void fill_stat(const struct mount_context *context, const struct fs_attr *attr, struct stat *st)
{
	*st = (struct stat){
		.st_ino = attr->ino,
		.st_mode = attr->mode & ~(context->umask & 0777),
		.st_nlink = attr->nlink,
		.st_uid = context->uid,
		.st_gid = context->gid,
		.st_size = (off_t)attr->size,
		.st_blksize = BLOCK_BYTES,
		.st_blocks = (blkcnt_t)(attr->size / 512 + (attr->size % 512 != 0)),
		.st_mtim = {attr->mtime_ns / 1000000000, attr->mtime_ns % 1000000000},
	};
	st->st_atim = st->st_ctim = st->st_mtim;
}

static void fill_entry(const struct mount_context *context, const struct fs_attr *attr, struct fuse_entry_param *entry)
{
	*entry = (struct fuse_entry_param){.ino = attr->handle, .attr_timeout = TIMEOUT_S, .entry_timeout = TIMEOUT_S};
	fill_stat(context, attr, &entry->attr);
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct mount_context *context = userdata;
	conn->max_read = context->max_read;
	conn->max_background = MAX_BACKGROUND;
	conn->congestion_threshold = MAX_BACKGROUND / 4 * 3;
	/* nothing changes by itself: the kernel must not drop pages because an mtime looks new */
	conn->want &= ~(unsigned)FUSE_CAP_AUTO_INVAL_DATA;
	conn->want |= conn->capable & FUSE_CAP_EXPLICIT_INVAL_DATA;
	if (context->ready)
		context->ready(context->ready_arg);
}

static int lookup_work(struct job *job, enum store_how how)
{
	int rc = fs_lookup(job->context->fs, job->handle, job->name, how, &job->attr);
	/* "no such name" is an answer that the kernel keeps */
	if (rc == -ENOENT)
		job->attr.handle = 0;
	return rc == -ENOENT ? 0 : rc;
}

static bool lookup_reply(struct job *job)
{
	struct fuse_entry_param entry = {.entry_timeout = TIMEOUT_S};
	if (job->attr.handle)
		fill_entry(job->context, &job->attr, &entry);
	return !fuse_reply_entry(job->req, &entry);
}

static void lookup_undo(struct job *job)
{
	if (job->attr.handle)
		fs_forget(job->context->fs, job->attr.handle, 1);
}

static const struct job_ops lookup_ops = {"lookup", lookup_work, lookup_reply, lookup_undo};

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct job job = {.context = context_of(req), .req = req, .handle = parent};
	job_run(&lookup_ops, &job, name);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	fs_forget(context_of(req)->fs, ino, n);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		fs_forget(context_of(req)->fs, forgets[i].ino, forgets[i].nlookup);
	fuse_reply_none(req);
}

static int getattr_work(struct job *job, enum store_how how)
{
	return fs_getattr(job->context->fs, job->handle, how, &job->attr);
}

static bool getattr_reply(struct job *job)
{
	struct stat st;
	fill_stat(job->context, &job->attr, &st);
	return !fuse_reply_attr(job->req, &st, TIMEOUT_S);
}

static const struct job_ops getattr_ops = {"getattr", getattr_work, getattr_reply, NULL};

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)fi;
	struct job job = {.context = context_of(req), .req = req, .handle = ino};
	job_run(&getattr_ops, &job, NULL);
}

static int open_work(struct job *job, enum store_how how)
{
	/* the page cache keeps what is read, but not what O_DIRECT reads */
	return fs_file_open(job->context->fs, job->handle, !(job->fi.flags & O_DIRECT), how, &job->file);
}

static bool open_reply(struct job *job)
{
	job->fi.fh = (uintptr_t)job->file;
	job->fi.direct_io = fs_file_is_volatile(job->file);
	/* direct opens too: one without it empties the inode's page cache */
	job->fi.keep_cache = 1;
	job->fi.noflush = 1;
	return !fuse_reply_open(job->req, &job->fi);
}

static void open_undo(struct job *job)
{
	fs_file_unref(job->file);
}

static const struct job_ops open_ops = {"open", open_work, open_reply, open_undo};

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	if ((fi->flags & O_ACCMODE) != O_RDONLY) {
		fuse_reply_err(req, EROFS);
		return;
	}
	struct job job = {.context = context_of(req), .req = req, .handle = ino, .fi = *fi};
	job_run(&open_ops, &job, NULL);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	job_read(context_of(req), req, ino, (struct fs_file *)(uintptr_t)fi->fh, (uint64_t)offset, size);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	fs_file_unref((struct fs_file *)(uintptr_t)fi->fh);
	fuse_reply_err(req, 0);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	/* what a failing store left out of a listing, or showed as broken, is asked for again */
	fi->cache_readdir = 1;
	fi->keep_cache = fs_directory_is_settled(context_of(req)->fs, ino);
	fuse_reply_open(req, fi);
}

static bool readdir_emit(void *arg, const char *name, const struct fs_attr *attr, uint64_t next_cookie)
{
	struct job *job = arg;
	struct fuse_entry_param entry;
	fill_entry(job->context, attr, &entry);
	char *at = job->entries + job->used;
	size_t room = job->size - job->used;
	size_t size = job->plus ? fuse_add_direntry_plus(job->req, at, room, name, &entry, (off_t)next_cookie)
							: fuse_add_direntry(job->req, at, room, name, &entry.attr, (off_t)next_cookie);
	if (size > room)
		return false;
	job->used += size;
	if (job->plus && attr->handle)
		job->counted[job->n_counted++] = attr->handle;
	return true;
}

static int readdir_work(struct job *job, enum store_how how)
{
	/* each entry takes more than 32 bytes, so `counted` cannot overflow */
	if (!job->entries)
		job->entries = malloc(job->size);
	if (!job->counted && job->plus)
		job->counted = malloc((job->size / 32 + 1) * sizeof(*job->counted));
	if (!job->entries || (job->plus && !job->counted))
		return err_set(ENOMEM, "no memory for a directory listing");
	int rc = fs_readdir(job->context->fs, job->handle, (uint64_t)job->cookie, job->plus, how, readdir_emit, job);
	/* after the first entry an error may not be replied: send what is there */
	return job->used ? 0 : rc;
}

static bool readdir_reply(struct job *job)
{
	return !fuse_reply_buf(job->req, job->entries, job->used);
}

static void readdir_undo(struct job *job)
{
	for (size_t i = 0; i < job->n_counted; i++)
		fs_forget(job->context->fs, job->counted[i], 1);
}

static const struct job_ops readdir_ops = {"readdir", readdir_work, readdir_reply, readdir_undo};

static void start_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t cookie, bool plus)
{
	struct job job = {
		.context = context_of(req), .req = req, .handle = ino, .cookie = cookie, .size = size, .plus = plus};
	job_run(&readdir_ops, &job, NULL);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t cookie, struct fuse_file_info *fi)
{
	(void)fi;
	start_readdir(req, ino, size, cookie, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t cookie, struct fuse_file_info *fi)
{
	(void)fi;
	start_readdir(req, ino, size, cookie, true);
}

/* With size 0 the kernel asks how much room it needs. */
static void reply_xattr(fuse_req_t req, const char *value, size_t n, size_t size)
{
	if (!size)
		fuse_reply_xattr(req, n);
	else if (n > size)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, value, n);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct mount_context *context = context_of(req);
	char *value;
	int rc = fs_getxattr(context->fs, ino, name, STORE_TRY, &value);
	if (rc) {
		job_reply_error(context, req, "getxattr", ino, rc);
		return;
	}
	reply_xattr(req, value, strlen(value), size);
	free(value);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct mount_context *context = context_of(req);
	char *names;
	size_t n;
	int rc = fs_listxattr(context->fs, ino, STORE_TRY, &names, &n);
	if (rc) {
		job_reply_error(context, req, "listxattr", ino, rc);
		return;
	}
	reply_xattr(req, names, n, size);
	free(names);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	(void)ino;
	struct statvfs st = {.f_bsize = BLOCK_BYTES,
						 .f_frsize = BLOCK_BYTES,
						 .f_namemax = LIMIT_NAME_BYTES,
						 .f_flag = ST_RDONLY | ST_NOSUID};
	fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops zarrfs_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.open = op_open,
	.read = op_read,
	.release = op_release,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.getxattr = op_getxattr,
	.listxattr = op_listxattr,
	.statfs = op_statfs,
};
