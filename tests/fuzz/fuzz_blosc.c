/*
 * fuzz_blosc.c: the codec blosc on hostile chunks. The last byte of the input says how much of the header is put right first,
 * because a fuzzer finds none that fits by itself: what is left to it are flags, starts, and streams.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/endian.h"
#include "codec/codec_impl.h"

#define HEADER_BYTES 16
#define ROOM_MAX ((size_t)1 << 20)

#define REPAIR_HEADER 1
#define REPAIR_STARTS 2
#define REPAIR_STREAMS 4

/* Sizes that agree with each other and with `size`; a decoded size of at most ROOM_MAX. */
static void header_repair(uint8_t *chunk, size_t size)
{
	uint32_t nbytes = load_le32(chunk + 4) % (ROOM_MAX + 1);
	uint32_t blocksize = load_le32(chunk + 8);
	chunk[0] = 2;
	chunk[1] = 1;
	chunk[2] &= 0xf7;
	chunk[2] = (uint8_t)((chunk[2] & 0x1f) | (chunk[2] >> 5) % 5 << 5);
	chunk[3] = MAX(chunk[3], 1);
	if (chunk[2] & 2)
		nbytes = (uint32_t)MIN(size - HEADER_BYTES, ROOM_MAX);
	store_le32(chunk + 4, nbytes);
	store_le32(chunk + 8, nbytes ? 1 + blocksize % nbytes : 1);
	store_le32(chunk + 12, (uint32_t)(chunk[2] & 2 ? HEADER_BYTES + nbytes : size));
}

/* Every block begins somewhere behind the starts, and its first stream is no longer than the rest. */
static void starts_repair(uint8_t *chunk, size_t size, bool streams)
{
	size_t nbytes = load_le32(chunk + 4), blocksize = MAX(load_le32(chunk + 8), 1);
	size_t blocks = nbytes / blocksize + (nbytes % blocksize != 0);
	if ((chunk[2] & 2) || blocks > (size - HEADER_BYTES) / 4)
		return;
	size_t begin = HEADER_BYTES + 4 * blocks;
	for (size_t i = 0; i < blocks && size - begin > 4; i++) {
		size_t at = begin + load_le32(chunk + HEADER_BYTES + 4 * i) % (size - begin - 4);
		store_le32(chunk + HEADER_BYTES + 4 * i, (uint32_t)at);
		if (streams)
			store_le32(chunk + at, (uint32_t)(load_le32(chunk + at) % (size - at - 4 + 1)));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct codec *codec;
	if (size == 0 || blosc_codec_ops.open(NULL, false, NULL, &codec))
		return 0;
	uint8_t control = data[--size];
	autofree uint8_t *chunk = malloc(MAX(size, 1)); /* its end is the input's: reading on is found */
	memcpy(chunk, data, size);
	if (size >= HEADER_BYTES && (control & REPAIR_HEADER))
		header_repair(chunk, size);
	if (size >= HEADER_BYTES && (control & REPAIR_STARTS))
		starts_repair(chunk, size, control & REPAIR_STREAMS);

	size_t claimed = size >= HEADER_BYTES ? load_le32(chunk + 4) : 0;
	size_t room = MIN(claimed, ROOM_MAX) - (control & 0x80 && claimed > 0);
	autofree uint8_t *dst = malloc(MAX(room, 1)); /* and its end the destination's */
	size_t got = (size_t)-1;
	int rc = blosc_codec_ops.decode(codec, chunk, size, dst, room, &got);
	if (rc ? got != (size_t)-1 : got > room)
		abort();
	/* All that is said to be decoded was written; the memory sanitizer looks. */
	uint8_t sum = 0;
	for (size_t i = 0; !rc && i < got; i++)
		sum ^= dst[i];
	if (sum == control)
		size = 0;
	blosc_codec_ops.close(codec);
	return 0;
}
