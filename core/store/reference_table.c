/*
 * reference_table.c: a reference document -> a sorted table of keys. Two walks over the text: what its members are, then the keys. The
 * second writes into the text what is behind it: keys without their escapes, ended by NUL.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "store/reference_impl.h"

/* Spans of the root's members that version 1 has; size 0: absent. */
struct parts {
	const char *text;
	struct json_span version, templates, gen, refs;
};

struct reader {
	struct reference_table *table;
	size_t capacity;
	size_t base; /* where the walked object is in the text */
	struct str made;
	size_t made_bytes; /* of keys that are none, too */
	uint64_t ignored;
	struct str first_ignored;
};

/* ---------------------------------------------------------------- first walk */

static bool span_is(const char *text, struct json_span span, const char *word)
{
	return span.size == strlen(word) && memcmp(text + span.offset, word, span.size) == 0;
}

static int note_part(void *arg, struct json_span name, struct json_span value)
{
	struct parts *parts = arg;
	if (span_is(parts->text, name, "version"))
		parts->version = value;
	else if (span_is(parts->text, name, "templates"))
		parts->templates = value;
	else if (span_is(parts->text, name, "gen"))
		parts->gen = value;
	else if (span_is(parts->text, name, "refs"))
		parts->refs = value;
	return 0;
}

/* A member as a tree; NULL when it is absent. */
static int parse_part(const char *text, struct json_span span, const char *what, struct json **ret_json)
{
	*ret_json = NULL;
	int rc = span.size ? json_parse(text + span.offset, span.size, LIMIT_JSON_BYTES, NULL, ret_json) : 0;
	return rc ? err_prefix(rc, "%s", what) : 0;
}

static int check_version(const char *text, struct json_span span)
{
	struct json *version;
	uint64_t number = 1;
	int rc = parse_part(text, span, "version", &version);
	if (!rc && version)
		rc = json_uint64(version, "version", &number);
	json_free(version);
	if (rc)
		return rc;
	return number <= 1 ? 0 : err_set(ENOTSUP, "version %" PRIu64 " of reference files is not read", number);
}

/* ---------------------------------------------------------------- second walk */

static int add_entry(struct reader *reader, struct reference_entry entry)
{
	struct reference_table *table = reader->table;
	if (table->n == reader->capacity) {
		size_t capacity = reader->capacity ? reader->capacity + reader->capacity / 2 : 64;
		struct reference_entry *entries = reallocarray(table->entries, capacity, sizeof(*entries));
		if (!entries)
			return err_set(ENOMEM, "no memory for the references");
		table->entries = entries;
		reader->capacity = capacity;
	}
	table->entries[table->n++] = entry;
	return 0;
}

static bool is_key(struct reader *reader, const char *key, size_t size)
{
	if (store_is_key(key, size))
		return true;
	if (reader->ignored++ == 0)
		str_append_escaped(&reader->first_ignored, key, MIN(size, (size_t)100));
	return false;
}

static int take_member(void *arg, struct json_span name, struct json_span value)
{
	struct reader *reader = arg;
	char *key = reader->table->text + reader->base + name.offset,
		 *text = reader->table->text + reader->base + value.offset;
	size_t size = json_unescape(key, name.size, key);
	key[size] = '\0'; /* at the quote behind the name, or before */
	if (!is_key(reader, key, size))
		return 0;
	reader->table->has_large_text |= text[0] == '"' && value.size > REFERENCE_TEXT_BYTES;
	struct reference_entry entry = {
		.key = (uint32_t)(key - reader->table->text),
		.value = (uint32_t)(text - reader->table->text),
		.value_size = (uint32_t)value.size,
	};
	return add_entry(reader, entry);
}

/* ---------------------------------------------------------------- gen */

/* To stand behind the text. */
static int take_made(void *arg, const struct str *key, const struct str *value)
{
	struct reader *reader = arg;
	struct str *made = &reader->made;
	reader->made_bytes += key->size + 1 + value->size;
	if (reader->made_bytes > LIMIT_REFERENCE_MADE_BYTES)
		return err_set(EFBIG, "more than %zu bytes of keys", LIMIT_REFERENCE_MADE_BYTES);
	if (!is_key(reader, key->text, key->size))
		return 0;
	size_t at = reader->table->text_size + made->size;
	str_append_bytes(made, key->text, key->size + 1);
	str_append_bytes(made, value->text, value->size);
	if (made->failed)
		return err_set(ENOMEM, "no memory for the references");
	struct reference_entry entry = {
		.key = (uint32_t)at, .value = (uint32_t)(at + key->size + 1), .value_size = (uint32_t)value->size};
	return add_entry(reader, entry);
}

