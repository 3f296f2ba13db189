/*
 * test_hierarchy.c: which nodes a store has, over stores in memory. A tree is printed one node a line, depth first:
 *
 *     path kind format        kind: G group, A array, B broken, B+ broken with children; format 0 for an implicit group
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../lib/check_main.h"

#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "hierarchy/hierarchy.h"
#include "store/mem.h"

#define ARRAY3_OF(shape, codecs)                                                                                       \
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[" shape "],\"data_type\":\"uint8\",\"chunk_grid\":"         \
	"{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},\"chunk_key_encoding\":{\"name\":\"default\"},"    \
	"\"fill_value\":0,\"codecs\":[" codecs "]}"
#define ARRAY3 ARRAY3_OF("4", "{\"name\":\"bytes\"}")
#define GROUP3 "{\"zarr_format\":3,\"node_type\":\"group\"}"
#define GROUP3_WITH(members)                                                                                           \
	"{\"zarr_format\":3,\"node_type\":\"group\",\"consolidated_metadata\":{\"kind\":\"inline\","                       \
	"\"must_understand\":false,\"metadata\":{" members "}}}"
#define ARRAY3_WITH(attributes)                                                                                        \
	"{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[4],\"data_type\":\"uint8\",\"chunk_grid\":"                 \
	"{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[2]}},\"chunk_key_encoding\":{\"name\":\"default\"},"    \
	"\"fill_value\":0,\"codecs\":[\"bytes\"],\"attributes\":" attributes "}"
#define ARRAY2                                                                                                         \
	"{\"zarr_format\":2,\"shape\":[4],\"chunks\":[2],\"dtype\":\"|u1\",\"compressor\":null,\"fill_value\":0,"          \
	"\"order\":\"C\",\"filters\":null}"
#define GROUP2 "{\"zarr_format\":2}"
#define ZMETADATA(members) "{\"zarr_consolidated_format\":1,\"metadata\":{" members "}}"

#define MAX_VALUES 16

struct pair {
	const char *key, *text;
};

static struct store *store;
static struct cache *cache;
static struct hierarchy *hierarchy;

static struct {
	int n;
	char last[512];
} logged;

static void count_line(enum log_level level, const char *line, void *arg)
{
	logged.n++;
	snprintf(logged.last, sizeof(logged.last), "%s", line);
}

/* log_limited knows a store by its name, so each test's has another. */
static void make_store(bool can_list)
{
	static int number;
	char name[32];
	snprintf(name, sizeof(name), "hierarchy-%d.zarr", number++);
	ck_assert_int_eq(mem_store_new(name, can_list, &store), 0);
	ck_assert_int_eq(cache_new(1 << 20, 16, &cache), 0);
	logged.n = 0;
	log_set_sink(count_line, NULL);
}

static void put(const char *key, const char *text)
{
	ck_assert_int_eq(mem_store_put(store, key, text, strlen(text)), 0);
}

static int open_hierarchy(void)
{
	struct array_env env = {.store = store, .cache = cache, .max_chunk = LIMIT_CHUNK_BYTES};
	return hierarchy_open(&env, &hierarchy);
}

static void open_well(void)
{
	int rc = open_hierarchy();
	ck_assert_msg(rc == 0, "%d %s", rc, err_message());
}

static void tear_down(void)
{
	hierarchy_close(hierarchy);
	hierarchy = NULL;
	cache_free(cache);
	cache = NULL;
	store_close(store);
	store = NULL;
	log_set_sink(NULL, NULL);
}

static struct node *find(const char *path)
{
	struct node *node = NULL;
	int rc = hierarchy_find(hierarchy, path, &node);
	ck_assert_msg(rc == 0, "%s: %d %s", path, rc, err_message());
	return node;
}

static void print_tree(struct node *node, struct str *str)
{
	static const char *const kinds[] = {[NODE_GROUP] = "G", [NODE_ARRAY] = "A", [NODE_BROKEN] = "B"};
	str_appendf(str, "%s %s%s %d\n", node->path[0] ? node->path : "/", kinds[node->kind], node->has_children ? "+" : "",
				node->zarr_format);
	struct node *const *children;
	size_t n;
	int rc = node_children(hierarchy, node, STORE_WAIT, &children, &n);
	ck_assert_msg(rc == 0, "%s: %d %s", node->path, rc, err_message());
	for (size_t i = 0; i < n; i++) {
		ck_assert_ptr_eq(children[i]->parent, node);
		ck_assert_ptr_eq(find(children[i]->path), children[i]);
		print_tree(children[i], str);
	}
}

static void check_tree(const char *expected)
{
	autostr(str);
	print_tree(hierarchy_root(hierarchy), &str);
	ck_assert_str_eq(str.text, expected);
}

