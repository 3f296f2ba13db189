/*
 * test_codec.c: what every codec promises, over every row of codec_rows: a round trip gives the bytes back, and damaged, cut,
 * lengthened, empty or foreign input gives EIO or bytes within the room, never a byte beyond it.
 *
 * A row without an entry in `variants` is opened with an empty configuration, so a new codec is tested from its first day.
 */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"
#include "../lib/seed.h"
#include "base/err.h"
#include "base/json.h"
#include "codec/codec_impl.h"

/* Memory with a margin that nobody may touch; libraries are not instrumented, so a sanitizer alone would not see it. */
#define MARGIN 64
#define MARGIN_BYTE 0xa5

struct room {
	uint8_t *base, *data;
	size_t size;
};

static void room_init(struct room *room, size_t size)
{
	room->size = size;
	room->base = malloc(size + 2 * MARGIN);
	ck_assert_ptr_nonnull(room->base);
	memset(room->base, MARGIN_BYTE, size + 2 * MARGIN);
	room->data = room->base + MARGIN;
}

static void room_check(const struct room *room, const char *what)
{
	for (size_t i = 0; i < MARGIN; i++)
		if (room->base[i] != MARGIN_BYTE || room->data[room->size + i] != MARGIN_BYTE)
			ck_abort_msg("%s: a byte outside its room of %zu was written", what, room->size);
}

static void room_finish(struct room *room)
{
	free(room->base);
}

/* What a codec is handed: several element types, 0-d, axes of length 1, a chunk of several compressor blocks. */
static const uint8_t fill[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static const struct dtype uint8_type = {.kind = DTYPE_UINT, .size = 1, .swap_unit = 1, .descr = "|u1"};
static const struct dtype int16_type = {.kind = DTYPE_INT, .size = 2, .swap_unit = 2, .descr = "<i2"};
static const struct dtype complex_type = {.kind = DTYPE_COMPLEX, .size = 16, .swap_unit = 8, .descr = "<c16"};

/* A record of 11 bytes: u2, u1, two f4. */
static struct swap_span spans[] = {{0, 2, 1}, {3, 4, 2}};
static struct record record = {.refs = 1, .spans = spans, .n_spans = ARRAY_LEN(spans)};
static const struct dtype record_type = {.kind = DTYPE_RECORD, .size = 11, .swap_unit = 1, .record = &record};

static const struct repr reprs[] = {
	{.ndim = 2, .shape = {3, 7}, .item_size = 1, .swap_unit = 1, .dtype = &uint8_type, .fill_value = fill},
	{.ndim = 1, .shape = {33}, .item_size = 2, .swap_unit = 2, .dtype = &int16_type, .fill_value = fill},
	{.ndim = 3, .shape = {2, 1, 5}, .item_size = 16, .swap_unit = 8, .dtype = &complex_type, .fill_value = fill},
	{.ndim = 2, .shape = {4, 3}, .item_size = 11, .swap_unit = 1, .dtype = &record_type, .fill_value = fill},
	{.ndim = 0, .item_size = 1, .swap_unit = 1, .fill_value = fill},
	{.ndim = 0, .item_size = 8, .swap_unit = 8, .fill_value = fill},
	{.ndim = 1, .shape = {1}, .item_size = 2, .swap_unit = 2, .fill_value = fill},
	{.ndim = 1, .shape = {7}, .item_size = 3, .swap_unit = 1, .fill_value = fill},
	{.ndim = 2, .shape = {4, 6}, .item_size = 4, .swap_unit = 4, .fill_value = fill},
	{.ndim = 3, .shape = {3, 4, 5}, .item_size = 8, .swap_unit = 4, .fill_value = fill},
	{.ndim = 3, .shape = {1, 9, 1}, .item_size = 16, .swap_unit = 8, .fill_value = fill},
	{.ndim = 4, .shape = {2, 3, 4, 2}, .item_size = 2, .swap_unit = 2, .fill_value = fill},
	{.ndim = 2, .shape = {90, 100}, .item_size = 8, .swap_unit = 8, .fill_value = fill},
};

enum pattern { PATTERN_INDEX, PATTERN_NOISE, PATTERN_CONSTANT, PATTERNS };

static void make_data(enum pattern pattern, uint64_t *state, uint8_t *data, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint8_t of_pattern[] = {(uint8_t)(i / 3), (uint8_t)test_random(state), 7};
		data[i] = of_pattern[pattern];
	}
}

