/*
 * base.h: the few things that C lacks.
 *
 * Scope owns: `autofree` frees at the end of the block, `autolock` holds a mutex until there.
 * Thread-safe as far as its arguments are.
 */
#ifndef ZARRFS_BASE_H
#define ZARRFS_BASE_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

static inline void base_free(void *p)
{
	free(*(void **)p);
}

static inline void base_unlock(pthread_mutex_t **m)
{
	pthread_mutex_unlock(*m);
}

/* The pointer is freed when it goes out of scope. */
#define autofree __attribute__((cleanup(base_free)))

/* Locks now, unlocks at the end of the block. */
#define autolock(m)                                                                                                    \
	__attribute__((cleanup(base_unlock), unused)) pthread_mutex_t *autolock_held = (m);                                \
	pthread_mutex_lock(autolock_held)

/* A printf-like function: the compiler checks its arguments. */
#define printf_like(fmt_arg, first_arg) __attribute__((format(printf, fmt_arg, first_arg)))

#endif
