/*
 * test_band.c: a sequential reader finds its next bytes put together; every reader gets its own, and failures stay where they are.
 *
 * An array of 4 MiB in chunks of 64 KiB, read from its .raw in requests of 128 KiB, as the page cache does it.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "../lib/check_main.h"
#include "../lib/fixtures.h"
#include "../lib/seed.h"

#include "base/buf.h"
#include "base/err.h"
#include "base/stats.h"
#include "fs/fs_impl.h"

enum { PIECE = 128 << 10, CHUNK = 64 << 10, SIZE = 4 << 20, PIECES = SIZE / PIECE };

static struct fixture array = {.path = "a", .ndim = 1, .shape = {SIZE / 2}, .chunk = {CHUNK / 2}};
static struct store *store;
static struct fs *fs;

static void open_fs(int threads, uint64_t cache_bytes)
{
	ck_assert_int_eq(mem_store_new("band.zarr", true, &store), 0);
	fixture_put_group(store, "");
	fixture_put(store, &array);
	struct fs_options options = {.store = store, .cache_bytes = cache_bytes, .decode_threads = threads};
	ck_assert_int_eq(fs_open(&options, &fs), 0);
}

static struct fs_file *open_file(void)
{
	struct fs_attr attr;
	struct fs_file *file;
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, "a.raw", STORE_WAIT, &attr), 0);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_WAIT, &file), 0);
	return file;
}

/* As the mount does it. Returns whether the bytes were ready, or the read's errno; good bytes are the right ones. */
static int read_piece(struct fs_file *file, uint64_t offset, size_t size)
{
	autofree uint8_t *wanted = malloc(PIECE), *got = malloc(PIECE);
	size = fs_read_size(file, offset, size);
	fixture_expect(&array, offset, size, wanted);
	autobuf ready = fs_take(file, offset, size);
	if (ready) {
		ck_assert_uint_eq(ready->size, size);
		ck_assert_mem_eq(ready->data, wanted, size);
		return 1;
	}
	struct waited_request *waited;
	ck_assert_int_eq(waited_request_new(NULL, &waited), 0);
	fs_read(file, offset, size, got, &waited->request);
	request_finish_part(&waited->request, 0);
	int rc = waited_request_wait(waited);
	if (!rc)
		ck_assert_mem_eq(got, wanted, size);
	return rc;
}

/* Pieces [from, to); returns how many were ready. */
static int read_pieces(struct fs_file *file, int from, int to)
{
	int ready = 0;
	for (int i = from; i < to; i++) {
		int rc = read_piece(file, (uint64_t)i * PIECE, PIECE);
		ck_assert_int_ge(rc, 0);
		ready += rc;
	}
	return ready;
}

START_TEST(a_sequential_reader_finds_its_bytes_ready_to_the_end_of_the_file)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	ck_assert_int_ge(read_pieces(file, 0, PIECES), PIECES - 4);
	ck_assert_ptr_null(fs_take(file, SIZE, 0));
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(every_chunk_is_decoded_once_all_the_same)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	uint64_t before = stats_get(chunks_decoded);
	read_pieces(file, 0, PIECES);
	ck_assert_uint_eq(stats_get(chunks_decoded) - before, SIZE / CHUNK);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(reads_that_are_small_or_random_or_strided_load_no_more_than_they_need)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	uint64_t state = test_seed();
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(read_piece(file, test_random(&state) % (SIZE - 4096), 4096), 0);
	for (uint64_t offset = 0; offset < SIZE / 2; offset += 4096)
		ck_assert_int_eq(read_piece(file, offset, 4096), 0);
	for (int i = 0; i < PIECES; i += 4)
		ck_assert_int_eq(read_piece(file, (uint64_t)i * PIECE, PIECE), 0);
	for (int i = PIECES - 1; i >= 0; i -= 2)
		ck_assert_int_eq(read_piece(file, (uint64_t)i * PIECE, PIECE), 0);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(a_reader_that_goes_elsewhere_gets_its_own_bytes_and_starts_over)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	read_pieces(file, 0, 12);
	ck_assert_int_eq(read_piece(file, (uint64_t)28 * PIECE, PIECE), 0);
	ck_assert_int_eq(read_piece(file, (uint64_t)2 * PIECE + 4096, PIECE), 0);
	ck_assert_int_gt(read_pieces(file, 12, PIECES), PIECES - 12 - 5);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(two_requests_in_the_wrong_order_are_still_a_sequence)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	int ready = 0;
	for (int i = 0; i < PIECES; i++)
		ready += read_piece(file, (uint64_t)(i ^ 1) * PIECE, PIECE);
	ck_assert_int_ge(ready, PIECES - 6);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(a_bad_chunk_harms_its_own_requests_only)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	struct mem_fault fault = {.key_part = "c/40", .read_errnum = EIO};
	ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
	for (int i = 0; i < PIECES; i++) {
		int rc = read_piece(file, (uint64_t)i * PIECE, PIECE);
		ck_assert_msg(i == 20 ? rc == -EIO : rc >= 0, "piece %d: %d", i, rc);
	}
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

