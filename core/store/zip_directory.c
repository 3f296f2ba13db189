/*
 * zip_directory.c: the central directory (4.3.12) as a table of members, sorted by name, each name once: of those that
 * are written again, by appending, the last wins. Records are read through a window, so that the directory itself is never in memory.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/checked.h"
#include "base/deflate_context.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/limits.h"
#include "base/log.h"
#include "store/zip_impl.h"

#define RECORD_BYTES 46u
#define RECORD_SIGNATURE 0x02014b50u
#define DIGITAL_SIGNATURE 0x05054b50u /* it may close the directory (4.3.13) */
#define EXTRA_ZIP64 0x0001
#define WINDOW_BYTES ((size_t)256 << 10) /* the largest record has 46 + 3 * 65535 */
#define MADE_BY_UNIX 3
#define MADE_BY_DARWIN 19

struct reader {
	struct local_file *file;
	uint64_t at, end; /* what is left of the directory, in the file */
	uint8_t *window;
	uint64_t window_at;
	size_t window_size;

	uint64_t before; /* bytes before the zip */
	struct zip_directory *directory;
	size_t capacity;
	struct str names;
	uint64_t records, ignored;
	struct str first_ignored;
};

/* The next `size` bytes of the directory. */
static int look_at(struct reader *reader, size_t size, const uint8_t **ret_bytes)
{
	uint64_t left = reader->end - reader->at;
	if (size > left)
		return err_set(EIO, "the central directory ends inside a record");
	uint64_t skip = reader->at - reader->window_at;
	if (skip > reader->window_size || size > reader->window_size - skip) {
		reader->window_size = 0;
		size_t n = (size_t)MIN(left, (uint64_t)WINDOW_BYTES);
		int rc = local_file_read(reader->file, reader->at, reader->window, n, STORE_WAIT, "the central directory");
		if (rc)
			return rc;
		reader->window_at = reader->at;
		reader->window_size = n;
		skip = 0;
	}
	*ret_bytes = reader->window + skip;
	return 0;
}

/* Fields that do not fit 32 bits are, in this order, in the zip64 extra field (4.5.3); where that is cut short, they are as they are. */
static void widen(uint64_t *field, const uint8_t **extra, size_t *left)
{
	if (*field != UINT32_MAX || *left < 8)
		return;
	*field = load_le64(*extra);
	*extra += 8;
	*left -= 8;
}

static bool is_link(const uint8_t *record)
{
	uint8_t maker = record[5];
	return (maker == MADE_BY_UNIX || maker == MADE_BY_DARWIN) && S_ISLNK(load_le32(record + 38) >> 16);
}

static void ignore(struct reader *reader, size_t name_at)
{
	if (reader->ignored++ == 0)
		str_append_escaped(&reader->first_ignored, reader->names.text + name_at, reader->names.size - name_at);
	reader->names.size = name_at;
}

static int add_member(struct reader *reader, const struct zip_member *member)
{
	struct zip_directory *directory = reader->directory;
	if (directory->n == reader->capacity) {
		size_t capacity = reader->capacity ? 2 * reader->capacity : 64;
		struct zip_member *members = reallocarray(directory->members, capacity, sizeof(*members));
		if (!members)
			return err_set(ENOMEM, "no memory for the central directory");
		directory->members = members;
		reader->capacity = capacity;
	}
	directory->members[directory->n++] = *member;
	directory->recodes |= member->method != ZIP_STORED;
	return 0;
}

