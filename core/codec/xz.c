/*
 * xz.c: one .xz stream (xz, doc/xz-file-format.txt):
 *
 *   header, 12 bytes      magic, which check the blocks carry
 *   blocks                each one a header with its chain of filters, the data, padding, the check
 *   index                 begins with a 0 byte, where a block's header has its size; the sizes of all blocks
 *   footer, 12 bytes      the index's size, the header's flags again
 *
 * We go from block to block ourselves, over liblzma's own parsers of each part, because its stream decoder allocates
 * the dictionary that a block's header asks for: up to 4 GiB, where no match can be farther away than the bytes decoded.
 */
#include "codec/xz.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "codec/lzma_chain.h"

static const uint8_t magic[] = {0xfd, '7', 'z', 'X', 'Z', 0};

/* What has been read of a stream, and written. */
struct stream {
	const uint8_t *src;
	size_t size, used;
	uint8_t *dst;
	size_t room, filled;
	lzma_check check;
	lzma_index_hash *index; /* of the blocks so far */
	size_t blocks;
};

bool is_xz(const uint8_t *src, size_t size)
{
	return size >= sizeof(magic) && memcmp(src, magic, sizeof(magic)) == 0;
}

/* The options of parsed filters are liblzma's allocations. */
static void filters_free(lzma_filter *filters)
{
	for (size_t i = 0; i < LZMA_FILTERS_MAX && filters[i].id != LZMA_VLI_UNKNOWN; i++)
		free(filters[i].options);
}

static void filters_shrink(lzma_filter *filters, size_t room)
{
	for (size_t i = 0; i < LZMA_FILTERS_MAX && filters[i].id != LZMA_VLI_UNKNOWN; i++) {
		lzma_options_lzma *options = filters[i].options;
		if (filters[i].id == LZMA_FILTER_LZMA2)
			options->dict_size = lzma_dictionary_shrink(options->dict_size, room);
	}
}

static int decode_body(struct stream *stream, lzma_block *block)
{
	size_t room = stream->room - stream->filled;
	if (block->uncompressed_size != LZMA_VLI_UNKNOWN && block->uncompressed_size > room)
		return err_set(EIO, "a block of %ju bytes, expected %zu", (uintmax_t)block->uncompressed_size, room);
	filters_shrink(block->filters, room);
	lzma_ret code = lzma_block_buffer_decode(block, NULL, stream->src, &stream->used, stream->size, stream->dst,
											 &stream->filled, stream->room);
	if (code == LZMA_OK)
		code = lzma_index_hash_append(stream->index, lzma_block_unpadded_size(block), block->uncompressed_size);
	return code == LZMA_OK ? 0 : lzma_chain_failure(code, room);
}

/* The block at stream->used, whose first byte is there and not 0. */
static int decode_block(struct stream *stream)
{
	lzma_filter filters[LZMA_FILTERS_MAX + 1];
	lzma_block block = {.version = 1, .check = stream->check, .filters = filters};
	block.header_size = lzma_block_header_size_decode(stream->src[stream->used]);
	if (block.header_size > stream->size - stream->used)
		return err_set(EIO, "cut short in the header of a block");
	lzma_ret code = lzma_block_header_decode(&block, NULL, stream->src + stream->used);
	if (code != LZMA_OK)
		return lzma_chain_failure(code, 0);
	stream->used += block.header_size;
	int rc = decode_body(stream, &block);
	filters_free(filters);
	/* each block has a decoder of its own, which takes as long as a kilobyte of data */
	if (!rc && ++stream->blocks > XZ_FREE_BLOCKS + stream->filled / XZ_BLOCK_BYTES)
		return err_set(EIO, "%zu blocks of a few bytes", stream->blocks);
	return rc;
}

static int decode_index(struct stream *stream)
{
	lzma_ret code = lzma_index_hash_decode(stream->index, stream->src, &stream->used, stream->size);
	if (code == LZMA_MEM_ERROR)
		return lzma_chain_failure(code, 0);
	return code == LZMA_STREAM_END ? 0 : err_set(EIO, "the index is damaged, cut short, or of other blocks");
}

static int decode_header(struct stream *stream, lzma_stream_flags *ret_flags)
{
	if (stream->size < LZMA_STREAM_HEADER_SIZE)
		return err_set(EIO, "%zu bytes, a header has %d", stream->size, LZMA_STREAM_HEADER_SIZE);
	lzma_ret code = lzma_stream_header_decode(ret_flags, stream->src);
	if (code != LZMA_OK)
		return lzma_chain_failure(code, 0);
	if (!lzma_check_is_supported(ret_flags->check))
		return err_set(EIO, "a check of kind %d, which cannot be verified", (int)ret_flags->check);
	stream->used = LZMA_STREAM_HEADER_SIZE;
	stream->check = ret_flags->check;
	return 0;
}

static int decode_footer(struct stream *stream, const lzma_stream_flags *header)
{
	lzma_stream_flags footer;
	if (stream->size - stream->used < LZMA_STREAM_HEADER_SIZE)
		return err_set(EIO, "cut short in the footer");
	if (lzma_stream_footer_decode(&footer, stream->src + stream->used) != LZMA_OK ||
		lzma_stream_flags_compare(header, &footer) != LZMA_OK ||
		footer.backward_size != lzma_index_hash_size(stream->index))
		return err_set(EIO, "the footer is damaged");
	stream->used += LZMA_STREAM_HEADER_SIZE;
	return 0;
}

int xz_decode_stream(const uint8_t *src, size_t size, uint8_t *dst, size_t room, size_t *ret_used, size_t *ret_size)
{
	struct stream stream = {.src = src, .size = size, .dst = dst, .room = room};
	lzma_stream_flags header;
	int rc = decode_header(&stream, &header);
	if (rc)
		return rc;
	stream.index = lzma_index_hash_init(NULL, NULL);
	if (!stream.index)
		return err_set(ENOMEM, "no memory to decode");
	while (!rc && stream.used < size && src[stream.used] != 0)
		rc = decode_block(&stream);
	if (!rc)
		rc = decode_index(&stream);
	if (!rc)
		rc = decode_footer(&stream, &header);
	lzma_index_hash_end(stream.index, NULL);
	if (rc)
		return rc;
	*ret_used = stream.used;
	*ret_size = stream.filled;
	return 0;
}