static const struct tree {
	const char *name;
	bool cannot_list;
	struct pair values[MAX_VALUES];
	const char *expected;
} trees[] = {
	{"v3",
	 false,
	 {{"zarr.json", GROUP3},
	  {"g/zarr.json", GROUP3},
	  {"g/b/zarr.json", ARRAY3},
	  {"g/a/zarr.json", ARRAY3},
	  {"t/zarr.json", ARRAY3}},
	 "/ G 3\ng G 3\ng/a A 3\ng/b A 3\nt A 3\n"},
	{"v2",
	 false,
	 {{".zgroup", GROUP2}, {".zattrs", "{\"x\":1}"}, {"g/.zgroup", GROUP2}, {"g/a/.zarray", ARRAY2}, {"g/a/0", "12"}},
	 "/ G 2\ng G 2\ng/a A 2\n"},
	{"the root is an array", false, {{"zarr.json", ARRAY3}, {"c/0", "12"}, {"c/zarr.json", ARRAY3}}, "/ A 3\n"},
	{"the root is an array of v2", false, {{".zarray", ARRAY2}, {"0", "12"}}, "/ A 2\n"},
	{"groups without documents",
	 false,
	 {{"zarr.json", GROUP3}, {"a/b/t/zarr.json", ARRAY3}, {"empty/file.txt", "x"}},
	 "/ G 3\na G 0\na/b G 0\na/b/t A 3\nempty G 0\n"},
	{"a root without a document",
	 false,
	 {{"a/b/t/.zarray", ARRAY2}, {"u/zarr.json", ARRAY3}},
	 "/ G 0\na G 0\na/b G 0\na/b/t A 2\nu A 3\n"},
	{"v3 beside v2",
	 false,
	 {{"zarr.json", GROUP3}, {".zgroup", GROUP2}, {"t/zarr.json", ARRAY3}, {"t/.zarray", ARRAY2}},
	 "/ G 3\nt A 3\n"},
	{".zarray beside .zgroup",
	 false,
	 {{".zgroup", GROUP2}, {"t/.zarray", ARRAY2}, {"t/.zgroup", GROUP2}},
	 "/ G 2\nt A 2\n"},
	{"a node inside an array is none",
	 false,
	 {{"zarr.json", GROUP3}, {"t/zarr.json", ARRAY3}, {"t/u/zarr.json", ARRAY3}},
	 "/ G 3\nt A 3\n"},
	{"noise and reserved names",
	 false,
	 {{"zarr.json", GROUP3},
	  {"._t/zarr.json", ARRAY3},
	  {"__MACOSX/t/zarr.json", ARRAY3},
	  {"__v/zarr.json", ARRAY3},
	  {".git/HEAD", "x"},
	  {".t/zarr.json", ARRAY3},
	  {".DS_Store", "x"}},
	 "/ G 3\n.t A 3\n"},
	{"v2 has no reserved prefix",
	 false,
	 {{".zgroup", GROUP2}, {"__v/.zarray", ARRAY2}, {"__MACOSX/x/y", "x"}},
	 "/ G 2\n__v A 2\n"},
	{"broken documents harm nobody else",
	 false,
	 {{"zarr.json", GROUP3},
	  {"a/zarr.json", "{"},
	  {"b/zarr.json", ARRAY3},
	  {"g/zarr.json", "{]"},
	  {"g/t/zarr.json", ARRAY3},
	  {"h/zarr.json", "{]"},
	  {"h/t/0", "x"}},
	 "/ G 3\na B 3\nb A 3\ng B+ 3\ng/t A 3\nh B 3\n"},
	{"a broken root", false, {{".zgroup", "[]"}, {"t/.zarray", ARRAY2}}, "/ B+ 2\nt A 2\n"},
	{"consolidated v3, not listed",
	 true,
	 {{"zarr.json", GROUP3_WITH("\"g\":" GROUP3_WITH("") ",\"g/t\":" ARRAY3 ",\"/h//i/u/\":" ARRAY3 ",\"g-x\":" ARRAY3
														 ",\"../v\":" ARRAY3 ",\"bad\":7")},
	  {"t/zarr.json", ARRAY3}},
	 "/ G 3\nbad B 3\ng G 3\ng/t A 3\ng-x A 3\nh G 0\nh/i G 0\nh/i/u A 3\n"},
	{"consolidated v2, not listed",
	 true,
	 {{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\".zgroup\":" GROUP2 ",\"g/.zgroup\":" GROUP2 ",\"g/t/.zarray\":" ARRAY2
							   ",\"g/t/.zattrs\":{},\"h/u/.zarray\":" ARRAY2 ",\"h/u/0\":{}")}},
	 "/ G 2\ng G 2\ng/t A 2\nh G 0\nh/u A 2\n"},
	{"consolidated v2 and nothing else",
	 true,
	 {{".zmetadata", ZMETADATA("\".zgroup\":" GROUP2 ",\"t/.zarray\":" ARRAY2)}},
	 "/ G 2\nt A 2\n"},
	{"consolidated v2 without the root's document",
	 true,
	 {{".zmetadata", ZMETADATA("\"t/.zarray\":" ARRAY2)}},
	 "/ G 0\nt A 2\n"},
	{"own documents win where the store lists",
	 false,
	 {{"zarr.json", GROUP3_WITH("\"gone\":" ARRAY3 ",\"t\":" GROUP3)},
	  {"t/zarr.json", ARRAY3},
	  {"new/zarr.json", ARRAY3}},
	 "/ G 3\nnew A 3\nt A 3\n"},
	{"own documents win where the store lists, of v2",
	 false,
	 {{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\".zgroup\":" GROUP2 ",\"gone/.zarray\":" ARRAY2 ",\"t/.zgroup\":" GROUP2)},
	  {"t/.zarray", ARRAY2},
	  {"new/.zarray", ARRAY2}},
	 "/ G 2\nnew A 2\nt A 2\n"},
	{"keys of NCZarr, of every age",
	 false,
	 {{".zgroup",
	   "{\"zarr_format\":2,\"_NCZARR_SUPERBLOCK\":{\"version\":\"2.0.0\"},\"_nczarr_group\":{\"vars\":[\"t\"]}}"},
	  {".zattrs",
	   "{\"_nczarr_superblock\":{\"version\":\"2.0.0\"},\"_nczarr_attr\":{\"types\":{}},\"_NCProperties\":\"x\"}"},
	  {".nczarr", "{\"nczarr_version\":\"1.0.0\"}"},
	  {".nczgroup", "{\"dims\":{},\"vars\":[\"t\"],\"groups\":[\"g\"]}"},
	  {".nczattr", "{\"types\":{}}"},
	  {".zmetadata", "{\"zarr_consolidated_format\":1,\"metadata\":{\".nczgroup\":{},\"t/.nczarray\":{}}}"},
	  {"g/.zgroup", GROUP2},
	  {"g/.nczgroup", "{}"},
	  {"t/.zarray", ARRAY2},
	  {"t/.zattrs", "{\"_nczarr_array\":{\"dimension_references\":[\"/x\"],\"storage\":\"chunked\"}}"},
	  {"t/.nczarray", "{\"dimrefs\":[\"/x\"],\"storage\":\"chunked\"}"},
	  {"t/.nczattr", "{\"types\":{}}"}},
	 "/ G 2\ng G 2\nt A 2\n"},
	{"OME-Zarr 0.4: a plate beside an image with labels",
	 false,
	 {{".zgroup", GROUP2},
	  {".zattrs", "{\"bioformats2raw.layout\":3,\"plate\":{\"wells\":[{\"path\":\"A/1\"}],\"version\":\"0.4\"}}"},
	  {"OME/METADATA.ome.xml", "<OME/>"},
	  {"OME/.zgroup", GROUP2},
	  {"OME/.zattrs", "{\"series\":[\"A/1/0\"]}"},
	  {"A/1/.zattrs", "{\"well\":{\"images\":[{\"path\":\"0\"}]}}"},
	  {"A/1/0/.zgroup", GROUP2},
	  {"A/1/0/.zattrs", "{\"multiscales\":[{\"version\":\"0.4\",\"datasets\":[{\"path\":\"0\"}]}],\"omero\":{}}"},
	  {"A/1/0/0/.zarray", ARRAY2},
	  {"A/1/0/1/.zarray", ARRAY2},
	  {"A/1/0/labels/.zgroup", GROUP2},
	  {"A/1/0/labels/.zattrs", "{\"labels\":[\"cell\"]}"},
	  {"A/1/0/labels/cell/.zgroup", GROUP2},
	  {"A/1/0/labels/cell/0/.zarray", ARRAY2}},
	 "/ G 2\nA G 0\nA/1 G 0\nA/1/0 G 2\nA/1/0/0 A 2\nA/1/0/1 A 2\nA/1/0/labels G 2\nA/1/0/labels/cell G 2\n"
	 "A/1/0/labels/cell/0 A 2\nOME G 2\n"},
	{"OME-Zarr 0.5",
	 false,
	 {{"zarr.json", "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"ome\":{\"version\":\"0.5\","
					"\"multiscales\":[{}]}}}"},
	  {"0/zarr.json", ARRAY3},
	  {"1/zarr.json", ARRAY3},
	  {"labels/zarr.json",
	   "{\"zarr_format\":3,\"node_type\":\"group\",\"attributes\":{\"ome\":{\"labels\":[\"cell\"]}}}"},
	  {"labels/cell/zarr.json", GROUP3},
	  {"labels/cell/0/zarr.json", ARRAY3}},
	 "/ G 3\n0 A 3\n1 A 3\nlabels G 3\nlabels/cell G 3\nlabels/cell/0 A 3\n"},
};