/* A band waits for loads, and loads wait for memory: a cache of one chunk is enough for both. */
START_TEST(a_cache_of_one_chunk_reads_everything)
{
	open_fs(_i ? 2 : FS_INLINE, CHUNK + 4096);
	struct fs_file *file = open_file();
	read_pieces(file, 0, PIECES);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(bands_of_all_files_are_bounded_and_those_of_idle_files_make_room)
{
	enum { FILES = 90 };
	struct fs_file *files[FILES];
	open_fs(FS_INLINE, 32 << 20);
	for (int i = 0; i < FILES; i++) {
		files[i] = open_file();
		read_pieces(files[i], 0, 12);
		ck_assert_uint_le(atomic_load(&fs->band_bytes), 32 << 20);
	}
	ck_assert_uint_gt(atomic_load(&fs->band_bytes), 16 << 20);
	nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 100000000}, NULL);
	ck_assert_int_ge(read_pieces(files[FILES - 1], 12, PIECES), PIECES - 12 - 6);
	for (int i = 0; i < FILES; i++)
		fs_file_unref(files[i]);
	struct fs_file *file = open_file();
	ck_assert_int_ge(read_pieces(file, 0, PIECES), PIECES - 4);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

struct reader {
	pthread_t thread;
	struct fs_file *file;
	atomic_int *next; /* [the piece that the next thread reads] */
};

static void *read_in_turn(void *arg)
{
	struct reader *reader = arg;
	int i;
	while ((i = atomic_fetch_add(reader->next, 1)) < PIECES)
		ck_assert_int_ge(read_piece(reader->file, (uint64_t)i * PIECE, PIECE), 0);
	return NULL;
}

START_TEST(many_threads_share_files_and_who_comes_early_waits_for_the_band)
{
	enum { READERS = 6, FILES = 2 };
	struct reader readers[READERS];
	struct fs_file *files[FILES];
	atomic_int next[FILES];
	open_fs(2, 32 << 20);
	if (_i) {
		struct mem_fault fault = {.key_part = "c/", .delay_ms = 1};
		ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
	}
	for (int i = 0; i < FILES; i++) {
		files[i] = open_file();
		atomic_init(&next[i], 0);
	}
	for (int i = 0; i < READERS; i++) {
		readers[i].file = files[i % FILES];
		readers[i].next = &next[i % FILES];
		ck_assert_int_eq(pthread_create(&readers[i].thread, NULL, read_in_turn, &readers[i]), 0);
	}
	for (int i = 0; i < READERS; i++)
		pthread_join(readers[i].thread, NULL);
	for (int i = 0; i < FILES; i++)
		fs_file_unref(files[i]);
	fs_close(fs);
}
END_TEST

