/*
 * cmd_pack.c: zarrfs pack: a .npy file becomes a Zarr v3 store: a group with one sharded array. Exit 0 means that it is there,
 * durable, and has been read back and compared; anything else, that nothing has happened.
 *
 *     input --array_write--> temporary directory --zarr.json--> read back through hierarchy and array --> rename
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "array/write.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "fs/machine.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/pack_input.h"
#include "tools/pack_output.h"
#include "tools/pack_plan.h"
#include "tools/progress.h"
#include "tools/stored.h"

#define FETCH_SLOTS 8
#define READ_BACK_BYTES (UINT64_C(64) << 20)
#define READ_BACK_INDEXES 16

struct pack_values {
	struct pack_choice choice;
	const char *name;
	int threads;
};

#define MEMBER(name) offsetof(struct pack_values, name)

static const struct option_row rows[] = {
	{OPTION_TEXT, 0, "chunk", "N,N,...", "shape of a chunk (about 1 MiB)", MEMBER(choice.chunk), 0},
	{OPTION_TEXT, 0, "shard", "N,N,...",
	 "shape of a shard, a multiple of the chunk's; none: a file a chunk\n(as many chunks as 256 MiB hold)",
	 MEMBER(choice.shard), 0},
	{OPTION_TEXT, 0, "codec", "CODEC", "zstd[:LEVEL], gzip[:LEVEL], lz4, blosc[:NAME[:LEVEL]] or none (zstd:3)",
	 MEMBER(choice.codec), 0},
	{OPTION_FLAG, 0, "checksum", NULL, "a crc32c behind every chunk", MEMBER(choice.checksum), 0},
	{OPTION_TEXT, 0, "name", "NAME", "the array's name in the store (the input's, without .npy)", MEMBER(name), 0},
	{OPTION_COUNT, 0, "threads", "N", "threads that encode (the CPUs that the process may use)", MEMBER(threads), 1},
	{0},
};

/* One run. */
struct pack {
	const char *name;
	struct pack_input input;
	struct array_meta *meta;
	struct array_env env;
	struct hierarchy *hierarchy; /* of what was written */
	struct progress progress;
	uint64_t done; /* bytes of the input that were read, of twice its size */
	struct stored stored;
};

static volatile sig_atomic_t interrupted;

static void note_signal(int signal_number)
{
	interrupted = 1;
}

/* The work stops at its next piece and is undone; a signal that whoever started us has ignored stays so. */
static void catch_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction action = {.sa_handler = note_signal, .sa_flags = SA_RESTART}, old;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a limit is an error like any other */
}

static int check_interrupted(void)
{
	return interrupted ? err_set(EINTR, "interrupted") : 0;
}

static int read_source(void *arg, const uint64_t *start, const uint64_t *count, void *dst)
{
	struct pack *pack = arg;
	uint64_t bytes = pack->meta->dtype.size;
	int rc = check_interrupted();
	if (rc)
		return rc;
	progress_update(&pack->progress, pack->done);
	for (int a = 0; a < pack->meta->ndim; a++)
		bytes *= count[a];
	pack->done += bytes;
	return pack_input_read(&pack->input, start, count, dst);
}

/* ---------------------------------------------------------------- the parts of a store */

static int write_chunks(struct pack *pack)
{
	const struct array_source source = {read_source, pack};
	struct array *array;
	int rc = array_open(&pack->env, pack->name, pack->meta, &array);
	if (rc)
		return rc;
	rc = array_write(array, &source);
	array_close(array);
	return rc;
}

static int put_document(struct store *store, const char *prefix, const char *text)
{
	struct store_write *write;
	autofree char *key = str_join_key(prefix, "zarr.json");
	int rc = key ? store_write_begin(store, key, &write) : err_set(ENOMEM, "no memory for a key");
	if (rc)
		return rc;
	rc = store_write_append(write, text, strlen(text));
	if (!rc)
		return store_write_commit(write);
	store_write_abort(write);
	return rc;
}

