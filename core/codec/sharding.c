/*
 * sharding.c: the codec `sharding_indexed`: a shard holds inner chunks and an index that says where each of them is
 * (Zarr v3 codecs, "sharding_indexed"). The only file that knows the layout of the index:
 *
 *     [index at the start]  inner chunks in any order, gaps allowed  [index at the end]
 *     index: one (offset, nbytes) pair of u64 an inner chunk, C order of the grid, through index_codecs
 *
 * Offsets count from the shard's first byte, also with the index at the start. An absent inner chunk has offset and
 * nbytes of all ones; an offset of all ones alone is read so too, as zarr-python does.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/ndcopy.h"
#include "codec/codec_impl.h"

struct sharding {
	struct codec codec;
	struct repr inner_repr;
	uint64_t grid[LIMIT_DIMS];
	uint64_t entries;
	struct pipeline *inner;
	struct pipeline *index;
	size_t index_bytes;
	bool index_at_end;
	bool inner_contiguous; /* an inner chunk is one run of the decoded shard's bytes */
};

_Static_assert(sizeof(struct shard_entry) == 16, "an entry is two u64 and nothing else");

/* Specifications of a nested chain; the names stay in the document. */
struct inner_list {
	struct codec_list list;
	struct codec_spec specs[LIMIT_CODECS];
	char where[LIMIT_CODECS][32];
};

static int parse_spec(const struct json *json, struct codec_spec *ret_spec)
{
	const struct json *name = json_type(json) == JSON_STRING ? json : json_get(json, "name");
	const char *text;
	if (!name)
		return err_set(EIO, "%s: a codec without a name", ret_spec->where);
	int rc = json_string(name, ret_spec->where, &text, NULL);
	if (rc)
		return rc;
	ret_spec->name = (char *)text;
	ret_spec->config = json_get(json, "configuration");
	if (ret_spec->config && json_type(ret_spec->config) != JSON_OBJECT)
		return err_set(EIO, "%s.configuration: %s where an object is expected", ret_spec->where,
					   json_type_name(json_type(ret_spec->config)));
	return 0;
}

static int parse_list(const struct json *config, const char *member, struct inner_list *ret_list)
{
	const struct json *json = json_get(config, member);
	if (!json || json_type(json) != JSON_ARRAY)
		return err_set(EIO, "%s: missing or not a list", member);
	if (json_count(json) > LIMIT_CODECS)
		return err_set(EFBIG, "%s: a chain of %zu, at most %d are read", member, json_count(json), LIMIT_CODECS);
	int n = 0;
	for (const struct json *item = json_first(json); item; item = json_next(item), n++) {
		snprintf(ret_list->where[n], sizeof(ret_list->where[n]), "%s[%d]", member, n);
		ret_list->specs[n].where = ret_list->where[n];
		int rc = parse_spec(item, &ret_list->specs[n]);
		if (rc)
			return rc;
	}
	ret_list->list = (struct codec_list){.specs = ret_list->specs, .n = n};
	return 0;
}

/* C[i] divides S[i]; G = S / C. */
static int parse_grid(struct sharding *self, const struct json *config, const struct repr *shard)
{
	int n;
	const struct json *json = json_get(config, "chunk_shape");
	if (!json)
		return err_set(EIO, "chunk_shape: missing");
	self->inner_repr = *shard;
	int rc = json_uint64_list(json, "chunk_shape", LIMIT_DIMS, self->inner_repr.shape, &n);
	if (rc)
		return rc;
	if (n != shard->ndim)
		return err_set(EIO, "chunk_shape: %d axes for a shard of %d", n, shard->ndim);
	for (int i = 0; i < n; i++) {
		uint64_t c = self->inner_repr.shape[i];
		if (c == 0 || shard->shape[i] % c != 0)
			return err_set(EIO, "chunk_shape[%d]: %ju does not divide the shard's %ju", i, (uintmax_t)c,
						   (uintmax_t)shard->shape[i]);
		self->grid[i] = shard->shape[i] / c;
	}
	if (!checked_product(self->grid, n, &self->entries) || self->entries > LIMIT_SHARD_ENTRIES)
		return err_set(EFBIG, "chunk_shape: more than %u inner chunks in a shard", LIMIT_SHARD_ENTRIES);

	int i = 0;
	while (i < n && self->inner_repr.shape[i] == 1)
		i++;
	for (i++; i < n && self->grid[i] == 1; i++)
		;
	self->inner_contiguous = i >= n;
	return 0;
}

