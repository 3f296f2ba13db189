/*
 * deflate_context.c: one libdeflate_decompressor a thread. Making one costs as much as decoding a small chunk, so it is
 * kept; a thread-local variable finds it, a thread-specific key frees it.
 */
#include "base/deflate_context.h"

#include <pthread.h>
#include <stdbool.h>

static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static pthread_key_t context_key;
static bool context_key_made;
static _Thread_local struct libdeflate_decompressor *context;

static void context_free(void *arg)
{
	libdeflate_free_decompressor(arg);
	context = NULL;
}

static void context_make_key(void)
{
	context_key_made = pthread_key_create(&context_key, context_free) == 0;
}

struct libdeflate_decompressor *deflate_context(void)
{
	if (context)
		return context;
	pthread_once(&context_once, context_make_key);
	struct libdeflate_decompressor *made = context_key_made ? libdeflate_alloc_decompressor() : NULL;
	if (made && pthread_setspecific(context_key, made) != 0) {
		libdeflate_free_decompressor(made);
		return NULL;
	}
	context = made;
	return made;
}
