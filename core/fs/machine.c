/*
 * machine.c: limits of cgroups(7). A limit of an ancestor binds too, so each group is walked up to the mount's root.
 */
#include "fs/machine.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

/* The first two numbers of a file; "max" counts as UINT64_MAX. Returns how many there are. */
static int read_numbers(const char *path, uint64_t *ret_first, uint64_t *ret_second)
{
	char text[128] = "", words[2][64];
	FILE *file = fopen(path, "re");
	if (!file)
		return 0;
	size_t n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = 0;
	int found = sscanf(text, "%63s %63s", words[0], words[1]);
	uint64_t *values[] = {ret_first, ret_second};
	for (int i = 0; i < found; i++)
		*values[i] = words[i][0] == '-' || !strcmp(words[i], "max") ? UINT64_MAX : strtoull(words[i], NULL, 10);
	return MAX(found, 0);
}

struct limits {
	uint64_t memory; /* bytes */
	double cpus;
};

static void apply_v2(const char *group, struct limits *limits)
{
	char path[PATH_MAX + 64];
	uint64_t first, second;
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/memory.max", group);
	if (read_numbers(path, &first, &second) >= 1)
		limits->memory = MIN(limits->memory, first);
	snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cpu.max", group);
	if (read_numbers(path, &first, &second) == 2 && first != UINT64_MAX && second)
		limits->cpus = MIN(limits->cpus, (double)first / (double)second);
}

static void apply_v1_memory(const char *group, struct limits *limits)
{
	char path[PATH_MAX + 64];
	uint64_t first, second;
	snprintf(path, sizeof(path), "/sys/fs/cgroup/memory%s/memory.limit_in_bytes", group);
	if (read_numbers(path, &first, &second) >= 1)
		limits->memory = MIN(limits->memory, first);
}

static void apply_v1_cpu(const char *group, struct limits *limits)
{
	char path[PATH_MAX + 64];
	uint64_t quota, period, second;
	snprintf(path, sizeof(path), "/sys/fs/cgroup/cpu%s/cpu.cfs_quota_us", group);
	if (read_numbers(path, &quota, &second) < 1 || quota == UINT64_MAX)
		return;
	snprintf(path, sizeof(path), "/sys/fs/cgroup/cpu%s/cpu.cfs_period_us", group);
	if (read_numbers(path, &period, &second) >= 1 && period)
		limits->cpus = MIN(limits->cpus, (double)quota / (double)period);
}

/* The group and each of its ancestors. */
static void apply_up(char *group, void (*apply)(const char *group, struct limits *limits), struct limits *limits)
{
	for (;;) {
		apply(strcmp(group, "/") ? group : "", limits);
		char *slash = strrchr(group, '/');
		if (!slash || !strcmp(group, "/"))
			return;
		slash[slash == group] = 0;
	}
}

static bool has_controller(const char *list, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = list; (at = strstr(at, name)); at += n)
		if ((at == list || at[-1] == ',') && (at[n] == 0 || at[n] == ','))
			return true;
	return false;
}

static struct limits find_limits(void)
{
	struct limits limits = {UINT64_MAX, 1e9};
	char line[PATH_MAX + 256];
	FILE *file = fopen("/proc/self/cgroup", "re");
	while (file && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = 0;
		char *controllers = strchr(line, ':');
		char *group = controllers ? strchr(controllers + 1, ':') : NULL;
		if (!group)
			continue;
		*controllers++ = 0;
		*group++ = 0;
		char copy[PATH_MAX];
		snprintf(copy, sizeof(copy), "%s", group);
		if (!*controllers)
			apply_up(copy, apply_v2, &limits);
		else if (has_controller(controllers, "memory"))
			apply_up(copy, apply_v1_memory, &limits);
		else if (has_controller(controllers, "cpu"))
			apply_up(copy, apply_v1_cpu, &limits);
	}
	if (file)
		fclose(file);
	return limits;
}

uint64_t machine_memory(void)
{
	uint64_t pages = (uint64_t)MAX(sysconf(_SC_PHYS_PAGES), 1), page = (uint64_t)MAX(sysconf(_SC_PAGESIZE), 1);
	return MIN(pages * page, MAX(find_limits().memory, 1));
}

int machine_cpus(void)
{
	cpu_set_t set;
	int cpus = sched_getaffinity(0, sizeof(set), &set) ? (int)sysconf(_SC_NPROCESSORS_ONLN) : CPU_COUNT(&set);
	double quota = find_limits().cpus;
	if (quota < cpus)
		cpus = (int)quota + (quota > (int)quota);
	return MAX(cpus, 1);
}
