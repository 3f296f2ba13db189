/*
 * lzma_chain.c: chains of liblzma's filters. The names of their options are those of Python's module lzma ("Specifying
 * custom filter chains"), because numcodecs hands its `filters` to it.
 */
#include "codec/lzma_chain.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"
#include "codec/codec_impl.h"

#define BCJ_LAST 10

static bool is_lzma(lzma_vli id)
{
	return id == LZMA_FILTER_LZMA1 || id == LZMA_FILTER_LZMA2;
}

/* For machine code of x86, PowerPC, IA-64, ARM, ARM-Thumb, SPARC, and (liblzma 5.4) ARM64: one that it does not know it refuses. */
static bool is_bcj(lzma_vli id)
{
	return id >= LZMA_FILTER_X86 && id <= BCJ_LAST;
}

/* An option that must be in its range, unlike codec_option's: other bytes would come out. */
static int get_option(const struct json *json, const char *name, uint64_t high, uint32_t *value)
{
	const struct json *option = json_get(json, name);
	uint64_t number;
	if (!option || json_type(option) == JSON_NULL)
		return 0;
	int rc = json_uint64(option, name, &number);
	if (!rc && number > high)
		rc = err_set(EIO, "%s: %" PRIu64 ", at most %" PRIu64, name, number, high);
	if (!rc)
		*value = (uint32_t)number;
	return rc;
}

static int set_preset(uint32_t preset, lzma_options_lzma *options)
{
	if (lzma_lzma_preset(options, preset))
		return err_set(EIO, "preset: liblzma has no %" PRIu32, preset);
	return 0;
}

static int parse_lzma(const struct json *json, lzma_options_lzma *options)
{
	uint32_t preset = LZMA_PRESET_DEFAULT, mode = 0, finder = 0;
	int rc = get_option(json, "preset", UINT32_MAX, &preset);
	if (!rc)
		rc = set_preset(preset, options);
	if (rc)
		return rc;
	mode = options->mode;
	finder = options->mf;
	if ((rc = get_option(json, "dict_size", UINT32_MAX, &options->dict_size)) ||
		(rc = get_option(json, "lc", LZMA_LCLP_MAX, &options->lc)) ||
		(rc = get_option(json, "lp", LZMA_LCLP_MAX, &options->lp)) ||
		(rc = get_option(json, "pb", LZMA_PB_MAX, &options->pb)) ||
		(rc = get_option(json, "mode", UINT32_MAX, &mode)) || (rc = get_option(json, "mf", UINT32_MAX, &finder)) ||
		(rc = get_option(json, "nice_len", UINT32_MAX, &options->nice_len)) ||
		(rc = get_option(json, "depth", UINT32_MAX, &options->depth)))
		return rc;
	options->mode = (lzma_mode)mode;
	options->mf = (lzma_match_finder)finder;
	return 0;
}

static int parse_filter(const struct json *json, struct lzma_chain *chain, size_t i)
{
	const struct json *id = json_get(json, "id");
	uint64_t number;
	int rc = id ? json_uint64(id, "id", &number) : err_set(EIO, "not an object with an id");
	if (rc)
		return rc;
	if (is_lzma(number)) {
		rc = parse_lzma(json, &chain->options[i].lzma);
	} else if (number == LZMA_FILTER_DELTA) {
		chain->options[i].delta.type = LZMA_DELTA_TYPE_BYTE;
		chain->options[i].delta.dist = LZMA_DELTA_DIST_MIN;
		rc = get_option(json, "dist", LZMA_DELTA_DIST_MAX, &chain->options[i].delta.dist);
	} else if (is_bcj(number)) {
		rc = get_option(json, "start_offset", UINT32_MAX, &chain->options[i].bcj.start_offset);
	} else {
		return err_set(ENOTSUP, "filter %" PRIu64 " is unknown", number);
	}
	chain->filters[i] = (lzma_filter){.id = number, .options = &chain->options[i]};
	return rc;
}

/* Which filters may follow each other, and with which options: liblzma knows once it makes a decoder. */
static int check_chain(const struct lzma_chain *chain)
{
	struct lzma_chain small;
	lzma_stream stream = LZMA_STREAM_INIT;
	lzma_chain_shrink(chain, 0, &small);
	lzma_ret code = lzma_raw_decoder(&stream, small.filters);
	lzma_end(&stream);
	if (code == LZMA_MEM_ERROR)
		return err_set(ENOMEM, "no memory for a codec");
	return code == LZMA_OK ? 0 : err_set(EIO, "filters: not a chain that liblzma decodes");
}

int lzma_chain_parse(const struct json *filters, struct lzma_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	if (json_type(filters) != JSON_ARRAY)
		return err_set(EIO, "filters: %s where a list is expected", json_type_name(json_type(filters)));
	size_t n = 0;
	for (const struct json *item = json_first(filters); item; item = json_next(item), n++) {
		int rc = n < LZMA_FILTERS_MAX ? parse_filter(item, chain, n) : err_set(EIO, "a chain has at most four");
		if (rc)
			return err_prefix(rc, "filters[%zu]", n);
	}
	chain->filters[n] = (lzma_filter){.id = LZMA_VLI_UNKNOWN};
	return check_chain(chain);
}

int lzma_chain_preset(uint32_t preset, struct lzma_chain *chain)
{
	memset(chain, 0, sizeof(*chain));
	chain->filters[0] = (lzma_filter){.id = LZMA_FILTER_LZMA2, .options = &chain->options[0]};
	chain->filters[1] = (lzma_filter){.id = LZMA_VLI_UNKNOWN};
	return set_preset(preset, &chain->options[0].lzma);
}

uint32_t lzma_dictionary_shrink(uint32_t dictionary, size_t bytes)
{
	return (uint32_t)MIN(dictionary, MAX(bytes, LZMA_DICT_SIZE_MIN));
}

void lzma_chain_shrink(const struct lzma_chain *chain, size_t bytes, struct lzma_chain *copy)
{
	*copy = *chain;
	for (size_t i = 0; i < LZMA_FILTERS_MAX && copy->filters[i].id != LZMA_VLI_UNKNOWN; i++) {
		copy->filters[i].options = &copy->options[i];
		if (is_lzma(copy->filters[i].id))
			copy->options[i].lzma.dict_size = lzma_dictionary_shrink(copy->options[i].lzma.dict_size, bytes);
	}
}

int lzma_chain_failure(lzma_ret code, size_t room)
{
	switch (code) {
	case LZMA_MEM_ERROR:
		return err_set(ENOMEM, "no memory to decode");
	case LZMA_BUF_ERROR:
		return err_set(EIO, "decodes to more than the expected bytes (%zu left to fill), or cut short", room);
	case LZMA_FORMAT_ERROR:
		return err_set(EIO, "not of the format that the configuration says");
	case LZMA_OPTIONS_ERROR:
		return err_set(EIO, "options that liblzma does not know");
	default:
		return err_set(EIO, "damaged or cut short");
	}
}
