/*
 * fixtures.c: builds through the product's own encoders, chunk by chunk, and reads with loops over elements.
 */
#include "fixtures.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <check.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"
#include "codecs.h"

#define MAX_STUCK 64

static const char *dtype_of(const struct fixture *fixture)
{
	return fixture->dtype ? fixture->dtype : "uint16";
}

static const char *codecs_of(const struct fixture *fixture)
{
	return fixture->codecs ? fixture->codecs : "[" FIXTURE_BYTES "]";
}

static void parse_dtype(const struct fixture *fixture, struct dtype *ret_dtype)
{
	autostr(text);
	struct json *json;
	str_appendf(&text, "\"%s\"", dtype_of(fixture));
	ck_assert_int_eq(json_parse(text.text, text.size, LIMIT_JSON_BYTES, NULL, &json), 0);
	int rc = dtype_parse_v3(json, ret_dtype);
	json_free(json);
	ck_assert_msg(rc == 0, "%s: %s", dtype_of(fixture), err_message());
	ck_assert_uint_le(ret_dtype->size, 8);
}

static void append_list(struct str *str, const uint64_t *values, int n)
{
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i ? "," : "", values[i]);
}

char *fixture_document(struct fixture *fixture)
{
	struct dtype dtype;
	uint8_t fill[8];
	char *text;
	autostr(str);
	parse_dtype(fixture, &dtype);
	fixture->item_size = dtype.size;
	memcpy(fill, &fixture->fill, sizeof(fill));
	autofree char *fill_text = dtype_print_fill(&dtype, fill);
	str_append(&str, "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[");
	append_list(&str, fixture->shape, fixture->ndim);
	str_appendf(&str,
				"],\"data_type\":\"%s\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[",
				dtype_of(fixture));
	append_list(&str, fixture->chunk, fixture->ndim);
	str_appendf(&str, "]}},\"chunk_key_encoding\":{\"name\":\"default\"},\"fill_value\":%s,\"codecs\":%s%s}", fill_text,
				codecs_of(fixture), fixture->members ? fixture->members : "");
	ck_assert_int_eq(str_take(&str, &text), 0);
	return text;
}

void fixture_put_text(struct store *store, const char *key, const char *text)
{
	ck_assert_int_eq(mem_store_put(store, key, text, strlen(text)), 0);
}

void fixture_put_group(struct store *store, const char *path)
{
	autofree char *key = str_join_key(path, "zarr.json");
	fixture_put_text(store, key, "{\"zarr_format\":3,\"node_type\":\"group\"}");
}

const char *fixture_key(const struct fixture *fixture, const uint64_t *coords)
{
	static _Thread_local char text[LIMIT_KEY_BYTES];
	const struct key_encoding encoding = {KEY_DEFAULT, '/'};
	autofree char *key = key_of_chunk(&encoding, fixture->path, coords, fixture->ndim);
	snprintf(text, sizeof(text), "%s", key);
	return text;
}

static uint64_t product(const uint64_t *values, int n)
{
	uint64_t all = 1;
	for (int i = 0; i < n; i++)
		all *= values[i];
	return all;
}

uint64_t fixture_bytes(const struct fixture *fixture)
{
	return product(fixture->shape, fixture->ndim) * fixture->item_size;
}

/* From a C-order number in a box of `shape` to an index, and back. */
static void unravel(uint64_t number, const uint64_t *shape, int n, uint64_t *ret_index)
{
	for (int i = n - 1; i >= 0; i--) {
		ret_index[i] = number % shape[i];
		number /= shape[i];
	}
}

static uint64_t ravel(const uint64_t *index, const uint64_t *shape, int n)
{
	uint64_t number = 0;
	for (int i = 0; i < n; i++)
		number = number * shape[i] + index[i];
	return number;
}

/* The number of the piece of shape `piece` that holds an element, in a box of shape `whole`. */
static uint64_t piece_number(const uint64_t *index, const uint64_t *whole, const uint64_t *piece, int n)
{
	uint64_t coords[FIXTURE_DIMS], grid[FIXTURE_DIMS];
	for (int i = 0; i < n; i++) {
		coords[i] = index[i] / piece[i];
		grid[i] = ceil_div(whole[i], piece[i]);
	}
	return ravel(coords, grid, n);
}

static bool is_skipped(unsigned skip, uint64_t number)
{
	return skip && number % skip == 1 % skip;
}