START_TEST(a_mount_may_end_while_a_band_is_under_way)
{
	open_fs(2, 32 << 20);
	struct fs_file *file = open_file();
	read_pieces(file, 0, 3);
	struct mem_fault fault = {.key_part = "c/", .delay_ms = 20};
	ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
	read_piece(file, (uint64_t)3 * PIECE, PIECE);
	if (_i)
		fs_file_unref(file);
	fs_close(fs);
}
END_TEST

/* Chunk 40 hangs: piece 20 alone needs it, and the pieces of its band do not wait for it. */
START_TEST(a_chunk_that_hangs_holds_up_its_own_requests_only)
{
	ck_assert_int_eq(mem_store_new("band.zarr", true, &store), 0);
	fixture_put_group(store, "");
	fixture_put(store, &array);
	struct fs_options options = {
		.store = store, .cache_bytes = 32 << 20, .decode_threads = 2, .timeout_ns = UINT64_C(400000000)};
	ck_assert_int_eq(fs_open(&options, &fs), 0);
	struct fs_file *file = open_file();
	struct mem_fault fault = {.key_part = "c/40", .delay_ms = 100000};
	ck_assert_int_eq(mem_store_set_faults(store, &fault, 1), 0);
	for (int i = 0; i < PIECES; i++) {
		struct waited_request *waited;
		static uint8_t got[PIECE];
		autobuf ready = fs_take(file, (uint64_t)i * PIECE, PIECE);
		if (ready || i == 20)
			continue;
		ck_assert_int_eq(waited_request_new(fs_deadlines(fs), &waited), 0);
		fs_read(file, (uint64_t)i * PIECE, PIECE, got, &waited->request);
		request_finish_part(&waited->request, 0);
		ck_assert_int_eq(waited_request_wait(waited), 0);
	}
	mem_store_set_faults(store, NULL, 0);
	mem_store_release(store);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

START_TEST(one_large_read_is_no_sequence)
{
	open_fs(FS_INLINE, 32 << 20);
	struct fs_file *file = open_file();
	uint64_t before = stats_get(chunks_decoded);
	for (int i = 0; i < 3; i++) {
		size_t size = 512 << 10;
		autofree uint8_t *got = malloc(size);
		struct waited_request *waited;
		uint64_t offset = (uint64_t)(2 - i) * (1 << 20);
		ck_assert_ptr_null(fs_take(file, offset, size));
		ck_assert_int_eq(waited_request_new(NULL, &waited), 0);
		fs_read(file, offset, size, got, &waited->request);
		request_finish_part(&waited->request, 0);
		ck_assert_int_eq(waited_request_wait(waited), 0);
	}
	ck_assert_uint_eq(stats_get(chunks_decoded) - before, 3 * (512 << 10) / CHUNK);
	fs_file_unref(file);
	fs_close(fs);
}
END_TEST

static Suite *band_suite(void)
{
	Suite *suite = suite_create("band");
	TCase *tcase = tcase_create("band");
	tcase_add_test(tcase, a_sequential_reader_finds_its_bytes_ready_to_the_end_of_the_file);
	tcase_add_test(tcase, every_chunk_is_decoded_once_all_the_same);
	tcase_add_test(tcase, reads_that_are_small_or_random_or_strided_load_no_more_than_they_need);
	tcase_add_test(tcase, a_reader_that_goes_elsewhere_gets_its_own_bytes_and_starts_over);
	tcase_add_test(tcase, two_requests_in_the_wrong_order_are_still_a_sequence);
	tcase_add_test(tcase, a_bad_chunk_harms_its_own_requests_only);
	tcase_add_loop_test(tcase, a_cache_of_one_chunk_reads_everything, 0, 2);
	tcase_add_test(tcase, bands_of_all_files_are_bounded_and_those_of_idle_files_make_room);
	tcase_add_loop_test(tcase, many_threads_share_files_and_who_comes_early_waits_for_the_band, 0, 2);
	tcase_add_test(tcase, a_chunk_that_hangs_holds_up_its_own_requests_only);
	tcase_add_test(tcase, one_large_read_is_no_sequence);
	tcase_add_loop_test(tcase, a_mount_may_end_while_a_band_is_under_way, 0, 2);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(band_suite)