START_TEST(a_store_has_the_nodes_of_its_documents)
{
	const struct tree *tree = &trees[_i];
	make_store(!tree->cannot_list);
	for (int i = 0; i < MAX_VALUES && tree->values[i].key; i++)
		put(tree->values[i].key, tree->values[i].text);
	open_well();
	check_tree(tree->expected);
}
END_TEST

static const struct refusal {
	bool cannot_list;
	struct pair values[3];
	int rc;
	const char *says;
} refusals[] = {
	{false, {{"readme.txt", "x"}}, -ENOENT, "not a Zarr store (no zarr.json, .zarray or .zgroup down to depth 3)"},
	{false, {{NULL, NULL}}, -ENOENT, "not a Zarr store"},
	{true, {{"t/zarr.json", ARRAY3}}, -ENOENT, "not a Zarr store"},
	{false, {{"a/b/c/d/zarr.json", ARRAY3}}, -ENOENT, "not a Zarr store"},
	{false, {{"__MACOSX/zarr.json", ARRAY3}}, -ENOENT, "not a Zarr store"},
	{false,
	 {{"zarr.json", "{\"zarr_format\":\"https://purl.org/zarr/spec/protocol/core/3.0\",\"extensions\":[]}"}},
	 -ENOTSUP,
	 "draft"},
	{false, {{"attributes.json", "{\"n5\":\"2.0.0\"}"}, {"s0/attributes.json", "{}"}}, -ENOTSUP, "N5"},
	{true, {{"attributes.json", "{}"}}, -ENOTSUP, "N5"},
	{false, {{"manifest.ocdbt", "x"}}, -ENOTSUP, "OCDBT"},
	{false,
	 {{"repo", "ICE\xf0\x9f\xa7\x8a"
			   "CHUNK and more"}},
	 -ENOTSUP,
	 "Icechunk"},
	{false, {{"refs/branch.x/ref.json", "{}"}, {"snapshots/1", "x"}}, -ENOTSUP, "Icechunk"},
	{true, {{"refs/branch.main/ref.json", "{}"}}, -ENOTSUP, "Icechunk"},
	{false, {{".zmetadata", "{\"metadata\":{},\"record_size\":10}"}, {"t/refs.0.parq", "x"}}, -ENOTSUP, "kerchunk"},
	{true, {{".zmetadata", "{"}}, -EIO, ".zmetadata: "},
};