static uint64_t element(const struct fixture *fixture, uint64_t number)
{
	uint64_t index[FIXTURE_DIMS], inside[FIXTURE_DIMS];
	int n = fixture->ndim;
	unravel(number, fixture->shape, n, index);
	for (int i = 0; i < n; i++)
		inside[i] = index[i] % fixture->chunk[i];
	bool missing = is_skipped(fixture->skip, piece_number(index, fixture->shape, fixture->chunk, n)) ||
				   is_skipped(fixture->skip_inner, piece_number(inside, fixture->chunk, fixture->inner, n));
	return missing ? fixture->fill : number;
}

void fixture_expect(const struct fixture *fixture, uint64_t offset, size_t size, uint8_t *dst)
{
	uint64_t last = UINT64_MAX, value = 0;
	for (size_t i = 0; i < size; i++) {
		uint64_t number = (offset + i) / fixture->item_size;
		if (number != last)
			value = element(fixture, number);
		last = number;
		dst[i] = (uint8_t)(value >> (offset + i) % fixture->item_size * 8);
	}
}

/* The whole chunk at `coords`; elements past the array's edge are the fill value. */
static void fill_chunk(const struct fixture *fixture, const uint64_t *coords, uint8_t *dst)
{
	uint64_t elements = product(fixture->chunk, fixture->ndim);
	for (uint64_t e = 0; e < elements; e++) {
		uint64_t index[FIXTURE_DIMS];
		bool inside = true;
		unravel(e, fixture->chunk, fixture->ndim, index);
		for (int i = 0; i < fixture->ndim; i++) {
			index[i] += coords[i] * fixture->chunk[i];
			inside = inside && index[i] < fixture->shape[i];
		}
		uint64_t value = inside ? ravel(index, fixture->shape, fixture->ndim) : fixture->fill;
		memcpy(dst + e * fixture->item_size, &value, fixture->item_size);
	}
}

/* Entries that are to be missing become absent in the encoded shard. */
static void remove_inner(const struct fixture *fixture, const struct sharding *sharding, struct buf *shard)
{
	size_t bytes = sharding_index_bytes(sharding);
	uint64_t n = sharding_entries(sharding);
	uint8_t *at = shard->data + (sharding_index_at_end(sharding) ? shard->size - bytes : 0);
	autofree struct shard_entry *entries = calloc(n, sizeof(*entries));
	autobuf index = NULL;
	ck_assert_int_eq(sharding_decode_index(sharding, at, entries), 0);
	for (uint64_t i = 0; i < n; i++)
		if (is_skipped(fixture->skip_inner, i))
			entries[i] = (struct shard_entry){SHARD_ABSENT, SHARD_ABSENT};
	ck_assert_int_eq(sharding_encode_index(sharding, entries, &index), 0);
	memcpy(at, index->data, bytes);
}

static void put_chunks(struct store *store, const struct fixture *fixture, const struct pipeline *pipeline)
{
	uint64_t grid[FIXTURE_DIMS];
	for (int i = 0; i < fixture->ndim; i++)
		grid[i] = ceil_div(fixture->shape[i], fixture->chunk[i]);
	autofree uint8_t *decoded = malloc(pipeline_decoded_bytes(pipeline));
	for (uint64_t c = 0; c < product(grid, fixture->ndim); c++) {
		uint64_t coords[FIXTURE_DIMS];
		if (is_skipped(fixture->skip, c))
			continue;
		unravel(c, grid, fixture->ndim, coords);
		fill_chunk(fixture, coords, decoded);
		autobuf encoded = NULL;
		int rc = pipeline_encode(pipeline, decoded, &encoded);
		ck_assert_msg(rc == 0, "%s: %s", codecs_of(fixture), err_message());
		if (fixture->skip_inner)
			remove_inner(fixture, pipeline_sharding(pipeline), encoded);
		ck_assert_int_eq(mem_store_put(store, fixture_key(fixture, coords), encoded->data, encoded->size), 0);
	}
}

void fixture_put(struct store *store, struct fixture *fixture)
{
	autofree char *document = fixture_document(fixture), *key = str_join_key(fixture->path, "zarr.json");
	fixture_put_text(store, key, document);

	struct dtype dtype;
	struct test_codecs codecs;
	struct pipeline *pipeline;
	parse_dtype(fixture, &dtype);
	struct repr repr = {.ndim = fixture->ndim,
						.item_size = dtype.size,
						.swap_unit = dtype.swap_unit,
						.fill_value = (const uint8_t *)&fixture->fill};
	memcpy(repr.shape, fixture->chunk, sizeof(fixture->chunk));
	ck_assert_int_eq(test_codecs_parse(codecs_of(fixture), strlen(codecs_of(fixture)), false, &codecs), 0);
	int rc = pipeline_open(&codecs.list, &repr, &pipeline);
	ck_assert_msg(rc == 0, "%s: %s", codecs_of(fixture), err_message());
	const struct sharding *sharding = pipeline_sharding(pipeline);
	ck_assert(sharding || !fixture->skip_inner);
	for (int i = 0; i < fixture->ndim; i++)
		fixture->inner[i] = fixture->chunk[i] / (sharding ? sharding_grid(sharding)[i] : 1);
	put_chunks(store, fixture, pipeline);
	pipeline_close(pipeline);
	test_codecs_finish(&codecs);
}

