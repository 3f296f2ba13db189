/*
 * pack_input.c: reads boxes by spans. The innermost axes of the box, as they lie in the file, are read at once where what lies
 * between their pieces is not worth a call each; the axes outside them are walked.
 *
 *     file  ....[piece]gap[piece]gap[piece]..............[piece]gap[piece]gap[piece]....
 *               |------------ span ---------|            |------------ span ---------|
 */
#include "tools/pack_input.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/ndcopy.h"

#define HEAD_BYTES ((size_t)1 << 20) /* numpy's headers have some hundred */
#define GAP_BYTES 8192				 /* copied by the kernel in the time of one more call */
#define SPAN_BYTES (4 << 20)

static int read_at(const struct pack_input *input, uint64_t offset, void *dst, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(input->fd, (char *)dst + done, size - done, (off_t)(offset + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set(errno, "%s: %s", input->path, strerror(errno));
		if (n == 0)
			return err_set(EIO, "%s: has become shorter", input->path);
		done += (size_t)n;
	}
	return 0;
}

static int open_file(struct pack_input *input)
{
	/* O_NONBLOCK: a FIFO is refused, not waited for. */
	input->fd = open(input->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (input->fd < 0 || fstat(input->fd, &input->stat) < 0)
		return err_set(errno, "%s: %s", input->path, strerror(errno));
	if (!S_ISREG(input->stat.st_mode))
		return err_set(EIO, "%s: not a regular file", input->path);
	return 0;
}

static int parse_head(struct pack_input *input)
{
	size_t n, size = (size_t)MIN((uint64_t)input->stat.st_size, HEAD_BYTES);
	autofree void *head = malloc(size + 1);
	if (!head)
		return err_set(ENOMEM, "no memory for a header");
	int rc = read_at(input, 0, head, size);
	return rc ? rc : err_prefix(view_parse(view_of_name("_.npy", &n), head, size, &input->head), "%s", input->path);
}

static int check_size(struct pack_input *input)
{
	const struct view_parsed *head = &input->head;
	uint64_t end;
	struct layout layout;
	if (!layout_init(&layout, head->ndim, head->shape, head->dtype.size) ||
		!checked_add(layout.bytes, head->payload_offset, &end))
		return err_set(EFBIG, "%s: header: shape: more than 2^63-1 bytes", input->path);
	if (end != (uint64_t)input->stat.st_size)
		return err_set(EIO, "%s: %jd bytes, its header says %" PRIu64, input->path, (intmax_t)input->stat.st_size, end);
	input->bytes = layout.bytes;
	return 0;
}

static void lay_out(struct pack_input *input)
{
	const struct view_parsed *head = &input->head;
	int64_t stride = head->dtype.size;
	for (int i = head->ndim - 1; i >= 0; i--) {
		int axis = head->fortran_order ? head->ndim - 1 - i : i;
		input->axis[i] = axis;
		input->stride[axis] = stride;
		stride *= (int64_t)MAX(head->shape[axis], 1);
	}
}

int pack_input_open(const char *path, struct pack_input *ret_input)
{
	struct pack_input input = {.path = path, .fd = -1};
	char name[DTYPE_NAME_BYTES];
	int rc = open_file(&input);
	if (!rc)
		rc = parse_head(&input);
	if (!rc && !dtype_v3_name(&input.head.dtype, name, sizeof(name)))
		rc = err_set(ENOTSUP, "%s: Zarr v3 has no data type with sub-arrays or padding", path);
	if (!rc)
		rc = check_size(&input);
	if (rc) {
		pack_input_close(&input);
		return rc;
	}
	lay_out(&input);
	*ret_input = input;
	return 0;
}

void pack_input_close(struct pack_input *input)
{
	dtype_finish(&input->head.dtype);
	if (input->fd >= 0)
		close(input->fd);
}

/* A box of the file, its axes as they lie there. */
struct box {
	int ndim;
	uint64_t count[LAYOUT_AXES]; /* with the bytes of an element as the last axis */
	int64_t file[LAYOUT_AXES], dst[LAYOUT_AXES];
	uint64_t offset;
	/* the axes from `inner` on are one span, that lies in dst as it does in the file if `same` */
	int inner;
	uint64_t span;
	bool same;
};

static void box_init(struct box *box, const struct pack_input *input, const uint64_t *start, const uint64_t *count)
{
	const struct view_parsed *head = &input->head;
	int ndim = head->ndim;
	int64_t dst[LIMIT_DIMS], stride = head->dtype.size;
	for (int a = ndim - 1; a >= 0; a--) {
		dst[a] = stride;
		stride *= (int64_t)count[a];
	}
	*box = (struct box){.ndim = ndim, .offset = head->payload_offset};
	box->count[ndim] = head->dtype.size;
	box->file[ndim] = box->dst[ndim] = 1;
	for (int i = 0; i < ndim; i++) {
		int a = input->axis[i];
		box->count[i] = count[a];
		box->file[i] = input->stride[a];
		box->dst[i] = dst[a];
		box->offset += start[a] * (uint64_t)input->stride[a];
	}
}

/* Joins axes to the span while they follow each other in both places, or else while it stays small and has no large gaps. */
static void box_find_span(struct box *box)
{
	box->inner = box->ndim;
	box->span = box->count[box->ndim];
	box->same = true;
	for (int i = box->ndim - 1; i >= 0; i--) {
		uint64_t stride = (uint64_t)box->file[i], steps = box->count[i] - 1;
		bool is_same = steps == 0 || (box->same && stride == box->span && box->dst[i] == box->file[i]);
		bool is_innermost = box->inner == box->ndim;
		if (!is_same && !is_innermost && (stride - box->span > GAP_BYTES || stride * steps + box->span > SPAN_BYTES))
			return;
		box->same &= is_same;
		box->span += stride * steps;
		box->inner = i;
	}
}

int pack_input_read(const struct pack_input *input, const uint64_t *start, const uint64_t *count, void *dst)
{
	const struct dtype *dtype = &input->head.dtype;
	struct box box;
	uint64_t at[LIMIT_DIMS] = {0}, bytes = dtype->size;
	for (int a = 0; a < input->head.ndim; a++)
		bytes *= count[a];
	if (!bytes)
		return 0;
	box_init(&box, input, start, count);
	box_find_span(&box);
	autobuf span = NULL;
	int rc = box.same ? 0 : buf_new(box.span, &span);
	uint64_t offset = box.offset;
	uint8_t *to = dst;
	for (int i = 0; !rc && i >= 0;) {
		rc = read_at(input, offset, box.same ? to : span->data, box.span);
		if (!rc && !box.same)
			ndcopy(to, box.dst + box.inner, span->data, box.file + box.inner, box.count + box.inner,
				   box.ndim + 1 - box.inner);
		for (i = box.inner - 1; i >= 0; i--) {
			offset += (uint64_t)box.file[i];
			to += box.dst[i];
			if (++at[i] < box.count[i])
				break;
			offset -= (uint64_t)box.file[i] * box.count[i];
			to -= box.dst[i] * (int64_t)box.count[i];
			at[i] = 0;
		}
	}
	if (!rc && input->head.big_endian)
		dtype_swap(dtype, dst, dst, bytes);
	return rc;
}

static bool is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
		   a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

int pack_input_check(const struct pack_input *input)
{
	struct stat open, named;
	if (fstat(input->fd, &open) < 0 || stat(input->path, &named) < 0)
		return err_set(EIO, "%s: %s", input->path, strerror(errno));
	if (!is_same_file(&open, &input->stat) || !is_same_file(&named, &input->stat))
		return err_set(EIO, "%s: has changed meanwhile", input->path);
	return 0;
}