/* Configurations to open a row with; %G stands for the axes' halves (or wholes where odd), a chunk_shape that divides. */
static const struct {
	const char *name, *config;
} variants[] = {
	{"bytes", "{\"endian\":\"little\"}"},
	{"bytes", "{\"endian\":\"big\"}"},
	{"transpose", "{\"order\":\"F\"}"},
	{"transpose", "{\"order\":\"C\"}"},
	{"sharding_indexed",
	 "{\"chunk_shape\":%G,\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}],"
	 "\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"crc32c\"]}"},
	{"sharding_indexed", "{\"chunk_shape\":%G,\"codecs\":[{\"name\":\"transpose\",\"configuration\":{\"order\":\"F\"}},"
						 "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}},\"zstd\",\"crc32c\"],"
						 "\"index_location\":\"start\",\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":"
						 "{\"endian\":\"big\"}},\"crc32c\"]}"},
	{"packbits", "{}"},
	{"packbits", "{\"padding_encoding\":\"first_byte\"}"},
	{"packbits", "{\"padding_encoding\":\"last_byte\",\"first_bit\":0,\"last_bit\":null}"},
	{"reshape", "{\"shape\":[-1]}"},
	{"reshape", "{\"shape\":[1,-1,1,1]}"},
	{"crc32c", "{}"},
	{"adler32", "{\"location\":\"end\"}"},
	{"crc32", "{\"location\":\"start\"}"},
	{"jenkins_lookup3", "{\"initval\":77}"},
	{"astype", "{\"encode_dtype\":\"<i4\",\"decode_dtype\":\">f8\"}"},
	{"astype", "{\"encode_dtype\":\"<f8\",\"decode_dtype\":\"|u1\"}"},
	{"delta", "{\"dtype\":\"<i2\"}"},
	{"delta", "{\"dtype\":\">f2\",\"astype\":\"<f4\"}"},
	{"delta", "{\"dtype\":\"<c16\",\"astype\":\"<c8\"}"},
	{"fixedscaleoffset", "{\"dtype\":\"<f4\",\"astype\":\"<i2\",\"offset\":1000,\"scale\":0.1}"},
	{"fixedscaleoffset", "{\"dtype\":\"<i8\",\"astype\":\"<f2\",\"offset\":1,\"scale\":0}"},
	{"cast_value", "{\"data_type\":\"float64\"}"},
	{"cast_value", "{\"data_type\":\"uint8\",\"out_of_range\":\"wrap\",\"scalar_map\":{\"decode\":[[7,1],[0,2]]}}"},
	{"scale_offset", "{}"},
	{"scale_offset", "{\"offset\":3,\"scale\":2}"},
	{"quantize", "{\"digits\":2,\"dtype\":\"<f8\",\"astype\":\"<f4\"}"},
	{"shuffle", "{\"elementsize\":2}"},
	{"shuffle", "{\"elementsize\":1}"},
	{"zstd", "{\"level\":3,\"checksum\":true}"},
	{"zstd", "{\"level\":-5}"},
	{"gzip", "{\"level\":1}"},
	{"gzip", "{\"level\":0}"},
	{"zlib", "{\"level\":9}"},
	{"lz4", "{\"acceleration\":1}"},
	{"bz2", "{\"level\":1}"},
	{"bz2", "{\"level\":9}"},
	{"lzma", "{}"},
	{"lzma", "{\"format\":1,\"check\":0,\"preset\":0}"},
	{"lzma", "{\"format\":1,\"check\":1,\"preset\":9}"},
	{"lzma", "{\"format\":1,\"check\":10,\"preset\":2147483654}"},
	{"lzma", "{\"format\":2,\"preset\":1}"},
	{"lzma", "{\"format\":3,\"filters\":[{\"id\":33,\"preset\":4}]}"},
	{"lzma", "{\"format\":3,\"filters\":[{\"id\":3,\"dist\":8},{\"id\":33,\"dict_size\":4096}]}"},
	{"lzma", "{\"format\":3,\"filters\":[{\"id\":4},{\"id\":3},{\"id\":33,\"lc\":0,\"lp\":2,\"pb\":0}]}"},
	{"lzma", "{\"format\":3,\"filters\":[{\"id\":7,\"start_offset\":64},{\"id\":4611686018427387905}]}"},
	{"nvcomp_batch", "{\"algorithm\":\"LZ4\"}"},
	{"nvcomp_batch", "{\"algorithm\":\"lz4\",\"options\":{\"has_header\":false}}"},
	{"nvcomp_batch", "{\"algorithm\":\"zstd\",\"options\":{}}"},
	{"nvcomp_batch", "{\"algorithm\":\"snappy\"}"},
	{"nvcomp_batch", "{\"algorithm\":\"Deflate\"}"},
	{"blosc", "{\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":\"shuffle\",\"typesize\":4,\"blocksize\":0}"},
	{"blosc", "{\"cname\":\"zstd\",\"clevel\":3,\"shuffle\":\"bitshuffle\",\"typesize\":8,\"blocksize\":0}"},
	{"blosc", "{\"cname\":\"blosclz\",\"clevel\":9,\"shuffle\":\"noshuffle\",\"typesize\":1,\"blocksize\":4096}"},
	{"blosc", "{\"cname\":\"snappy\",\"clevel\":9,\"shuffle\":\"shuffle\",\"typesize\":8,\"blocksize\":0}"},
	{"blosc", "{\"cname\":\"zlib\",\"clevel\":1,\"shuffle\":\"shuffle\",\"typesize\":2,\"blocksize\":0}"},
};

