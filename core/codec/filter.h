/*
 * filter.h: what numcodecs' filters that change elements share: two element types, and work on a block at a time.
 *
 *     encoded elements, `stored`  --swap, work-->  decoded elements, `plain`
 *
 * In v2 a filter turns bytes into bytes, in the stored order of elements; as numcodecs.* in v3 an array into an array, in C
 * order.
 */
#ifndef ZARRFS_FILTER_H
#define ZARRFS_FILTER_H

#include "codec/codec_impl.h"
#include "codec/number.h"

/* What a filter carries from block to block. */
struct filter_state {
	bool started;
	uint8_t sum[NUMBER_BYTES] __attribute__((aligned(NUMBER_BYTES)));
};

struct filter {
	struct codec codec;
	struct number plain, stored;
	/* From n stored elements (at most NUMBER_BLOCK) to plain ones, both in our byte order and aligned. EIO when one has no value. */
	int (*work)(const struct filter *filter, struct filter_state *state, const void *stored, void *plain, size_t n);
	double offset, scale;					/* fixedscaleoffset, scale_offset */
	uint64_t integer_offset, integer_scale; /* scale_offset of integers: their bits, sign-extended */
	struct number sum;						/* delta: what it adds in */
	struct repr encoded;
	uint8_t encoded_fill[NUMBER_BYTES];
};

/* Fills a zeroed filter from its types; `decoded` is that of open. ENOMEM, EIO when the array's elements have another size. */
int filter_init(struct filter *filter, const struct number *plain, const struct number *stored,
				const struct repr *decoded);

/* The same in new memory. */
int filter_new(const struct number *plain, const struct number *stored, const struct repr *decoded,
			   struct filter **ret_filter);

/* Slots of codec_ops. */
int filter_encoded_repr(const struct codec *codec, struct repr *ret_repr);
uint64_t filter_encoded_size(const struct codec *codec, uint64_t decoded, bool *ret_fixed);
int filter_decode(const struct codec *codec, const void *src, size_t size, void *dst, size_t room, size_t *ret_size);

/* `dtype` (where it is missing that of the array, in v3) and `astype` (where it is missing `dtype`): what most filters have. */
int filter_parse_types(const struct json *config, const struct repr *decoded, struct number *ret_plain,
					   struct number *ret_stored);

/* An integer or float type, that of the array: what scale_offset and cast_value take. ENOTSUP for any other. */
int filter_parse_array_type(const struct repr *decoded, struct number *ret_type);

/* EIO for a member of a configuration that is not in a NULL-terminated list: its registered codec allows no other. */
int filter_check_members(const struct json *config, const char *const *members);

/* The type of the array's elements in v3, in `array`; NULL where it is not known, or they are no numbers. */
const struct number *filter_array_number(const struct repr *decoded, struct number *array);

/* The work of filters that only convert. */
int filter_cast(const struct filter *filter, struct filter_state *state, const void *stored, void *plain, size_t n);

#endif
