/*
 * crc32c.c: the checksum CRC-32C, by the CPU's instruction where there is one.
 */
#include "codec/crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "base/endian.h"

#define CRC32C_POLYNOMIAL 0x82f63b78u /* Castagnoli's, reflected */

/* Slicing by eight: table[k][b] is the remainder of byte b followed by k zero bytes. */
static uint32_t table[8][256];

static void make_table(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t crc = b;
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? CRC32C_POLYNOMIAL : 0);
		table[0][b] = crc;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			table[k][b] = (table[k - 1][b] >> 8) ^ table[0][table[k - 1][b] & 0xff];
}

static uint32_t update_portable(uint32_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 8; p += 8, size -= 8) {
		uint64_t v = load_le64(p) ^ crc;
		crc = table[7][v & 0xff] ^ table[6][v >> 8 & 0xff] ^ table[5][v >> 16 & 0xff] ^ table[4][v >> 24 & 0xff] ^
			  table[3][v >> 32 & 0xff] ^ table[2][v >> 40 & 0xff] ^ table[1][v >> 48 & 0xff] ^ table[0][v >> 56];
	}
	for (; size > 0; p++, size--)
		crc = (crc >> 8) ^ table[0][(crc ^ *p) & 0xff];
	return crc;
}

#if defined(__x86_64__)

#define HAVE_INSTRUCTION

static bool cpu_has_instruction(void)
{
	return __builtin_cpu_supports("sse4.2");
}

__attribute__((target("sse4.2"))) static uint32_t update_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
	uint64_t wide = crc;
	for (; size >= 8; p += 8, size -= 8)
		wide = __builtin_ia32_crc32di(wide, load_le64(p));
	crc = (uint32_t)wide;
	for (; size > 0; p++, size--)
		crc = __builtin_ia32_crc32qi(crc, *p);
	return crc;
}

#elif defined(__aarch64__)

#define HAVE_INSTRUCTION

static bool cpu_has_instruction(void)
{
	return getauxval(AT_HWCAP) & (1 << 7); /* HWCAP_CRC32 */
}

__attribute__((target("+crc"))) static uint32_t update_instruction(uint32_t crc, const uint8_t *p, size_t size)
{
	for (; size >= 8; p += 8, size -= 8)
		crc = __builtin_aarch64_crc32cx(crc, load_le64(p));
	for (; size > 0; p++, size--)
		crc = __builtin_aarch64_crc32cb(crc, *p);
	return crc;
}

#endif

static uint32_t (*update)(uint32_t crc, const uint8_t *p, size_t size) = update_portable;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void choose(void)
{
	make_table();
#ifdef HAVE_INSTRUCTION
	if (cpu_has_instruction())
		update = update_instruction;
#endif
}

uint32_t crc32c(const void *bytes, size_t size)
{
	pthread_once(&once, choose);
	return ~update(~0u, bytes, size);
}

uint32_t crc32c_portable(const void *bytes, size_t size)
{
	pthread_once(&once, choose);
	return ~update_portable(~0u, bytes, size);
}