static int parse_location(struct sharding *self, const struct json *config)
{
	const struct json *json = json_get(config, "index_location");
	self->index_at_end = true;
	if (!json)
		return 0;
	const char *text;
	int rc = json_string(json, "index_location", &text, NULL);
	if (rc)
		return rc;
	self->index_at_end = strcmp(text, "end") == 0;
	if (!self->index_at_end && strcmp(text, "start") != 0)
		return err_set(EIO, "index_location: neither \"start\" nor \"end\"");
	return 0;
}

static int open_inner(struct sharding *self, const struct json *config)
{
	struct inner_list codecs;
	int rc = parse_list(config, "codecs", &codecs);
	if (!rc)
		rc = pipeline_open(&codecs.list, &self->inner_repr, &self->inner);
	if (rc)
		return rc;
	if (1 + pipeline_shard_levels(self->inner) > LIMIT_SHARD_LEVELS)
		return err_set(EFBIG, "more than %d shardings inside each other", LIMIT_SHARD_LEVELS);
	return 0;
}

/* The index is an array of u64 of shape G + [2]; with the most dimensions there is no room for one more: [n, 2] then. */
static int open_index(struct sharding *self, const struct json *config)
{
	static const uint8_t no_fill[8];
	struct repr repr = {.item_size = 8, .swap_unit = 8, .fill_value = no_fill};
	if (self->inner_repr.ndim < LIMIT_DIMS) {
		repr.ndim = self->inner_repr.ndim + 1;
		memcpy(repr.shape, self->grid, sizeof(self->grid));
	} else {
		repr.ndim = 2;
		repr.shape[0] = self->entries;
	}
	repr.shape[repr.ndim - 1] = 2;

	struct inner_list codecs;
	int rc = parse_list(config, "index_codecs", &codecs);
	if (!rc)
		rc = pipeline_open(&codecs.list, &repr, &self->index);
	if (rc)
		return rc;
	if (!pipeline_fixed_size(self->index, &self->index_bytes))
		return err_set(ENOTSUP, "index_codecs: the encoded size of the index varies");
	return 0;
}

static void sharding_close(struct codec *codec)
{
	struct sharding *self = container_of(codec, struct sharding, codec);
	pipeline_close(self->inner);
	pipeline_close(self->index);
	free(self);
}

static int sharding_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct sharding *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	int rc = parse_grid(self, config, decoded);
	if (!rc)
		rc = parse_location(self, config);
	if (!rc)
		rc = open_inner(self, config);
	if (!rc)
		rc = open_index(self, config);
	if (rc) {
		sharding_close(&self->codec);
		return rc;
	}
	*ret_codec = &self->codec;
	return 0;
}

const struct sharding *sharding_of_codec(const struct codec *codec)
{
	return codec->ops == &sharding_codec_ops ? container_of(codec, const struct sharding, codec) : NULL;
}

const struct pipeline *sharding_inner(const struct sharding *sharding)
{
	return sharding->inner;
}

const uint64_t *sharding_grid(const struct sharding *sharding)
{
	return sharding->grid;
}

uint64_t sharding_entries(const struct sharding *sharding)
{
	return sharding->entries;
}

size_t sharding_index_bytes(const struct sharding *sharding)
{
	return sharding->index_bytes;
}

bool sharding_index_at_end(const struct sharding *sharding)
{
	return sharding->index_at_end;
}

int sharding_decode_index(const struct sharding *sharding, const void *src, struct shard_entry *ret_entries)
{
	int rc = pipeline_decode(sharding->index, src, sharding->index_bytes, ret_entries);
	return rc ? err_prefix(rc, "shard index") : 0;
}

int sharding_encode_index(const struct sharding *sharding, const struct shard_entry *entries, struct buf **ret_buf)
{
	int rc = pipeline_encode(sharding->index, entries, ret_buf);
	return rc ? err_prefix(rc, "shard index") : 0;
}