static void write_config(const char *config, const struct repr *repr, struct str *str)
{
	const char *mark = strstr(config, "%G");
	if (!mark) {
		str_append(str, config);
		return;
	}
	str_append_bytes(str, config, (size_t)(mark - config));
	for (int i = 0; i < repr->ndim; i++)
		str_appendf(str, "%s%ju", i ? "," : "[", (uintmax_t)(repr->shape[i] % 2 ? repr->shape[i] : repr->shape[i] / 2));
	str_append(str, repr->ndim ? "]" : "[]");
	str_append(str, mark + 2);
}

/* One codec opened for one repr, with data and its encoded bytes; each test is a function of it. */
struct subject {
	const struct codec_ops *ops;
	const struct repr *repr;
	struct codec *codec;
	size_t size; /* decoded */
	uint8_t *data;
	struct buf *encoded;
	uint64_t *state; /* of random numbers */
	char what[160];
};

/*
 * Decodes src from memory of exactly its size. Returns 0 or -EIO, anything else fails; the margin is checked.
 */
static int decode(const struct subject *s, const uint8_t *src, size_t size, struct room *room, size_t *ret_size)
{
	uint8_t *exact = malloc(size ? size : 1);
	size_t got = 0;
	if (size > 0)
		memcpy(exact, src, size);
	int rc = s->ops->decode(s->codec, exact, size, room->data, room->size, &got);
	free(exact);
	room_check(room, s->what);
	if (rc != 0 && rc != -EIO)
		ck_abort_msg("%s: decode gives %d (%s)", s->what, rc, err_message());
	if (rc == 0 && got > room->size)
		ck_abort_msg("%s: decode says %zu bytes in a room of %zu", s->what, got, room->size);
	if (rc != 0 && err_message()[0] == '\0')
		ck_abort_msg("%s: a failure without a reason", s->what);
	*ret_size = got;
	return rc;
}

/* A long input is cut and damaged at fewer places, at still fewer where decoding is slow, so that the run stays short. */
static size_t stride(const struct subject *s)
{
	return 1 + s->encoded->size / (s->ops->decode_mbps < 100 ? 60 : 600);
}

static void gives_the_bytes_back(struct subject *s)
{
	struct room room;
	size_t got;
	room_init(&room, s->size);
	int rc = decode(s, s->encoded->data, s->encoded->size, &room, &got);
	ck_assert_msg(rc == 0, "%s: %s", s->what, err_message());
	ck_assert_msg(got == s->size, "%s: %zu bytes of %zu", s->what, got, s->size);
	ck_assert_msg(memcmp(room.data, s->data, s->size) == 0, "%s: other bytes", s->what);
	room_finish(&room);
}

