/*
 * codec.c: the table of codecs by name, and what codecs share: opening by a specification, options, thread-local scratch.
 */
#include "codec/codec_impl.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"

/* Rows whose library was not there when this program was built: known by name, and nothing more. */
#if !defined(HAVE_BZ2)
const struct codec_ops bz2_codec_ops = {.v2_id = "bz2", .kind = CODEC_BYTES_BYTES};
#endif
#if !defined(HAVE_LZMA)
const struct codec_ops lzma_codec_ops = {.v2_id = "lzma", .kind = CODEC_BYTES_BYTES};
#endif

/* In the order of their names, as they are listed in messages. */
const struct codec_ops *const codec_rows[] = {
	&adler32_codec_ops,
	&astype_codec_ops,
	&base64_codec_ops,
	&bitround_codec_ops,
	&blosc_codec_ops,
	&bytes_codec_ops,
	&bz2_codec_ops,
	&cast_value_codec_ops,
	&crc32_codec_ops,
	&crc32c_codec_ops,
	&delta_codec_ops,
	&fixedscaleoffset_codec_ops,
	&fletcher32_codec_ops,
	&gzip_codec_ops,
	&snappy_codec_ops,
	&jenkins_lookup3_codec_ops,
	&lz4_codec_ops,
	&lzma_codec_ops,
	&nvcomp_codec_ops,
	&packbits_codec_ops,
	&packed_bits_codec_ops,
	&quantize_codec_ops,
	&reshape_codec_ops,
	&scale_offset_codec_ops,
	&sharding_codec_ops,
	&byte_shuffle_codec_ops,
	&transpose_codec_ops,
	&squeeze_codec_ops,
	&zlib_codec_ops,
	&zstd_codec_ops,
	NULL,
};

#define NUMCODECS_PREFIX "numcodecs."

/*
 * A numcodecs id in a v3 document, whose configuration is then spelled as in v2: zarr-python's "numcodecs.bz2", and the addresses
 * that zarrs before 0.20 wrote for the same codecs.
 */
static bool strip_prefix(const char **name)
{
	static const char *const addresses[] = {
		"https://codec.zarrs.dev/array_to_array/bitround",
		"https://codec.zarrs.dev/bytes_to_bytes/bz2",
		"https://codec.zarrs.dev/bytes_to_bytes/fletcher32",
	};
	size_t n = strlen(NUMCODECS_PREFIX);
	if (strncmp(*name, NUMCODECS_PREFIX, n) == 0) {
		*name += n;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(addresses); i++) {
		if (strcmp(*name, addresses[i]) == 0) {
			*name = strrchr(*name, '/') + 1;
			return true;
		}
	}
	return false;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/*
 * A name may be one codec's in v3 and another's id: packbits. So other spellings come last: v2 documents have no ids for the
 * array codecs that meta/ makes of them, and zarrita writes "zlib" and "lz4" bare in v3.
 */
static bool is_other_spelling(const struct codec_ops *ops, const char *name, bool v2)
{
	if (v2)
		return (ops == &bytes_codec_ops || ops == &transpose_codec_ops) && same(ops->name, name);
	return !ops->name && same(ops->v2_id, name);
}

static const struct codec_ops *find_row(const char *name, bool v2, bool prefixed)
{
	for (const struct codec_ops *const *row = codec_rows; *row; row++)
		if (same(v2 || prefixed ? (*row)->v2_id : (*row)->name, name))
			return *row;
	for (const struct codec_ops *const *row = codec_rows; *row && !prefixed; row++)
		if (is_other_spelling(*row, name, v2))
			return *row;
	return NULL;
}

int codec_find(const char *name, bool v2, const struct codec_ops **ret_ops)
{
	const char *bare = name;
	bool prefixed = strip_prefix(&bare);
	if (!prefixed && !v2 && strcmp(name, "endian") == 0)
		bare = "bytes"; /* its name in drafts of 2022 */
	const struct codec_ops *ops = find_row(bare, v2, prefixed);
	if (ops && ops->decode) {
		*ret_ops = ops;
		return 0;
	}
	autostr(shown);
	autostr(known);
	str_append_escaped(&shown, name, strnlen(name, 64));
	if (ops)
		return err_set(ENOTSUP, "codec \"%s\" is known, but was not built in", shown.text);
	codec_known(&known);
	return err_set(ENOTSUP, "unknown codec \"%s\" (built in: %s)", shown.text, known.text);
}

enum codec_kind codec_kind(const struct codec_ops *ops, bool v2)
{
	return ops->array_in_v3 && !v2 ? CODEC_ARRAY_ARRAY : ops->kind;
}

void codec_known(struct str *str)
{
	const char *last = NULL;
	for (const struct codec_ops *const *row = codec_rows; *row; row++) {
		const char *name = (*row)->name ? (*row)->name : (*row)->v2_id;
		/* packbits are two */
		if ((*row)->decode && !same(name, last))
			str_appendf(str, "%s%s", str->size ? ", " : "", name);
		last = name;
	}
}

int codec_open(const struct codec_spec *spec, bool v2, const struct repr *decoded, uint64_t bytes,
			   struct codec **ret_codec)
{
	const char *bare = spec->name;
	const struct codec_ops *ops;
	struct codec *codec;
	int rc = codec_find(spec->name, v2, &ops);
	if (rc)
		return err_prefix(rc, "%s", spec->where);
	enum codec_kind kind = codec_kind(ops, v2);
	rc = ops->open(spec->config, v2 || strip_prefix(&bare), kind == CODEC_BYTES_BYTES ? NULL : decoded, &codec);
	if (rc)
		return err_prefix(rc, "%s", spec->where);
	codec->ops = ops;
	codec->kind = kind;
	codec->item_size = v2 ? 0 : decoded->item_size;
	codec->bytes = bytes;
	if (kind != CODEC_BYTES_BYTES)
		codec->decoded = *decoded;
	*ret_codec = codec;
	return 0;
}

void codec_close_plain(struct codec *codec)
{
	free(codec);
}

bool codec_is_always_noop(const struct codec *codec)
{
	return true;
}

int codec_copy(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	if (size != room)
		return err_set(EIO, "%zu bytes, expected %zu", size, room);
	if (dst != src)
		memcpy(dst, src, size);
	*ret_size = room;
	return 0;
}

int codec_copy_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	struct buf *buf;
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	memcpy(buf->data, src, size);
	*ret_buf = buf;
	return 0;
}

