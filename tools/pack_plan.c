/*
 * pack_plan.c: chunk and shard shapes, and the codec chain as JSON, to be printed with the rest by meta/.
 */
#include "tools/pack_plan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/str.h"

#define CHUNK_BYTES (UINT64_C(1) << 20)
#define SHARD_BYTES (UINT64_C(256) << 20)
#define SHARD_CHUNKS 65536 /* of tiny chunks: the index is read whole */
#define LAST_AXIS_LONGER 4

/* ---------------------------------------------------------------- shapes */

static int parse_shape(const char *text, const char *option, int ndim, uint64_t *ret_shape)
{
	const char *p = text;
	int n = 0;
	for (;; p++) {
		char *end;
		errno = 0;
		unsigned long long length = *p >= '0' && *p <= '9' ? strtoull(p, &end, 10) : 0;
		if (length == 0 || errno || length > INT64_MAX || (*end && *end != ','))
			return err_set(EINVAL, "--%s: \"%s\" is not a list of lengths such as 500,100", option, text);
		if (n < ndim)
			ret_shape[n] = length;
		n++;
		p = end;
		if (!*p)
			break;
	}
	if (n != ndim)
		return err_set(EINVAL, "--%s: \"%s\": %d lengths, the array has %d axes", option, text, n, ndim);
	return 0;
}

static uint64_t smallest_factor(uint64_t n)
{
	for (uint64_t p = 2; p * p <= n && p < 65536; p++)
		if (n % p == 0)
			return p;
	return n;
}

/* Bytes of a chunk, cut off at UINT64_MAX. */
static uint64_t chunk_bytes(const uint64_t *chunk, const struct view_parsed *head)
{
	uint64_t bytes;
	return checked_product(chunk, head->ndim, &bytes) && checked_mul(bytes, head->dtype.size, &bytes) ? bytes
																									  : UINT64_MAX;
}

/*
 * Cuts what is longest until a chunk is small enough: in halves of the array (2, 4, 8 ... equal parts), or, where the chunk must
 * divide a shard, by its smallest factor.
 */
static void choose_chunk(const uint64_t *whole, const struct view_parsed *head, bool divides, uint64_t *ret_chunk)
{
	int ndim = head->ndim;
	uint64_t parts[LIMIT_DIMS];
	for (int a = 0; a < ndim; a++) {
		ret_chunk[a] = MAX(whole[a], 1);
		parts[a] = 1;
	}
	while (chunk_bytes(ret_chunk, head) > CHUNK_BYTES) {
		int longest = -1;
		uint64_t most = 0;
		for (int a = 0; a < ndim; a++) {
			uint64_t length = a == ndim - 1 ? ceil_div(ret_chunk[a], LAST_AXIS_LONGER) : ret_chunk[a];
			if (ret_chunk[a] > 1 && length >= most) {
				most = length;
				longest = a;
			}
		}
		if (longest < 0)
			return;
		if (divides) {
			ret_chunk[longest] /= smallest_factor(ret_chunk[longest]);
		} else {
			parts[longest] *= 2;
			ret_chunk[longest] = ceil_div(whole[longest], parts[longest]);
		}
	}
}

static void choose_shard(const uint64_t *chunk, const struct view_parsed *head, uint64_t *ret_shard)
{
	uint64_t chunks = MAX(MIN(SHARD_BYTES / chunk_bytes(chunk, head), SHARD_CHUNKS), 1);
	for (int a = head->ndim - 1; a >= 0; a--) {
		uint64_t n = MIN(MAX(ceil_div(head->shape[a], chunk[a]), 1), chunks);
		ret_shard[a] = n * chunk[a];
		chunks /= n;
	}
}

/* *ret_sharded false: no shards, and `shard` is not set. An array of one element without axes has none. */
static int choose_shapes(const struct pack_choice *choice, const struct view_parsed *head, uint64_t *chunk,
						 uint64_t *shard, bool *ret_sharded)
{
	bool given = choice->shard && strcmp(choice->shard, "none") != 0;
	int ndim = head->ndim, rc = 0;
	if (choice->chunk && (ndim > 0 || choice->chunk[0]))
		rc = parse_shape(choice->chunk, "chunk", ndim, chunk);
	if (!rc && given)
		rc = parse_shape(choice->shard, "shard", ndim, shard);
	if (rc)
		return rc;
	if (!choice->chunk)
		choose_chunk(given ? shard : head->shape, head, given, chunk);
	if (chunk_bytes(chunk, head) > LIMIT_CHUNK_BYTES)
		return err_set(EINVAL, "--chunk: a chunk has more than %" PRIu64 " bytes", LIMIT_CHUNK_BYTES);
	for (int a = 0; given && a < ndim; a++)
		if (shard[a] % chunk[a] != 0)
			return err_set(EINVAL, "--shard: %" PRIu64 " is no multiple of the chunk's %" PRIu64 " along axis %d",
						   shard[a], chunk[a], a);
	if (!choice->shard)
		choose_shard(chunk, head, shard);
	*ret_sharded = ndim > 0 && (given || !choice->shard);
	return 0;
}

/* ---------------------------------------------------------------- codecs */

/* "NAME", "NAME:LEVEL": false when it is another name or the level is out of range. */
static bool is_level(const char *text, const char *name, long low, long high, long fallback, long *ret_level)
{
	size_t n = strlen(name);
	char *end;
	if (strncmp(text, name, n) != 0 || (text[n] && text[n] != ':'))
		return false;
	long level = fallback;
	if (text[n]) {
		level = strtol(text + n + 1, &end, 10);
		if (end == text + n + 1 || *end)
			return false;
	}
	*ret_level = level;
	return level >= low && level <= high;
}

