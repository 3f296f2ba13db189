/*
 * fuzz_npy.c: the head of an .npy file, there and back: what parses as one becomes an array in a store, whose .npy view must
 * have a head that parses to the same. Input: the file's first bytes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fuzz.h"

#include "base/base.h"
#include "fs/fs.h"
#include "store/mem.h"
#include "view/view_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ALIGN 64

static void check_parsed(const struct view_parsed *parsed, size_t size)
{
	check(parsed->payload_offset >= 10 && parsed->payload_offset <= size);
	check(parsed->ndim >= 0 && parsed->ndim <= LIMIT_DIMS);
	check(parsed->dtype.size >= 1 && parsed->dtype.size <= LIMIT_ITEM_SIZE);
	check(parsed->dtype.swap_unit >= 1 && parsed->dtype.size % parsed->dtype.swap_unit == 0);
	check(!parsed->big_endian || parsed->dtype.swap_unit > 1 || parsed->dtype.record->n_spans > 0);
	for (int i = 0; parsed->dtype.record && i < parsed->dtype.record->n_spans; i++) {
		const struct swap_span *span = &parsed->dtype.record->spans[i];
		check((uint64_t)span->unit * span->count <= parsed->dtype.size - span->offset);
	}
}

/* The document of such an array, in chunks of one element. */
static char *document_of(const struct view_parsed *parsed)
{
	struct codec_spec bytes = {.name = (char *)"bytes", .where = (char *)"codecs[0]"};
	struct array_meta meta = {.zarr_format = 3, .ndim = parsed->ndim, .dtype = parsed->dtype};
	const char *endian = "{\"endian\":\"little\"}";
	struct json *config;
	char *text;
	check(json_parse(endian, strlen(endian), LIMIT_JSON_BYTES, NULL, &config) == 0);
	bytes.config = config;
	meta.codecs = (struct codec_list){.specs = &bytes, .n = 1};
	meta.keys = (struct key_encoding){KEY_DEFAULT, '/'};
	meta.fill_value = calloc(1, parsed->dtype.size);
	memcpy(meta.shape, parsed->shape, sizeof(meta.shape));
	for (int i = 0; i < parsed->ndim; i++)
		meta.chunk_shape[i] = 1;
	check(meta_print_v3_array(&meta, &text) == 0);
	json_free(config);
	free(meta.fill_value);
	return text;
}

static bool is_same_descr(const struct dtype *a, const struct dtype *b)
{
	autostr(a_text);
	autostr(b_text);
	dtype_print_descr(a, &a_text);
	dtype_print_descr(b, &b_text);
	return !a_text.failed && strcmp(a_text.text, b_text.text) == 0;
}

static void check_view(const struct view *view, const struct view_parsed *parsed)
{
	const struct extent *head = &view->extents[0];
	struct view_parsed again;
	check(view->n == 2 && head->kind == EXTENT_LITERAL && view->extents[1].kind == EXTENT_ELEMENTS);
	check(head->size % ALIGN == 0 && view->size == head->size + view->extents[1].size);
	check(view_parse(&npy_view_ops, head->bytes, head->size, &again) == 0);
	check(again.payload_offset == head->size && !again.big_endian && !again.fortran_order);
	check(is_same_descr(&again.dtype, &parsed->dtype));
	dtype_finish(&again.dtype);
	check(again.ndim == parsed->ndim &&
		  memcmp(again.shape, parsed->shape, sizeof(*parsed->shape) * (size_t)parsed->ndim) == 0);
	/* a head cut short is none */
	check(view_parse(&npy_view_ops, head->bytes, head->size - 1, &again) == -EIO);
}

static void check_round_trip(const struct view_parsed *parsed)
{
	struct store *store;
	struct fs *fs;
	struct view *view;
	struct layout layout;
	autofree char *document = document_of(parsed);
	bool fits = layout_init(&layout, parsed->ndim, parsed->shape, parsed->dtype.size);
	check(mem_store_new("a", true, &store) == 0);
	check(mem_store_put(store, "zarr.json", document, strlen(document)) == 0);
	struct fs_options options = {.store = store, .cache_bytes = 1 << 16, .decode_threads = 1};
	check(fs_open(&options, &fs) == 0);
	struct node *root = hierarchy_root(fs_hierarchy(fs));
	int rc = view_open(fs_hierarchy(fs), root, &npy_view_ops, &view);
	/* a payload that fits may be too large with its head */
	check(rc == 0 ? fits : rc == -EFBIG && (!fits || layout.bytes > INT64_MAX - (1 << 16)));
	if (!rc) {
		check_view(view, parsed);
		view_close(view);
	}
	fs_close(fs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct view_parsed parsed = {.ndim = -1};
	int rc = view_parse(&npy_view_ops, data, size, &parsed);
	check(rc == 0 || (parsed.ndim == -1 && (rc == -EIO || rc == -ENOTSUP || rc == -EFBIG)));
	if (!rc) {
		char buffer[DTYPE_NAME_BYTES];
		check_parsed(&parsed, size);
		if (dtype_v3_name(&parsed.dtype, buffer, sizeof(buffer)))
			check_round_trip(&parsed);
		dtype_finish(&parsed.dtype);
	}
	return 0;
}
