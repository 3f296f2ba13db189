/*
 * describe.c: a node in words.
 */
#include "tools/describe.h"

#include <inttypes.h>
#include <string.h>

#include "view/facts.h"

static void describe_array(struct hierarchy *hierarchy, struct node *node, struct description *description)
{
	const struct array_meta *meta = node->meta.array;
	description->meta = meta;
	description->bytes = meta->elements * meta->dtype.size; /* at most INT64_MAX: array_meta says so */
	description->chunks = meta->chunk_shape;
	description->rc = node_array(hierarchy, node, &description->array);
	if (description->rc) {
		description->array = NULL;
		err_save(&description->reason);
		return;
	}
	description->chunks = array_grid(description->array)->chunk;
	if (pipeline_sharding(array_pipeline(description->array)))
		description->shards = meta->chunk_shape;
}

void describe_node(struct hierarchy *hierarchy, struct node *node, struct description *ret_description)
{
	static const char *const kinds[] = {[NODE_GROUP] = "group", [NODE_ARRAY] = "array", [NODE_BROKEN] = "broken"};
	memset(ret_description, 0, sizeof(*ret_description));
	ret_description->kind = kinds[node->kind];
	if (node->kind == NODE_ARRAY)
		describe_array(hierarchy, node, ret_description);
	if (node->kind == NODE_BROKEN) {
		ret_description->rc = node->error;
		err_set(-node->error, "%s", node->error_message ? node->error_message : strerror(-node->error));
		err_save(&ret_description->reason);
	}
}

void describe_dims(struct str *str, const uint64_t *dims, int n)
{
	if (n == 0)
		str_append(str, "()");
	for (int i = 0; i < n; i++)
		str_appendf(str, "%s%" PRIu64, i > 0 ? "x" : "", dims[i]);
}

void describe_dtype(struct str *str, const struct dtype *dtype)
{
	autostr(descr);
	if (dtype->record)
		dtype_print_descr(dtype, &descr);
	else
		str_append(&descr, dtype->descr);
	str_append_escaped(str, descr.text, descr.size);
}

void describe_bytes(struct str *str, uint64_t bytes)
{
	static const char *const units[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes / 1024;
	size_t i = 0;
	for (; value >= 1024 && i + 1 < ARRAY_LEN(units); i++)
		value /= 1024;
	if (bytes < 1024)
		str_appendf(str, "%" PRIu64 " bytes", bytes);
	else
		str_appendf(str, "%.1f %s", value, units[i]);
}

void describe_codecs(struct str *str, const struct description *description)
{
	if (description->array) {
		pipeline_print(array_pipeline(description->array), str);
		return;
	}
	const struct codec_list *list = &description->meta->codecs;
	for (int i = 0; i < list->n; i++)
		str_appendf(str, "%s%s", i > 0 ? " " : "", list->specs[i].name);
}

void describe_facts_json(struct str *str, struct hierarchy *hierarchy, struct node *node, const char *separator)
{
	for (int i = 0; facts_name(i); i++) {
		autostr(value);
		if (strcmp(facts_name(i), "error") == 0 || facts_append_one(hierarchy, node, facts_name(i), &value) < 0)
			continue;
		str_appendf(str, "%s\"%s\": ", separator, facts_name(i));
		str_append(str, value.text);
	}
}

void describe_size_json(struct str *str, const struct description *description)
{
	if (description->meta->refusal)
		str_append(str, "null");
	else
		str_appendf(str, "%" PRIu64, description->bytes);
}

void describe_reason_json(struct str *str, const struct description *description)
{
	if (description->rc)
		str_append_json(str, description->reason.text, strlen(description->reason.text));
	else
		str_append(str, "null");
}
