/*
 * waited.c: a request whose owner sleeps until it is complete.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "pool/request.h"

static void waited_complete(struct request *request, int rc)
{
	struct waited_request *waited = container_of(request, struct waited_request, request);
	autolock(&waited->lock);
	waited->rc = rc;
	err_save(&waited->message);
	waited->done = true;
	pthread_cond_signal(&waited->cond);
}

static void waited_unref(struct waited_request *waited)
{
	if (atomic_fetch_sub(&waited->owners, 1) != 1)
		return;
	pthread_cond_destroy(&waited->cond);
	pthread_mutex_destroy(&waited->lock);
	free(waited);
}

static void waited_release(struct request *request)
{
	waited_unref(container_of(request, struct waited_request, request));
}

int waited_request_new(struct deadlines *deadlines, struct waited_request **ret_request)
{
	struct waited_request *waited = calloc(1, sizeof(*waited));
	if (!waited)
		return err_set(ENOMEM, "no memory for a request");
	pthread_mutex_init(&waited->lock, NULL);
	pthread_cond_init(&waited->cond, NULL);
	atomic_init(&waited->owners, 2);
	request_init(&waited->request, deadlines, waited_complete, waited_release);
	*ret_request = waited;
	return 0;
}

int waited_request_wait(struct waited_request *waited)
{
	pthread_mutex_lock(&waited->lock);
	while (!waited->done)
		pthread_cond_wait(&waited->cond, &waited->lock);
	pthread_mutex_unlock(&waited->lock);
	int rc = waited->rc;
	if (rc)
		err_restore(&waited->message);
	waited_unref(waited);
	return rc;
}