START_TEST(what_is_no_store_of_ours_is_refused_by_name)
{
	const struct refusal *refusal = &refusals[_i];
	make_store(!refusal->cannot_list);
	for (int i = 0; i < 3 && refusal->values[i].key; i++)
		put(refusal->values[i].key, refusal->values[i].text);
	int rc = open_hierarchy();
	ck_assert_msg(rc == refusal->rc && strstr(err_message(), refusal->says), "%d: %d %s", _i, rc, err_message());
}
END_TEST

START_TEST(a_file_called_repo_does_not_make_an_icechunk_repository)
{
	make_store(true);
	put("repo", "https://example.org");
	put("t/zarr.json", ARRAY3);
	open_well();
	check_tree("/ G 0\nt A 3\n");
}
END_TEST

START_TEST(a_document_at_depth_three_makes_a_root)
{
	make_store(true);
	put("a/b/c/zarr.json", ARRAY3);
	open_well();
	ck_assert_int_eq(find("a/b/c")->kind, NODE_ARRAY);
}
END_TEST

START_TEST(the_search_for_a_root_ends_after_a_thousand_directories)
{
	char key[64];
	make_store(true);
	for (int i = 0; i < 1000; i++) {
		snprintf(key, sizeof(key), "d%04d/file", i);
		put(key, "x");
	}
	put("e/zarr.json", ARRAY3);
	ck_assert_int_eq(open_hierarchy(), -ENOENT);
	ck_assert_uint_le(mem_store_counts(store, "").opens, 3100);
	ck_assert_int_eq(mem_store_put(store, "d0999/file", NULL, 0), 0);
	open_well();
}
END_TEST

START_TEST(a_failing_store_is_not_taken_for_an_empty_one)
{
	static const struct mem_fault fault = {.key_part = "b/", .open_errnum = EIO};
	make_store(true);
	put("a/x", "x");
	put("b/zarr.json", ARRAY3);
	mem_store_set_faults(store, &fault, 1);
	ck_assert_int_eq(open_hierarchy(), -EIO);
	ck_assert_ptr_nonnull(strstr(err_message(), "b/zarr.json"));
	mem_store_set_faults(store, NULL, 0);
	open_well();
}
END_TEST

START_TEST(a_node_knows_its_document_time_and_version)
{
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/b/.zarray", ARRAY2);
	put("a/b/.zattrs", "{\"units\":\"K\"}");
	open_well();
	const struct node *node = find("/a//b/");
	ck_assert_str_eq(node->name, "b");
	ck_assert_str_eq(node->path, "a/b");
	ck_assert_str_eq(node->document, "a/b/.zarray");
	ck_assert_str_eq(node->meta.array->attributes, "{\"units\":\"K\"}");
	ck_assert_int_eq(node->mtime_ns, INT64_C(2000000000)); /* of the second put */
	ck_assert_uint_eq(node->version, 2);
	const struct node *implicit = find("a");
	ck_assert_ptr_null(implicit->document);
	ck_assert_ptr_nonnull(implicit->meta.group);
	ck_assert_ptr_eq(find("/"), hierarchy_root(hierarchy));
	ck_assert_str_eq(hierarchy_root(hierarchy)->name, "");
	ck_assert_ptr_eq(hierarchy_store(hierarchy), store);
	ck_assert_str_eq(hierarchy_root_name(hierarchy), store_base_name(store));
}
END_TEST

START_TEST(an_implicit_group_has_attributes)
{
	make_store(true);
	put(".zgroup", GROUP2);
	put("g/.zattrs", "{\"a\":1}");
	open_well();
	ck_assert_str_eq(find("g")->meta.group->attributes, "{\"a\":1}");
}
END_TEST

/* Of one node a document on each side; which one counts shows in its attributes. */
static const struct {
	bool cannot_list;
	struct pair values[6];
	const char *attributes; /* of "t", that count */
} precedences[] = {
	{false,
	 {{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\"t/.zarray\":" ARRAY2 ",\"t/.zattrs\":{\"of\":\"block\"}")},
	  {"t/.zarray", ARRAY2},
	  {"t/.zattrs", "{\"of\":\"node\"}"}},
	 "{\"of\":\"node\"}"},
	{true,
	 {{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\"t/.zarray\":" ARRAY2 ",\"t/.zattrs\":{\"of\":\"block\"}")},
	  {"t/.zarray", ARRAY2},
	  {"t/.zattrs", "{\"of\":\"node\"}"}},
	 "{\"of\":\"block\"}"},
	{false,
	 {{"zarr.json", GROUP3_WITH("\"t\":" ARRAY3_WITH("{\"of\":\"block\"}"))},
	  {"t/zarr.json", ARRAY3_WITH("{\"of\":\"node\"}")}},
	 "{\"of\":\"node\"}"},
	{true,
	 {{"zarr.json", GROUP3_WITH("\"t\":" ARRAY3_WITH("{\"of\":\"block\"}"))},
	  {"t/zarr.json", ARRAY3_WITH("{\"of\":\"node\"}")}},
	 "{\"of\":\"block\"}"},
	/* an inner block does not count where an outer one covers it */
	{true,
	 {{"zarr.json", GROUP3_WITH("\"g\":" GROUP3_WITH("\"t\":" ARRAY3_WITH("{\"of\":\"inner\"}")) ",\"t\":" ARRAY3_WITH(
						"{\"of\":\"block\"}"))},
	  {"g/zarr.json", GROUP3}},
	 "{\"of\":\"block\"}"},
};

