/*
 * reference_gen.c: keys made from ranges of numbers:
 *
 *     {"key": "a/{{i}}", "url": "f{{i}}.bin", "offset": "0", "length": "{{n}}", "dimensions": {"i": {"start": 0, "stop": 9, "step": 1},
 *      "n": [10, 20]}}
 *
 * One key for each combination, the last dimension fastest; `offset` and `length` stand together or not at all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "store/reference_impl.h"

#define NUMBER_BYTES 24

/* One dimension and where its number is. */
struct dimension {
	bool is_list;
	const struct json *first, *at; /* of a list */
	int64_t start, stop, step;	   /* of a range */
	int64_t number;
	char text[NUMBER_BYTES];
};

struct generator {
	const struct json *templates;
	const char *key, *url, *offset, *length; /* the last two may be NULL */
	struct dimension dimensions[LIMIT_DIMS];
	struct reference_variable variables[LIMIT_DIMS];
	size_t n;
	uint64_t *made; /* by all generators */
	int (*emit)(void *arg, const struct str *key, const struct str *value);
	void *arg;
};

/* ---------------------------------------------------------------- dimensions */

static int optional_int(const struct json *object, const char *name, int64_t fallback, int64_t *ret)
{
	const struct json *number = json_get(object, name);
	*ret = fallback;
	return number ? json_int64(number, name, ret) : 0;
}

static int read_range(const struct json *json, struct dimension *dimension)
{
	int rc = optional_int(json, "start", 0, &dimension->start);
	if (!rc)
		rc = optional_int(json, "step", 1, &dimension->step);
	if (!rc)
		rc = json_int64(json_get(json, "stop"), "stop", &dimension->stop);
	if (!rc && dimension->step == 0)
		rc = err_set(EIO, "step: 0");
	return rc;
}

/* Numbers of a list are looked at now, so that nothing fails later. */
static int read_list(const struct json *json, struct dimension *dimension)
{
	int rc = 0;
	int64_t number;
	for (const struct json *item = json_first(json); item && !rc; item = json_next(item))
		rc = json_int64(item, "a number", &number);
	dimension->is_list = true;
	dimension->first = json_first(json);
	return rc;
}

static int read_dimension(struct generator *generator, const struct json *json)
{
	const char *name = json_name(json);
	if (generator->n == LIMIT_DIMS)
		return err_set(EFBIG, "more than %d dimensions", LIMIT_DIMS);
	struct dimension *dimension = &generator->dimensions[generator->n];
	int rc;
	*dimension = (struct dimension){0};
	if (json_type(json) == JSON_ARRAY)
		rc = read_list(json, dimension);
	else if (json_type(json) == JSON_OBJECT)
		rc = read_range(json, dimension);
	else
		rc = err_set(EIO, "neither a list nor a range");
	if (rc)
		return err_prefix(rc, "dimensions.%s", name);
	generator->variables[generator->n++] =
		(struct reference_variable){.name = name, .name_size = strlen(name), .text = dimension->text};
	return 0;
}

static void show_number(struct generator *generator, size_t i)
{
	struct dimension *dimension = &generator->dimensions[i];
	if (dimension->is_list)
		json_int64(dimension->at, "", &dimension->number);
	generator->variables[i].text_size =
		(size_t)snprintf(dimension->text, sizeof(dimension->text), "%" PRId64, dimension->number);
}

static bool has_number(const struct dimension *dimension)
{
	if (dimension->is_list)
		return dimension->at;
	return dimension->step > 0 ? dimension->number < dimension->stop : dimension->number > dimension->stop;
}

/* To its first number; false when it has none. */
static bool rewind_dimension(struct generator *generator, size_t i)
{
	struct dimension *dimension = &generator->dimensions[i];
	dimension->at = dimension->first;
	dimension->number = dimension->start;
	if (!has_number(dimension))
		return false;
	show_number(generator, i);
	return true;
}

static bool move_dimension(struct generator *generator, size_t i)
{
	struct dimension *dimension = &generator->dimensions[i];
	if (dimension->is_list)
		dimension->at = json_next(dimension->at);
	else if (__builtin_add_overflow(dimension->number, dimension->step, &dimension->number))
		return false;
	if (!has_number(dimension))
		return false;
	show_number(generator, i);
	return true;
}

