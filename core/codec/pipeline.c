/*
 * pipeline.c: a codec chain, checked once and run either way (Zarr v3 core specification, "Codecs").
 *
 *     encode:  chunk -> array codecs -> one array -> bytes codec -> bytes codecs -> stored value
 *     decode:  the other way round, through the stages that are left when no-ops have vanished
 *
 * Sizes flow from the chunk outward: they are exact until the first codec whose output varies, then bounds. A stage
 * decodes into dst itself when everything behind it works in place, else into one of two scratch areas in turn.
 */
#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "codec/codec_impl.h"

struct stage {
	struct codec *codec;
	size_t room;   /* bytes of its decoded side: exact, or at most */
	bool exact;	   /* so many and no others */
	bool to_dst;   /* decodes into the caller's memory */
	bool in_place; /* decodes where its input stands */
};

struct pipeline {
	struct repr repr;
	uint64_t bytes; /* decoded */
	struct codec *codecs[LIMIT_CODECS];
	int n;
	struct stage stages[LIMIT_CODECS]; /* the codecs that do something, in encoding order */
	int n_stages;
	uint64_t encoded; /* exact, or a bound with its slack */
	bool fixed;
	int shard_levels;
	uint64_t scratch;
};

/* array -> array ... array -> bytes, bytes -> bytes ...: exactly one in the middle. */
static int check_chain(const struct codec_list *list)
{
	bool have_bytes = false;
	if (list->n > LIMIT_CODECS)
		return err_set(EFBIG, "codecs: a chain of %d, at most %d are read", list->n, LIMIT_CODECS);
	for (int i = 0; i < list->n; i++) {
		const struct codec_spec *spec = &list->specs[i];
		const struct codec_ops *ops;
		int rc = codec_find(spec->name, list->v2, &ops);
		if (rc)
			return err_prefix(rc, "%s", spec->where);
		enum codec_kind kind = codec_kind(ops, list->v2);
		if (kind == CODEC_BYTES_BYTES && !have_bytes)
			return err_set(ENOTSUP, "%s: %s before the codec that makes bytes of the array", spec->where, spec->name);
		if (kind != CODEC_BYTES_BYTES && have_bytes)
			return err_set(ENOTSUP, "%s: %s after the codec that made bytes of the array", spec->where, spec->name);
		have_bytes |= kind == CODEC_ARRAY_BYTES;
	}
	if (!have_bytes)
		return err_set(ENOTSUP, "codecs: no codec of the chain makes bytes of the array");
	return 0;
}

/* What the chain has made of the chunk so far. */
struct flow {
	struct repr repr;
	uint64_t size;
	uint64_t base; /* what the codecs so far may make 16 times as large: the chunk, then what became of it as bytes */
	bool exact;
};

static int add_stage(struct pipeline *pipeline, struct codec *codec, const struct flow *flow)
{
	if (flow->size > SIZE_MAX)
		return err_set(EFBIG, "a chunk of %ju bytes", (uintmax_t)flow->size);
	pipeline->stages[pipeline->n_stages++] = (struct stage){
		.codec = codec,
		.room = flow->size,
		.exact = flow->exact,
		.in_place = codec->ops->in_place,
	};
	return 0;
}

static int flow_through(struct flow *flow, const struct codec *codec)
{
	const struct codec_ops *ops = codec->ops;
	if (codec->kind == CODEC_ARRAY_ARRAY) {
		struct repr repr;
		if (!ops->encoded_repr)
			return 0;
		int rc = ops->encoded_repr(codec, &repr);
		if (rc)
			return rc;
		flow->repr = repr;
		if (!repr_bytes(&flow->repr, &flow->size))
			return err_set(EFBIG, "the encoded array is too large");
	} else if (ops->encoded_size) {
		bool fixed;
		flow->size = ops->encoded_size(codec, flow->size, &fixed);
		flow->exact &= fixed;
		if (flow->size > UINT64_C(1) << 62)
			return err_set(EFBIG, "the encoded chunk is too large");
		if (!fixed)
			flow->size += LIMIT_ENCODED_SLACK;
	}
	/* a few bytes that decompress to what many such codecs make must not take the machine's memory */
	if (codec->kind == CODEC_ARRAY_BYTES)
		flow->base = flow->size;
	else if (flow->size / LIMIT_CODEC_EXPANSION > flow->base + LIMIT_ENCODED_SLACK)
		return err_set(EFBIG, "the chain makes more than %d times as many bytes of a chunk", LIMIT_CODEC_EXPANSION);
	return 0;
}