START_TEST(the_document_that_counts_is_the_nodes_own_where_the_store_lists)
{
	make_store(!precedences[_i].cannot_list);
	for (int i = 0; i < 6 && precedences[_i].values[i].key; i++)
		put(precedences[_i].values[i].key, precedences[_i].values[i].text);
	open_well();
	ck_assert_int_eq(find("t")->kind, NODE_ARRAY);
	ck_assert_str_eq(find("t")->meta.array->attributes, precedences[_i].attributes);
}
END_TEST

static const struct {
	const char *key, *text;
	int error;
	const char *message; /* how it begins */
} broken[] = {
	{"t/zarr.json", ARRAY3_OF("4", "3"), -EIO, "t/zarr.json: codecs[0]"},
	{"t/zarr.json", "{\"zarr_format\":\"https://purl.org/zarr/spec/protocol/core/3.0\"}", -ENOTSUP, "t/zarr.json: "},
	{"t/zarr.json", "", -EIO, "t/zarr.json: "},
	{"t/.zarray", "{\"zarr_format\":2}", -EIO, "t/.zarray: shape"},
	{"t/.zgroup", "7", -EIO, "t/.zgroup: "},
	{"t/.zattrs", "7", -EIO, "t/.zattrs: "},
};

START_TEST(a_broken_document_is_named_with_the_reason)
{
	make_store(true);
	put(".zgroup", GROUP2);
	put(broken[_i].key, broken[_i].text);
	open_well();
	struct node *node = find("t");
	ck_assert_int_eq(node->kind, NODE_BROKEN);
	ck_assert_int_eq(node->error, broken[_i].error);
	ck_assert_msg(strncmp(node->error_message, broken[_i].message, strlen(broken[_i].message)) == 0, "%s",
				  node->error_message);
	ck_assert_ptr_null(strchr(node->error_message, '\n'));
	struct array *array;
	ck_assert_int_eq(node_array(hierarchy, node, &array), broken[_i].error);
	ck_assert_str_eq(err_message(), node->error_message);
}
END_TEST

START_TEST(broken_attributes_of_an_array_are_named)
{
	make_store(true);
	put(".zarray", ARRAY2);
	put(".zattrs", "[");
	open_well();
	ck_assert_int_eq(hierarchy_root(hierarchy)->kind, NODE_BROKEN);
	ck_assert_int_eq(strncmp(hierarchy_root(hierarchy)->error_message, ".zattrs: ", 9), 0);
}
END_TEST

/* A document of `size` bytes: an object, then spaces. */
static void put_long(const char *key, const char *text, size_t size)
{
	char *bytes = malloc(size);
	ck_assert_ptr_nonnull(bytes);
	memset(bytes, ' ', size);
	memcpy(bytes, text, strlen(text));
	ck_assert_int_eq(mem_store_put(store, key, bytes, size), 0);
	free(bytes);
}

START_TEST(documents_are_read_up_to_their_limits)
{
	make_store(true);
	put_long("zarr.json", GROUP3_WITH(""), LIMIT_JSON_BYTES + 1);
	put_long("a/zarr.json", ARRAY3, LIMIT_JSON_BYTES);
	put_long("b/zarr.json", ARRAY3, LIMIT_JSON_BYTES + 1);
	put_long("c/.zarray", ARRAY2, LIMIT_JSON_BYTES);
	put_long("d/.zarray", ARRAY2, LIMIT_JSON_BYTES + 1);
	open_well();
	check_tree("/ G 3\na A 3\nb B 3\nc A 2\nd B 2\n");
	ck_assert_int_eq(find("b")->error, -EFBIG);
	ck_assert_int_eq(find("d")->error, -EFBIG);
	ck_assert_int_eq(strncmp(find("d")->error_message, "d/.zarray: ", 11), 0);
}
END_TEST

START_TEST(groups_are_nested_to_a_limit)
{
	autostr(key);
	make_store(true);
	put("zarr.json", GROUP3);
	for (int i = 0; i <= LIMIT_NODE_DEPTH; i++) {
		str_append(&key, i ? "/g" : "g");
		autofree char *document = str_join_key(key.text, "zarr.json");
		put(document, GROUP3);
	}
	open_well();
	struct node *node;
	ck_assert_int_eq(hierarchy_find(hierarchy, key.text, &node), -ENOENT);
	key.text[key.size - 2] = '\0';
	struct node *const *children;
	size_t n;
	node = find(key.text);
	ck_assert_int_eq(node_children(hierarchy, node, STORE_WAIT, &children, &n), 0);
	ck_assert_uint_eq(n, 0);
	ck_assert_int_eq(logged.n, 1);
}
END_TEST

