/*
 * squeeze.c: the codec `zarrs.squeeze`: the chunk without its axes of length 1 (zarrs; one such axis stays when there would be
 * none). Nothing moves.
 */
#include <errno.h>

#include "base/err.h"
#include "codec/codec_impl.h"

static int squeeze_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct codec *codec = calloc(1, sizeof(*codec));
	if (!codec)
		return err_set(ENOMEM, "no memory for a codec");
	*ret_codec = codec;
	return 0;
}

static int squeeze_encoded_repr(const struct codec *codec, struct repr *ret_repr)
{
	const struct repr *decoded = &codec->decoded;
	*ret_repr = *decoded;
	ret_repr->ndim = 0;
	for (int i = 0; i < decoded->ndim; i++)
		if (decoded->shape[i] != 1)
			ret_repr->shape[ret_repr->ndim++] = decoded->shape[i];
	if (ret_repr->ndim == 0)
		ret_repr->shape[ret_repr->ndim++] = 1;
	return 0;
}

const struct codec_ops squeeze_codec_ops = {
	.name = "zarrs.squeeze",
	.kind = CODEC_ARRAY_ARRAY,
	.decode_mbps = 10000,
	.in_place = true,
	.open = squeeze_open,
	.close = codec_close_plain,
	.encoded_repr = squeeze_encoded_repr,
	.is_noop = codec_is_always_noop,
	.decode = codec_copy,
	.encode = codec_copy_encode,
};
