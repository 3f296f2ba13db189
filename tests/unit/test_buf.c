/*
 * test_buf.c: counted bytes, slices, foreign memory, and the recycler.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/buf.h"

static const size_t sizes[] = {
	0,	   1,	   63,	   64,	   4095,   4096,	4097,	 5120,	  5121,	   8191,
	65536, 100000, 262143, 262144, 300001, 2097151, 2097152, 2097153, 5000000, 16777216,
};

START_TEST(a_buffer_has_its_size_and_is_aligned_and_writable)
{
	/* twice: fresh, and where it recycles, recycled */
	for (int i = 0; i < 2; i++) {
		autobuf buf = NULL;
		ck_assert_int_eq(buf_new(sizes[_i], &buf), 0);
		ck_assert_uint_eq(buf->size, sizes[_i]);
		ck_assert_uint_eq((uintptr_t)buf->data % 64, 0);
		memset(buf->data, 0x5a, buf->size);
	}
}
END_TEST

START_TEST(an_impossible_size_is_enomem_and_touches_nothing)
{
	static const size_t impossible[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2, SIZE_MAX / 4 + 1};
	struct buf *buf = NULL;
	for (size_t i = 0; i < ARRAY_LEN(impossible); i++)
		ck_assert_int_eq(buf_new(impossible[i], &buf), -ENOMEM);
	ck_assert_ptr_null(buf);
}
END_TEST

START_TEST(shrinking_keeps_the_bytes)
{
	autobuf buf = NULL;
	ck_assert_int_eq(buf_new(10000, &buf), 0);
	memset(buf->data, 7, 10000);
	buf_shrink(buf, 3);
	ck_assert_uint_eq(buf->size, 3);
	ck_assert_int_eq(buf->data[2], 7);
	buf_shrink(buf, 3);
	buf_shrink(buf, 0);
	ck_assert_uint_eq(buf->size, 0);
}
END_TEST

static void count_release(void *arg)
{
	++*(int *)arg;
}

START_TEST(foreign_memory_is_released_once_by_the_last_owner)
{
	char memory[] = "foreign";
	int released = 0;
	struct buf *buf, *slice, *slice_of_slice;
	ck_assert_int_eq(buf_wrap(memory, sizeof(memory), count_release, &released, &buf), 0);
	ck_assert_ptr_eq(buf->data, memory);
	ck_assert_ptr_eq(buf_ref(buf), buf);
	ck_assert_int_eq(buf_slice(buf, 1, 4, &slice), 0);
	ck_assert_int_eq(buf_slice(slice, 1, 2, &slice_of_slice), 0);
	buf_unref(buf);
	buf_unref(buf);
	buf_unref(slice);
	ck_assert_int_eq(released, 0);
	ck_assert_mem_eq(slice_of_slice->data, "re", 2);
	buf_unref(slice_of_slice);
	ck_assert_int_eq(released, 1);
}
END_TEST

START_TEST(foreign_memory_without_a_release_is_left_alone)
{
	char memory[] = "static";
	struct buf *buf;
	ck_assert_int_eq(buf_wrap(memory, sizeof(memory), NULL, NULL, &buf), 0);
	buf_unref(buf);
	ck_assert_str_eq(memory, "static");
}
END_TEST

START_TEST(a_slice_of_a_slice_refers_to_the_root)
{
	autobuf root = NULL;
	struct buf *slice, *inner, *empty;
	ck_assert_int_eq(buf_new(8192, &root), 0);
	for (size_t i = 0; i < root->size; i++)
		root->data[i] = (uint8_t)(i / 32);
	ck_assert_int_eq(buf_slice(root, 4096, 4096, &slice), 0);
	ck_assert_int_eq(buf_slice(slice, 1024, 64, &inner), 0);
	ck_assert_int_eq(buf_slice(slice, 4096, 0, &empty), 0);
	ck_assert_uint_eq(empty->size, 0);
	buf_unref(empty);
	buf_unref(slice);
	ck_assert_ptr_eq(inner->parent, root);
	ck_assert_ptr_eq(inner->data, root->data + 5120);
	ck_assert_int_eq(inner->data[63], 161);
	buf_unref(inner);
}
END_TEST

START_TEST(a_slice_keeps_its_parent_alive)
{
	struct buf *root, *slice;
	ck_assert_int_eq(buf_new(100000, &root), 0);
	memset(root->data, 9, root->size);
	ck_assert_int_eq(buf_slice(root, 99990, 10, &slice), 0);
	buf_unref(root);
	/* takes the parent's memory if that was recycled too early */
	autobuf other = NULL;
	ck_assert_int_eq(buf_new(100000, &other), 0);
	memset(other->data, 1, other->size);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(slice->data[i], 9);
	buf_unref(slice);
}
END_TEST

START_TEST(unref_of_nothing_is_legal)
{
	buf_unref(NULL);
	__attribute__((unused)) autobuf never = NULL;
}
END_TEST

