/*
 * documents.h: array documents that are right, from a few numbers of a fuzzer's input: shapes, chunks, types, codec chains.
 */
#ifndef ZARRFS_TEST_DOCUMENTS_H
#define ZARRFS_TEST_DOCUMENTS_H

#include "input.h"

#include "base/str.h"

#define DOCUMENT_DIMS 4

static inline void append_chain(struct input *in, struct str *str)
{
	static const char *const endians[] = {"little", "big"};
	static const char *const behind[] = {"",		",\"zstd\"", ",\"gzip\"", ",\"crc32c\"", ",\"zlib\",\"crc32c\"",
										 ",\"lz4\""};
	str_appendf(str, "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}}", endians[take_below(in, 2)]);
	str_append(str, behind[take_below(in, ARRAY_LEN(behind))]);
}

static inline void append_list(struct str *str, const unsigned *values, int n)
{
	str_append(str, "[");
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%u", i ? "," : "", values[i]);
	str_append(str, "]");
}

static inline void append_sharding(struct input *in, struct str *str, const unsigned *inner, int ndim, int levels)
{
	static const char *const behind[] = {",\"crc32c\"", ""}, *const places[] = {"end", "start"};
	str_append(str, "{\"name\":\"sharding_indexed\",\"configuration\":{\"chunk_shape\":");
	append_list(str, inner, ndim);
	str_append(str, ",\"codecs\":[");
	if (levels > 1)
		append_sharding(in, str, inner, ndim, levels - 1);
	else
		append_chain(in, str);
	str_appendf(str, "],\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}%s]",
				behind[take_below(in, 2)]);
	str_appendf(str, ",\"index_location\":\"%s\"}}", places[take_below(in, 2)]);
}

/* Transposed or not, sharded once or twice or not, and perhaps something behind that. */
static inline void append_codecs(struct input *in, struct str *str, const unsigned *inner, int ndim)
{
	unsigned shape = take_below(in, 16), levels = shape & 3;
	str_append(str, "[");
	if ((shape & 4) && ndim > 0) {
		unsigned order[DOCUMENT_DIMS];
		for (int i = 0; i < ndim; i++)
			order[i] = (unsigned)(ndim - 1 - i);
		str_append(str, "{\"name\":\"transpose\",\"configuration\":{\"order\":");
		append_list(str, order, ndim);
		str_append(str, "}},");
	}
	if (levels == 1 || levels == 2)
		append_sharding(in, str, inner, ndim, (int)levels);
	else
		append_chain(in, str);
	str_append(str, (shape & 8) ? ",\"gzip\"]" : "]");
}

static inline void append_v3(struct input *in, struct str *str, const unsigned *shape, const unsigned *chunk,
							 const unsigned *inner, int ndim)
{
	static const char *const types[] = {"\"uint8\",\"fill_value\":7",	  "\"int16\",\"fill_value\":-2",
										"\"float32\",\"fill_value\":0.5", "\"complex128\",\"fill_value\":[1,\"NaN\"]",
										"\"r24\",\"fill_value\":[1,2,3]", "\"bool\",\"fill_value\":true"};
	str_append(str, "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":");
	append_list(str, shape, ndim);
	str_appendf(str, ",\"data_type\":%s", types[take_below(in, ARRAY_LEN(types))]);
	str_append(str, ",\"chunk_key_encoding\":\"default\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{"
					"\"chunk_shape\":");
	append_list(str, chunk, ndim);
	str_append(str, "}},\"codecs\":");
	append_codecs(in, str, inner, ndim);
	str_append(str, "}");
}

static inline void append_v2(struct input *in, struct str *str, const unsigned *shape, const unsigned *chunk, int ndim)
{
	static const char *const types[] = {"|u1", ">i2", "<f4", ">c16", "|S5", "<U2", "<M8[s]"};
	static const char *const compressors[] = {"null", "{\"id\":\"zlib\",\"level\":1}", "{\"id\":\"gzip\"}",
											  "{\"id\":\"zstd\"}", "{\"id\":\"lz4\"}"};
	str_append(str, "{\"zarr_format\":2,\"shape\":");
	append_list(str, shape, ndim);
	str_append(str, ",\"chunks\":");
	append_list(str, chunk, ndim);
	str_appendf(str, ",\"dtype\":\"%s\",\"fill_value\":null,\"filters\":null,\"compressor\":%s",
				types[take_below(in, ARRAY_LEN(types))], compressors[take_below(in, ARRAY_LEN(compressors))]);
	unsigned rest = take_below(in, 4);
	str_appendf(str, ",\"order\":\"%s\"%s}", (rest & 1) ? "F" : "C",
				(rest & 2) ? ",\"dimension_separator\":\"/\"" : "");
}

static inline void append_array(struct str *str, struct input *in, int zarr_format)
{
	int ndim = (int)take_below(in, DOCUMENT_DIMS + 1);
	unsigned shape[DOCUMENT_DIMS], chunk[DOCUMENT_DIMS], inner[DOCUMENT_DIMS];
	for (int i = 0; i < ndim; i++) {
		shape[i] = take_below(in, 24);
		inner[i] = 1 + take_below(in, 4);
		chunk[i] = inner[i] * (1 + take_below(in, 3));
	}
	if (zarr_format == 3)
		append_v3(in, str, shape, chunk, inner, ndim);
	else
		append_v2(in, str, shape, chunk, ndim);
}

#endif
