/*
 * fuzz_meta.c: metadata documents. Input: a byte that says what the rest is:
 *
 *     0 JSON of any kind   1 zarr.json   2 .zarray   3 .zgroup   4 .zmetadata
 *
 * .zarray and .zgroup end at SEPARATOR, which no JSON holds; behind it is a .zattrs. Invariants: an errno of the contract, or
 * numbers that everything later relies on; what is printed is parsed to the same, and printed the same again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/fuzz.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/json.h"
#include "meta/meta.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SEPARATOR '\x1e'
#define KINDS 5
#define SLICES 64 /* members whose slice is looked at: that is quadratic */

static void check_rc(int rc)
{
	check(rc == 0 || rc == -EIO || rc == -ENOTSUP || rc == -EFBIG);
}

/* Whether an output of a getter that failed was left alone. */
#define CHECK_GETTER(call, output, untouched)                                                                          \
	do {                                                                                                               \
		int getter_rc = (call);                                                                                        \
		check(getter_rc == 0 || (getter_rc == -EIO && (output) == (untouched)));                                       \
	} while (0)

/* ---------------------------------------------------------------- JSON */

static void call_getters(const struct json *json)
{
	bool boolean = true;
	uint64_t natural = 77, list[4] = {77};
	int64_t integer = 77;
	double real = 77;
	const char *text = "", *untouched = text;
	size_t size = 77;
	int n = 77;
	json_bool(json, "value", &boolean);
	CHECK_GETTER(json_uint64(json, "value", &natural), natural, 77);
	CHECK_GETTER(json_int64(json, "value", &integer), integer, 77);
	CHECK_GETTER(json_double(json, "value", &real), real, 77);
	CHECK_GETTER(json_string(json, "value", &text, NULL), text, untouched);
	CHECK_GETTER(json_string(json, "value", &text, &size), size, 77);
	check(size == 77 || text[size] == '\0');
	int rc = json_uint64_list(json, "value", (int)ARRAY_LEN(list), list, &n);
	check(rc == 0 ? n >= 0 && n <= (int)ARRAY_LEN(list) : n == 77);
	check((json_number_text(json) != NULL) == (json_type(json) == JSON_NUMBER));
	check(json_type_name(json_type(json)) != NULL);
}

static void walk_json(const struct json *json)
{
	size_t n = 0;
	call_getters(json);
	for (const struct json *item = json_first(json); item; item = json_next(item), n++) {
		const char *name = json_name(item);
		check((json_type(json) == JSON_OBJECT) == (name != NULL));
		check(!name || n >= SLICES || json_get(json, name) == item); /* no name twice */
		walk_json(item);
	}
	check(n == json_count(json));
}

static void check_printed(const struct json *json, const char *text)
{
	autofree char *printed = json_print(json);
	check(printed && strcmp(printed, text) == 0);
}

/* The text of each root member is a document of the same value. */
static void check_slices(const struct json *root, const char *text, size_t size)
{
	int n = 0;
	for (const struct json *item = json_first(root); item && json_name(item) && n < SLICES;
		 item = json_next(item), n++) {
		size_t offset, length;
		struct json *again;
		autofree char *printed = json_print(item);
		check(json_slice(root, json_name(item), &offset, &length) && offset <= size && length <= size - offset);
		check(json_parse(text + offset, length, length, NULL, &again) == 0);
		check_printed(again, printed);
		json_free(again);
	}
}

static void fuzz_json(const char *text, size_t size)
{
	struct json *root = NULL, *again = NULL;
	int rc = json_parse(text, size, LIMIT_JSON_BYTES, NULL, &root);
	check_rc(rc);
	if (rc) {
		check(!root);
		return;
	}
	walk_json(root);
	check_slices(root, text, size);
	autofree char *printed = json_print(root);
	check(printed && json_parse(printed, strlen(printed), UINT64_MAX, NULL, &again) == 0);
	check_printed(again, printed);
	json_free(again);
	json_free(root);
}