START_TEST(chunks_of_an_array_are_never_asked_for)
{
	char key[64];
	make_store(true);
	put(".zgroup", GROUP2);
	put("t/.zarray", ARRAY2);
	for (int i = 0; i < 3000; i++) {
		snprintf(key, sizeof(key), "t/%d/0", i);
		put(key, "x");
	}
	mem_store_reset_counts(store);
	open_well();
	check_tree("/ G 2\nt A 2\n");
	struct node *node;
	ck_assert_int_eq(node_child(hierarchy, find("t"), "1", STORE_WAIT, &node), -ENOENT);
	/* zarr.json, .zgroup, .zarray, .zattrs, .zmetadata of the root; zarr.json, .zarray, .zattrs of t */
	ck_assert_uint_eq(mem_store_counts(store, "").opens, 8);
}
END_TEST

START_TEST(one_child_costs_its_own_documents_only)
{
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/zarr.json", ARRAY3);
	put("b/zarr.json", ARRAY3);
	open_well();
	mem_store_reset_counts(store);
	struct node *node;
	ck_assert_int_eq(node_child(hierarchy, hierarchy_root(hierarchy), "b", STORE_WAIT, &node), 0);
	ck_assert_int_eq(node_child(hierarchy, hierarchy_root(hierarchy), "b", STORE_WAIT, &node), 0);
	ck_assert_uint_eq(mem_store_counts(store, "").opens, 1);
}
END_TEST

START_TEST(an_absent_name_is_remembered_once_the_group_is_listed)
{
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/zarr.json", ARRAY3);
	open_well();
	struct node *node;
	struct node *root = hierarchy_root(hierarchy);
	ck_assert_int_eq(node_child(hierarchy, root, "a.npy", STORE_TRY, &node), -EAGAIN);
	ck_assert_int_eq(node_child(hierarchy, root, "a.npy", STORE_WAIT, &node), -ENOENT);
	mem_store_reset_counts(store);
	ck_assert_int_eq(node_child(hierarchy, root, "a.raw", STORE_WAIT, &node), -ENOENT);
	ck_assert_int_eq(node_child(hierarchy, root, "a.raw", STORE_TRY, &node), -ENOENT);
	ck_assert_uint_eq(mem_store_counts(store, "").opens, 0);
}
END_TEST

START_TEST(trying_answers_from_memory_only)
{
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/zarr.json", ARRAY3);
	open_well();
	mem_store_reset_counts(store);
	struct node *root = hierarchy_root(hierarchy);
	struct node *a, *again;
	struct node *const *children;
	size_t n;
	ck_assert_int_eq(node_child(hierarchy, root, "a", STORE_TRY, &a), -EAGAIN);
	ck_assert_int_eq(node_children(hierarchy, root, STORE_TRY, &children, &n), -EAGAIN);
	ck_assert_uint_eq(mem_store_counts(store, "").opens, 0);
	ck_assert_int_eq(node_child(hierarchy, root, "a", STORE_WAIT, &a), 0);
	ck_assert_int_eq(node_child(hierarchy, root, "a", STORE_TRY, &again), 0);
	ck_assert_ptr_eq(a, again);
	ck_assert_int_eq(node_children(hierarchy, root, STORE_WAIT, &children, &n), 0);
	ck_assert_int_eq(node_children(hierarchy, root, STORE_TRY, &children, &n), 0);
	ck_assert_uint_eq(n, 1);
	ck_assert_ptr_eq(children[0], a);
}
END_TEST

static const char *const bad_names[] = {"", ".", "..", "a/b", "zarr.json", "__a", "._a", "nothing"};

START_TEST(a_name_that_is_no_node_is_absent)
{
	make_store(_i % 2);
	put("zarr.json", GROUP3);
	put("a/b/zarr.json", ARRAY3);
	put("__a/zarr.json", ARRAY3);
	open_well();
	struct node *node;
	for (size_t i = 0; i < ARRAY_LEN(bad_names); i++)
		ck_assert_int_eq(node_child(hierarchy, hierarchy_root(hierarchy), bad_names[i], STORE_WAIT, &node), -ENOENT);
}
END_TEST