static int open_codecs(struct pipeline *pipeline, const struct codec_list *list)
{
	struct flow flow = {.repr = pipeline->repr, .size = pipeline->bytes, .base = pipeline->bytes, .exact = true};
	for (int i = 0; i < list->n; i++) {
		struct codec *codec;
		int rc = codec_open(&list->specs[i], list->v2, &flow.repr, flow.size, &codec);
		if (rc)
			return rc;
		pipeline->codecs[pipeline->n++] = codec;
		if (!codec->ops->is_noop || !codec->ops->is_noop(codec))
			rc = add_stage(pipeline, codec, &flow);
		if (!rc)
			rc = flow_through(&flow, codec);
		if (rc)
			return err_prefix(rc, "%s", list->specs[i].where);
	}
	pipeline->encoded = flow.size;
	pipeline->fixed = flow.exact;
	return 0;
}

/* Decides where each stage decodes to, and what that needs. */
static void place_stages(struct pipeline *pipeline)
{
	uint64_t areas[2] = {0, 0};
	int area = 0;
	bool rest_in_place = true;
	for (int i = 0; i < pipeline->n_stages; i++) {
		pipeline->stages[i].to_dst = rest_in_place && pipeline->stages[i].room == pipeline->bytes;
		rest_in_place &= pipeline->stages[i].in_place;
	}
	for (int i = pipeline->n_stages - 1; i >= 0; i--) {
		const struct stage *stage = &pipeline->stages[i];
		if (stage->in_place && i != pipeline->n_stages - 1)
			continue;
		if (!stage->to_dst) {
			areas[area] = MAX(areas[area], stage->room);
			area = 1 - area;
		}
	}
	pipeline->scratch = areas[0] + areas[1];
	for (int i = 0; i < pipeline->n_stages; i++) {
		const struct stage *stage = &pipeline->stages[i];
		if (stage->codec->ops->decode_scratch)
			pipeline->scratch += stage->codec->ops->decode_scratch(stage->codec, stage->room);
	}
	for (int i = 0; i < pipeline->n; i++) {
		const struct sharding *sharding = sharding_of_codec(pipeline->codecs[i]);
		if (!sharding)
			continue;
		const struct pipeline *inner = sharding_inner(sharding);
		pipeline->shard_levels = 1 + inner->shard_levels;
		pipeline->scratch += inner->bytes + inner->scratch + sharding_entries(sharding) * sizeof(struct shard_entry);
	}
}

int pipeline_open(const struct codec_list *list, const struct repr *chunk, struct pipeline **ret_pipeline)
{
	int rc = check_chain(list);
	if (rc)
		return rc;
	struct pipeline *pipeline = calloc(1, sizeof(*pipeline));
	if (!pipeline)
		return err_set(ENOMEM, "no memory for a codec chain");
	pipeline->repr = *chunk;
	rc = repr_bytes(chunk, &pipeline->bytes) ? open_codecs(pipeline, list) : err_set(EFBIG, "the chunk is too large");
	if (rc) {
		pipeline_close(pipeline);
		return rc;
	}
	place_stages(pipeline);
	*ret_pipeline = pipeline;
	return 0;
}

void pipeline_close(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	for (int i = 0; i < pipeline->n; i++)
		pipeline->codecs[i]->ops->close(pipeline->codecs[i]);
	free(pipeline);
}

const struct repr *pipeline_repr(const struct pipeline *pipeline)
{
	return &pipeline->repr;
}

size_t pipeline_decoded_bytes(const struct pipeline *pipeline)
{
	return pipeline->bytes;
}

bool pipeline_fixed_size(const struct pipeline *pipeline, size_t *ret_size)
{
	if (pipeline->fixed)
		*ret_size = pipeline->encoded;
	return pipeline->fixed;
}

uint64_t pipeline_encoded_bound(const struct pipeline *pipeline)
{
	/* Writers may leave gaps and dead bytes between the inner chunks of a shard. */
	if (sharding_of_codec(pipeline->codecs[pipeline->n - 1]))
		return pipeline->encoded * 2;
	return pipeline->fixed ? pipeline->encoded + LIMIT_ENCODED_SLACK : pipeline->encoded;
}

size_t pipeline_scratch_bytes(const struct pipeline *pipeline)
{
	return pipeline->scratch;
}

bool pipeline_is_identity(const struct pipeline *pipeline)
{
	return pipeline->n_stages == 0;
}

int pipeline_shard_levels(const struct pipeline *pipeline)
{
	return pipeline->shard_levels;
}

const struct sharding *pipeline_sharding(const struct pipeline *pipeline)
{
	if (pipeline->n_stages != 1)
		return NULL;
	/* A reshape, or a transpose that only moves axes of length 1, is no stage, yet the grid is then another than the chunk's. */
	const struct codec *codec = pipeline->stages[0].codec;
	size_t shape_bytes = sizeof(uint64_t) * (size_t)pipeline->repr.ndim;
	const struct sharding *sharding = sharding_of_codec(codec);
	if (!sharding || codec->decoded.ndim != pipeline->repr.ndim ||
		memcmp(codec->decoded.shape, pipeline->repr.shape, shape_bytes) != 0)
		return NULL;
	return sharding;
}

