/*
 * test_inode.c: the table of kernel handles: who is the same inode, how long it lives, and its number.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"

#include "base/base.h"
#include "fs/inode.h"

/* More than the table's first buckets. */
enum { NODES = 1000 };

static struct inode_table *table;
static struct node nodes[NODES];
static char paths[NODES][32];

static void begin(void)
{
	ck_assert_int_eq(inode_table_new(&table), 0);
	for (int i = 0; i < NODES; i++) {
		snprintf(paths[i], sizeof(paths[i]), "g%d/a%d", i % 7, i);
		nodes[i] = (struct node){.kind = NODE_ARRAY, .path = paths[i], .name = strchr(paths[i], '/') + 1};
	}
	/* fs.c makes the root's first */
	const struct inode *root;
	ck_assert_int_eq(inode_table_get(table, INODE_DIRECTORY, NULL, NULL, 0, &root), 0);
	ck_assert_uint_eq(root->handle, FS_ROOT);
}

static uint64_t get(enum inode_kind kind, int node, int row, uint64_t size)
{
	const struct inode *inode;
	ck_assert_int_eq(inode_table_get(table, kind, &nodes[node], row < 0 ? NULL : view_row(row), size, &inode), 0);
	return inode->handle;
}

START_TEST(an_identity_has_one_inode_as_long_as_it_is_looked_up)
{
	struct inode copy;
	begin();
	uint64_t raw = get(INODE_VIEW, 0, 0, 10), npy = get(INODE_VIEW, 0, 1, 20);
	uint64_t directory = get(INODE_DIRECTORY, 0, -1, 0), other = get(INODE_VIEW, 1, 0, 30);
	ck_assert(raw != npy && raw != directory && raw != other && npy != directory && npy != other);
	ck_assert_uint_eq(inode_table_count(table), 5);
	/* the size is that of the first time */
	ck_assert_uint_eq(get(INODE_VIEW, 0, 0, 99), raw);
	ck_assert_int_eq(inode_table_copy(table, raw, &copy), 0);
	ck_assert_uint_eq(copy.size, 10);
	ck_assert_ptr_eq(copy.node, &nodes[0]);
	ck_assert_ptr_eq(copy.ops, view_row(0));

	inode_table_forget(table, raw, 1);
	ck_assert_int_eq(inode_table_copy(table, raw, &copy), 0);
	inode_table_forget(table, raw, 1);
	ck_assert_int_eq(inode_table_copy(table, raw, &copy), -ESTALE);
	ck_assert_uint_eq(inode_table_count(table), 4);
	uint64_t again = get(INODE_VIEW, 0, 0, 40), size;
	ck_assert_uint_gt(again, other);
	ck_assert(inode_table_find(table, INODE_VIEW, &nodes[0], view_row(0), &size));
	ck_assert_uint_eq(size, 40);
	ck_assert(!inode_table_find(table, INODE_VIEW, &nodes[2], view_row(0), &size));
	inode_table_free(table);
}
END_TEST

START_TEST(forgetting_too_much_or_what_is_not_there_is_harmless)
{
	struct inode copy;
	begin();
	uint64_t raw = get(INODE_VIEW, 0, 0, 10);
	inode_table_forget(table, raw, UINT64_MAX);
	ck_assert_int_eq(inode_table_copy(table, raw, &copy), -ESTALE);
	inode_table_forget(table, raw, 1);
	inode_table_forget(table, 0, 1);
	inode_table_forget(table, UINT64_MAX, 1);
	/* the root stays */
	inode_table_forget(table, FS_ROOT, UINT64_MAX);
	ck_assert_int_eq(inode_table_copy(table, FS_ROOT, &copy), 0);
	ck_assert_uint_eq(inode_table_count(table), 1);
	inode_table_free(table);
	inode_table_free(NULL);
}
END_TEST

START_TEST(the_table_grows_and_no_handle_comes_twice)
{
	static uint64_t handles[2 * NODES];
	struct inode copy;
	begin();
	for (int i = 0; i < 2 * NODES; i++) {
		handles[i] = get(INODE_VIEW, i / 2, i % 2, (uint64_t)i);
		ck_assert_uint_gt(handles[i], i ? handles[i - 1] : FS_ROOT);
	}
	for (int i = 0; i < 2 * NODES; i += 3)
		inode_table_forget(table, handles[i], 1);
	for (int i = 0; i < 2 * NODES; i++) {
		int rc = inode_table_copy(table, handles[i], &copy);
		ck_assert_int_eq(rc, i % 3 ? 0 : -ESTALE);
		if (!rc) {
			ck_assert_uint_eq(copy.size, (uint64_t)i);
			ck_assert_uint_eq(get(INODE_VIEW, i / 2, i % 2, 0), handles[i]);
		} else {
			ck_assert_uint_gt(get(INODE_VIEW, i / 2, i % 2, 0), handles[2 * NODES - 1]);
		}
	}
	ck_assert_uint_eq(inode_table_count(table), 2 * NODES + 1);
	inode_table_free(table);
}
END_TEST

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

