/*
 * xattr.c: user.zarr.*: what `getfattr` shows of an array.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
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

/* JSON text without the quotes of a string, which nobody wants to read in a shell. */
static void unquote(struct str *str)
{
	if (str->size >= 2 && str->text[0] == '"' && !strpbrk(str->text + 1, "\\")) {
		memmove(str->text, str->text + 1, str->size - 2);
		str->size -= 2;
		str->text[str->size] = 0;
	}
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
	unquote(&str);
	return str_take(&str, ret_value);
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
