/*
 * fuzz_pipeline.c: any codec list on any bytes. Input: u16 length of the list's JSON, the JSON, the encoded chunk. Invariants: opening
 * fails with one of its errnos or gives a pipeline whose numbers agree; decoding fills the chunk or fails with EIO or ENOMEM.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/codecs.h"
#include "base/endian.h"
#include "codec/codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t fill[4] = {1, 2, 3, 4};
static const struct repr chunk = {.ndim = 3, .shape = {4, 6, 8}, .item_size = 4, .swap_unit = 4, .fill_value = fill};

/* A chain of bounds may ask for much scratch; a fuzzer's memory is small. */
#define SCRATCH_LIMIT ((size_t)64 << 20)

static void decode(const struct pipeline *pipeline, const uint8_t *src, size_t size)
{
	size_t n = pipeline_decoded_bytes(pipeline), fixed;
	uint8_t *dst = malloc(n);
	if (n != 4 * 6 * 8 * 4)
		abort();
	int rc = pipeline_decode(pipeline, src, size, dst);
	if (rc != 0 && rc != -EIO && rc != -ENOMEM)
		abort();
	if (rc == 0 && pipeline_fixed_size(pipeline, &fixed) && size != fixed)
		abort();
	free(dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct test_codecs codecs;
	struct pipeline *pipeline;
	if (size < 2)
		return 0;
	size_t n = load_le16(data);
	data += 2;
	size -= 2;
	if (n > size || test_codecs_parse((const char *)data, n, false, &codecs) != 0)
		return 0;
	int rc = pipeline_open(&codecs.list, &chunk, &pipeline);
	if (rc != 0 && rc != -EIO && rc != -ENOTSUP && rc != -EFBIG && rc != -ENOMEM)
		abort();
	if (rc == 0) {
		struct str printed;
		str_init(&printed);
		pipeline_print(pipeline, &printed);
		str_finish(&printed);
		if (pipeline_scratch_bytes(pipeline) <= SCRATCH_LIMIT)
			decode(pipeline, data + n, size - n);
		pipeline_close(pipeline);
	}
	test_codecs_finish(&codecs);
	return 0;
}