/* Blosc moves the bytes of an element apart, which helps only where there are several; its field for their number is a byte. */
static bool print_blosc(const char *text, const struct dtype *dtype, struct str *str)
{
	static const char *const names[] = {"lz4", "lz4hc", "blosclz", "zstd", "zlib"};
	long level;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (is_level(text, names[i], 0, 9, 5, &level)) {
			uint32_t item = dtype->size <= UINT8_MAX ? dtype->size : 1;
			str_appendf(str,
						",{\"name\":\"blosc\",\"configuration\":{\"typesize\":%" PRIu32
						",\"cname\":\"%s\",\"clevel\":%ld,\"shuffle\":\"%s\",\"blocksize\":0}}",
						item, names[i], level, item > 1 ? "shuffle" : "noshuffle");
			return true;
		}
	return false;
}

static int print_compressor(const char *text, const struct dtype *dtype, struct str *str)
{
	long level;
	if (strcmp(text, "none") == 0)
		return 0;
	if (is_level(text, "zstd", 1, 22, 3, &level)) {
		str_appendf(str, ",{\"name\":\"zstd\",\"configuration\":{\"level\":%ld,\"checksum\":false}}", level);
	} else if (is_level(text, "gzip", 0, 9, 5, &level)) {
		str_appendf(str, ",{\"name\":\"gzip\",\"configuration\":{\"level\":%ld}}", level);
	} else if (strcmp(text, "lz4") == 0) {
		/* the specification has no name for it; this is zarr-python's */
		str_append(str, ",{\"name\":\"numcodecs.lz4\",\"configuration\":{\"acceleration\":1}}");
	} else {
		bool is_blosc = strncmp(text, "blosc", strlen("blosc")) == 0;
		const char *rest = is_blosc ? text + strlen("blosc") : "";
		bool has_name = *rest == ':' || *rest == '-';
		if (!is_blosc || (*rest && !has_name) || !print_blosc(has_name ? rest + 1 : "lz4", dtype, str))
			return err_set(EINVAL,
						   "--codec: \"%s\" is not none, zstd[:1-22], gzip[:0-9], lz4 or "
						   "blosc[:lz4|lz4hc|blosclz|zstd|zlib[:0-9]]",
						   text);
	}
	return 0;
}

#define BYTES "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}"
#define CRC32C "{\"name\":\"crc32c\"}"

static int print_codecs(const struct pack_choice *choice, const struct dtype *dtype, int ndim, const uint64_t *chunk,
						bool sharded, struct str *str)
{
	str_append(str, "[");
	if (sharded) {
		str_append(str, "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":[");
		for (int a = 0; a < ndim; a++)
			str_appendf(str, "%s%" PRIu64, a ? "," : "", chunk[a]);
		str_append(str, "],\"codecs\":[");
	}
	str_append(str, BYTES);
	int rc = print_compressor(choice->codec ? choice->codec : "zstd", dtype, str);
	if (choice->checksum)
		str_append(str, "," CRC32C);
	if (sharded)
		str_append(str, "],\"index_codecs\":[" BYTES "," CRC32C "],\"index_location\":\"end\"}}");
	str_append(str, "]");
	return !rc && str->failed ? err_set(ENOMEM, "no memory for the codecs") : rc;
}

/* The list of codecs as meta/ has it; `root` goes over to the array. */
static int set_codecs(struct array_meta *meta, struct json *root)
{
	meta->roots[0] = root;
	meta->codecs.specs = calloc(json_count(root), sizeof(*meta->codecs.specs));
	if (!meta->codecs.specs)
		return err_set(ENOMEM, "no memory for the codecs");
	for (const struct json *item = json_first(root); item; item = json_next(item)) {
		const char *name;
		struct codec_spec *spec = &meta->codecs.specs[meta->codecs.n++];
		int rc = json_string(json_get(item, "name"), "name", &name, NULL);
		if (rc)
			return rc;
		spec->name = strdup(name);
		spec->config = json_get(item, "configuration");
		spec->where = strdup("--codec");
		if (!spec->name || !spec->where)
			return err_set(ENOMEM, "no memory for the codecs");
	}
	return 0;
}

int pack_plan(const struct pack_choice *choice, const struct view_parsed *head, struct array_meta **ret_meta)
{
	uint64_t chunk[LIMIT_DIMS], shard[LIMIT_DIMS];
	bool sharded = false;
	struct json *root;
	autostr(codecs);
	int rc = choose_shapes(choice, head, chunk, shard, &sharded);
	if (!rc)
		rc = print_codecs(choice, &head->dtype, head->ndim, chunk, sharded, &codecs);
	if (!rc)
		rc = json_parse(codecs.text, codecs.size, LIMIT_JSON_BYTES, NULL, &root);
	if (rc)
		return rc;
	struct array_meta *meta = calloc(1, sizeof(*meta));
	if (!meta) {
		json_free(root);
		return err_set(ENOMEM, "no memory for the array");
	}
	*meta = (struct array_meta){.zarr_format = 3, .ndim = head->ndim, .elements = 1};
	dtype_copy(&head->dtype, &meta->dtype);
	meta->keys = (struct key_encoding){.kind = KEY_DEFAULT, .separator = '/'};
	for (int a = 0; a < head->ndim; a++) {
		meta->shape[a] = head->shape[a];
		meta->chunk_shape[a] = sharded ? shard[a] : chunk[a];
		meta->elements *= head->shape[a];
	}
	rc = set_codecs(meta, root);
	meta->fill_value = calloc(1, head->dtype.size);
	if (!rc && !meta->fill_value)
		rc = err_set(ENOMEM, "no memory for the array");
	if (rc) {
		array_meta_free(meta);
		return rc;
	}
	*ret_meta = meta;
	return 0;
}