int codec_option(const struct json *config, const char *name, int64_t low, int64_t high, int64_t fallback,
				 int64_t *ret_value)
{
	const struct json *json = json_get(config, name);
	int64_t value = fallback;
	if (json && json_type(json) != JSON_NULL) {
		int rc = json_int64(json, name, &value);
		if (rc)
			return rc;
	}
	*ret_value = MAX(low, MIN(value, high));
	return 0;
}

bool repr_bytes(const struct repr *repr, uint64_t *ret_bytes)
{
	uint64_t bytes;
	if (!checked_product(repr->shape, repr->ndim, &bytes) || !checked_mul(bytes, repr->item_size, &bytes))
		return false;
	if (bytes > UINT64_C(1) << 62)
		return false;
	*ret_bytes = bytes;
	return true;
}

/* Scratch of one thread. */
#define SCRATCH_KEPT ((size_t)16 << 20)
#define SCRATCH_ALIGN 64

struct scratch {
	void *data[CODEC_SCRATCH_SLOTS];
	size_t size[CODEC_SCRATCH_SLOTS];
};

static pthread_key_t scratch_key;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;
static bool scratch_key_made;

static void scratch_free(void *arg)
{
	struct scratch *scratch = arg;
	for (int i = 0; i < CODEC_SCRATCH_SLOTS; i++)
		free(scratch->data[i]);
	free(scratch);
}

static void scratch_make_key(void)
{
	scratch_key_made = pthread_key_create(&scratch_key, scratch_free) == 0;
}

static struct scratch *scratch_get(void)
{
	pthread_once(&scratch_once, scratch_make_key);
	return scratch_key_made ? pthread_getspecific(scratch_key) : NULL;
}

static struct scratch *scratch_new(void)
{
	struct scratch *scratch = scratch_key_made ? calloc(1, sizeof(*scratch)) : NULL;
	if (scratch && pthread_setspecific(scratch_key, scratch) != 0) {
		free(scratch);
		return NULL;
	}
	return scratch;
}

void *codec_scratch(int slot, size_t size)
{
	struct scratch *scratch = scratch_get();
	if (!scratch && !(scratch = scratch_new()))
		return NULL;
	if (scratch->data[slot] && scratch->size[slot] >= size)
		return scratch->data[slot];
	if (size > SIZE_MAX - SCRATCH_ALIGN)
		return NULL;
	size_t rounded = MAX((size + SCRATCH_ALIGN - 1) / SCRATCH_ALIGN, 1) * SCRATCH_ALIGN;
	free(scratch->data[slot]);
	scratch->data[slot] = aligned_alloc(SCRATCH_ALIGN, rounded);
	scratch->size[slot] = scratch->data[slot] ? rounded : 0;
	return scratch->data[slot];
}

void codec_scratch_trim(void)
{
	struct scratch *scratch = scratch_get();
	if (!scratch)
		return;
	for (int i = 0; i < CODEC_SCRATCH_SLOTS; i++) {
		if (scratch->size[i] > SCRATCH_KEPT) {
			free(scratch->data[i]);
			scratch->data[i] = NULL;
			scratch->size[i] = 0;
		}
	}
}

void codec_libraries(struct str *str)
{
	for (int i = 0; codec_rows[i]; i++) {
		const char *library = codec_rows[i]->library ? codec_rows[i]->library() : NULL;
		if (library && !strstr(str->text, library))
			str_appendf(str, "%s%s", str->size ? ", " : "", library);
	}
}