START_TEST(a_store_that_cannot_list_still_finds_by_name)
{
	make_store(false);
	put("zarr.json", GROUP3);
	put("a/zarr.json", GROUP3_WITH("\"t\":" ARRAY3));
	open_well();
	struct node *const *children;
	size_t n;
	ck_assert_int_eq(node_children(hierarchy, hierarchy_root(hierarchy), STORE_WAIT, &children, &n), -ENOTSUP);
	ck_assert_int_eq(find("a/t")->kind, NODE_ARRAY);
	ck_assert_int_eq(node_children(hierarchy, find("a"), STORE_WAIT, &children, &n), 0);
	ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(consolidated_nodes_cost_no_document)
{
	make_store(false);
	put("zarr.json", GROUP3_WITH("\"a\":" GROUP3 ",\"a/t\":" ARRAY3));
	put("b/zarr.json", ARRAY3);
	open_well();
	mem_store_reset_counts(store);
	check_tree("/ G 3\na G 3\na/t A 3\n");
	struct node *node;
	ck_assert_int_eq(hierarchy_find(hierarchy, "b", &node), -ENOENT);
	ck_assert_uint_eq(mem_store_counts(store, "").opens, 0);
	ck_assert_int_eq(find("a/t")->mtime_ns, hierarchy_root(hierarchy)->mtime_ns);
	ck_assert_uint_eq(find("a/t")->version, hierarchy_root(hierarchy)->version);
}
END_TEST

static const struct {
	struct pair values[6];
	const char *logs; /* the key it names; NULL: nothing is logged */
} differences[] = {
	{{{"zarr.json", GROUP3_WITH("\"t\":" ARRAY3 ",\"g\":" GROUP3)},
	  {"t/zarr.json", ARRAY3},
	  {"g/zarr.json", GROUP3_WITH("")}},
	 NULL},
	{{{"zarr.json", GROUP3_WITH("\"t\":" ARRAY3)}, {"t/zarr.json", ARRAY3_OF("5", "\"bytes\"")}}, "t/zarr.json"},
	{{{"zarr.json", GROUP3_WITH("\"t\":" ARRAY3 ",\"gone\":" ARRAY3)}, {"t/zarr.json", ARRAY3}}, "gone"},
	{{{"zarr.json", GROUP3_WITH("")}, {"a/zarr.json", ARRAY3}, {"b/zarr.json", ARRAY3}}, "a/zarr.json"},
	{{{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\".zgroup\":" GROUP2 ",\"t/.zarray\":" ARRAY2)},
	  {"t/.zarray", " " ARRAY2 "\n"},
	  {"t/.zattrs", "{}"}},
	 NULL},
	{{{".zgroup", GROUP2},
	  {".zmetadata", ZMETADATA("\"t/.zarray\":" ARRAY2)},
	  {"t/.zarray", ARRAY2},
	  {"t/.zattrs", "{\"a\":1}"}},
	 "t/.zattrs"},
	{{{".zgroup", GROUP2}, {".zmetadata", "{"}, {"t/.zarray", ARRAY2}}, ".zmetadata"},
};

START_TEST(a_difference_from_consolidated_metadata_is_logged_once)
{
	make_store(true);
	for (int i = 0; i < 6 && differences[_i].values[i].key; i++)
		put(differences[_i].values[i].key, differences[_i].values[i].text);
	open_well();
	autostr(str);
	print_tree(hierarchy_root(hierarchy), &str);
	ck_assert_int_eq(logged.n, differences[_i].logs ? 1 : 0);
	if (differences[_i].logs)
		ck_assert_msg(strstr(logged.last, differences[_i].logs) != NULL, "%s", logged.last);
}
END_TEST

START_TEST(a_failing_document_is_listed_as_broken_and_asked_for_again)
{
	static const struct mem_fault fault = {.key_part = "b/zarr.json", .read_errnum = ETIMEDOUT};
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/zarr.json", ARRAY3);
	put("b/zarr.json", ARRAY3);
	open_well();
	mem_store_set_faults(store, &fault, 1);
	struct node *root = hierarchy_root(hierarchy);
	struct node *node = NULL;
	struct node *const *children, *const *later;
	size_t n;
	ck_assert_int_eq(node_child(hierarchy, root, "b", STORE_WAIT, &node), -ETIMEDOUT);
	ck_assert_ptr_nonnull(strstr(err_message(), "b/zarr.json: "));
	ck_assert_int_eq(node_children(hierarchy, root, STORE_WAIT, &children, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(children[0]->kind, NODE_ARRAY);
	ck_assert_int_eq(children[1]->kind, NODE_BROKEN);
	ck_assert_int_eq(children[1]->error, -ETIMEDOUT);
	ck_assert_int_eq(node_child(hierarchy, root, "b", STORE_WAIT, &node), -ETIMEDOUT);
	ck_assert_int_eq(node_child(hierarchy, root, "b", STORE_TRY, &node), -EAGAIN);

	mem_store_set_faults(store, NULL, 0);
	ck_assert_int_eq(node_child(hierarchy, root, "b", STORE_WAIT, &node), 0);
	ck_assert_int_eq(node->kind, NODE_ARRAY);
	nanosleep(&(struct timespec){.tv_sec = 1, .tv_nsec = 20000000}, NULL);
	ck_assert_int_eq(node_children(hierarchy, root, STORE_TRY, &later, &n), -EAGAIN);
	ck_assert_int_eq(node_children(hierarchy, root, STORE_WAIT, &later, &n), 0);
	ck_assert_uint_eq(n, 2);
	ck_assert_ptr_eq(later[1], node);
	ck_assert_ptr_eq(later[0], children[0]);
	ck_assert_int_eq(children[1]->kind, NODE_BROKEN); /* who holds the old list may go on reading it */
	ck_assert_int_eq(node_children(hierarchy, root, STORE_TRY, &later, &n), 0);
}
END_TEST

START_TEST(a_failing_root_fails_the_open)
{
	static const struct mem_fault fault = {.key_part = "zarr.json", .open_errnum = EACCES};
	make_store(true);
	put("zarr.json", GROUP3);
	mem_store_set_faults(store, &fault, 1);
	ck_assert_int_eq(open_hierarchy(), -EACCES);
}
END_TEST

START_TEST(an_array_is_opened_once_and_a_refusal_remembered)
{
	make_store(true);
	put("zarr.json", GROUP3);
	put("a/zarr.json", ARRAY3);
	put("b/zarr.json", ARRAY3_OF("4", "\"bytes\",{\"name\":\"jpegxl\"}"));
	open_well();
	struct array *array = NULL, *again = NULL;
	ck_assert_int_eq(node_array(hierarchy, find("a"), &array), 0);
	ck_assert_int_eq(node_array(hierarchy, find("a"), &again), 0);
	ck_assert_ptr_nonnull(array);
	ck_assert_ptr_eq(array, again);
	ck_assert_ptr_eq(array_meta(array), find("a")->meta.array);
	for (int i = 0; i < 2; i++) {
		err_set(EPERM, "something else");
		ck_assert_int_eq(node_array(hierarchy, find("b"), &again), -ENOTSUP);
		ck_assert_msg(strncmp(err_message(), "b/zarr.json: codecs[1]: ", 24) == 0, "%s", err_message());
		ck_assert_ptr_nonnull(strstr(err_message(), "jpegxl"));
	}
	ck_assert_int_eq(node_array(hierarchy, hierarchy_root(hierarchy), &again), -EISDIR);
	ck_assert_ptr_eq(array, again);
}
END_TEST

#define THREADS 4
#define NODES 40

static pthread_barrier_t barrier;

static void *walk(void *arg)
{
	struct node **nodes = arg;
	pthread_barrier_wait(&barrier);
	struct node *group = find("g");
	for (int i = 0; i < NODES; i++) {
		char name[16];
		snprintf(name, sizeof(name), "t%02d", i);
		struct array *array;
		ck_assert_int_eq(node_child(hierarchy, group, name, STORE_WAIT, &nodes[i]), 0);
		ck_assert_int_eq(node_array(hierarchy, nodes[i], &array), 0);
	}
	struct node *const *children;
	size_t n;
	ck_assert_int_eq(node_children(hierarchy, group, STORE_WAIT, &children, &n), 0);
	ck_assert_uint_eq(n, NODES);
	ck_assert_int_eq(memcmp(children, nodes, sizeof(*nodes) * NODES), 0);
	return NULL;
}

START_TEST(threads_that_ask_together_get_the_same_nodes)
{
	char key[64];
	make_store(true);
	put("zarr.json", GROUP3);
	put("g/zarr.json", GROUP3);
	for (int i = 0; i < NODES; i++) {
		snprintf(key, sizeof(key), "g/t%02d/zarr.json", i);
		put(key, ARRAY3);
	}
	open_well();
	static struct node *nodes[THREADS][NODES];
	pthread_t threads[THREADS];
	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, walk, nodes[i]), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&barrier);
	for (int i = 1; i < THREADS; i++)
		ck_assert_int_eq(memcmp(nodes[i], nodes[0], sizeof(nodes[0])), 0);
}
END_TEST