START_TEST(a_number_comes_from_path_and_view_and_no_two_are_alike)
{
	static uint64_t numbers[4 * NODES + 3];
	size_t n = 0;
	begin();
	numbers[n++] = inode_number(INODE_CONTROL, NULL, NULL);
	numbers[n++] = inode_number(INODE_STATS, NULL, NULL);
	numbers[n++] = inode_number(INODE_DIRECTORY, &(struct node){.path = (char *)""}, NULL);
	for (int i = 0; i < NODES; i++) {
		numbers[n++] = inode_number(INODE_DIRECTORY, &nodes[i], NULL);
		for (int row = 0; row < 3; row++)
			numbers[n++] = inode_number(INODE_VIEW, &nodes[i], view_row(row));
		/* another node of the same path, as after a remount */
		char path[32];
		strcpy(path, paths[i]);
		ck_assert_uint_eq(inode_number(INODE_VIEW, &(struct node){.path = path}, view_row(2)), numbers[n - 1]);
	}
	qsort(numbers, n, sizeof(*numbers), compare_numbers);
	ck_assert_uint_gt(numbers[0], 1);
	for (size_t i = 1; i < n; i++)
		ck_assert_uint_ne(numbers[i], numbers[i - 1]);
	/* what follows a path is no part of it */
	struct node a = {.path = (char *)"a"}, a_raw = {.path = (char *)"a.raw"}, araw = {.path = (char *)"araw"};
	ck_assert_uint_ne(inode_number(INODE_VIEW, &a, view_row(1)), inode_number(INODE_DIRECTORY, &a_raw, NULL));
	ck_assert_uint_ne(inode_number(INODE_VIEW, &a, view_row(1)), inode_number(INODE_DIRECTORY, &araw, NULL));
	inode_table_free(table);
}
END_TEST

/* Threads look up and forget a few identities: each handle is alive from its look-up to its forget. */
static atomic_int wrong;

static void *look_up_and_forget(void *arg)
{
	uint64_t state = *(uint64_t *)arg;
	for (int i = 0; i < 3000; i++) {
		const struct inode *inode;
		struct inode copy;
		struct node *node = &nodes[test_random(&state) % 4];
		if (inode_table_get(table, INODE_VIEW, node, view_row(0), 5, &inode)) {
			atomic_fetch_add(&wrong, 1);
			continue;
		}
		uint64_t handle = inode->handle;
		if (inode_table_copy(table, handle, &copy) || copy.node != node || copy.size != 5)
			atomic_fetch_add(&wrong, 1);
		inode_table_forget(table, handle, 1);
	}
	return NULL;
}

START_TEST(threads_balance_their_counts)
{
	pthread_t threads[4];
	uint64_t seeds[4], seed = test_seed();
	begin();
	for (int t = 0; t < 4; t++) {
		seeds[t] = seed + (uint64_t)t;
		ck_assert_int_eq(pthread_create(&threads[t], NULL, look_up_and_forget, &seeds[t]), 0);
	}
	for (int t = 0; t < 4; t++)
		pthread_join(threads[t], NULL);
	ck_assert_int_eq(atomic_load(&wrong), 0);
	ck_assert_uint_eq(inode_table_count(table), 1);
	inode_table_free(table);
}
END_TEST

static Suite *inode_suite(void)
{
	Suite *suite = suite_create("inode");
	TCase *tcase = tcase_create("inode");
	tcase_add_test(tcase, an_identity_has_one_inode_as_long_as_it_is_looked_up);
	tcase_add_test(tcase, forgetting_too_much_or_what_is_not_there_is_harmless);
	tcase_add_test(tcase, the_table_grows_and_no_handle_comes_twice);
	tcase_add_test(tcase, a_number_comes_from_path_and_view_and_no_two_are_alike);
	tcase_add_test(tcase, threads_balance_their_counts);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(inode_suite)
