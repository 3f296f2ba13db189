/*
 * test_ahead.c: how much a sequential reader makes read-ahead load.
 */
#include <stdlib.h>

#include "../lib/check_main.h"
#include "../lib/scratch.h"

#include "base/base.h"
#include "base/stats.h"
#include "fs/fs.h"

#define ARRAY "{\"zarr_format\":3,\"node_type\":\"array\",\"data_type\":\"uint8\",\"fill_value\":7,"
#define GRID                                                                                                           \
	"\"chunk_key_encoding\":\"default\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":"
#define CODECS "}},\"codecs\":[\"bytes\"]}"

/* Reads the first `reads` times `size` bytes of a store's root array; returns how many chunks were loaded ahead. */
static uint64_t ahead_of(const char *document, int reads, size_t size)
{
	char path[PATH_MAX];
	struct fs *fs;
	struct fs_attr attr;
	struct fs_file *file;
	scratch_make(scratch_disk(), path);
	ck_assert(scratch_write(path, "zarr.json", document));
	struct fs_options options = {.url = path, .cache_bytes = (uint64_t)256 << 20, .decode_threads = FS_INLINE};
	ck_assert_int_eq(fs_open(&options, &fs), 0);
	autofree char *name = NULL;
	ck_assert_int_gt(asprintf(&name, "%s.raw", hierarchy_root_name(fs_hierarchy(fs))), 0);
	ck_assert_int_eq(fs_lookup(fs, FS_ROOT, name, STORE_WAIT, &attr), 0);
	ck_assert_int_eq(fs_file_open(fs, attr.handle, false, STORE_WAIT, &file), 0);
	autofree uint8_t *bytes = malloc(size);
	uint64_t before = stats_get(ahead_loads);
	for (int i = 0; i < reads; i++) {
		struct waited_request *waited;
		ck_assert_int_eq(waited_request_new(NULL, &waited), 0);
		fs_read(file, (uint64_t)i * size, size, bytes, &waited->request);
		request_finish_part(&waited->request, 0);
		ck_assert_int_eq(waited_request_wait(waited), 0);
		for (size_t at = 0; at < size; at++)
			ck_assert_uint_eq(bytes[at], 7);
	}
	uint64_t ahead = stats_get(ahead_loads) - before;
	fs_file_unref(file);
	fs_close(fs);
	scratch_remove(path);
	return ahead;
}

START_TEST(a_sequential_reader_has_the_next_row_loaded)
{
	uint64_t ahead = ahead_of(ARRAY "\"shape\":[64,65536]," GRID "[4,16384]" CODECS, 4, 65536);
	ck_assert_uint_ge(ahead, 4);
	ck_assert_uint_le(ahead, 60);
}
END_TEST

/* A window of half a MiB would be as many loads, each larger than its chunk. */
START_TEST(chunks_of_a_byte_are_loaded_ahead_in_thousands_not_in_millions)
{
	uint64_t ahead = ahead_of(ARRAY "\"shape\":[16777216]," GRID "[1]" CODECS, 6, 2048);
	ck_assert_uint_ge(ahead, 2048);
	ck_assert_uint_le(ahead, 32768);
}
END_TEST

START_TEST(rows_of_more_chunks_than_that_are_not_loaded_ahead)
{
	ck_assert_uint_eq(ahead_of(ARRAY "\"shape\":[64,65536]," GRID "[4,2]" CODECS, 6, 2048), 0);
}
END_TEST

static Suite *ahead_suite(void)
{
	Suite *suite = suite_create("ahead");
	TCase *tcase = tcase_create("ahead");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, a_sequential_reader_has_the_next_row_loaded);
	tcase_add_test(tcase, chunks_of_a_byte_are_loaded_ahead_in_thousands_not_in_millions);
	tcase_add_test(tcase, rows_of_more_chunks_than_that_are_not_loaded_ahead);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(ahead_suite)