static int write_documents(struct pack *pack)
{
	char *array = NULL, *group = NULL;
	int rc = meta_print_v3_array(pack->meta, &array);
	if (!rc)
		rc = meta_print_v3_group(&group);
	if (!rc)
		rc = put_document(pack->env.store, pack->name, array);
	if (!rc)
		rc = put_document(pack->env.store, "", group);
	free(array);
	free(group);
	return rc;
}

static bool is_same_dtype(const struct dtype *a, const struct dtype *b)
{
	autostr(a_text);
	autostr(b_text);
	dtype_print_descr(a, &a_text);
	dtype_print_descr(b, &b_text);
	return !a_text.failed && !b_text.failed && strcmp(a_text.text, b_text.text) == 0;
}

static bool is_as_planned(const struct array_meta *a, const struct array_meta *b)
{
	size_t n = (size_t)a->ndim * sizeof(*a->shape);
	return a->ndim == b->ndim && is_same_dtype(&a->dtype, &b->dtype) && memcmp(a->shape, b->shape, n) == 0 &&
		   memcmp(a->chunk_shape, b->chunk_shape, n) == 0;
}

/* As a mount would find it: from the documents. */
static int read_back(struct pack *pack)
{
	const struct array_source source = {read_source, pack};
	struct node *node;
	struct array *array;
	int rc = hierarchy_open(&pack->env, &pack->hierarchy);
	if (!rc)
		rc = hierarchy_find(pack->hierarchy, pack->name, &node);
	if (!rc)
		rc = node_array(pack->hierarchy, node, &array);
	if (!rc && !is_as_planned(pack->meta, array_meta(array)))
		rc = err_set(EIO, "zarr.json: reads back as another array");
	if (!rc)
		rc = array_verify(array, &source);
	return rc ? err_prefix(rc, "reading back") : 0;
}

static int open_env(struct pack *pack, const char *path, int threads)
{
	const struct pool_options options = {
		.width = {[POOL_META] = 1, [POOL_FETCH] = FETCH_SLOTS, [POOL_DECODE] = threads ? threads : machine_cpus()},
	};
	pack->env.max_chunk = UINT64_MAX; /* a chain that needs whole shards has large ones */
	int rc = pool_new(&options, &pack->env.pool);
	if (!rc)
		rc = cache_new(READ_BACK_BYTES, READ_BACK_INDEXES, &pack->env.cache);
	return rc ? rc : store_open(path, &pack->env.store);
}

/* First the threads: a load still has the array in hand when it has answered. */
static void close_env(struct pack *pack)
{
	pool_free(pack->env.pool);
	if (pack->hierarchy)
		hierarchy_close(pack->hierarchy);
	cache_free(pack->env.cache);
	if (pack->env.store)
		store_close(pack->env.store);
}

/* Everything below the temporary directory. */
static int fill_store(struct pack *pack, const char *path, int threads)
{
	struct err_text message;
	int rc = open_env(pack, path, threads);
	progress_begin(&pack->progress, "pack", 2 * pack->input.bytes);
	if (!rc)
		rc = write_chunks(pack);
	if (!rc)
		rc = write_documents(pack);
	if (!rc)
		rc = read_back(pack);
	if (!rc)
		rc = stored_count(pack->env.store, pack->name, pack->meta, &pack->stored);
	err_save(&message);
	progress_end(&pack->progress);
	close_env(pack);
	err_restore(&message);
	return rc;
}

/* ---------------------------------------------------------------- the command */

