/*
 * test_machine.c: what this process may use, against what the machine's own files say.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "fs/machine.h"

/* MemTotal of /proc/meminfo, bytes. */
static uint64_t total_memory(void)
{
	uint64_t kib = 0;
	char line[256];
	FILE *file = fopen("/proc/meminfo", "re");
	ck_assert_ptr_nonnull(file);
	while (!kib && fgets(line, sizeof(line), file))
		if (sscanf(line, "MemTotal: %" SCNu64, &kib) != 1)
			kib = 0;
	fclose(file);
	return kib * 1024;
}

/* The limit that a cgroup's file sets; UINT64_MAX where there is none. */
static uint64_t limit_of(const char *path)
{
	uint64_t limit = UINT64_MAX;
	FILE *file = fopen(path, "re");
	if (file && fscanf(file, "%" SCNu64, &limit) != 1)
		limit = UINT64_MAX;
	if (file)
		fclose(file);
	return limit;
}

START_TEST(memory_is_no_more_than_the_machine_has_and_the_outermost_cgroup_allows)
{
	uint64_t memory = machine_memory();
	ck_assert_uint_ge(memory, 1 << 20);
	ck_assert_uint_le(memory, total_memory());
	ck_assert_uint_le(memory, limit_of("/sys/fs/cgroup/memory.max"));
	ck_assert_uint_le(memory, limit_of("/sys/fs/cgroup/memory/memory.limit_in_bytes"));
	ck_assert_uint_eq(machine_memory(), memory);
}
END_TEST

START_TEST(cpus_are_no_more_than_the_affinity_mask_has)
{
	cpu_set_t all, one;
	ck_assert_int_eq(sched_getaffinity(0, sizeof(all), &all), 0);
	int cpus = machine_cpus();
	ck_assert_int_ge(cpus, 1);
	ck_assert_int_le(cpus, CPU_COUNT(&all));
	CPU_ZERO(&one);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(one), &one), 0);
	ck_assert_int_eq(machine_cpus(), 1);
	ck_assert_int_eq(sched_setaffinity(0, sizeof(all), &all), 0);
	ck_assert_int_eq(machine_cpus(), cpus);
}
END_TEST

static Suite *machine_suite(void)
{
	Suite *suite = suite_create("machine");
	TCase *tcase = tcase_create("machine");
	tcase_add_test(tcase, memory_is_no_more_than_the_machine_has_and_the_outermost_cgroup_allows);
	tcase_add_test(tcase, cpus_are_no_more_than_the_affinity_mask_has);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(machine_suite)