static void encoded_size_holds(struct subject *s)
{
	bool fixed = true;
	uint64_t bound = s->size;
	if (s->ops->encoded_size)
		bound = s->ops->encoded_size(s->codec, s->size, &fixed);
	if (fixed)
		ck_assert_msg(s->encoded->size == bound, "%s: %zu bytes, said exactly %ju", s->what, s->encoded->size,
					  (uintmax_t)bound);
	ck_assert_msg(s->encoded->size <= bound, "%s: %zu bytes, said at most %ju", s->what, s->encoded->size,
				  (uintmax_t)bound);
}

/* A weak checksum may be right by chance (Fletcher's, of equal bytes); then the size tells the pipeline, where it is fixed. */
static void cut_anywhere_is_eio(struct subject *s)
{
	struct room room;
	size_t got;
	bool fixed = true;
	if (s->ops->encoded_size)
		s->ops->encoded_size(s->codec, s->size, &fixed);
	room_init(&room, s->size);
	for (size_t n = 0; n < s->encoded->size; n += stride(s))
		if (decode(s, s->encoded->data, n, &room, &got) == 0 && !(fixed && got < s->size))
			ck_abort_msg("%s: %zu of %zu bytes decode", s->what, n, s->encoded->size);
	room_finish(&room);
}

static void flipped_bits_stay_in_the_room(struct subject *s)
{
	struct room room;
	size_t got, size = s->encoded->size;
	uint8_t *damaged = malloc(size);
	room_init(&room, s->size);
	for (size_t i = 0; i < size; i += stride(s)) {
		memcpy(damaged, s->encoded->data, size);
		damaged[i] ^= (uint8_t)(1u << (test_random(s->state) % 8));
		decode(s, damaged, size, &room, &got);
		damaged[test_random(s->state) % size] = (uint8_t)test_random(s->state);
		damaged[test_random(s->state) % MIN(size, 16)] = 0xff;
		decode(s, damaged, size, &room, &got);
	}
	room_finish(&room);
	free(damaged);
}

static void bytes_behind_are_refused_or_ignored(struct subject *s)
{
	static const size_t extras[] = {1, 4, 16, 1000};
	struct room room;
	size_t got, size = s->encoded->size;
	room_init(&room, s->size);
	for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
		uint8_t *longer = malloc(size + extras[i]);
		memcpy(longer, s->encoded->data, size);
		memset(longer + size, 0xaa, extras[i]);
		if (decode(s, longer, size + extras[i], &room, &got) == 0 &&
			(got != s->size || memcmp(room.data, s->data, got) != 0))
			ck_abort_msg("%s: %zu bytes behind change what is decoded", s->what, extras[i]);
		free(longer);
	}
	room_finish(&room);
}

static void a_smaller_room_is_eio(struct subject *s)
{
	size_t sizes[] = {s->size - 1, s->size / 2, 0};
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct room room;
		size_t got;
		if (s->codec->kind != CODEC_BYTES_BYTES)
			return; /* array codecs are always given what they need */
		room_init(&room, sizes[i]);
		if (decode(s, s->encoded->data, s->encoded->size, &room, &got) == 0)
			ck_abort_msg("%s: %zu bytes decode into %zu", s->what, s->size, sizes[i]);
		room_finish(&room);
	}
}

static void a_larger_room_keeps_the_true_size(struct subject *s)
{
	struct room room;
	size_t got;
	if (s->codec->kind != CODEC_BYTES_BYTES)
		return;
	room_init(&room, s->size + 100);
	int rc = decode(s, s->encoded->data, s->encoded->size, &room, &got);
	/* Blosc must know its size beforehand; it may refuse, but may not lie. */
	ck_assert_msg(rc == -EIO || (got == s->size && memcmp(room.data, s->data, got) == 0), "%s: %zu bytes of %zu",
				  s->what, got, s->size);
	room_finish(&room);
}

static void decodes_in_place_if_it_says_so(struct subject *s)
{
	size_t got;
	if (!s->ops->in_place)
		return;
	struct room room;
	room_init(&room, s->encoded->size);
	memcpy(room.data, s->encoded->data, s->encoded->size);
	ck_assert_int_eq(s->ops->decode(s->codec, room.data, s->encoded->size, room.data, s->size, &got), 0);
	room_check(&room, s->what);
	ck_assert_msg(memcmp(room.data, s->data, s->size) == 0, "%s: other bytes in place", s->what);
	room_finish(&room);
}

