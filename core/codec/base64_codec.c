/*
 * base64_codec.c: the filter `base64`: the payload as text (numcodecs "base64"; RFC 4648, section 4).
 */
#include "base/base64.h"

#include <errno.h>

#include "base/checked.h"
#include "base/err.h"
#include "codec/codec_impl.h"

static int base64_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct codec *codec = calloc(1, sizeof(*codec));
	if (!codec)
		return err_set(ENOMEM, "no memory for a codec");
	*ret_codec = codec;
	return 0;
}

static uint64_t base64_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	*ret_fixed = true;
	return ceil_div(decoded, 3) * 4;
}

static int base64_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room,
						 size_t *ret_size)
{
	if (size == 0 || !base64_parse(src, size, dst, room, ret_size))
		return err_set(EIO, "%zu bytes are no base64 of at most %zu", size, room);
	return 0;
}

const struct codec_ops base64_codec_ops = {
	.v2_id = "base64",
	.kind = CODEC_BYTES_BYTES,
	.decode_mbps = 300,
	.open = base64_open,
	.close = codec_close_plain,
	.encoded_size = base64_encoded_size,
	.decode = base64_decode,
};
