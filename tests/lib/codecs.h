/*
 * codecs.h: a codec chain from the JSON of a test, as meta/ would hand it over.
 */
#ifndef ZARRFS_TEST_CODECS_H
#define ZARRFS_TEST_CODECS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "codec/codec.h"

#define TEST_CODECS 20

struct test_codecs {
	struct json *root;
	struct codec_list list;
	struct codec_spec specs[TEST_CODECS];
	char names[TEST_CODECS][64];
	char where[TEST_CODECS][32];
};

static inline void test_codecs_finish(struct test_codecs *codecs)
{
	json_free(codecs->root);
}

/* [{"name": ..., "configuration": ...}, "name", ...]; with v2 [{"id": ..., ...}]. -1 when it is no such list. */
static inline int test_codecs_parse(const char *text, size_t size, bool v2, struct test_codecs *ret_codecs)
{
	struct test_codecs *codecs = ret_codecs;
	int n = 0;
	memset(codecs, 0, sizeof(*codecs));
	if (json_parse(text, size, LIMIT_JSON_BYTES, NULL, &codecs->root) != 0)
		return -1;
	if (json_type(codecs->root) != JSON_ARRAY || json_count(codecs->root) > TEST_CODECS) {
		json_free(codecs->root);
		return -1;
	}
	for (const struct json *item = json_first(codecs->root); item; item = json_next(item), n++) {
		const struct json *name = json_type(item) == JSON_STRING ? item : json_get(item, v2 ? "id" : "name");
		const char *name_text;
		if (!name || json_string(name, "name", &name_text, NULL) != 0) {
			json_free(codecs->root);
			return -1;
		}
		snprintf(codecs->names[n], sizeof(codecs->names[n]), "%s", name_text);
		snprintf(codecs->where[n], sizeof(codecs->where[n]), "codecs[%d]", n);
		codecs->specs[n] = (struct codec_spec){
			.name = codecs->names[n],
			.config = v2 ? item : json_get(item, "configuration"),
			.where = codecs->where[n],
		};
	}
	codecs->list = (struct codec_list){.specs = codecs->specs, .n = n, .v2 = v2};
	return 0;
}

#endif