int sharding_check_entry(const struct sharding *sharding, const struct shard_entry *entry, uint64_t shard_size)
{
	uint64_t end;
	if (entry->offset == SHARD_ABSENT)
		return 0;
	if (entry->size == 0)
		return err_set(EIO, "shard index: an inner chunk of 0 bytes at %ju", (uintmax_t)entry->offset);
	if (!checked_add(entry->offset, entry->size, &end) || end > shard_size)
		return err_set(EIO, "shard index: %ju bytes at %ju, past the shard's end at %ju", (uintmax_t)entry->size,
					   (uintmax_t)entry->offset, (uintmax_t)shard_size);
	if (entry->size > pipeline_encoded_bound(sharding->inner))
		return err_set(EIO, "shard index: an inner chunk of %ju bytes, at most %ju make sense", (uintmax_t)entry->size,
					   (uintmax_t)pipeline_encoded_bound(sharding->inner));
	return 1;
}

/* What the inner chunks and the index need; the slack for each would add up to absurd scratch for a codec behind this one. */
static uint64_t sharding_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	const struct sharding *self = container_of(codec, const struct sharding, codec);
	size_t fixed;
	uint64_t one, all;
	*ret_fixed = false;
	one = pipeline_fixed_size(self->inner, &fixed) ? fixed : pipeline_encoded_bound(self->inner) - LIMIT_ENCODED_SLACK;
	if (!checked_mul(one, self->entries, &all) || !checked_add(all, self->index_bytes, &all))
		return UINT64_MAX - LIMIT_ENCODED_SLACK;
	return all;
}

/* The inner chunks of a shard in C order, each with its box in the decoded shard: bytes as the last axis. */
struct walk {
	const struct sharding *sharding;
	uint64_t entry;
	uint64_t at[LIMIT_DIMS];
	uint64_t offset; /* of the box's first byte */
	int ndim;		 /* with the bytes of an element as the last axis */
	uint64_t shape[LIMIT_DIMS + 1];
	int64_t inner_strides[LIMIT_DIMS + 1], shard_strides[LIMIT_DIMS + 1];
};

static void walk_init(struct walk *walk, const struct sharding *sharding)
{
	const struct repr *inner = &sharding->inner_repr;
	int64_t inner_stride = inner->item_size, shard_stride = inner->item_size;
	*walk = (struct walk){.sharding = sharding, .ndim = inner->ndim + 1};
	walk->shape[inner->ndim] = inner->item_size;
	walk->inner_strides[inner->ndim] = walk->shard_strides[inner->ndim] = 1;
	for (int i = inner->ndim - 1; i >= 0; i--) {
		walk->shape[i] = inner->shape[i];
		walk->inner_strides[i] = inner_stride;
		walk->shard_strides[i] = shard_stride;
		inner_stride *= (int64_t)inner->shape[i];
		shard_stride *= (int64_t)MAX(sharding->codec.decoded.shape[i], 1);
	}
}

static void walk_next(struct walk *walk)
{
	walk->entry++;
	for (int i = walk->ndim - 2; i >= 0; i--) {
		uint64_t step = walk->shape[i] * (uint64_t)walk->shard_strides[i];
		walk->offset += step;
		if (++walk->at[i] < walk->sharding->grid[i])
			return;
		walk->offset -= walk->at[i] * step;
		walk->at[i] = 0;
	}
}

static bool walk_ends(const struct walk *walk)
{
	return walk->entry == walk->sharding->entries;
}

/* One inner chunk into its box; `chunk` holds one decoded inner chunk where boxes are not contiguous. */
static int decode_entry(const struct walk *walk, const struct shard_entry *entry, const uint8_t *src, size_t size,
						uint8_t *dst, uint8_t *chunk)
{
	const struct sharding *self = walk->sharding;
	uint8_t *box = dst + walk->offset;
	int rc = sharding_check_entry(self, entry, size);
	if (rc == 0)
		ndfill(box, walk->shard_strides, walk->shape, walk->ndim, self->inner_repr.fill_value,
			   self->inner_repr.item_size);
	if (rc <= 0)
		return rc;
	rc = pipeline_decode(self->inner, src + entry->offset, entry->size, self->inner_contiguous ? box : chunk);
	if (!rc && !self->inner_contiguous)
		ndcopy(box, walk->shard_strides, chunk, walk->inner_strides, walk->shape, walk->ndim);
	return rc;
}

