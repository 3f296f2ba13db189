/*
 * json.c: parsed documents: the tree that cJSON builds from a scanned text, put right, in an arena of its own.
 *
 * The items of a finished tree are cJSON's, read our way:
 *
 *      string    valuestring, valueint bytes (NULs among them)
 *      number    type cJSON_Number, valuestring is the spelling; valueint and valuedouble mean nothing
 *      array, object   valueint counts its items
 *      member    string is its name, valuedouble its position in the document's object, duplicates counted
 *
 * cJSON allocates from the arena that this thread is parsing into, so freeing a document is freeing a few blocks.
 */
#include "base/json.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "base/err.h"
#include "base/json_parts.h"
#include "base/str.h"

#define QUOTE(number) #number
#define VERSION(major, minor, patch) QUOTE(major) "." QUOTE(minor) "." QUOTE(patch)
#define JSON_LIBRARY "cJSON " VERSION(CJSON_VERSION_MAJOR, CJSON_VERSION_MINOR, CJSON_VERSION_PATCH)

/* ------------------------------------------------ arena ------------------------------------------------ */

#define BLOCK_MIN ((size_t)1 << 10)
#define BLOCK_MAX ((size_t)4 << 20)

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(16) uint8_t bytes[];
};

struct arena {
	struct block *blocks; /* newest first */
	size_t block_size;	  /* of the next one */
	bool failed;
};

static _Thread_local struct arena *arena_current;

static void *arena_alloc(size_t size)
{
	struct arena *arena = arena_current;
	size_t rounded = (size + 7) & ~(size_t)7;
	if (!arena || rounded < size)
		return NULL;
	struct block *block = arena->blocks;
	if (!block || block->size - block->used < rounded) {
		size_t block_size = MAX(arena->block_size, rounded);
		block = malloc(sizeof(*block) + block_size);
		if (!block) {
			arena->failed = true;
			return NULL;
		}
		*block = (struct block){.next = arena->blocks, .size = block_size};
		arena->blocks = block;
		arena->block_size = MIN(arena->block_size * 2, BLOCK_MAX);
	}
	void *memory = block->bytes + block->used;
	block->used += rounded;
	return memory;
}

/* An item goes when its arena goes. */
static void arena_keep(void *memory)
{
}

static void arena_finish(struct arena *arena)
{
	while (arena->blocks) {
		struct block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}

/* ------------------------------------------------ parse ------------------------------------------------ */

struct document {
	cJSON root; /* first: a struct json is a cJSON, the root's leads to its document */
	struct arena arena;
	struct json_span *members;
};

static const cJSON *item_of(const struct json *json)
{
	return (const cJSON *)json;
}

static const struct json *json_of(const cJSON *item)
{
	return (const struct json *)item;
}

/* Undoes the scan's marks in a string or number, in place; without a mark it only counts. */
static void restore_value(cJSON *item)
{
	char *text = item->valuestring;
	if (text[0] == JSON_MARK && text[1] == JSON_MARK_NUMBER) {
		item->type = cJSON_Number;
		item->valuestring = text + 2;
		return;
	}
	char *to = strchrnul(text, JSON_MARK);
	for (const char *from = to; *from; from++)
		if (*from != JSON_MARK)
			*to++ = *from;
		else
			*to++ = *++from == JSON_MARK_NUL ? '\0' : JSON_MARK;
	*to = '\0';
	item->valueint = (int)(to - text);
}

/* Takes a member out of its object. cJSON's lists: the first item's `prev` is the last item. */
static void unlink_member(cJSON *object, cJSON *member)
{
	if (member == object->child)
		object->child = member->next;
	else
		member->prev->next = member->next;
	if (member->next)
		member->next->prev = member->prev;
	else if (object->child)
		object->child->prev = member->prev;
	object->valueint--;
}

static int compare_members(const void *a, const void *b)
{
	const cJSON *x = *(cJSON *const *)a, *y = *(cJSON *const *)b;
	int order = strcmp(x->string, y->string);
	return order != 0 ? order : (x->valuedouble > y->valuedouble) - (x->valuedouble < y->valuedouble);
}

/* Unlinks members whose name comes again later. Sorted, they stand side by side: no quadratic search. */
static int drop_duplicates(cJSON *object, bool *ret_found)
{
	size_t n = (size_t)object->valueint, i = 0;
	cJSON *few[16];
	autofree cJSON **many = n > ARRAY_LEN(few) ? malloc(n * sizeof(cJSON *)) : NULL;
	cJSON **members = n > ARRAY_LEN(few) ? many : few;
	if (!members)
		return err_set(ENOMEM, "out of memory");
	bool ascending = true;
	for (cJSON *member = object->child; member; member = member->next) {
		members[i] = member;
		ascending = ascending && (i == 0 || strcmp(members[i - 1]->string, member->string) < 0);
		i++;
	}
	if (ascending)
		return 0;
	qsort(members, n, sizeof(*members), compare_members);
	for (i = 0; i + 1 < n; i++)
		if (strcmp(members[i]->string, members[i + 1]->string) == 0) {
			unlink_member(object, members[i]);
			*ret_found = true;
		}
	return 0;
}

/* Puts the tree under `item` right, as described at the top; recursive within LIMIT_JSON_DEPTH. */
static int restore_tree(cJSON *item, bool *ret_duplicates)
{
	if (item->type == cJSON_String)
		restore_value(item);
	if (item->type != cJSON_Array && item->type != cJSON_Object)
		return 0;
	item->valueint = 0;
	for (cJSON *child = item->child; child; child = child->next)
		child->valuedouble = item->valueint++;
	int rc = item->type == cJSON_Object ? drop_duplicates(item, ret_duplicates) : 0;
	for (cJSON *child = item->child; child && rc == 0; child = child->next)
		rc = restore_tree(child, ret_duplicates);
	return rc;
}

static void use_arenas(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){.malloc_fn = arena_alloc, .free_fn = arena_keep});
}