static int choose_name(const char *given, const char *input, char **ret_name)
{
	const char *slash = strrchr(input, '/');
	const char *from = given ? given : slash ? slash + 1 : input;
	size_t n = strlen(from);
	if (!given && n > strlen(".npy") && strcmp(from + n - strlen(".npy"), ".npy") == 0)
		n -= strlen(".npy");
	/* Zarr keeps names that begin with __; ._ is what macOS leaves beside files. The mount adds a suffix. */
	if (!str_is_name(from, n) || n + strlen(".json") > LIMIT_NAME_BYTES || strncmp(from, "__", 2) == 0 ||
		strncmp(from, "._", 2) == 0 || (n == strlen("zarr.json") && memcmp(from, "zarr.json", n) == 0))
		return err_set(EINVAL, "--name: \"%.*s\" cannot be the name of an array", (int)n, from);
	char *name = strndup(from, n);
	if (!name)
		return err_set(ENOMEM, "no memory for a name");
	*ret_name = name;
	return 0;
}

/* The store is there, whatever becomes of this line. */
static void print_result(const struct pack *pack, const char *out)
{
	const struct array_meta *meta = pack->meta;
	const struct json *config = meta->codecs.specs[0].config, *inner = json_get(config, "chunk_shape");
	uint64_t chunk[LIMIT_DIMS];
	int n;
	autostr(line);
	str_appendf(&line, "%s/%s: ", out, pack->name);
	describe_dtype(&line, &meta->dtype);
	str_append(&line, " ");
	describe_dims(&line, meta->shape, meta->ndim);
	str_append(&line, ", chunks ");
	if (inner && json_uint64_list(inner, "chunk_shape", LIMIT_DIMS, chunk, &n) == 0) {
		describe_dims(&line, chunk, n);
		str_append(&line, ", shards ");
	}
	describe_dims(&line, meta->chunk_shape, meta->ndim);
	str_append(&line, ", ");
	describe_bytes(&line, pack->input.bytes);
	str_append(&line, " stored in ");
	describe_bytes(&line, pack->stored.bytes);
	puts(line.text);
	fflush(stdout);
}

static int pack_into(struct pack *pack, const char *out, int threads)
{
	struct pack_output output;
	int rc = pack_output_begin(out, &output);
	if (rc)
		return rc;
	rc = fill_store(pack, output.path, threads);
	if (!rc)
		rc = pack_input_check(&pack->input);
	if (!rc)
		rc = check_interrupted();
	if (!rc)
		rc = pack_output_commit(&output);
	struct err_text message;
	err_save(&message);
	pack_output_finish(&output);
	err_restore(&message);
	return rc;
}

/* No such input, no such folder, or something of that name: the answer is no. */
static int pack_code(int rc)
{
	if (rc == -ENOENT || rc == -ENOTDIR || rc == -EEXIST)
		return command_error(CODE_NO, "pack: %s", err_message());
	return rc ? command_fail(err_prefix(rc, "pack")) : CODE_OK;
}

static int run_pack(int argc, char **argv)
{
	struct pack_values values = {0};
	struct pack pack = {.input.fd = -1};
	autofree char *name = NULL;
	int n, code;
	if (!command_parse(&pack_command, argc, argv, &values, &n, &code))
		return code;
	catch_signals();
	log_set_level(LOG_LEVEL_ERROR);
	int rc = choose_name(values.name, argv[0], &name);
	pack.name = name;
	if (!rc)
		rc = pack_input_open(argv[0], &pack.input);
	if (!rc)
		rc = pack_plan(&values.choice, &pack.input.head, &pack.meta);
	if (!rc)
		rc = pack_into(&pack, argv[1], values.threads);
	code = pack_code(rc);
	if (!rc)
		print_result(&pack, argv[1]);
	array_meta_free(pack.meta);
	pack_input_close(&pack.input);
	return code;
}

const struct command pack_command = {
	.name = "pack",
	.arguments = "IN.npy OUT.zarr",
	.summary = "Writes a .npy file as a new Zarr v3 store, sharded.",
	.details = "The store is a group with one array. It is complete, durable and compared with the input, or not there "
			   "at all.",
	.options = rows,
	.min_arguments = 2,
	.max_arguments = 2,
	.run = run_pack,
};
