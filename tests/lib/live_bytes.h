/*
 * live_bytes.h: how many bytes this thread holds, and held at most, where a sanitizer counts them; else 0.
 */
#ifndef ZARRFS_TEST_LIVE_BYTES_H
#define ZARRFS_TEST_LIVE_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* sanitizer/allocator_interface.h, which gcc and clang keep in different places */
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
											  void (*on_free)(const volatile void *)) __attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

static _Thread_local int64_t live_bytes, live_bytes_peak;

static inline void live_bytes_add(const volatile void *p, size_t size)
{
	live_bytes += (int64_t)size;
	if (live_bytes > live_bytes_peak)
		live_bytes_peak = live_bytes;
}

static inline void live_bytes_sub(const volatile void *p)
{
	if (p)
		live_bytes -= (int64_t)__sanitizer_get_allocated_size(p);
}

/* Counts from now on; once a process. */
static inline void live_bytes_begin(void)
{
	if (__sanitizer_install_malloc_and_free_hooks && __sanitizer_get_allocated_size)
		__sanitizer_install_malloc_and_free_hooks(live_bytes_add, live_bytes_sub);
}

#endif