static int append_made(struct reader *reader)
{
	struct reference_table *table = reader->table;
	if (!reader->made.size)
		return 0;
	char *text = realloc(table->text, table->text_size + reader->made.size);
	if (!text)
		return err_set(ENOMEM, "no memory for the references");
	memcpy(text + table->text_size, reader->made.text, reader->made.size);
	table->text = text;
	table->text_size += reader->made.size;
	return 0;
}

static int generate(struct reader *reader, struct json_span span)
{
	struct reference_table *table = reader->table;
	struct json *gen;
	int rc = parse_part(table->text, span, "gen", &gen);
	if (!rc && gen)
		rc = reference_gen(gen, table->templates, take_made, reader);
	json_free(gen);
	return rc ? rc : append_made(reader);
}

/* ---------------------------------------------------------------- the whole */

/* By key, and of one key by the place in the text: the last wins, and what `gen` makes comes last (fsspec). */
static int compare_entries(const void *a, const void *b, void *text)
{
	const struct reference_entry *x = a, *y = b;
	int order = strcmp((const char *)text + x->key, (const char *)text + y->key);
	return order ? order : (x->key > y->key) - (x->key < y->key);
}

static void sort_last_wins(struct reference_table *table)
{
	struct reference_entry *entries = table->entries;
	size_t n = 0;
	if (table->n > 1)
		qsort_r(entries, table->n, sizeof(*entries), compare_entries, table->text);
	for (size_t i = 0; i < table->n; i++)
		if (i + 1 == table->n || strcmp(table->text + entries[i].key, table->text + entries[i + 1].key) != 0)
			entries[n++] = entries[i];
	table->n = n;
}

/* A flat document is one of references if it has a document of Zarr. */
static bool has_document(const struct reference_table *table)
{
	static const char *const names[] = {".zgroup", ".zarray", ".zattrs", ".zmetadata", "zarr.json"};
	for (size_t i = 0; i < table->n; i++) {
		const char *key = table->text + table->entries[i].key, *slash = strrchr(key, '/');
		for (size_t j = 0; j < ARRAY_LEN(names); j++)
			if (strcmp(slash ? slash + 1 : key, names[j]) == 0)
				return true;
	}
	return false;
}

static int read_version1(struct reader *reader, const struct parts *parts)
{
	struct reference_table *table = reader->table;
	int rc = check_version(table->text, parts->version);
	if (!rc)
		rc = parse_part(table->text, parts->templates, "templates", &table->templates);
	if (!rc && table->templates && json_type(table->templates) != JSON_OBJECT)
		rc = err_set(EIO, "templates: not an object");
	/* each is looked for among all, for every key that `gen` makes */
	if (!rc && table->templates && json_count(table->templates) > LIMIT_REFERENCE_TEMPLATES)
		rc = err_set(EFBIG, "templates: more than %d", LIMIT_REFERENCE_TEMPLATES);
	if (rc)
		return rc;
	reader->base = parts->refs.offset;
	rc = json_each_member(table->text + parts->refs.offset, parts->refs.size, take_member, reader);
	return rc ? err_prefix(rc, "refs") : generate(reader, parts->gen);
}

static int read_text(struct reader *reader)
{
	struct reference_table *table = reader->table;
	struct parts parts = {.text = table->text};
	int rc = json_each_member(table->text, table->text_size, note_part, &parts);
	if (rc)
		return rc;
	if (parts.refs.size)
		rc = read_version1(reader, &parts);
	else
		rc = json_each_member(table->text, table->text_size, take_member, reader);
	if (rc)
		return rc;
	sort_last_wins(table);
	if (!parts.refs.size && !has_document(table))
		return err_set(ENOENT, "not a Zarr store (a JSON file without \"refs\" and without a key of Zarr metadata)");
	return 0;
}

int reference_table_read(char *text, size_t size, const char *url, struct reference_table *ret_table)
{
	struct reference_table table = {.text = text, .text_size = size};
	struct reader reader = {.table = &table};
	str_init(&reader.made);
	str_init(&reader.first_ignored);
	int rc = size > LIMIT_REFERENCE_BYTES ? err_set(EFBIG, "a reference file of %zu bytes", size) : read_text(&reader);
	if (!rc && reader.ignored)
		log_limited(LOG_LEVEL_WARN, "reference", url,
					"%s: %" PRIu64 " names that no key can have, \"%s\" first: ignored", url, reader.ignored,
					reader.first_ignored.text);
	str_finish(&reader.made);
	str_finish(&reader.first_ignored);
	if (rc)
		reference_table_finish(&table);
	else
		*ret_table = table;
	return rc;
}

void reference_table_finish(struct reference_table *table)
{
	free(table->text);
	free(table->entries);
	json_free(table->templates);
	*table = (struct reference_table){0};
}

static const char *key_at(const void *table, size_t i)
{
	const struct reference_table *references = table;
	return references->text + references->entries[i].key;
}

struct key_table reference_table_keys(const struct reference_table *table)
{
	return (struct key_table){.table = table, .n = table->n, .key = key_at};
}