static int sharding_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						   size_t *ret_size)
{
	const struct sharding *self = container_of(codec, const struct sharding, codec);
	if (size < self->index_bytes)
		return err_set(EIO, "a shard of %zu bytes is shorter than its index of %zu", size, self->index_bytes);
	autobuf chunk = NULL;
	autofree struct shard_entry *entries = calloc(MAX(self->entries, 1), sizeof(*entries));
	int rc = entries ? 0 : err_set(ENOMEM, "no memory for a shard index");
	if (!rc && !self->inner_contiguous)
		rc = buf_new(pipeline_decoded_bytes(self->inner), &chunk);
	if (!rc)
		rc = sharding_decode_index(self, (const uint8_t *)src + (self->index_at_end ? size - self->index_bytes : 0),
								   entries);
	if (rc)
		return rc;

	struct walk walk;
	for (walk_init(&walk, self); !walk_ends(&walk); walk_next(&walk)) {
		rc = decode_entry(&walk, &entries[walk.entry], src, size, dst, chunk ? chunk->data : NULL);
		if (rc)
			return err_prefix(rc, "inner chunk %ju", (uintmax_t)walk.entry);
	}
	*ret_size = room;
	return 0;
}

/* Encoded inner chunks, until their number and sizes are known. */
struct parts {
	struct buf **bufs;
	uint64_t n;
	uint64_t size;
};

static void parts_finish(struct parts *parts)
{
	for (uint64_t i = 0; i < parts->n; i++)
		buf_unref(parts->bufs[i]);
	free(parts->bufs);
}

static int encode_parts(const struct sharding *self, const uint8_t *src, struct parts *parts,
						struct shard_entry *entries)
{
	autobuf chunk = NULL;
	int rc = buf_new(pipeline_decoded_bytes(self->inner), &chunk);
	if (rc)
		return rc;
	struct walk walk;
	for (walk_init(&walk, self); !walk_ends(&walk); walk_next(&walk)) {
		struct buf *part;
		ndcopy(chunk->data, walk.inner_strides, src + walk.offset, walk.shard_strides, walk.shape, walk.ndim);
		rc = pipeline_encode(self->inner, chunk->data, &part);
		if (rc)
			return rc;
		entries[walk.entry] = (struct shard_entry){.offset = parts->size, .size = part->size};
		parts->size += part->size;
		parts->bufs[parts->n++] = part;
	}
	return 0;
}

static int assemble(const struct sharding *self, const struct parts *parts, const struct buf *index,
					struct buf **ret_buf)
{
	struct buf *shard;
	int rc = buf_new(parts->size + index->size, &shard);
	if (rc)
		return rc;
	uint8_t *to = shard->data;
	if (!self->index_at_end)
		to = mempcpy(to, index->data, index->size);
	for (uint64_t i = 0; i < parts->n; i++)
		to = mempcpy(to, parts->bufs[i]->data, parts->bufs[i]->size);
	if (self->index_at_end)
		memcpy(to, index->data, index->size);
	*ret_buf = shard;
	return 0;
}

static int sharding_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	const struct sharding *self = container_of(codec, const struct sharding, codec);
	autobuf index = NULL;
	autofree struct shard_entry *entries = calloc(MAX(self->entries, 1), sizeof(*entries));
	struct parts parts = {
		.bufs = calloc(MAX(self->entries, 1), sizeof(*parts.bufs)),
		.size = self->index_at_end ? 0 : self->index_bytes,
	};
	int rc = entries && parts.bufs ? 0 : err_set(ENOMEM, "no memory for a shard index");
	if (!rc)
		rc = encode_parts(self, src, &parts, entries);
	if (!rc)
		rc = sharding_encode_index(self, entries, &index);
	if (!self->index_at_end)
		parts.size -= self->index_bytes;
	if (!rc)
		rc = assemble(self, &parts, index, ret_buf);
	parts_finish(&parts);
	return rc;
}

static void sharding_print(const struct codec *codec, struct str *str)
{
	const struct sharding *self = container_of(codec, const struct sharding, codec);
	str_append(str, "[");
	pipeline_print(self->inner, str);
	str_append(str, "]");
}

const struct codec_ops sharding_codec_ops = {
	.name = "sharding_indexed",
	.kind = CODEC_ARRAY_BYTES,
	.decode_mbps = 8000,
	.open = sharding_open,
	.close = sharding_close,
	.encoded_size = sharding_encoded_size,
	.decode = sharding_decode,
	.encode = sharding_encode,
	.print = sharding_print,
};