/* ---------------------------------------------------------------- arrays and groups */

static void check_attributes(const char *text)
{
	struct json *root;
	if (!text)
		return;
	check(json_parse(text, strlen(text), LIMIT_JSON_CONSOLIDATED_BYTES, NULL, &root) == 0);
	check(json_type(root) == JSON_OBJECT);
	json_free(root);
}

static void check_dtype(const struct dtype *dtype)
{
	char buffer[DTYPE_NAME_BYTES];
	struct dtype again;
	struct json *descr;
	autostr(text);
	autostr(text_again);
	bool big;
	check(dtype->size >= 1 && dtype->size <= LIMIT_ITEM_SIZE);
	check(dtype->swap_unit >= 1 && dtype->size % dtype->swap_unit == 0);
	check(dtype_v3_name(dtype, buffer, sizeof(buffer)) || !dtype->record->is_packed);
	for (int i = 0; dtype->record && i < dtype->record->n_spans; i++) {
		const struct swap_span *span = &dtype->record->spans[i];
		check((uint64_t)span->unit * span->count <= dtype->size - span->offset);
	}
	dtype_print_descr(dtype, &text);
	check(json_parse(text.text, text.size, LIMIT_JSON_BYTES, NULL, &descr) == 0);
	check(dtype_parse_descr_json(descr, &again, &big) == 0 && !big && again.size == dtype->size);
	/* what numpy lacks it holds as bytes */
	bool is_foreign = dtype->bits || (dtype->floats && dtype->descr[1] == 'V');
	check(again.kind == dtype->kind || is_foreign);
	dtype_print_descr(&again, &text_again);
	check(strcmp(text.text, text_again.text) == 0 || is_foreign || dtype->record);
	dtype_finish(&again);
	json_free(descr);
}

/* All bytes of the fill value are there, and mean the same when they are printed. */
static void check_fill(const struct array_meta *meta)
{
	struct json *json = NULL;
	bool undefined = true;
	autofree char *text = dtype_print_fill(&meta->dtype, meta->fill_value);
	autofree uint8_t *bytes = malloc(meta->dtype.size);
	check(text && json_parse(text, strlen(text), UINT64_MAX, NULL, &json) == 0);
	check(dtype_parse_fill(&meta->dtype, 3, json, bytes, &undefined) == 0 && !undefined);
	check(memcmp(bytes, meta->fill_value, meta->dtype.size) == 0);
	json_free(json);
}

static void check_array(const struct array_meta *meta)
{
	uint64_t elements = 1, bytes;
	uint64_t coords[LIMIT_DIMS];
	check(meta->ndim >= 0 && meta->ndim <= LIMIT_DIMS);
	for (int i = 0; i < meta->ndim; i++) {
		check(meta->chunk_shape[i] >= 1 && meta->shape[i] <= INT64_MAX);
		coords[i] = UINT64_MAX;
		check(meta->elements == 0 || checked_mul(elements, meta->shape[i], &elements));
	}
	check(meta->elements == 0 || meta->elements == elements);
	check(checked_mul(meta->elements, meta->dtype.size, &bytes) && bytes <= INT64_MAX);
	check(!meta->refusal == (meta->dtype.kind != DTYPE_UNSERVED));
	if (!meta->refusal) {
		check_dtype(&meta->dtype);
		check_fill(meta);
	}
	check(meta->codecs.n >= 0 && meta->codecs.n <= LIMIT_CODECS && meta->codecs.v2 == (meta->zarr_format == 2));
	for (int i = 0; i < meta->codecs.n; i++) {
		check(meta->codecs.specs[i].name && meta->codecs.specs[i].where);
		check(!meta->codecs.specs[i].config || json_type(meta->codecs.specs[i].config) == JSON_OBJECT);
	}
	autofree char *key = key_of_chunk(&meta->keys, "a", coords, meta->ndim);
	check(key && strncmp(key, "a/", 2) == 0);
	check_attributes(meta->attributes);
}