static void noise_stays_in_the_room(struct subject *s)
{
	struct room room;
	size_t got;
	uint8_t noise[256];
	room_init(&room, s->size);
	for (int i = 0; i < 60; i++) {
		size_t n = test_random(s->state) % sizeof(noise);
		make_data(PATTERN_NOISE, s->state, noise, n);
		if (n > 8 && i % 2 && s->encoded) /* a true beginning gets further */
			memcpy(noise, s->encoded->data, MIN(s->encoded->size, 8));
		decode(s, noise, n, &room, &got);
	}
	room_finish(&room);
}

static void no_bytes_are_eio(struct subject *s)
{
	struct room room;
	size_t got;
	room_init(&room, s->size);
	ck_assert_msg(decode(s, NULL, 0, &room, &got) == -EIO, "%s: no bytes decode", s->what);
	room_finish(&room);
}

static void run_on_data(struct subject *s, void (*test)(struct subject *s), bool needs_encoder)
{
	for (int pattern = 0; pattern < PATTERNS; pattern++) {
		s->data = malloc(s->size);
		make_data((enum pattern)pattern, s->state, s->data, s->size);
		int rc = s->ops->encode ? s->ops->encode(s->codec, s->data, s->size, &s->encoded) : -ENOTSUP;
		ck_assert_msg(rc == 0 || rc == -ENOTSUP, "%s: %s", s->what, err_message());
		if (s->encoded || !needs_encoder)
			test(s);
		buf_unref(s->encoded);
		s->encoded = NULL;
		free(s->data);
	}
}

static bool is_integer(const struct repr *repr)
{
	return repr->dtype && (repr->dtype->kind == DTYPE_INT || repr->dtype->kind == DTYPE_UINT);
}

static void run_variant(const struct codec_ops *ops, const char *config, uint64_t *state,
						void (*test)(struct subject *s), bool needs_encoder)
{
	for (size_t i = 0; i < ARRAY_LEN(reprs); i++) {
		struct subject s = {.ops = ops, .repr = &reprs[i], .state = state};
		uint64_t bytes;
		autostr(text);
		struct json *json;
		const char *name = ops->name ? ops->name : ops->v2_id;
		write_config(config, s.repr, &text);
		ck_assert_int_eq(json_parse(text.text, text.size, LIMIT_JSON_BYTES, NULL, &json), 0);
		ck_assert(repr_bytes(s.repr, &bytes));
		s.size = bytes;
		snprintf(s.what, sizeof(s.what), "%s %.80s on %d axes, %zu bytes", name, config, s.repr->ndim, s.size);
		struct codec_spec spec = {.name = (char *)name, .config = json, .where = (char *)"codecs[0]"};
		int rc = codec_open(&spec, ops->array_in_v3, s.repr, bytes, &s.codec); /* filters as in v2: of bytes */
		/* A codec of numbers may refuse other elements; opened for some, it is tested. */
		ck_assert_msg(rc == 0 || (rc == -ENOTSUP && s.ops->kind != CODEC_BYTES_BYTES && !is_integer(s.repr)), "%s: %s",
					  s.what, err_message());
		if (!rc) {
			run_on_data(&s, test, needs_encoder);
			ops->close(s.codec);
		}
		json_free(json);
	}
}

static uint64_t random_state;

static void run_all_rows(void (*test)(struct subject *s), bool needs_encoder)
{
	for (const struct codec_ops *const *row = codec_rows; *row; row++) {
		const char *name = (*row)->name ? (*row)->name : (*row)->v2_id;
		int n = 0;
		if (!(*row)->decode)
			continue; /* a_row_without_its_library_says_so */
		for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
			if (strcmp(variants[i].name, name) != 0)
				continue;
			run_variant(*row, variants[i].config, &random_state, test, needs_encoder);
			n++;
		}
		if (n == 0)
			run_variant(*row, "{}", &random_state, test, needs_encoder);
	}
}