/* Fills `document` from a scanned text; its arena is the caller's to finish, also after a failure. */
static int document_build(struct document *document, const struct json_scan *scan, bool *ret_duplicates)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, use_arenas);
	document->arena.block_size = MIN(MAX(2 * scan->size, BLOCK_MIN), BLOCK_MAX);
	arena_current = &document->arena;
	cJSON *root = cJSON_ParseWithLength(scan->text, scan->size);
	arena_current = NULL;
	if (document->arena.failed)
		return err_set(ENOMEM, "out of memory");
	if (!root)
		return err_set(EIO, "malformed JSON");
	document->root = *root;
	return restore_tree(&document->root, ret_duplicates);
}

int json_parse(const char *text, size_t size, uint64_t max_bytes, bool *ret_duplicates, struct json **ret_root)
{
	if (size > max_bytes || size > INT_MAX)
		return err_set(EFBIG, "a document of %zu bytes, at most %llu are supported", size,
					   (unsigned long long)MIN(max_bytes, (uint64_t)INT_MAX));
	struct json_scan scan;
	int rc = json_scan(text, size, &scan);
	if (rc < 0)
		return rc;
	bool duplicates = false;
	struct document *document = calloc(1, sizeof(*document));
	rc = document ? document_build(document, &scan, &duplicates) : err_set(ENOMEM, "out of memory");
	if (rc == 0) {
		document->members = scan.members;
		scan.members = NULL;
		*ret_root = (struct json *)&document->root;
		if (ret_duplicates)
			*ret_duplicates = duplicates;
	} else if (document) {
		arena_finish(&document->arena);
		free(document);
	}
	json_scan_finish(&scan);
	return rc;
}

void json_free(struct json *root)
{
	struct document *document = (struct document *)root;
	if (!document)
		return;
	arena_finish(&document->arena);
	free(document->members);
	free(document);
}

/* ------------------------------------------------ the tree ------------------------------------------------ */

enum json_type json_type(const struct json *json)
{
	switch (item_of(json)->type) {
	case cJSON_True:
	case cJSON_False:
		return JSON_BOOL;
	case cJSON_Number:
		return JSON_NUMBER;
	case cJSON_String:
		return JSON_STRING;
	case cJSON_Array:
		return JSON_ARRAY;
	case cJSON_Object:
		return JSON_OBJECT;
	default:
		return JSON_NULL;
	}
}

