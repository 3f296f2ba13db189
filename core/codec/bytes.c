/*
 * bytes.c: the codec `bytes`: elements in C order, little- or big-endian (Zarr v3 codecs, "bytes").
 *
 * Little-endian is our own order, so that it is nothing at all; big-endian swaps each number in place, of a record those
 * that its spans name. A number narrower than its byte may have anything in the bits above: writers differ in whether they
 * extend the sign, and readers must ignore them (zarr-extensions, data-types/int4), so decoding extends it.
 */
#include "codec/codec_impl.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/ndcopy.h"

struct bytes_codec {
	struct codec codec;
	uint32_t swap_unit;			 /* 1: nothing to swap, or spans */
	const struct record *record; /* unless NULL, its spans are swapped */
	uint32_t item_size;
	uint8_t bits; /* 0: whole bytes */
	bool is_signed;
};

static bool has_spans(const struct repr *repr)
{
	return repr->dtype && repr->dtype->record && repr->dtype->record->n_spans > 0;
}

/* zarr-python writes records little-endian and says nothing of it (zarr-extensions, data-types/structured). */
static bool may_lack_endian(const struct repr *repr)
{
	return repr->swap_unit == 1 || (repr->dtype && repr->dtype->kind == DTYPE_RECORD);
}

/* Five spellings are legal for a type without byte order: bare, without configuration, empty, endian, endian null. */
static int parse_endian(const struct json *config, const struct repr *decoded, bool *ret_big)
{
	const struct json *json = json_get(config, "endian");
	if (!json || json_type(json) == JSON_NULL) {
		if (!may_lack_endian(decoded))
			return err_set(EIO, "bytes: endian is missing, and an element has several bytes");
		*ret_big = false;
		return 0;
	}
	const char *text;
	int rc = json_string(json, "endian", &text, NULL);
	if (rc)
		return rc;
	if (strcmp(text, "big") != 0 && strcmp(text, "little") != 0)
		return err_set(EIO, "endian: neither \"little\" nor \"big\"");
	*ret_big = strcmp(text, "big") == 0;
	return 0;
}

static int bytes_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	bool big = false;
	int rc = parse_endian(config, decoded, &big);
	if (rc)
		return rc;
	struct bytes_codec *bytes = calloc(1, sizeof(*bytes));
	if (!bytes)
		return err_set(ENOMEM, "no memory for a codec");
	const struct dtype *dtype = decoded->dtype;
	bytes->swap_unit = big ? decoded->swap_unit : 1;
	bytes->record = big && has_spans(decoded) ? dtype->record : NULL;
	bytes->item_size = decoded->item_size;
	bytes->bits = dtype ? dtype->bits : 0;
	bytes->is_signed = dtype && dtype->kind == DTYPE_INT;
	*ret_codec = &bytes->codec;
	return 0;
}

static const struct bytes_codec *bytes_of(const struct codec *codec)
{
	return container_of(codec, const struct bytes_codec, codec);
}

static bool bytes_is_noop(const struct codec *codec)
{
	const struct bytes_codec *self = bytes_of(codec);
	return self->swap_unit == 1 && !self->record && !self->bits;
}

static void swap(const struct bytes_codec *self, void *dst, const void *src, size_t size)
{
	if (self->record)
		swap_spans(dst, src, size, self->item_size, self->record->spans, self->record->n_spans);
	else
		swap_bytes(dst, src, size, self->swap_unit);
}

static void extend_numbers(const struct bytes_codec *self, uint8_t *bytes, size_t size)
{
	uint8_t mask = (uint8_t)((1u << self->bits) - 1), sign = self->is_signed ? (uint8_t)(1u << (self->bits - 1)) : 0;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(((bytes[i] & mask) ^ sign) - sign);
}

static int bytes_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						size_t *ret_size)
{
	if (size != room)
		return err_set(EIO, "%zu bytes, expected %zu", size, room);
	const struct bytes_codec *self = bytes_of(codec);
	swap(self, dst, src, size);
	if (self->bits)
		extend_numbers(self, dst, size);
	*ret_size = room;
	return 0;
}

static int bytes_encode(const struct codec *codec, const void *src, size_t size, struct buf **ret_buf)
{
	struct buf *buf;
	int rc = buf_new(size, &buf);
	if (rc)
		return rc;
	swap(bytes_of(codec), buf->data, src, size);
	*ret_buf = buf;
	return 0;
}

const struct codec_ops bytes_codec_ops = {
	.name = "bytes",
	.kind = CODEC_ARRAY_BYTES,
	.decode_mbps = 8000,
	.in_place = true,
	.open = bytes_open,
	.close = codec_close_plain,
	.is_noop = bytes_is_noop,
	.decode = bytes_decode,
	.encode = bytes_encode,
};