void fixture_env_open(struct fixture_env *env, const struct fixture_limits *limits)
{
	*env = (struct fixture_env){.env.max_chunk = limits->max_chunk ? limits->max_chunk : LIMIT_CHUNK_BYTES};
	struct pool_options pool = {
		.width = {[POOL_META] = limits->width, [POOL_FETCH] = limits->width, [POOL_DECODE] = limits->width},
		.stuck_ns = limits->timeout_ns,
		.max_stuck = MAX_STUCK,
	};
	ck_assert_int_eq(mem_store_new("fixture.zarr", true, &env->env.store), 0);
	ck_assert_int_eq(cache_new(limits->cache_bytes ? limits->cache_bytes : 1 << 20,
							   limits->max_indexes ? limits->max_indexes : 256, &env->env.cache),
					 0);
	cache_set_patience(env->env.cache, limits->timeout_ns);
	ck_assert_int_eq(pool_new(&pool, &env->env.pool), 0);
	ck_assert_int_eq(deadlines_new(limits->timeout_ns, &env->deadlines), 0);
}

void fixture_env_settle(struct fixture_env *env)
{
	ck_assert_int_eq(mem_store_set_faults(env->env.store, NULL, 0), 0);
	mem_store_release(env->env.store);
	pool_free(env->env.pool);
	env->env.pool = NULL;
}

void fixture_env_close(struct fixture_env *env)
{
	fixture_env_settle(env);
	deadlines_free(env->deadlines);
	cache_free(env->env.cache);
	store_close(env->env.store);
}

int fixture_array_try(const struct fixture_env *env, const char *path, struct fixture_array *ret_array)
{
	struct fixture_array array = {.env = env};
	autobuf document = NULL;
	autofree char *key = str_join_key(path, "zarr.json");
	ck_assert_int_eq(store_get(env->env.store, key, STORE_WAIT, LIMIT_JSON_BYTES, &document, NULL), 0);
	int rc = meta_parse_v3((const char *)document->data, document->size, &array.meta);
	ck_assert_msg(rc == 0, "%s: %s", key, err_message());
	const struct array_meta *meta = array.meta.array;
	ck_assert(layout_init(&array.layout, meta->ndim, meta->shape, meta->dtype.size));
	rc = array_open(&env->env, path, meta, &array.array);
	if (rc)
		node_meta_finish(&array.meta);
	else
		*ret_array = array;
	return rc;
}

void fixture_array_open(const struct fixture_env *env, const char *path, struct fixture_array *ret_array)
{
	int rc = fixture_array_try(env, path, ret_array);
	ck_assert_msg(rc == 0, "%s: %d %s", path, rc, err_message());
}

void fixture_array_close(struct fixture_array *array)
{
	array_close(array->array);
	node_meta_finish(&array->meta);
}

int fixture_read(const struct fixture_array *array, uint64_t offset, size_t size, uint8_t *dst,
				 struct readahead *readahead)
{
	struct waited_request *waited;
	int rc = waited_request_new(array->env->deadlines, &waited);
	if (rc)
		return rc;
	array_read(array->array, &array->layout, offset, size, dst, &waited->request, readahead);
	request_finish_part(&waited->request, 0);
	return waited_request_wait(waited);
}

int fixture_check(const struct fixture *fixture, const struct fixture_array *array, uint64_t offset, size_t size,
				  struct readahead *readahead)
{
	/* what a deadline leaves behind must outlive it, so only reads without one come here */
	autofree uint8_t *got = malloc(size + 1), *wanted = malloc(size + 1);
	memset(got, 0xa5, size + 1);
	int rc = fixture_read(array, offset, size, got, readahead);
	if (rc)
		return rc;
	fixture_expect(fixture, offset, size, wanted);
	wanted[size] = 0xa5;
	for (size_t i = 0; i <= size; i++)
		if (got[i] != wanted[i])
			return err_set(EBADMSG, "%s: [%" PRIu64 ", +%zu): byte %zu is %02x in place of %02x, codecs %s",
						   fixture->path, offset, size, i, got[i], wanted[i], codecs_of(fixture));
	return 0;
}
