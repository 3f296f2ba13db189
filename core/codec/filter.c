/*
 * filter.c: elements a block at a time, through aligned memory on the stack.
 */
#include "codec/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/ndcopy.h"

static const struct filter *filter_of(const struct codec *codec)
{
	return container_of(codec, const struct filter, codec);
}

const struct number *filter_array_number(const struct repr *decoded, struct number *array)
{
	return decoded && decoded->dtype && number_of_dtype(decoded->dtype, array) ? array : NULL;
}

int filter_parse_types(const struct json *config, const struct repr *decoded, struct number *ret_plain,
					   struct number *ret_stored)
{
	struct number plain, array;
	int rc = number_parse(config, "dtype", filter_array_number(decoded, &array), &plain);
	if (!rc)
		rc = number_parse(config, "astype", &plain, ret_stored);
	if (!rc)
		*ret_plain = plain;
	return rc;
}

int filter_parse_array_type(const struct repr *decoded, struct number *ret_type)
{
	struct number type;
	if (!decoded->dtype || !number_of_dtype(decoded->dtype, &type) ||
		(type.kind != DTYPE_INT && type.kind != DTYPE_UINT && type.kind != DTYPE_FLOAT))
		return err_set(ENOTSUP, "elements that are neither integers nor floats of 16 to 64 bits");
	*ret_type = type;
	return 0;
}

int filter_check_members(const struct json *config, const char *const *members)
{
	for (const struct json *item = config ? json_first(config) : NULL; item; item = json_next(item)) {
		const char *const *known = members;
		while (*known && strcmp(*known, json_name(item)) != 0)
			known++;
		if (!*known) {
			autostr(shown);
			str_append_escaped(&shown, json_name(item), strnlen(json_name(item), 64));
			return err_set(EIO, "unknown member \"%s\"", shown.text);
		}
	}
	return 0;
}

/* What the next codec is handed. zarr-python gives it the array's fill value, in the new type. */
static void set_encoded(struct filter *filter, const struct repr *decoded)
{
	uint8_t fill[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES))) = {0};
	uint8_t cast[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES))) = {0};
	if (decoded->fill_value)
		memcpy(fill, decoded->fill_value, filter->plain.size);
	if (number_check_cast(&filter->plain, &filter->stored) == 0)
		number_cast(&filter->plain, &filter->stored, fill, cast, 1);
	memcpy(filter->encoded_fill, cast, sizeof(cast));
	filter->encoded = *decoded;
	filter->encoded.item_size = filter->stored.size;
	filter->encoded.swap_unit = filter->stored.kind == DTYPE_COMPLEX ? filter->stored.size / 2 : filter->stored.size;
	filter->encoded.dtype = NULL;
	filter->encoded.fill_value = filter->encoded_fill;
}

int filter_init(struct filter *filter, const struct number *plain, const struct number *stored,
				const struct repr *decoded)
{
	if (decoded && decoded->item_size != plain->size)
		return err_set(EIO, "dtype: %u bytes, but the array's elements have %u", plain->size, decoded->item_size);
	filter->plain = *plain;
	filter->stored = *stored;
	filter->work = filter_cast;
	if (decoded) {
		/*
		 * Elements of an array are in our order already. But zarr-python views them as the type that is named, also one of the
		 * other order, before it filters; what it gives to the next codec is in no order but its own.
		 */
		filter->stored.swap_unit = 1;
		set_encoded(filter, decoded);
	}
	return 0;
}

int filter_new(const struct number *plain, const struct number *stored, const struct repr *decoded,
			   struct filter **ret_filter)
{
	struct filter *filter = calloc(1, sizeof(*filter));
	int rc = filter ? filter_init(filter, plain, stored, decoded) : err_set(ENOMEM, "no memory for a codec");
	if (rc)
		free(filter);
	else
		*ret_filter = filter;
	return rc;
}

int filter_encoded_repr(const struct codec *codec, struct repr *ret_repr)
{
	*ret_repr = filter_of(codec)->encoded;
	return 0;
}

uint64_t filter_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed)
{
	const struct filter *filter = filter_of(codec);
	uint64_t size;
	*ret_fixed = true;
	return checked_mul(decoded / filter->plain.size, filter->stored.size, &size) ? size : UINT64_MAX;
}

int filter_cast(const struct filter *filter, struct filter_state *state, const void *stored, void *plain, size_t n)
{
	number_cast(&filter->stored, &filter->plain, stored, plain, n);
	return 0;
}

int filter_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size)
{
	const struct filter *filter = filter_of(codec);
	uint8_t stored[NUMBER_BLOCK * NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
	uint8_t plain[NUMBER_BLOCK * NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
	struct filter_state state = {.started = false};
	size_t in = filter->stored.size, out = filter->plain.size, n = size / in;
	if (size == 0 || size % in)
		return err_set(EIO, "%zu bytes are no elements of %zu", size, in);
	if (n > room / out)
		return err_set(EIO, "decodes to %zu elements, expected %zu", n, room / out);
	for (size_t done = 0, block; done < n; done += block) {
		block = MIN(n - done, NUMBER_BLOCK);
		swap_bytes(stored, (const uint8_t *)src + done * in, block * in, filter->stored.swap_unit);
		int rc = filter->work(filter, &state, stored, plain, block);
		if (rc)
			return rc;
		state.started = true;
		swap_bytes((uint8_t *)dst + done * out, plain, block * out, filter->plain.swap_unit);
	}
	*ret_size = n * out;
	return 0;
}