#define EVERY_ROW(function, needs_encoder)                                                                             \
	START_TEST(test_##function)                                                                                        \
	{                                                                                                                  \
		run_all_rows(function, needs_encoder);                                                                         \
	}                                                                                                                  \
	END_TEST

EVERY_ROW(gives_the_bytes_back, true)
EVERY_ROW(encoded_size_holds, true)
EVERY_ROW(cut_anywhere_is_eio, true)
EVERY_ROW(flipped_bits_stay_in_the_room, true)
EVERY_ROW(bytes_behind_are_refused_or_ignored, true)
EVERY_ROW(a_smaller_room_is_eio, true)
EVERY_ROW(a_larger_room_keeps_the_true_size, true)
EVERY_ROW(decodes_in_place_if_it_says_so, true)
EVERY_ROW(noise_stays_in_the_room, false)
EVERY_ROW(no_bytes_are_eio, false)

START_TEST(a_row_is_found_by_each_of_its_names)
{
	const struct codec_ops *ops;
	for (const struct codec_ops *const *row = codec_rows; *row; row++) {
		if (!(*row)->decode)
			continue;
		if ((*row)->name) {
			ck_assert_int_eq(codec_find((*row)->name, false, &ops), 0);
			ck_assert_ptr_eq(ops, *row);
		}
		if ((*row)->v2_id) {
			char prefixed[80];
			snprintf(prefixed, sizeof(prefixed), "numcodecs.%s", (*row)->v2_id);
			ck_assert_int_eq(codec_find((*row)->v2_id, true, &ops), 0);
			ck_assert_ptr_eq(ops, *row);
			ck_assert_int_eq(codec_find(prefixed, false, &ops), 0);
			ck_assert_ptr_eq(ops, *row);
			/* bare in v3, unless that is another codec's name: packbits */
			ck_assert_int_eq(codec_find((*row)->v2_id, false, &ops), 0);
			ck_assert(ops == *row || (ops->name && strcmp(ops->name, (*row)->v2_id) == 0));
		}
	}
}
END_TEST

START_TEST(a_row_without_its_library_says_so)
{
#if defined(HAVE_BZ2)
	const bool have_bz2 = true;
#else
	const bool have_bz2 = false;
#endif
#if defined(HAVE_LZMA)
	const bool have_lzma = true;
#else
	const bool have_lzma = false;
#endif
	const struct {
		const char *name;
		bool built;
	} rows[] = {{"bz2", have_bz2}, {"lzma", have_lzma}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct codec_ops *ops;
		char message[80];
		autostr(known);
		codec_known(&known);
		ck_assert_int_eq(codec_find(rows[i].name, true, &ops), rows[i].built ? 0 : -ENOTSUP);
		ck_assert_int_eq(strstr(known.text, rows[i].name) != NULL, rows[i].built);
		snprintf(message, sizeof(message), "codec \"%s\" is known, but was not built in", rows[i].name);
		if (!rows[i].built)
			ck_assert_str_eq(err_message(), message);
	}
}
END_TEST

START_TEST(names_are_in_order_and_each_stands_once)
{
	for (const struct codec_ops *const *row = codec_rows; row[0] && row[1]; row++) {
		const char *a = row[0]->name ? row[0]->name : row[0]->v2_id;
		const char *b = row[1]->name ? row[1]->name : row[1]->v2_id;
		ck_assert_msg(strcmp(a, b) < 0 || (strcmp(a, b) == 0 && row[0]->name != row[1]->name), "%s, %s", a, b);
	}
}
END_TEST

static Suite *codec_suite(void)
{
	Suite *suite = suite_create("codec contract");
	TCase *tcase = tcase_create("every row");
	random_state = test_seed();
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_gives_the_bytes_back);
	tcase_add_test(tcase, test_encoded_size_holds);
	tcase_add_test(tcase, test_cut_anywhere_is_eio);
	tcase_add_test(tcase, test_flipped_bits_stay_in_the_room);
	tcase_add_test(tcase, test_bytes_behind_are_refused_or_ignored);
	tcase_add_test(tcase, test_a_smaller_room_is_eio);
	tcase_add_test(tcase, test_a_larger_room_keeps_the_true_size);
	tcase_add_test(tcase, test_decodes_in_place_if_it_says_so);
	tcase_add_test(tcase, test_noise_stays_in_the_room);
	tcase_add_test(tcase, test_no_bytes_are_eio);
	tcase_add_test(tcase, a_row_is_found_by_each_of_its_names);
	tcase_add_test(tcase, a_row_without_its_library_says_so);
	tcase_add_test(tcase, names_are_in_order_and_each_stands_once);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(codec_suite)