/* ---------------------------------------------------------------- keys and values */

static int render(const struct generator *generator, const char *what, const char *text, struct str *out)
{
	int rc = reference_render(text, generator->templates, generator->variables, generator->n, out);
	return rc ? err_prefix(rc, "%s", what) : 0;
}

static int append_number(const struct generator *generator, const char *what, const char *text, struct str *value)
{
	autostr(digits);
	int rc = render(generator, what, text, &digits);
	if (rc)
		return rc;
	errno = 0;
	unsigned long long number = strtoull(digits.text, NULL, 10);
	if (!digits.size || strspn(digits.text, "0123456789") != digits.size || errno)
		return err_set(EIO, "%s: \"%.100s\" is no number of bytes", what, digits.text);
	str_appendf(value, ",%llu", number);
	return 0;
}

static int make_one(struct generator *generator)
{
	autostr(key);
	autostr(url);
	autostr(value);
	if (++*generator->made > LIMIT_REFERENCE_MADE)
		return err_set(EFBIG, "more than %u keys", LIMIT_REFERENCE_MADE);
	int rc = render(generator, "key", generator->key, &key);
	if (!rc)
		rc = render(generator, "url", generator->url, &url);
	str_append(&value, "[");
	str_append_json(&value, url.text, url.size);
	if (!rc && generator->offset)
		rc = append_number(generator, "offset", generator->offset, &value);
	if (!rc && generator->length)
		rc = append_number(generator, "length", generator->length, &value);
	str_append(&value, "]");
	if (!rc && value.failed)
		rc = err_set(ENOMEM, "no memory for the references");
	return rc ? rc : generator->emit(generator->arg, &key, &value);
}

static int make_all(struct generator *generator)
{
	for (size_t i = 0; i < generator->n; i++)
		if (!rewind_dimension(generator, i))
			return 0;
	for (;;) {
		int rc = make_one(generator);
		if (rc)
			return rc;
		size_t i = generator->n;
		while (i > 0 && !move_dimension(generator, i - 1))
			rewind_dimension(generator, --i);
		if (i == 0)
			return 0;
	}
}

/* ---------------------------------------------------------------- the document */

static int optional_text(const struct json *json, const char *name, const char **ret_text)
{
	const struct json *member = json_get(json, name);
	*ret_text = NULL;
	return member ? json_string(member, name, ret_text, NULL) : 0;
}

static int read_generator(const struct json *json, struct generator *generator)
{
	const struct json *dimensions = json_get(json, "dimensions");
	int rc = json_string(json_get(json, "key"), "key", &generator->key, NULL);
	if (!rc)
		rc = json_string(json_get(json, "url"), "url", &generator->url, NULL);
	if (!rc)
		rc = optional_text(json, "offset", &generator->offset);
	if (!rc)
		rc = optional_text(json, "length", &generator->length);
	if (!rc && !generator->offset != !generator->length)
		rc = err_set(EIO, "offset and length stand together");
	if (!rc && (!dimensions || json_type(dimensions) != JSON_OBJECT))
		rc = err_set(EIO, "dimensions: not an object");
	for (const struct json *item = json_first(dimensions); item && !rc; item = json_next(item))
		rc = read_dimension(generator, item);
	return rc;
}

int reference_gen(const struct json *gen, const struct json *templates,
				  int (*emit)(void *arg, const struct str *key, const struct str *value), void *arg)
{
	uint64_t made = 0;
	size_t i = 0;
	if (json_type(gen) != JSON_ARRAY)
		return err_set(EIO, "gen: not a list");
	for (const struct json *item = json_first(gen); item; item = json_next(item), i++) {
		struct generator generator = {.templates = templates, .made = &made, .emit = emit, .arg = arg};
		int rc = read_generator(item, &generator);
		if (!rc)
			rc = make_all(&generator);
		if (rc)
			return err_prefix(rc, "gen[%zu]", i);
	}
	return 0;
}
