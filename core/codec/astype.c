/*
 * astype.c: filters that only convert: `astype`, and `quantize`, which rounded when it encoded (numcodecs).
 */
#include <errno.h>

#include "base/err.h"
#include "codec/filter.h"

static int convert_open(const struct number *plain, const struct number *stored, const struct repr *decoded,
						struct codec **ret_codec)
{
	struct filter *filter;
	int rc = number_check_cast(stored, plain);
	if (!rc)
		rc = filter_new(plain, stored, decoded, &filter);
	if (rc)
		return rc;
	*ret_codec = &filter->codec;
	return 0;
}

static int astype_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct number plain, stored, array;
	int rc = number_parse(config, "decode_dtype", filter_array_number(decoded, &array), &plain);
	if (!rc)
		rc = number_parse(config, "encode_dtype", NULL, &stored);
	return rc ? rc : convert_open(&plain, &stored, decoded, ret_codec);
}

static int quantize_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	struct number plain, stored;
	int rc = filter_parse_types(config, decoded, &plain, &stored);
	return rc ? rc : convert_open(&plain, &stored, decoded, ret_codec);
}

const struct codec_ops astype_codec_ops = {
	.v2_id = "astype",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 1000,
	.open = astype_open,
	.close = codec_close_plain,
	.encoded_repr = filter_encoded_repr,
	.encoded_size = filter_encoded_size,
	.decode = filter_decode,
};

const struct codec_ops quantize_codec_ops = {
	.v2_id = "quantize",
	.kind = CODEC_BYTES_BYTES,
	.array_in_v3 = true,
	.decode_mbps = 1000,
	.open = quantize_open,
	.close = codec_close_plain,
	.encoded_repr = filter_encoded_repr,
	.encoded_size = filter_encoded_size,
	.decode = filter_decode,
};