#if !defined(__SANITIZE_ADDRESS__)
START_TEST(freed_memory_is_used_again_within_its_class)
{
	struct buf *first, *second;
	ck_assert_int_eq(buf_new(5000, &first), 0);
	uint8_t *data = first->data;
	buf_shrink(first, 1);
	buf_unref(first);
	ck_assert_int_eq(buf_new(5120, &second), 0);
	ck_assert_ptr_eq(second->data, data);
	buf_unref(second);
	ck_assert_int_eq(buf_new(5121, &second), 0);
	ck_assert_ptr_ne(second->data, data);
	buf_unref(second);
}
END_TEST

START_TEST(the_recycler_keeps_the_newest_within_its_limit)
{
	struct buf *bufs[4];
	uint8_t *data[4];
	buf_set_recycled_limit(2 * 8192);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(buf_new(i < 2 ? 7000 : 8192, &bufs[i]), 0);
	for (int i = 0; i < 4; i++) {
		data[i] = bufs[i]->data;
		memset(data[i], 1, bufs[i]->size);
		buf_unref(bufs[i]);
	}
	/* the two of 8192 bytes are held, newest first; both of 7168 went */
	for (int i = 3; i >= 2; i--) {
		ck_assert_int_eq(buf_new(8000, &bufs[i]), 0);
		ck_assert_ptr_eq(bufs[i]->data, data[i]);
	}
	buf_set_recycled_limit(0);
	for (int i = 2; i < 4; i++)
		buf_unref(bufs[i]);
	buf_set_recycled_limit((size_t)64 << 20);
}
END_TEST
#endif

static void *churn(void *arg)
{
	uint64_t state = *(uint64_t *)arg;
	struct buf *held[8] = {0};
	for (int i = 0; i < 4000; i++) {
		int slot = (int)(test_random(&state) % ARRAY_LEN(held));
		if (held[slot]) {
			uint8_t mark = (uint8_t)((uintptr_t)held[slot] >> 4);
			if (held[slot]->data[0] != mark || held[slot]->data[held[slot]->size - 1] != mark)
				return "somebody else wrote to a held buffer";
		}
		buf_unref(held[slot]);
		held[slot] = NULL;
		if (buf_new(4096 + test_random(&state) % 60000, &held[slot]) < 0)
			return "no memory";
		memset(held[slot]->data, (uint8_t)((uintptr_t)held[slot] >> 4), held[slot]->size);
	}
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		buf_unref(held[i]);
	return NULL;
}

START_TEST(threads_share_the_recycler)
{
	pthread_t threads[4];
	uint64_t seeds[ARRAY_LEN(threads)], state = test_seed();
	buf_set_recycled_limit(500000);
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		seeds[i] = test_random(&state);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, &seeds[i]), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(threads); i++) {
		void *problem;
		pthread_join(threads[i], &problem);
		ck_assert_ptr_null(problem);
	}
	buf_set_recycled_limit((size_t)64 << 20);
}
END_TEST

static void *unref_thread(void *arg)
{
	buf_unref(arg);
	return NULL;
}

START_TEST(owners_in_several_threads_release_once)
{
	for (int round = 0; round < 50; round++) {
		int released = 0;
		struct buf *buf;
		pthread_t threads[4];
		ck_assert_int_eq(buf_wrap(&released, sizeof(released), count_release, &released, &buf), 0);
		for (size_t i = 0; i < ARRAY_LEN(threads); i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, unref_thread, buf_ref(buf)), 0);
		buf_unref(buf);
		for (size_t i = 0; i < ARRAY_LEN(threads); i++)
			pthread_join(threads[i], NULL);
		ck_assert_int_eq(released, 1);
	}
}
END_TEST

static Suite *buf_suite(void)
{
	Suite *suite = suite_create("buf");
	TCase *tcase = tcase_create("buf");
	tcase_add_loop_test(tcase, a_buffer_has_its_size_and_is_aligned_and_writable, 0, ARRAY_LEN(sizes));
	tcase_add_test(tcase, an_impossible_size_is_enomem_and_touches_nothing);
	tcase_add_test(tcase, shrinking_keeps_the_bytes);
	tcase_add_test(tcase, foreign_memory_is_released_once_by_the_last_owner);
	tcase_add_test(tcase, foreign_memory_without_a_release_is_left_alone);
	tcase_add_test(tcase, a_slice_of_a_slice_refers_to_the_root);
	tcase_add_test(tcase, a_slice_keeps_its_parent_alive);
	tcase_add_test(tcase, unref_of_nothing_is_legal);
#if !defined(__SANITIZE_ADDRESS__)
	tcase_add_test(tcase, freed_memory_is_used_again_within_its_class);
	tcase_add_test(tcase, the_recycler_keeps_the_newest_within_its_limit);
#endif
	tcase_add_test(tcase, threads_share_the_recycler);
	tcase_add_test(tcase, owners_in_several_threads_release_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(buf_suite)
