/*
 * packbits.c: the filter `packbits` of numcodecs: a byte with the number of padding bits (0 to 7), then eight bools a byte, the
 * first in the highest bit. (Not the codec `packbits` of zarr-extensions.)
 */
#include <errno.h>

#include "base/checked.h"
#include "base/err.h"
#include "codec/codec_impl.h"

struct packbits {
	struct codec codec;
	struct repr encoded;
};

static const uint8_t zero;

static int packbits_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	uint64_t elements = 0;
	if (decoded && decoded->item_size != 1)
		return err_set(EIO, "elements of %u bytes are no bools", decoded->item_size);
	if (decoded && !repr_bytes(decoded, &elements))
		return err_set(EFBIG, "the array is too large");
	struct packbits *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	self->encoded = (struct repr){
		.ndim = 1, .shape = {1 + ceil_div(elements, 8)}, .item_size = 1, .swap_unit = 1, .fill_value = &zero};
	*ret_codec = &self->codec;
	return 0;
}

static int packbits_encoded_repr(const struct codec *codec, struct repr *ret_repr)
{
	*ret_repr = container_of(codec, const struct packbits, codec)->encoded;
	return 0;
}

static uint64_t packbits_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = true;
	return 1 + ceil_div(decoded, 8);
}

static int packbits_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						   size_t *ret_size)
{
	const uint8_t *in = src;
	uint8_t *out = dst;
	if (size == 0)
		return err_set(EIO, "no bytes, not even the number of padding bits");
	size_t padding = in[0], packed = size - 1;
	if (padding > 7 || (padding && !packed))
		return err_set(EIO, "%zu padding bits in %zu bytes", padding, packed);
	if (packed > room / 8 + 1 || packed * 8 - padding > room)
		return err_set(EIO, "decodes to more than %zu bools", room);
	size_t n = packed * 8 - padding;
	for (size_t i = 0; i < n; i++)
		out[i] = in[1 + i / 8] >> (7 - i % 8) & 1;
	*ret_size = n;
	return 0;
}

const struct codec_ops packbits_codec_ops = {
	.v2_id = "packbits",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 1000,
	.open = packbits_open,
	.close = codec_close_plain,
	.encoded_repr = packbits_encoded_repr,
	.encoded_size = packbits_encoded_size,
	.decode = packbits_decode,
};
