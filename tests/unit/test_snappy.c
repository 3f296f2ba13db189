/*
 * test_snappy.c: Snappy blocks written by hand, element by element. What libsnappy makes of data is in test_blosc.c, inside
 * the chunks of libblosc.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/check_main.h"

#include "base/base.h"
#include "base/err.h"
#include "codec/snappy.h"

#define UNTOUCHED ((size_t)-1)

/* Decodes from memory that ends where the block does, into memory that ends where the room does. */
static int decode(const void *block, size_t size, size_t room, uint8_t **ret_dst, size_t *ret_size)
{
	autofree uint8_t *copy = malloc(MAX(size, 1));
	*ret_dst = malloc(MAX(room, 1));
	*ret_size = UNTOUCHED;
	if (size > 0)
		memcpy(copy, block, size);
	int rc = snappy_decode(copy, size, *ret_dst, room, ret_size);
	ck_assert_msg(rc == 0 || (rc == -EIO && *ret_size == UNTOUCHED && *err_message()), "%d", rc);
	return rc;
}

#define BLOCK(text) text, sizeof(text) - 1

static const struct {
	const char *what;
	const char *block;
	size_t size;
	const char *text; /* NULL: EIO */
} blocks[] = {
	{"nothing", BLOCK("\x00"), ""},
	{"one literal", BLOCK("\x01\x00x"), "x"},
	{"two rows of literals", BLOCK("\x03\x00x\x04yz"), "xyz"},
	{"literals counted in one byte", BLOCK("\x03\xf0\x02xyz"), "xyz"},
	{"literals counted in two bytes", BLOCK("\x03\xf4\x02\x00xyz"), "xyz"},
	{"literals counted in three bytes", BLOCK("\x03\xf8\x02\x00\x00xyz"), "xyz"},
	{"literals counted in four bytes", BLOCK("\x03\xfc\x02\x00\x00\x00xyz"), "xyz"},
	{"a size of five bytes", BLOCK("\x81\x80\x80\x80\x00\x00x"), "x"},
	{"a near match", BLOCK("\x08\x0cwxyz\x01\x04"), "wxyzwxyz"},
	{"a near match of 11", BLOCK("\x0c\x00x\x1d\x01"), "xxxxxxxxxxxx"},
	{"a match that overlaps itself", BLOCK("\x07\x04xy\x05\x02"), "xyxyxyx"},
	{"a match of two bytes of distance", BLOCK("\x06\x08xyz\x0a\x03\x00"), "xyzxyz"},
	{"a match of one byte", BLOCK("\x04\x08xyz\x02\x03\x00"), "xyzx"},
	{"a match of four bytes of distance", BLOCK("\x06\x08xyz\x0b\x03\x00\x00\x00"), "xyzxyz"},
	{"no bytes", BLOCK(""), NULL},
	{"a size that ends in its middle", BLOCK("\x81"), NULL},
	{"a size of 33 bits", BLOCK("\x81\x80\x80\x80\x10\x00x"), NULL},
	{"a size of six bytes", BLOCK("\x81\x80\x80\x80\x80\x00\x00x"), NULL},
	{"fewer bytes than said", BLOCK("\x04\x08xyz"), NULL},
	{"more bytes than said", BLOCK("\x02\x08xyz"), NULL},
	{"bytes behind", BLOCK("\x03\x08xyz\x00"), NULL},
	{"literals that are not there", BLOCK("\x03\x08xy"), NULL},
	{"a count that is not there", BLOCK("\x03\xf4\x02"), NULL},
	{"a count of 2^32 literals", BLOCK("\x03\xfc\xff\xff\xff\xffxyz"), NULL},
	{"a match before the first byte", BLOCK("\x07\x08xyz\x01\x04"), NULL},
	{"a match at the beginning", BLOCK("\x04\x01\x01"), NULL},
	{"a match at no distance", BLOCK("\x07\x08xyz\x01\x00"), NULL},
	{"a match at a distance of 4 GiB", BLOCK("\x06\x08xyz\x0b\xff\xff\xff\xff"), NULL},
	{"a match beyond the end", BLOCK("\x05\x08xyz\x01\x03"), NULL},
	{"a distance that is not there", BLOCK("\x06\x08xyz\x0a\x03"), NULL},
};

START_TEST(elements_do_what_the_format_says)
{
	for (size_t i = 0; i < ARRAY_LEN(blocks); i++) {
		const char *text = blocks[i].text;
		size_t n = text ? strlen(text) : 16, got;
		for (size_t slack = 0; slack <= 40; slack += 40) {
			autofree uint8_t *dst = NULL;
			int rc = decode(blocks[i].block, blocks[i].size, n + slack, &dst, &got);
			ck_assert_msg(rc == (text ? 0 : -EIO), "%s: %d", blocks[i].what, rc);
			ck_assert_msg(!text || (got == n && memcmp(dst, text, n) == 0), "%s: other bytes", blocks[i].what);
		}
	}
}
END_TEST

START_TEST(a_block_larger_than_the_room_is_an_error)
{
	size_t got;
	autofree uint8_t *small = NULL;
	autofree uint8_t *none = NULL;
	ck_assert_int_eq(decode("\x03\x08xyz", 5, 2, &small, &got), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "3 bytes, expected 2"));
	ck_assert_int_eq(decode("\x03\x08xyz", 5, 0, &none, &got), -EIO);
}
END_TEST

/* 300 literals, then 11 of them again, from 258 bytes before: bits in both parts of a near match's distance, and in two bytes. */
START_TEST(distances_are_put_together_from_their_parts)
{
	static const char *const matches[] = {"\x3d\x02", "\x2a\x02\x01", "\x2b\x02\x01\x00\x00"};
	static const size_t sizes[] = {2, 3, 5};
	for (size_t i = 0; i < ARRAY_LEN(matches); i++) {
		uint8_t block[400] = {0xb7, 0x02, 0xf4, 0x2b, 0x01}; /* 311 bytes, of which 300 literals */
		autofree uint8_t *dst = NULL;
		size_t got;
		for (size_t k = 0; k < 300; k++)
			block[5 + k] = (uint8_t)(k * 7 + k / 256);
		memcpy(block + 305, matches[i], sizes[i]);
		ck_assert_int_eq(decode(block, 305 + sizes[i], 311, &dst, &got), 0);
		ck_assert_mem_eq(dst + 300, block + 5 + 42, 11);
	}
}
END_TEST

static Suite *snappy_suite(void)
{
	Suite *suite = suite_create("snappy");
	TCase *tcase = tcase_create("snappy");
	tcase_add_test(tcase, elements_do_what_the_format_says);
	tcase_add_test(tcase, a_block_larger_than_the_room_is_an_error);
	tcase_add_test(tcase, distances_are_put_together_from_their_parts);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(snappy_suite)
