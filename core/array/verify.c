/*
 * verify.c: array_verify. Strips are read through array_read, as anybody would; while the pool loads one, the caller's thread reads
 * the source and compares the one before.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array/strips.h"
#include "array/write.h"
#include "base/err.h"
#include "base/str.h"

#define STRIP_BYTES ((uint64_t)8 << 20)
#define PIECES 3

/* A strip that is being read. */
struct piece {
	struct strip_box box;
	struct layout layout;
	struct buf *bytes;
	struct waited_request *request; /* NULL: none */
};

static int piece_start(struct piece *piece, struct array *array, const struct strip_box *box)
{
	const struct array_meta *meta = array->meta;
	struct waited_request *request;
	piece->box = *box;
	if (!layout_init(&piece->layout, meta->ndim, meta->shape, meta->dtype.size))
		return err_set(EFBIG, "the array is larger than a file can be");
	for (int a = 0; a < meta->ndim; a++)
		layout_slice(&piece->layout, a, box->start[a], 1, box->count[a]);
	int rc = buf_new(box->bytes, &piece->bytes);
	if (!rc)
		rc = waited_request_new(NULL, &request);
	if (rc)
		return rc;
	piece->request = request;
	array_read(array, &piece->layout, 0, box->bytes, piece->bytes->data, &request->request, NULL);
	request_finish_part(&request->request, 0);
	return 0;
}

static int piece_wait(struct piece *piece)
{
	struct waited_request *request = piece->request;
	piece->request = NULL;
	return request ? waited_request_wait(request) : 0;
}

static int difference(const struct array_meta *meta, const struct strip_box *box, const uint8_t *a, const uint8_t *b)
{
	uint64_t at = 0, index[LIMIT_DIMS];
	autostr(place);
	while (a[at] == b[at])
		at++;
	at /= meta->dtype.size;
	for (int i = meta->ndim - 1; i >= 0; i--) {
		index[i] = box->start[i] + at % box->count[i];
		at /= box->count[i];
	}
	for (int i = 0; i < meta->ndim; i++)
		str_appendf(&place, "%s%" PRIu64, i ? ", " : "", index[i]);
	return err_set(EIO, "element [%s] is not what was written", place.text);
}

/* Compares a piece, when it has one, with the source, and empties it. */
static int piece_check(struct piece *piece, const struct array_meta *meta, const struct array_source *source)
{
	const struct strip_box *box = &piece->box;
	autobuf want = NULL;
	if (!piece->request)
		return 0;
	int rc = buf_new(box->bytes, &want);
	if (!rc)
		rc = source->read(source->arg, box->start, box->count, want->data);
	if (rc)
		return rc;
	rc = piece_wait(piece);
	if (!rc && memcmp(want->data, piece->bytes->data, want->size) != 0)
		rc = difference(meta, box, want->data, piece->bytes->data);
	buf_unref(piece->bytes);
	piece->bytes = NULL;
	return rc;
}

static int check_strips(struct array *array, struct piece *pieces, const struct array_source *source)
{
	struct strips strips;
	struct strip_box box;
	strips_begin(&strips, array, STRIP_BYTES);
	unsigned next = 0, n = (unsigned)strips_at_once(&strips, PIECES);
	int rc = 0;
	while (!rc && strips_next(&strips, &box)) {
		if (!box.bytes)
			continue;
		struct piece *piece = &pieces[next++ % n];
		rc = piece_check(piece, array->meta, source);
		if (!rc)
			rc = piece_start(piece, array, &box);
	}
	for (unsigned i = 0; i < n && !rc; i++)
		rc = piece_check(&pieces[(next + i) % n], array->meta, source);
	return rc;
}

int array_verify(struct array *array, const struct array_source *source)
{
	struct piece pieces[PIECES] = {0};
	struct err_text message;
	int rc = check_strips(array, pieces, source);
	err_save(&message);
	/* After a failure the others are still being written to. */
	for (int i = 0; i < PIECES; i++) {
		piece_wait(&pieces[i]);
		buf_unref(pieces[i].bytes);
	}
	err_restore(&message);
	return rc;
}
