/*
 * file.c: open files: views, and the counters.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "base/stats.h"
#include "base/str.h"
#include "fs/file.h"
#include "fs/fs_impl.h"

static int print_stats(struct fs *fs, char **ret_text)
{
	autostr(str);
	str_appendf(&str, "{\n  \"cache_size\": %" PRIu64 ",\n  \"inodes\": %zu", fs_cache_bytes(fs),
				inode_table_count(fs->inodes));
	for (int i = 0; i < STATS_COUNT; i++)
		str_appendf(&str, ",\n  \"%s\": %" PRIu64, stats_name(i), stats_value(i));
	str_append(&str, "\n}\n");
	return str_take(&str, ret_text);
}

/* A sequential reader that cannot keep a row of chunks decodes each of them many times. */
static void warn_of_small_cache(struct fs *fs, const struct inode *inode, const struct view *view)
{
	for (int i = 0; i < view->n; i++) {
		if (view->extents[i].kind != EXTENT_ELEMENTS)
			continue;
		uint64_t need = array_working_set(view->array, &view->extents[i].layout);
		if (need > fs_cache_bytes(fs))
			log_limited(LOG_LEVEL_WARN, "cache", inode->node->path,
						"%s: one row of chunks takes %" PRIu64 " MiB, more than the cache: raise --cache-size",
						inode->node->path, (need >> 20) + 1);
	}
}

/*
 * A node that the store failed to give is shown as a broken one, and the kernel keeps such entries. When the store answers
 * now, the name means another inode: -ESTALE makes the kernel look it up again.
 */
static int check_broken(struct fs *fs, struct node *node, enum store_how how)
{
	struct node *now;
	if (node->kind != NODE_BROKEN || !node->parent)
		return 0;
	int rc = node_child(fs->hierarchy, node->parent, node->name, how, &now);
	if (rc == -EAGAIN)
		return rc;
	if (rc == -ENOENT || (!rc && now != node))
		return err_set(ESTALE, "the store, which had failed, has answered: to be looked up again");
	return 0;
}

static void add_file(struct fs *fs, struct fs_file *file)
{
	autolock(&fs->files_lock);
	file->fs = fs;
	file->next = fs->files;
	if (file->next)
		file->next->prev = file;
	fs->files = file;
}

static int open_content(struct fs *fs, const struct inode *inode, bool once, struct fs_file *file)
{
	int rc;
	switch (inode->kind) {
	case INODE_VIEW:
		rc = view_open(fs->hierarchy, inode->node, inode->ops, &file->view);
		if (!rc)
			rc = readahead_new(once, &file->readahead);
		if (rc)
			return rc;
		file->size = file->view->size;
		warn_of_small_cache(fs, inode, file->view);
		return 0;
	case INODE_STATS:
		rc = print_stats(fs, &file->text);
		if (!rc)
			file->size = strlen(file->text);
		return rc;
	default:
		return err_set(EISDIR, "is a directory");
	}
}

int fs_file_open(struct fs *fs, uint64_t handle, bool once, enum store_how how, struct fs_file **ret_file)
{
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (!rc && inode.kind == INODE_VIEW)
		rc = check_broken(fs, inode.node, how);
	if (rc)
		return rc;
	struct fs_file *file = calloc(1, sizeof(*file));
	if (!file)
		return err_set(ENOMEM, "no memory for an open file");
	atomic_init(&file->refs, 1);
	pthread_mutex_init(&file->bands.lock, NULL);
	add_file(fs, file);
	rc = open_content(fs, &inode, once, file);
	if (rc) {
		fs_file_unref(file);
		return rc;
	}
	*ret_file = file;
	return 0;
}

struct fs_file *fs_file_ref(struct fs_file *file)
{
	atomic_fetch_add_explicit(&file->refs, 1, memory_order_relaxed);
	return file;
}

static void free_file(struct fs_file *file)
{
	bands_finish(&file->bands, file->fs);
	readahead_free(file->readahead);
	view_close(file->view);
	free(file->text);
	free(file);
}

void fs_file_unref(struct fs_file *file)
{
	if (!file || atomic_fetch_sub(&file->refs, 1) != 1)
		return;
	pthread_mutex_lock(&file->fs->files_lock);
	*(file->prev ? &file->prev->next : &file->fs->files) = file->next;
	if (file->next)
		file->next->prev = file->prev;
	pthread_mutex_unlock(&file->fs->files_lock);
	free_file(file);
}

void fs_close_files(struct fs *fs)
{
	while (fs->files) {
		struct fs_file *file = fs->files;
		fs->files = file->next;
		free_file(file);
	}
}

bool fs_file_is_volatile(const struct fs_file *file)
{
	return !file->view;
}

size_t fs_read_size(const struct fs_file *file, uint64_t offset, size_t size)
{
	return offset < file->size ? (size_t)MIN(size, file->size - offset) : 0;
}

void fs_read(struct fs_file *file, uint64_t offset, size_t size, uint8_t *dst, struct request *request)
{
	if (file->view && bands_join(file, offset, size, dst, request))
		return;
	if (file->view)
		view_read(file->view, offset, size, dst, request, file->readahead);
	else
		memcpy(dst, file->text + offset, size);
}