const char *json_type_name(enum json_type type)
{
	static const char *const names[] = {
		[JSON_NULL] = "null",		[JSON_BOOL] = "a boolean", [JSON_NUMBER] = "a number",
		[JSON_STRING] = "a string", [JSON_ARRAY] = "an array", [JSON_OBJECT] = "an object"};
	return names[type];
}

const struct json *json_get(const struct json *json, const char *name)
{
	if (!json || json_type(json) != JSON_OBJECT)
		return NULL;
	const cJSON *member = item_of(json)->child;
	while (member && strcmp(member->string, name) != 0)
		member = member->next;
	return json_of(member);
}

static bool is_container(const struct json *json)
{
	return json && (json_type(json) == JSON_ARRAY || json_type(json) == JSON_OBJECT);
}

size_t json_count(const struct json *json)
{
	return is_container(json) ? (size_t)item_of(json)->valueint : 0;
}

const struct json *json_first(const struct json *json)
{
	return is_container(json) ? json_of(item_of(json)->child) : NULL;
}

const struct json *json_next(const struct json *item)
{
	return json_of(item_of(item)->next);
}

const char *json_name(const struct json *item)
{
	return item_of(item)->string;
}

bool json_slice(const struct json *root, const char *name, size_t *ret_offset, size_t *ret_size)
{
	const struct json *member = json_get(root, name);
	if (!member)
		return false;
	const struct document *document = (const struct document *)root;
	const struct json_span *span = &document->members[(size_t)item_of(member)->valuedouble];
	*ret_offset = span->offset;
	*ret_size = span->size;
	return true;
}

/* ------------------------------------------------ values ------------------------------------------------ */

int json_wrong_type(const struct json *json, const char *what, const char *wanted)
{
	if (!json)
		return err_set(EIO, "%s: missing", what);
	return err_set(EIO, "%s: not %s but %s", what, wanted, json_type_name(json_type(json)));
}

int json_bool(const struct json *json, const char *what, bool *ret)
{
	if (!json || json_type(json) != JSON_BOOL)
		return json_wrong_type(json, what, "a boolean");
	*ret = item_of(json)->type == cJSON_True;
	return 0;
}

int json_string(const struct json *json, const char *what, const char **ret_text, size_t *ret_size)
{
	if (!json || json_type(json) != JSON_STRING)
		return json_wrong_type(json, what, "a string");
	const cJSON *item = item_of(json);
	size_t size = (size_t)item->valueint;
	if (!ret_size && memchr(item->valuestring, '\0', size))
		return err_set(EIO, "%s: a NUL in the string", what);
	*ret_text = item->valuestring;
	if (ret_size)
		*ret_size = size;
	return 0;
}

const char *json_number_text(const struct json *json)
{
	return json && json_type(json) == JSON_NUMBER ? item_of(json)->valuestring : NULL;
}

/* ------------------------------------------------ print ------------------------------------------------ */

static void print_value(struct str *out, const cJSON *item)
{
	switch (json_type(json_of(item))) {
	case JSON_NULL:
		str_append(out, "null");
		return;
	case JSON_BOOL:
		str_append(out, item->type == cJSON_True ? "true" : "false");
		return;
	case JSON_NUMBER:
		str_append(out, item->valuestring);
		return;
	case JSON_STRING:
		str_append_json(out, item->valuestring, (size_t)item->valueint);
		return;
	case JSON_ARRAY:
	case JSON_OBJECT:
		break;
	}
	bool object = item->type == cJSON_Object;
	str_append(out, object ? "{" : "[");
	for (const cJSON *child = item->child; child; child = child->next) {
		if (child != item->child)
			str_append(out, ",");
		if (object) {
			str_append_json(out, child->string, strlen(child->string));
			str_append(out, ":");
		}
		print_value(out, child);
	}
	str_append(out, object ? "}" : "]");
}

char *json_print(const struct json *json)
{
	autostr(out);
	char *text;
	print_value(&out, item_of(json));
	return str_take(&out, &text) == 0 ? text : NULL;
}

const char *json_library(void)
{
	return JSON_LIBRARY;
}