/* One whole record. Names that no key can have are left out; other lies are found when the member is read. */
static int take_record(struct reader *reader, const uint8_t *record)
{
	size_t name_size = load_le16(record + 28), extra_size = load_le16(record + 30), name_at = reader->names.size;
	const uint8_t *raw = record + RECORD_BYTES, *extra = raw + name_size;
	uint64_t offset = load_le32(record + 42);
	struct zip_member member = {
		.stored = load_le32(record + 20),
		.size = load_le32(record + 24),
		.crc = load_le32(record + 16),
		.name = (uint32_t)name_at,
		.raw_crc = libdeflate_crc32(0, raw, name_size),
		.raw_size = (uint16_t)name_size,
		.method = load_le16(record + 10),
		.flags = load_le16(record + 8),
		.is_link = is_link(record),
	};
	size_t wide_size = 0;
	const uint8_t *wide = zip_extra_find(extra, extra_size, EXTRA_ZIP64, &wide_size);
	widen(&member.size, &wide, &wide_size);
	widen(&member.stored, &wide, &wide_size);
	widen(&offset, &wide, &wide_size);
	if (!checked_add(offset, reader->before, &member.header))
		member.header = UINT64_MAX; /* past the end, as any */

	zip_name_append(&reader->names, raw, name_size, member.flags, extra, extra_size);
	if (reader->names.failed)
		return err_set(ENOMEM, "no memory for the central directory");
	const char *name = reader->names.text + name_at;
	size_t size = reader->names.size - name_at;
	bool is_directory = size > 0 && name[size - 1] == '/';
	if (!store_is_key(name, size - is_directory)) {
		ignore(reader, name_at);
		return 0;
	}
	str_append_bytes(&reader->names, "", 1);
	return reader->names.failed ? err_set(ENOMEM, "no memory for the central directory") : add_member(reader, &member);
}

static int take_records(struct reader *reader)
{
	while (reader->at < reader->end) {
		const uint8_t *record;
		int rc = look_at(reader, 4, &record);
		if (!rc && load_le32(record) == DIGITAL_SIGNATURE && reader->records)
			return 0;
		if (!rc && load_le32(record) != RECORD_SIGNATURE)
			return err_set(EIO, "the central directory is damaged after %" PRIu64 " records", reader->records);
		if (!rc)
			rc = look_at(reader, RECORD_BYTES, &record);
		if (rc)
			return rc;
		size_t size = RECORD_BYTES + load_le16(record + 28) + load_le16(record + 30) + load_le16(record + 32);
		rc = look_at(reader, size, &record);
		if (!rc)
			rc = take_record(reader, record);
		if (rc)
			return rc;
		reader->at += size;
		reader->records++;
	}
	return 0;
}

static int compare_headers(const void *a, const void *b, void *arg)
{
	const struct zip_member *members = arg;
	uint64_t x = members[*(const uint32_t *)a].header, y = members[*(const uint32_t *)b].header;
	return (x > y) - (x < y);
}

/* Each member's data must end before the next header: also before that of a member that was written again. */
static int find_ends(struct zip_directory *directory, uint64_t directory_start)
{
	struct zip_member *members = directory->members;
	autofree uint32_t *order = reallocarray(NULL, directory->n + 1, sizeof(*order));
	if (!order)
		return err_set(ENOMEM, "no memory for the central directory");
	for (size_t i = 0; i < directory->n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, directory->n, sizeof(*order), compare_headers, members);
	uint64_t end = directory_start, next = directory_start;
	for (size_t i = directory->n; i-- > 0;) {
		struct zip_member *member = &members[order[i]];
		if (member->header < next) {
			end = next;
			next = member->header;
		}
		member->end = end;
	}
	return 0;
}

/* By name, and of one name by the order in the directory: names were appended in it. */
static int compare_names(const void *a, const void *b, void *names)
{
	const struct zip_member *x = a, *y = b;
	int order = strcmp((const char *)names + x->name, (const char *)names + y->name);
	return order ? order : (x->name > y->name) - (x->name < y->name);
}

static void sort_last_wins(struct zip_directory *directory)
{
	struct zip_member *members = directory->members;
	size_t n = 0;
	if (directory->n > 1)
		qsort_r(members, directory->n, sizeof(*members), compare_names, directory->names);
	for (size_t i = 0; i < directory->n; i++) {
		const char *name = directory->names + members[i].name;
		if (i + 1 == directory->n || strcmp(name, directory->names + members[i + 1].name) != 0)
			members[n++] = members[i];
	}
	directory->n = n;
}

