/*
 * xattr.c: user.zarr.*: what `getfattr` shows of an array.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/limits.h"
#include "base/str.h"
#include "fs/fs_impl.h"
#include "view/facts.h"

#define PREFIX "user.zarr."

static int find_node(struct fs *fs, uint64_t handle, struct node **ret_node)
{
	struct inode inode;
	int rc = inode_table_copy(fs->inodes, handle, &inode);
	if (rc)
		return rc;
	if (inode.kind != INODE_VIEW)
		return -ENODATA;
	*ret_node = inode.node;
	return 0;
}

/* A JSON string becomes the text that it means; what else there is stays JSON. */
static int take_text(struct str *json_text, char **ret_value)
{
	struct json *json;
	const char *text;
	size_t size;
	if (json_text->size == 0 || json_text->text[0] != '"')
		return str_take(json_text, ret_value);
	int rc = json_parse(json_text->text, json_text->size, LIMIT_JSON_BYTES, NULL, &json);
	if (rc)
		return rc;
	autostr(value);
	rc = json_string(json, "attribute", &text, &size);
	if (!rc)
		str_append_bytes(&value, text, size);
	json_free(json);
	return rc ? rc : str_take(&value, ret_value);
}

int fs_getxattr(struct fs *fs, uint64_t handle, const char *name, enum store_how how, char **ret_value)
{
	struct node *node;
	autostr(str);
	(void)how;
	/* security.* and system.* are asked for with every write and `ls -l`: answered without a look at the node */
	if (strncmp(name, PREFIX, strlen(PREFIX)))
		return -ENODATA;
	int rc = find_node(fs, handle, &node);
	if (!rc)
		rc = facts_append_one(fs->hierarchy, node, name + strlen(PREFIX), &str);
	if (rc)
		return rc;
	return take_text(&str, ret_value);
}

int fs_listxattr(struct fs *fs, uint64_t handle, enum store_how how, char **ret_names, size_t *ret_size)
{
	struct node *node;
	autostr(names);
	(void)how;
	int rc = find_node(fs, handle, &node);
	if (rc && rc != -ENODATA)
		return rc;
	const char *fact;
	for (int i = 0; !rc && (fact = facts_name(i)); i++) {
		autostr(value);
		if (facts_append_one(fs->hierarchy, node, fact, &value))
			continue;
		str_appendf(&names, PREFIX "%s", fact);
		str_append_bytes(&names, "", 1);
	}
	*ret_size = names.size;
	return str_take(&names, ret_names);
}
