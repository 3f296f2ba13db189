/*
 * reference_template.c: the part of Jinja that names things. Nothing is evaluated: what is not one of these is refused by name.
 *
 *     {{name}}                        a variable, else a template
 *     {{name(a='x', b="y")}}          a template with variables of its own
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/limits.h"
#include "store/reference_impl.h"

#define ARGUMENTS_MOST 16

/* One {{...}}. */
struct expression {
	const char *name;
	size_t name_size;
	bool is_call;
	struct reference_variable arguments[ARGUMENTS_MOST];
	size_t n_arguments;
};

static void skip_space(const char **p, const char *end)
{
	while (*p < end && isspace((unsigned char)**p))
		(*p)++;
}

static bool take_char(const char **p, const char *end, char c)
{
	skip_space(p, end);
	if (*p == end || **p != c)
		return false;
	(*p)++;
	return true;
}

static bool take_name(const char **p, const char *end, const char **ret_name, size_t *ret_size)
{
	skip_space(p, end);
	const char *start = *p;
	while (*p < end && (isalnum((unsigned char)**p) || **p == '_'))
		(*p)++;
	*ret_name = start;
	*ret_size = (size_t)(*p - start);
	return *ret_size > 0 && !isdigit((unsigned char)*start);
}

static bool take_string(const char **p, const char *end, const char **ret_text, size_t *ret_size)
{
	skip_space(p, end);
	if (*p == end || (**p != '\'' && **p != '"'))
		return false;
	const char *start = *p + 1, *close = memchr(start, **p, (size_t)(end - start));
	if (!close || memchr(start, '\\', (size_t)(close - start)))
		return false;
	*ret_text = start;
	*ret_size = (size_t)(close - start);
	*p = close + 1;
	return true;
}

static bool take_arguments(const char **p, const char *end, struct expression *expression)
{
	if (take_char(p, end, ')'))
		return true;
	while (expression->n_arguments < ARGUMENTS_MOST) {
		struct reference_variable *argument = &expression->arguments[expression->n_arguments++];
		if (!take_name(p, end, &argument->name, &argument->name_size) || !take_char(p, end, '=') ||
			!take_string(p, end, &argument->text, &argument->text_size))
			return false;
		if (take_char(p, end, ')'))
			return true;
		if (!take_char(p, end, ','))
			return false;
	}
	return false;
}

static bool read_expression(const char *p, const char *end, struct expression *ret_expression)
{
	*ret_expression = (struct expression){0};
	if (!take_name(&p, end, &ret_expression->name, &ret_expression->name_size))
		return false;
	ret_expression->is_call = take_char(&p, end, '(');
	if (ret_expression->is_call && !take_arguments(&p, end, ret_expression))
		return false;
	skip_space(&p, end);
	return p == end;
}

static const struct reference_variable *find_variable(const struct reference_variable *variables, size_t n,
													  const struct expression *expression)
{
	for (size_t i = 0; i < n; i++)
		if (variables[i].name_size == expression->name_size &&
			memcmp(variables[i].name, expression->name, expression->name_size) == 0)
			return &variables[i];
	return NULL;
}

/* A template that has {{...}} itself is a function, and knows its arguments only (fsspec). */
static int render_template(const struct json *templates, const struct expression *expression, struct str *out)
{
	autofree char *name = strndup(expression->name, expression->name_size);
	if (!name)
		return err_set(ENOMEM, "no memory for a template");
	const struct json *template = json_get(templates, name);
	if (!template)
		return err_set(EIO, "template \"%s\" is not defined", name);
	const char *text;
	int rc = json_string(template, name, &text, NULL);
	if (rc)
		return err_prefix(rc, "templates");
	bool is_function = strstr(text, "{{") != NULL;
	if (is_function != expression->is_call)
		return err_set(EIO, "template \"%s\" %s", name, is_function ? "needs arguments" : "takes no arguments");
	if (!is_function) {
		str_append(out, text);
		return 0;
	}
	rc = reference_render(text, NULL, expression->arguments, expression->n_arguments, out);
	return rc ? err_prefix(rc, "template \"%s\"", name) : 0;
}

static int render_expression(const char *p, const char *end, const struct json *templates,
							 const struct reference_variable *variables, size_t n_variables, struct str *out)
{
	struct expression expression;
	if (!read_expression(p, end, &expression))
		return err_set(ENOTSUP, "the expression {{%.*s}} is not read", (int)MIN(end - p, 100), p);
	const struct reference_variable *variable =
		expression.is_call ? NULL : find_variable(variables, n_variables, &expression);
	if (!variable)
		return render_template(templates, &expression, out);
	str_append_bytes(out, variable->text, variable->text_size);
	return 0;
}

int reference_render(const char *text, const struct json *templates, const struct reference_variable *variables,
					 size_t n_variables, struct str *out)
{
	if (strstr(text, "{%") || strstr(text, "{#"))
		return err_set(ENOTSUP, "{%% and {# of Jinja are not read");
	int n = 0;
	for (const char *open; (open = strstr(text, "{{"));) {
		if (++n > LIMIT_REFERENCE_EXPRESSIONS)
			return err_set(EFBIG, "more than %d expressions", LIMIT_REFERENCE_EXPRESSIONS);
		const char *close = strstr(open, "}}");
		if (!close)
			return err_set(EIO, "{{ without }}");
		str_append_bytes(out, text, (size_t)(open - text));
		int rc = render_expression(open + 2, close, templates, variables, n_variables, out);
		if (rc)
			return rc;
		if (out->size > LIMIT_REFERENCE_RENDERED)
			return err_set(EFBIG, "a text of templates of more than %zu bytes", LIMIT_REFERENCE_RENDERED);
		text = close + 2;
	}
	str_append(out, text);
	return out->failed ? err_set(ENOMEM, "no memory for a template") : 0;
}