/* A v2 array's chain has numcodecs' names, so what is printed of it is only a document that parses. */
static void check_print(const struct array_meta *meta)
{
	struct node_meta again = {0};
	char *text, *text_again;
	char buffer[DTYPE_NAME_BYTES];
	if (meta->refusal || !dtype_v3_name(&meta->dtype, buffer, sizeof(buffer)))
		return;
	check(meta_print_v3_array(meta, &text) == 0);
	check(meta_parse_v3(text, strlen(text), &again) == 0 && again.array);
	check_array(again.array);
	check(again.array->ndim == meta->ndim && again.array->elements == meta->elements);
	check(again.array->dtype.kind == meta->dtype.kind && again.array->dtype.size == meta->dtype.size);
	check(memcmp(again.array->fill_value, meta->fill_value, meta->dtype.size) == 0);
	check(again.array->codecs.n == meta->codecs.n);
	check(meta_print_v3_array(again.array, &text_again) == 0);
	check(strcmp(text, text_again) == 0);
	node_meta_finish(&again);
	free(text);
	free(text_again);
}

static void check_node(const struct node_meta *meta)
{
	check(!meta->array != !meta->group);
	check(!meta->consolidated || (meta->group && meta->consolidated_root));
	if (meta->group)
		check_attributes(meta->group->attributes);
	if (!meta->array)
		return;
	check_array(meta->array);
	check_print(meta->array);
}

static void fuzz_v3(const char *text, size_t size)
{
	struct node_meta meta = {0};
	int rc = meta_parse_v3(text, size, &meta);
	check_rc(rc);
	check(!rc || (!meta.array && !meta.group && !meta.consolidated_root));
	if (!rc)
		check_node(&meta);
	for (const struct json *item = json_first(meta.consolidated); item; item = json_next(item)) {
		struct node_meta inner = {0};
		rc = meta_parse_v3_json(item, &inner);
		check_rc(rc);
		if (!rc)
			check_node(&inner);
		node_meta_finish(&inner);
	}
	node_meta_finish(&meta);
}

static void fuzz_v2(bool is_array, const char *text, size_t size)
{
	const char *end = memchr(text, SEPARATOR, size), *zattrs = end ? end + 1 : NULL;
	size_t n = end ? (size_t)(end - text) : size, zattrs_size = end ? size - n - 1 : 0;
	/* its end is the memory's: reading on is found */
	autofree char *zarray = malloc(MAX(n, 1));
	struct array_meta *array = NULL;
	struct group_meta *group = NULL;
	memcpy(zarray, text, n);
	int rc = is_array ? meta_parse_v2_array(zarray, n, zattrs, zattrs_size, &array)
					  : meta_parse_v2_group(zarray, n, zattrs, zattrs_size, &group);
	check_rc(rc);
	check(rc ? !array && !group : !array != !group);
	if (array) {
		check_array(array);
		check_print(array);
	}
	if (group)
		check_attributes(group->attributes);
	array_meta_free(array);
	group_meta_free(group);
}

static void fuzz_zmetadata(const char *text, size_t size)
{
	struct json *root = NULL;
	const struct json *metadata = NULL;
	int rc = meta_parse_v2_consolidated(text, size, &root, &metadata);
	check(rc == -ENOENT || (check_rc(rc), true));
	check(rc ? !root : json_type(metadata) == JSON_OBJECT);
	json_free(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	const char *text = (const char *)data + 1;
	switch (data[0] % KINDS) {
	case 0:
		fuzz_json(text, size - 1);
		break;
	case 1:
		fuzz_v3(text, size - 1);
		break;
	case 4:
		fuzz_zmetadata(text, size - 1);
		break;
	default:
		fuzz_v2(data[0] % KINDS == 2, text, size - 1);
	}
	return 0;
}
