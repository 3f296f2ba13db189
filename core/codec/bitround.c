/*
 * bitround.c: the filter `bitround`, which cleared bits when it encoded: nothing is left to do (zarr-extensions, "bitround";
 * numcodecs "bitround").
 */
#include <errno.h>

#include "base/err.h"
#include "codec/codec_impl.h"

static int bitround_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct codec *codec = calloc(1, sizeof(*codec));
	if (!codec)
		return err_set(ENOMEM, "no memory for a codec");
	*ret_codec = codec;
	return 0;
}

const struct codec_ops bitround_codec_ops = {
	.name = "bitround",
	.v2_id = "bitround",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 10000,
	.in_place = true,
	.open = bitround_open,
	.close = codec_close_plain,
	.is_noop = codec_is_always_noop,
	.decode = codec_copy,
};
