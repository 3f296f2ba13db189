/*
 * fs.c: opening a file system: its parts, and how wide they are.
 */
#include "fs/fs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/err.h"
#include "fs/fs_impl.h"
#include "fs/machine.h"

#define DEFAULT_CACHE_MAX (UINT64_C(1) << 30)
#define FETCH_SLOTS 64
#define META_SLOTS 4
#define MAX_STUCK 64
#define MAX_INDEXES 256

/* Open values of cached indexes: a quarter of the descriptors that the process may have. */
static unsigned max_indexes(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return MAX_INDEXES / 4;
	return (unsigned)MIN(limit.rlim_cur / 4, (rlim_t)MAX_INDEXES);
}

static int make_pool(const struct fs_options *options, struct pool **ret_pool)
{
	struct pool_options pool = {.stuck_ns = options->timeout_ns, .max_stuck = MAX_STUCK};
	if (options->decode_threads != FS_INLINE) {
		pool.width[POOL_META] = META_SLOTS;
		pool.width[POOL_FETCH] = FETCH_SLOTS;
		pool.width[POOL_DECODE] = options->decode_threads ? options->decode_threads : machine_cpus();
	}
	return pool_new(&pool, ret_pool);
}

/* Which views are listed, as bits by row. EINVAL for a suffix that is none. */
static int choose_views(struct fs *fs, const char *list)
{
	const struct view_ops *ops;
	for (int i = 0; !list && (ops = view_row(i)); i++)
		fs->listed |= (unsigned)view_is_listed(ops) << i;
	while (list && *list) {
		size_t n = strcspn(list, ",");
		int i = 0;
		while ((ops = view_row(i)) && (strlen(view_suffix(ops)) != n || strncmp(view_suffix(ops), list, n)))
			i++;
		if (!ops)
			return err_set(EINVAL, "unknown view \"%.*s\"", (int)n, list);
		fs->listed |= 1u << i;
		list += n + (list[n] == ',');
	}
	return 0;
}

static int open_parts(struct fs *fs, const struct fs_options *options)
{
	uint64_t cache_bytes = options->cache_bytes;
	if (!cache_bytes)
		cache_bytes = MIN(machine_memory() / 4, DEFAULT_CACHE_MAX);
	int rc = choose_views(fs, options->views);
	if (!rc)
		rc = inode_table_new(&fs->inodes);
	if (!rc)
		rc = cache_new(cache_bytes, max_indexes(), &fs->env.cache);
	if (!rc) {
		cache_set_patience(fs->env.cache, options->timeout_ns);
		rc = make_pool(options, &fs->env.pool);
	}
	if (!rc)
		rc = deadlines_new(options->timeout_ns, &fs->deadlines);
	struct store_options store_options = {.reference_root = options->reference_root};
	if (!rc && !fs->env.store)
		rc = store_open_with(options->url, &store_options, &fs->env.store);
	if (rc)
		return rc;
	fs->env.max_chunk = options->max_chunk ? options->max_chunk : LIMIT_CHUNK_BYTES;
	rc = hierarchy_open(&fs->env, &fs->hierarchy);
	if (rc)
		return rc;
	const struct inode *root;
	fs->root_alone = fs_is_directory(hierarchy_root(fs->hierarchy)) ? NULL : hierarchy_root(fs->hierarchy);
	return inode_table_get(fs->inodes, INODE_DIRECTORY, hierarchy_root(fs->hierarchy), NULL, 0, &root);
}

int fs_open(const struct fs_options *options, struct fs **ret_fs)
{
	struct fs *fs = calloc(1, sizeof(*fs));
	if (!fs)
		return err_set(ENOMEM, "no memory for a file system");
	fs->env.store = options->store;
	pthread_mutex_init(&fs->files_lock, NULL);
	int rc = open_parts(fs, options);
	if (rc) {
		struct err_text message;
		err_save(&message);
		fs_close(fs);
		err_restore(&message);
		return rc;
	}
	*ret_fs = fs;
	return 0;
}

void fs_close(struct fs *fs)
{
	if (!fs)
		return;
	pool_free(fs->env.pool);
	deadlines_free(fs->deadlines);
	fs_close_files(fs);
	if (fs->hierarchy)
		hierarchy_close(fs->hierarchy);
	cache_free(fs->env.cache);
	if (fs->env.store)
		store_close(fs->env.store);
	inode_table_free(fs->inodes);
	pthread_mutex_destroy(&fs->files_lock);
	free(fs);
}

struct hierarchy *fs_hierarchy(struct fs *fs)
{
	return fs->hierarchy;
}

struct pool *fs_pool(struct fs *fs)
{
	return fs->env.pool;
}

struct deadlines *fs_deadlines(struct fs *fs)
{
	return fs->deadlines;
}

uint64_t fs_cache_bytes(struct fs *fs)
{
	return cache_budget(fs->env.cache);
}
