/*
 * cast_value.c: the codec `cast_value`: elements as the same numbers of another type (zarr-extensions, "cast_value"; scalar_map
 * as zarr-python and zarrs have it).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "codec/conversion.h"
#include "codec/filter.h"

struct cast_value {
	struct filter filter;
	struct dtype stored; /* data_type */
	struct conversion decode;
};

/* A type, and the number that it is. */
struct side {
	const struct dtype *dtype;
	struct number number;
};

/* The place of a member's text in a NULL-terminated list; absent, it is 0. */
static int parse_choice(const struct json *config, const char *member, const char *const *choices, int *ret_choice)
{
	const struct json *json = json_get(config, member);
	const char *text;
	if (!json) {
		*ret_choice = 0;
		return 0;
	}
	int rc = json_string(json, member, &text, NULL);
	if (rc)
		return rc;
	for (int i = 0; choices[i]; i++) {
		if (strcmp(text, choices[i]) == 0) {
			*ret_choice = i;
			return 0;
		}
	}
	return err_set(EIO, "%s: \"%.32s\" is none of its values", member, text);
}

static int parse_scalar(const struct json *json, const struct side *side, uint8_t *ret_bytes)
{
	uint8_t bytes[NUMBER_BYTES] = {0};
	bool undefined = true;
	int rc = json ? dtype_parse_fill(side->dtype, 3, json, bytes, &undefined) : 0;
	if (!rc && undefined)
		rc = err_set(EIO, "a pair without its numbers");
	if (!rc)
		memcpy(ret_bytes, bytes, sizeof(((struct exception *)NULL)->to));
	return rc;
}

/* One direction of scalar_map: [[from, to], ...]. */
static int parse_map(const struct json *config, const char *direction, const struct side *from, const struct side *to,
					 struct conversion *conversion)
{
	const struct json *list = json_get(json_get(config, "scalar_map"), direction);
	if (!list || json_type(list) == JSON_NULL)
		return 0;
	if (json_type(list) != JSON_ARRAY)
		return err_set(EIO, "scalar_map.%s: %s where a list is expected", direction, json_type_name(json_type(list)));
	if (json_count(list) > CONVERSION_EXCEPTIONS)
		return err_set(EFBIG, "scalar_map.%s: more than %d pairs", direction, CONVERSION_EXCEPTIONS);
	for (const struct json *pair = json_first(list); pair; pair = json_next(pair)) {
		struct exception *exception = &conversion->exceptions[conversion->n_exceptions++];
		if (json_type(pair) != JSON_ARRAY || json_count(pair) != 2)
			return err_set(EIO, "scalar_map.%s: not a list of pairs", direction);
		int rc = parse_scalar(json_first(pair), from, exception->from);
		if (!rc)
			rc = parse_scalar(json_next(json_first(pair)), to, exception->to);
		if (rc)
			return err_prefix(rc, "scalar_map.%s", direction);
	}
	return 0;
}

static int parse_conversion(const struct json *config, const char *direction, const struct side *from,
							const struct side *to, struct conversion *ret_conversion)
{
	static const char *const roundings[] = {"nearest-even",		"towards-zero", "towards-positive",
											"towards-negative", "nearest-away", NULL};
	static const char *const ranges[] = {"error", "clamp", "wrap", NULL};
	int rounding, out_of_range;
	int rc = parse_choice(config, "rounding", roundings, &rounding);
	if (!rc)
		rc = parse_choice(config, "out_of_range", ranges, &out_of_range);
	if (rc)
		return rc;
	*ret_conversion = (struct conversion){
		.from = from->number,
		.to = to->number,
		.rounding = (enum rounding)rounding,
		.out_of_range = (enum out_of_range)out_of_range,
	};
	return parse_map(config, direction, from, to, ret_conversion);
}

static int cast_value_work(const struct filter *filter, struct filter_state *state, const void *stored, void *plain,
						   size_t n)
{
	return conversion_run(&container_of(filter, const struct cast_value, filter)->decode, stored, plain, n);
}

/* The next codec's fill value, which a shard needs for the inner chunks that it has not. */
static int encode_fill(struct cast_value *self, const struct json *config, const struct side *plain,
					   const struct side *stored, const struct repr *decoded)
{
	uint8_t fill[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES))) = {0};
	struct conversion encode;
	int rc = parse_conversion(config, "encode", plain, stored, &encode);
	if (rc)
		return rc;
	if (decoded->fill_value)
		memcpy(fill, decoded->fill_value, plain->number.size);
	memset(self->filter.encoded_fill, 0, sizeof(self->filter.encoded_fill));
	rc = conversion_run(&encode, fill, self->filter.encoded_fill, 1);
	return rc ? err_prefix(rc, "fill_value") : 0;
}

/* The specification rounds to integers alone, zarr-python to floats as well. */
static int check_rounding(const struct conversion *conversion)
{
	if (conversion->rounding != ROUND_NEAREST_EVEN && conversion->to.kind == DTYPE_FLOAT &&
		!conversion_is_exact(&conversion->from, &conversion->to))
		return err_set(ENOTSUP, "rounding: to floats that cannot hold every number, only \"nearest-even\" is read");
	return 0;
}

static int fill_cast(struct cast_value *self, const struct json *config, const struct repr *decoded)
{
	const struct repr encoded = {.dtype = &self->stored};
	struct side plain = {.dtype = decoded->dtype}, stored = {.dtype = &self->stored};
	int rc = filter_parse_array_type(decoded, &plain.number);
	if (!rc)
		rc = filter_parse_array_type(&encoded, &stored.number);
	if (!rc)
		rc = filter_init(&self->filter, &plain.number, &stored.number, decoded);
	if (!rc)
		rc = encode_fill(self, config, &plain, &stored, decoded);
	if (!rc)
		rc = parse_conversion(config, "decode", &stored, &plain, &self->decode);
	if (!rc)
		rc = check_rounding(&self->decode);
	if (rc)
		return rc;
	self->filter.encoded.dtype = &self->stored;
	self->filter.work = cast_value_work;
	return 0;
}

static void cast_value_close(struct codec *codec)
{
	struct filter *filter = container_of(codec, struct filter, codec);
	struct cast_value *self = container_of(filter, struct cast_value, filter);
	dtype_finish(&self->stored);
	free(self);
}

static int cast_value_open(const struct json *config, bool v2, const struct repr *decoded, struct codec **ret_codec)
{
	static const char *const members[] = {"data_type", "rounding", "out_of_range", "scalar_map", NULL};
	const struct json *data_type = json_get(config, "data_type");
	int rc = filter_check_members(config, members);
	if (!rc && !data_type)
		rc = err_set(EIO, "data_type: missing");
	if (rc)
		return rc;
	struct cast_value *self = calloc(1, sizeof(*self));
	if (!self)
		return err_set(ENOMEM, "no memory for a codec");
	rc = dtype_parse_v3(data_type, &self->stored);
	if (!rc)
		rc = fill_cast(self, config, decoded);
	if (rc) {
		cast_value_close(&self->filter.codec);
		return rc;
	}
	*ret_codec = &self->filter.codec;
	return 0;
}

const struct codec_ops cast_value_codec_ops = {
	.name = "cast_value",
	.kind = CODEC_ARRAY_ARRAY,
	.decode_mbps = 300,
	.open = cast_value_open,
	.close = cast_value_close,
	.encoded_repr = filter_encoded_repr,
	.decode = filter_decode,
};