/* bytes at mbps, without overflow */
static uint64_t ns_at(uint64_t bytes, unsigned mbps)
{
	return bytes / mbps * 1000 + bytes % mbps * 1000 / mbps;
}

uint64_t pipeline_decode_ns(const struct pipeline *pipeline)
{
	const unsigned copy_mbps = 10000, stage_ns = 200;
	if (pipeline->n_stages == 0)
		return ns_at(pipeline->bytes, copy_mbps);
	uint64_t ns = 0;
	for (int i = 0; i < pipeline->n_stages; i++) {
		const struct stage *stage = &pipeline->stages[i];
		const struct sharding *sharding = sharding_of_codec(stage->codec);
		ns += stage_ns + ns_at(stage->room, stage->codec->ops->decode_mbps);
		if (sharding)
			ns += pipeline_decode_ns(sharding_inner(sharding)) * sharding_entries(sharding);
	}
	return ns;
}

static const char *codec_name(const struct codec *codec)
{
	return codec->ops->name ? codec->ops->name : codec->ops->v2_id;
}

void pipeline_print(const struct pipeline *pipeline, struct str *str)
{
	for (int i = 0; i < pipeline->n; i++) {
		const struct codec *codec = pipeline->codecs[i];
		str_appendf(str, "%s%s", i == 0 ? "" : " ", codec_name(codec));
		if (codec->ops->print)
			codec->ops->print(codec, str);
	}
}

/*
 * Memory between two stages. Thread-local, but not around a sharding codec: its inner chunks are decoded by this
 * thread in the meantime, with the same scratch.
 */
struct areas {
	const struct pipeline *pipeline;
	struct buf *bufs[2];
	int next;
};

static void *area_take(struct areas *areas, size_t size)
{
	int i = areas->next;
	areas->next = 1 - i;
	if (areas->pipeline->shard_levels == 0)
		return codec_scratch(i, size);
	buf_unref(areas->bufs[i]);
	areas->bufs[i] = NULL;
	return buf_new(size, &areas->bufs[i]) ? NULL : areas->bufs[i]->data;
}

static void areas_finish(struct areas *areas)
{
	buf_unref(areas->bufs[0]);
	buf_unref(areas->bufs[1]);
	codec_scratch_trim();
}

static int run_stages(const struct pipeline *pipeline, struct areas *areas, const void *src, size_t size, void *dst)
{
	const void *in = src;
	for (int i = pipeline->n_stages - 1; i >= 0; i--) {
		const struct stage *stage = &pipeline->stages[i];
		void *out = dst;
		size_t got = 0;
		if (stage->in_place && in != src)
			out = (void *)in; /* ours: dst or an area */
		else if (!stage->to_dst)
			out = area_take(areas, stage->room);
		if (!out)
			return err_set(ENOMEM, "no memory to decode a chunk");
		int rc = stage->codec->ops->decode(stage->codec, in, size, out, stage->room, &got);
		if (rc)
			return err_prefix(rc, "%s", codec_name(stage->codec));
		if (stage->exact && got != stage->room)
			return err_set(EIO, "%s: decodes to %zu bytes, expected %zu", codec_name(stage->codec), got, stage->room);
		in = out;
		size = got;
	}
	return 0;
}

int pipeline_decode(const struct pipeline *pipeline, const void *src, size_t size, void *dst)
{
	if (pipeline->n_stages == 0) {
		if (size != pipeline->bytes)
			return err_set(EIO, "%zu bytes, expected %ju", size, (uintmax_t)pipeline->bytes);
		memcpy(dst, src, size);
		return 0;
	}
	struct areas areas = {.pipeline = pipeline};
	int rc = run_stages(pipeline, &areas, src, size, dst);
	areas_finish(&areas);
	return rc;
}

int pipeline_encode(const struct pipeline *pipeline, const void *src, struct buf **ret_buf)
{
	autobuf buf = NULL;
	if (pipeline->n_stages == 0) {
		int rc = buf_new(pipeline->bytes, &buf);
		if (rc)
			return rc;
		memcpy(buf->data, src, pipeline->bytes);
	}
	for (int i = 0; i < pipeline->n_stages; i++) {
		const struct codec *codec = pipeline->stages[i].codec;
		struct buf *next;
		if (!codec->ops->encode)
			return err_set(ENOTSUP, "%s: read-only, cannot encode", codec_name(codec));
		int rc = codec->ops->encode(codec, buf ? buf->data : src, buf ? buf->size : pipeline->bytes, &next);
		if (rc)
			return err_prefix(rc, "%s", codec_name(codec));
		buf_unref(buf);
		buf = next;
	}
	*ret_buf = buf;
	buf = NULL;
	return 0;
}
