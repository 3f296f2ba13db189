/*
 * machine.h: what this process may use of the machine: the minimum over the machine and every cgroup (v1 and v2) that it is in.
 */
#ifndef ZARRFS_MACHINE_H
#define ZARRFS_MACHINE_H

#include <stdint.h>

/* Bytes of memory; at least 1. */
uint64_t machine_memory(void);

/* CPUs, by affinity and cgroup quota, rounded up; at least 1. */
int machine_cpus(void);

#endif