static Suite *hierarchy_suite(void)
{
	Suite *suite = suite_create("hierarchy");
	TCase *tcase = tcase_create("hierarchy");
	tcase_add_checked_fixture(tcase, NULL, tear_down);
	tcase_add_loop_test(tcase, a_store_has_the_nodes_of_its_documents, 0, ARRAY_LEN(trees));
	tcase_add_loop_test(tcase, what_is_no_store_of_ours_is_refused_by_name, 0, ARRAY_LEN(refusals));
	tcase_add_test(tcase, a_file_called_repo_does_not_make_an_icechunk_repository);
	tcase_add_test(tcase, a_document_at_depth_three_makes_a_root);
	tcase_add_test(tcase, the_search_for_a_root_ends_after_a_thousand_directories);
	tcase_add_test(tcase, a_failing_store_is_not_taken_for_an_empty_one);
	tcase_add_test(tcase, a_node_knows_its_document_time_and_version);
	tcase_add_test(tcase, an_implicit_group_has_attributes);
	tcase_add_loop_test(tcase, a_broken_document_is_named_with_the_reason, 0, ARRAY_LEN(broken));
	tcase_add_test(tcase, broken_attributes_of_an_array_are_named);
	tcase_add_test(tcase, documents_are_read_up_to_their_limits);
	tcase_add_test(tcase, groups_are_nested_to_a_limit);
	tcase_add_test(tcase, chunks_of_an_array_are_never_asked_for);
	tcase_add_test(tcase, one_child_costs_its_own_documents_only);
	tcase_add_test(tcase, an_absent_name_is_remembered_once_the_group_is_listed);
	tcase_add_test(tcase, trying_answers_from_memory_only);
	tcase_add_loop_test(tcase, a_name_that_is_no_node_is_absent, 0, 2);
	tcase_add_test(tcase, a_store_that_cannot_list_still_finds_by_name);
	tcase_add_test(tcase, consolidated_nodes_cost_no_document);
	tcase_add_loop_test(tcase, the_document_that_counts_is_the_nodes_own_where_the_store_lists, 0,
						ARRAY_LEN(precedences));
	tcase_add_loop_test(tcase, a_difference_from_consolidated_metadata_is_logged_once, 0, ARRAY_LEN(differences));
	tcase_add_test(tcase, a_failing_document_is_listed_as_broken_and_asked_for_again);
	tcase_add_test(tcase, a_failing_root_fails_the_open);
	tcase_add_test(tcase, an_array_is_opened_once_and_a_refusal_remembered);
	tcase_add_test(tcase, threads_that_ask_together_get_the_same_nodes);
	tcase_set_timeout(tcase, 60);
	suite_add_tcase(suite, tcase);
	return suite;
}

CHECK_MAIN(hierarchy_suite)