/* What macOS puts beside what it was asked to put into a zip. */
static bool is_noise(const char *name)
{
	return strncmp(name, "__MACOSX/", strlen("__MACOSX/")) == 0 || strcmp(name, ".DS_Store") == 0 ||
		   strncmp(name, "._", 2) == 0;
}

/* A zip made from outside a folder has it on top, alone: its content is the store. Nothing else may lie there, no document either. */
static void find_root(struct zip_directory *directory)
{
	const char *top = NULL;
	size_t top_size = 0, n = 0;
	bool has_content = false;
	for (size_t i = 0; i < directory->n; i++) {
		const char *name = directory->names + directory->members[i].name;
		size_t size = strcspn(name, "/");
		if (is_noise(name))
			continue;
		if (name[size] == '\0' || (top && (size + 1 != top_size || strncmp(name, top, top_size) != 0)))
			return;
		top = name;
		top_size = size + 1;
		has_content |= name[top_size] != '\0';
	}
	if (!has_content)
		return;
	for (size_t i = 0; i < directory->n; i++)
		if (!is_noise(directory->names + directory->members[i].name))
			directory->members[n++] = directory->members[i];
	directory->n = n;
	directory->root = (uint32_t)top_size;
}

static int check_records(const struct reader *reader, const struct zip_end *end)
{
	uint64_t records = end->is_short ? (uint16_t)reader->records : reader->records;
	if (records != end->members)
		return err_set(EIO, "the central directory has %" PRIu64 " records, its end says %" PRIu64, reader->records,
					   end->members);
	return 0;
}

static int read_records(struct reader *reader, const char *url, const struct zip_end *end)
{
	struct zip_directory *directory = reader->directory;
	int rc = take_records(reader);
	if (!rc)
		rc = check_records(reader, end);
	if (!rc)
		rc = find_ends(directory, end->start);
	if (!rc)
		rc = str_take(&reader->names, &directory->names);
	if (rc)
		return rc;
	sort_last_wins(directory);
	find_root(directory);
	if (reader->ignored)
		log_limited(LOG_LEVEL_WARN, "zip", url,
					"%s: %" PRIu64 " members with names that no key can have, \"%s\" first: ignored", url,
					reader->ignored, reader->first_ignored.text);
	return 0;
}

int zip_directory_read(struct local_file *file, const char *url, struct zip_directory *ret_directory)
{
	struct zip_end end;
	int rc = zip_find_end(file, &end);
	if (rc)
		return rc;
	if (end.size > LIMIT_ZIP_DIRECTORY_BYTES)
		return err_set(EFBIG, "a central directory of %" PRIu64 " bytes", end.size);
	struct zip_directory directory = {0};
	struct reader reader = {.file = file, .at = end.start, .end = end.start + end.size, .before = end.before};
	reader.directory = &directory;
	reader.window = malloc(WINDOW_BYTES);
	str_init(&reader.names);
	str_init(&reader.first_ignored);
	rc = reader.window ? read_records(&reader, url, &end) : err_set(ENOMEM, "no memory for the central directory");
	free(reader.window);
	str_finish(&reader.names);
	str_finish(&reader.first_ignored);
	if (rc)
		zip_directory_finish(&directory);
	else
		*ret_directory = directory;
	return rc;
}

void zip_directory_finish(struct zip_directory *directory)
{
	free(directory->members);
	free(directory->names);
	*directory = (struct zip_directory){0};
}

const char *zip_member_key(const struct zip_directory *directory, const struct zip_member *member)
{
	return directory->names + member->name + directory->root;
}

static const char *key_at(const void *table, size_t i)
{
	const struct zip_directory *directory = table;
	return zip_member_key(directory, &directory->members[i]);
}

struct key_table zip_directory_keys(const struct zip_directory *directory)
{
	return (struct key_table){.table = directory, .n = directory->n, .key = key_at};
}
