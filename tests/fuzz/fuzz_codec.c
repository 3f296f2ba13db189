/*
 * fuzz_codec.c: one codec's decode on any bytes. Input: u8 row of codec_rows (modulo their number), u8 variant, u16 room, the encoded
 * bytes. Invariants: nothing outside the room is written, success says at most the room, failure is EIO.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/endian.h"
#include "base/json.h"
#include "codec/codec_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HEAD_BYTES 4

static const uint8_t fill[8] = {1, 2, 3, 4, 5, 6, 7, 8};
static const struct dtype int32 = {.kind = DTYPE_INT, .size = 4, .swap_unit = 4, .descr = "<i4"};

/* An array of 2 x n elements of 4 bytes, in the configurations that array codecs need. */
static const char *const configs[] = {
	"{\"endian\":\"big\",\"shape\":[-1],\"first_bit\":3,\"padding_encoding\":\"first_byte\",\"order\":[1,0],"
	"\"location\":\"start\",\"chunk_shape\":[1,1],\"offset\":3,\"scale\":0.5,"
	"\"dtype\":\"<i4\",\"astype\":\"<f8\",\"decode_dtype\":\"|u1\",\"encode_dtype\":\">f4\",\"elementsize\":3,"
	"\"algorithm\":\"deflate\",\"format\":1,"
	"\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}},\"lz4\"],"
	"\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}]}",
	"{\"endian\":\"little\",\"shape\":[[0],[1]],\"last_bit\":30,\"order\":[1,0],\"chunk_shape\":[2,1],\"index_"
	"location\":\"start\",\"offset\":-1e300,"
	"\"scale\":0,\"dtype\":\">f2\",\"astype\":\"<f2\",\"decode_dtype\":\"<c16\",\"encode_dtype\":\"<c8\","
	"\"elementsize\":8,\"algorithm\":\"lz4\",\"options\":{\"has_header\":false},\"format\":3,"
	"\"filters\":[{\"id\":3,\"dist\":3},{\"id\":33,\"dict_size\":4294967295}],"
	"\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},\"zstd\"],"
	"\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]}",
	"{\"endian\":\"big\",\"shape\":[-1],\"order\":[0,1],\"chunk_shape\":[2,1],\"offset\":1,\"scale\":10,\"dtype\":\"<"
	"f4\","
	"\"astype\":\"<i2\",\"decode_dtype\":\"<f4\",\"encode_dtype\":\"<f8\",\"elementsize\":4,\"algorithm\":\"zstd\","
	"\"format\":2,"
	"\"codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}],"
	"\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"big\"}}]}",
};

/* Codecs that allow no members of others. */
static const struct {
	const struct codec_ops *ops;
	const char *configs[ARRAY_LEN(configs)];
} strict[] = {
	{&cast_value_codec_ops,
	 {"{\"data_type\":\"float64\",\"out_of_range\":\"clamp\",\"rounding\":\"nearest-away\"}",
	  "{\"data_type\":\"float64\",\"out_of_range\":\"wrap\",\"scalar_map\":{\"decode\":[[\"NaN\",-1],[0,7]]}}",
	  "{\"data_type\":\"uint64\"}"}},
	{&scale_offset_codec_ops, {"{\"offset\":-2147483648,\"scale\":-1}", "{\"scale\":3}", "{}"}},
};

static const char *config_of(const struct codec_ops *ops, size_t variant)
{
	for (size_t i = 0; i < ARRAY_LEN(strict); i++)
		if (strict[i].ops == ops)
			return strict[i].configs[variant];
	return configs[variant];
}

static void decode(const struct codec *codec, const uint8_t *src, size_t size, size_t room)
{
	const size_t margin = 32;
	size_t got = 0;
	uint8_t *base = malloc(room + 2 * margin);
	memset(base, 0xa5, room + 2 * margin);
	int rc = codec->ops->decode(codec, src, size, base + margin, room, &got);
	if ((rc != 0 && rc != -EIO) || (rc == 0 && got > room))
		abort();
	for (size_t i = 0; i < margin; i++)
		if (base[i] != 0xa5 || base[margin + room + i] != 0xa5)
			abort();
	free(base);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t n_rows = 0;
	if (size < HEAD_BYTES)
		return 0;
	while (codec_rows[n_rows])
		n_rows++;
	const struct codec_ops *ops = codec_rows[data[0] % n_rows];
	if (!ops->decode)
		return 0; /* not built */
	const char *config = config_of(ops, data[1] % ARRAY_LEN(configs));
	bool is_array = ops->kind != CODEC_BYTES_BYTES;
	uint64_t columns = load_le16(data + 2) % 1024 + 1u;
	struct repr repr = {.ndim = 2, .shape = {2, columns}, .item_size = 4, .swap_unit = 4, .dtype = &int32};
	repr.fill_value = fill;
	size_t room = is_array ? 8 * columns : load_le16(data + 2);

	struct json *json;
	struct codec *codec;
	struct codec_spec spec = {.name = (char *)(ops->name ? ops->name : ops->v2_id), .where = (char *)"codecs[0]"};
	if (json_parse(config, strlen(config), LIMIT_JSON_BYTES, NULL, &json) != 0)
		abort();
	spec.config = ops == &blosc_codec_ops ? NULL : json;
	if (codec_open(&spec, ops->v2_id != NULL, &repr, room, &codec) != 0)
		abort();
	decode(codec, data + HEAD_BYTES, size - HEAD_BYTES, room);
	ops->close(codec);
	json_free(json);
	return 0;
}
