/*
 * zstd_context.c: one ZSTD_DCtx a thread. Making one costs as much as decoding a small chunk, so it is kept; a thread-local
 * variable finds it, a thread-specific key frees it.
 */
#include "base/zstd_context.h"

#include <pthread.h>
#include <stdbool.h>

static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static pthread_key_t context_key;
static bool context_key_made;
static _Thread_local ZSTD_DCtx *context;

static void context_free(void *arg)
{
	ZSTD_freeDCtx(arg);
	context = NULL;
}

static void context_make_key(void)
{
	context_key_made = pthread_key_create(&context_key, context_free) == 0;
}

ZSTD_DCtx *zstd_context(void)
{
	if (context)
		return context;
	pthread_once(&context_once, context_make_key);
	ZSTD_DCtx *made = context_key_made ? ZSTD_createDCtx() : NULL;
	if (made && pthread_setspecific(context_key, made) != 0) {
		ZSTD_freeDCtx(made);
		return NULL;
	}
	context = made;
	return made;
}
