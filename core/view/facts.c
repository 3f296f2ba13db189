/*
 * facts.c: one row a fact.
 */
#include "view/facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/err.h"

/* What a fact may need. array is NULL when it does not open; then error has the reason. */
struct subject {
	const struct array_meta *meta; /* NULL: the document could not be parsed */
	const struct array *array;
	const char *error;
};

static void append_list(struct str *str, const uint64_t *values, int n)
{
	str_append(str, "[");
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i ? ", " : "", values[i]);
	str_append(str, "]");
}

static void append_string(struct str *str, const char *text)
{
	if (text)
		str_append_json(str, text, strlen(text));
	else
		str_append(str, "null");
}

static void shape(const struct subject *s, struct str *str)
{
	append_list(str, s->meta->shape, s->meta->ndim);
}

static void dtype(const struct subject *s, struct str *str)
{
	dtype_print_descr(&s->meta->dtype, str);
}

/* The read unit where it is known, else the grid's. */
static void chunks(const struct subject *s, struct str *str)
{
	append_list(str, s->array ? array_grid(s->array)->chunk : s->meta->chunk_shape, s->meta->ndim);
}

static void shards(const struct subject *s, struct str *str)
{
	bool sharded = false;
	for (int i = 0; i < s->meta->codecs.n; i++)
		sharded |= !strcmp(s->meta->codecs.specs[i].name, "sharding_indexed");
	if (sharded)
		append_list(str, s->meta->chunk_shape, s->meta->ndim);
	else
		str_append(str, "null");
}

/* The chain as the document states it, which may be more than can be read. */
static void codecs(const struct subject *s, struct str *str)
{
	str_append(str, "[");
	for (int i = 0; i < s->meta->codecs.n; i++) {
		str_append(str, i ? ", " : "");
		append_string(str, s->meta->codecs.specs[i].name);
	}
	str_append(str, "]");
}

static void fill_value(const struct subject *s, struct str *str)
{
	bool is_known = s->meta->fill_value && !s->meta->fill_undefined;
	autofree char *text = !is_known ? NULL : dtype_print_fill(&s->meta->dtype, s->meta->fill_value);
	str_append(str, text ? text : "null");
}

static void dimension_names(const struct subject *s, struct str *str)
{
	if (!s->meta->dimension_names) {
		str_append(str, "null");
		return;
	}
	str_append(str, "[");
	for (int i = 0; i < s->meta->ndim; i++) {
		str_append(str, i ? ", " : "");
		append_string(str, s->meta->dimension_names[i]);
	}
	str_append(str, "]");
}

static void error(const struct subject *s, struct str *str)
{
	append_string(str, s->error);
}

static const struct {
	const char *name;
	void (*append)(const struct subject *s, struct str *str);
} facts[] = {
	{"shape", shape},
	{"dtype", dtype},
	{"chunks", chunks},
	{"shards", shards},
	{"codecs", codecs},
	{"fill_value", fill_value},
	{"dimension_names", dimension_names},
	{"error", error},
};

const char *facts_name(int i)
{
	return (size_t)i < ARRAY_LEN(facts) ? facts[i].name : NULL;
}

/* err_message() stays valid for the caller's use of *ret_subject: the text is copied to `message`. */
static void find_subject(struct hierarchy *hierarchy, struct node *node, struct err_text *message,
						 struct subject *ret_subject)
{
	struct array *array = NULL;
	*ret_subject = (struct subject){.meta = node->meta.array};
	if (node_array(hierarchy, node, &array)) {
		err_save(message);
		ret_subject->error = message->text;
	}
	ret_subject->array = array;
}

int facts_append_one(struct hierarchy *hierarchy, struct node *node, const char *fact, struct str *str)
{
	struct err_text message;
	struct subject subject;
	if (node->kind == NODE_GROUP)
		return -ENODATA;
	find_subject(hierarchy, node, &message, &subject);
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (strcmp(facts[i].name, fact))
			continue;
		/* an attribute "error" is there only when there is one */
		if (facts[i].append == error ? !subject.error : !subject.meta)
			return -ENODATA;
		facts[i].append(&subject, str);
		return str->failed ? err_set(ENOMEM, "no memory for an attribute") : 0;
	}
	return -ENODATA;
}

void facts_append_all(struct hierarchy *hierarchy, struct node *node, struct str *str)
{
	struct err_text message;
	struct subject subject;
	find_subject(hierarchy, node, &message, &subject);
	str_append(str, "{\n");
	for (size_t i = 0; i < ARRAY_LEN(facts); i++) {
		if (!subject.meta && facts[i].append != error)
			continue;
		str_appendf(str, "  \"%s\": ", facts[i].name);
		facts[i].append(&subject, str);
		str_append(str, ",\n");
	}
	if (subject.meta) {
		const struct array_meta *meta = subject.meta;
		str_appendf(str, "  \"zarr_format\": %d,\n", meta->zarr_format);
		str_appendf(str, "  \"byte_order\": \"little\",\n");
		if (meta->refusal)
			str_appendf(str, "  \"nbytes\": null,\n");
		else
			str_appendf(str, "  \"nbytes\": %" PRIu64 ",\n", meta->elements * meta->dtype.size);
		str_appendf(str, "  \"attributes\": %s\n", meta->attributes ? meta->attributes : "{}");
	} else {
		str_append(str, "  \"attributes\": {}\n");
	}
	str_append(str, "}");
}
