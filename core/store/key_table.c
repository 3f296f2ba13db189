/* key_table.c: look-ups and listings by binary search. */
#include "store/key_table.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

size_t key_table_find(const struct key_table *keys, const char *key)
{
	size_t low = 0, high = keys->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(keys->key(keys->table, middle), key) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool key_table_get(const struct key_table *keys, const char *key, size_t *ret_i)
{
	size_t i = key_table_find(keys, key);
	if (i == keys->n || strcmp(keys->key(keys->table, i), key) != 0)
		return false;
	*ret_i = i;
	return true;
}

/* From one child to the next by search: what is below a child may be many. */
int key_table_list(const struct key_table *keys, const char *prefix,
				   int (*emit)(void *arg, const char *name, bool is_prefix), void *arg)
{
	autostr(start);
	str_appendf(&start, "%s%s", prefix, prefix[0] ? "/" : "");
	size_t skip = start.size;
	bool found = prefix[0] == '\0';
	int rc = 0;
	for (size_t i = key_table_find(keys, start.text); !rc && i < keys->n;) {
		const char *key = keys->key(keys->table, i), *name = key + skip;
		if (start.failed)
			return err_set(ENOMEM, "%s: no memory", prefix);
		if (strncmp(key, start.text, skip) != 0)
			break;
		size_t size = strcspn(name, "/");
		bool is_prefix = name[size] == '/';
		found = true;
		start.size = skip;
		str_append_bytes(&start, name, size);
		if (size)
			rc = emit(arg, start.text + skip, is_prefix);
		str_append_bytes(&start, "0", 1); /* the character after the slash */
		i = is_prefix ? key_table_find(keys, start.text) : i + 1;
	}
	if (rc)
		return rc;
	return found ? 0 : err_set(ENOENT, "%s: no such prefix", prefix);
}
