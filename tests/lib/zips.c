#include "zips.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>
#include <zstd.h>

#include "base/base.h"
#include "base/endian.h"

#define DESCRIPTOR (1u << 3)

/* Not check's: the fuzz target runs without it. */
static void must(bool holds)
{
	if (!holds)
		abort();
}

static void put16(struct str *str, unsigned number)
{
	uint8_t bytes[2];
	store_le16(bytes, (uint16_t)number);
	str_append_bytes(str, bytes, sizeof(bytes));
}

static void put32(struct str *str, uint64_t number)
{
	uint8_t bytes[4];
	store_le32(bytes, (uint32_t)number);
	str_append_bytes(str, bytes, sizeof(bytes));
}

static void put64(struct str *str, uint64_t number)
{
	uint8_t bytes[8];
	store_le64(bytes, number);
	str_append_bytes(str, bytes, sizeof(bytes));
}

void zip_maker_begin(struct zip_maker *maker, size_t before, bool counted)
{
	*maker = (struct zip_maker){.base = counted ? 0 : before};
	str_init(&maker->bytes);
	str_init(&maker->directory);
	for (size_t i = 0; i < before; i++)
		str_append_bytes(&maker->bytes, "MZ", 1);
}

void zip_maker_finish(struct zip_maker *maker)
{
	str_finish(&maker->bytes);
	str_finish(&maker->directory);
}

/* The member's data as they lie in the file; the caller frees. */
static uint8_t *encode(const struct zip_entry *entry, size_t *ret_size)
{
	size_t room = ZSTD_compressBound(entry->size) + libdeflate_deflate_compress_bound(NULL, entry->size);
	uint8_t *data = malloc(room);
	must(data != NULL);
	if (entry->method == 8) {
		struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(6);
		*ret_size = libdeflate_deflate_compress(compressor, entry->bytes, entry->size, data, room);
		libdeflate_free_compressor(compressor);
	} else if (entry->method == 20 || entry->method == 93) {
		*ret_size = ZSTD_compress(data, room, entry->bytes, entry->size, 1);
	} else {
		if (entry->size)
			memcpy(data, entry->bytes, entry->size);
		*ret_size = entry->size;
	}
	return data;
}

static void append_unicode_path(struct str *extra, const char *path, const char *name, size_t name_size)
{
	if (!path)
		return;
	put16(extra, 0x7075);
	put16(extra, (unsigned)strlen(path) + 5);
	str_append_bytes(extra, "\1", 1);
	put32(extra, libdeflate_crc32(0, name, name_size));
	str_append(extra, path);
}

/* What both headers have in common. */
struct made {
	const struct zip_entry *entry;
	size_t name_size, stored;
	uint32_t crc;
	uint64_t offset;
};

static void append_local(struct str *bytes, const struct made *made)
{
	const struct zip_entry *entry = made->entry;
	bool later = entry->flags & DESCRIPTOR;
	autostr(extra);
	if (entry->zip64) {
		put16(&extra, 1);
		put16(&extra, 16);
		put64(&extra, later ? 0 : entry->size);
		put64(&extra, later ? 0 : made->stored);
	}
	append_unicode_path(&extra, entry->unicode_path, entry->name, made->name_size);
	if (entry->local_extra >= 4) {
		put16(&extra, 0xcafe);
		put16(&extra, (unsigned)entry->local_extra - 4);
		for (size_t i = 4; i < entry->local_extra; i++)
			str_append_bytes(&extra, "x", 1);
	}
	str_append_bytes(bytes, "PK\3\4", 4);
	put16(bytes, entry->zip64 ? 45 : 20);
	put16(bytes, entry->flags);
	put16(bytes, entry->method);
	put32(bytes, 0);
	put32(bytes, later ? 0 : made->crc);
	put32(bytes, entry->zip64 ? UINT32_MAX : later ? 0 : made->stored);
	put32(bytes, entry->zip64 ? UINT32_MAX : later ? 0 : entry->size);
	put16(bytes, (unsigned)made->name_size);
	put16(bytes, (unsigned)extra.size);
	str_append_bytes(bytes, entry->name, made->name_size);
	str_append_bytes(bytes, extra.text, extra.size);
}

static void append_central(struct str *bytes, const struct made *made)
{
	const struct zip_entry *entry = made->entry;
	bool wide = entry->zip64 || made->offset >= UINT32_MAX;
	autostr(extra);
	append_unicode_path(&extra, entry->unicode_path, entry->name, made->name_size);
	if (wide) {
		put16(&extra, 1);
		put16(&extra, entry->zip64 ? 24 : 8);
		if (entry->zip64) {
			put64(&extra, entry->size);
			put64(&extra, made->stored);
		}
		put64(&extra, made->offset);
	}
	str_append_bytes(bytes, "PK\1\2", 4);
	put16(bytes, entry->made_by << 8 | 20);
	put16(bytes, wide ? 45 : 20);
	put16(bytes, entry->flags);
	put16(bytes, entry->method);
	put32(bytes, 0);
	put32(bytes, made->crc);
	put32(bytes, entry->zip64 ? UINT32_MAX : made->stored);
	put32(bytes, entry->zip64 ? UINT32_MAX : entry->size);
	put16(bytes, (unsigned)made->name_size);
	put16(bytes, (unsigned)extra.size);
	put16(bytes, 0);
	put16(bytes, 0);
	put16(bytes, 0);
	put32(bytes, entry->attributes);
	put32(bytes, wide ? UINT32_MAX : made->offset);
	str_append_bytes(bytes, entry->name, made->name_size);
	str_append_bytes(bytes, extra.text, extra.size);
}

void zip_maker_add(struct zip_maker *maker, const struct zip_entry *entry)
{
	struct made made = {.entry = entry, .name_size = entry->name_size ? entry->name_size : strlen(entry->name)};
	autofree uint8_t *data = encode(entry, &made.stored);
	made.crc = libdeflate_crc32(0, entry->size ? entry->bytes : "", entry->size);
	made.offset = maker->hole + maker->bytes.size - maker->base;
	if (maker->n < ZIPS_MOST) {
		maker->headers[maker->n] = maker->bytes.size;
		maker->records[maker->n] = maker->directory.size;
	}
	maker->n++;
	append_local(&maker->bytes, &made);
	str_append_bytes(&maker->bytes, data, made.stored);
	if (entry->flags & DESCRIPTOR) {
		str_append_bytes(&maker->bytes, "PK\7\10", 4);
		put32(&maker->bytes, made.crc);
		if (entry->zip64) {
			put64(&maker->bytes, made.stored);
			put64(&maker->bytes, entry->size);
		} else {
			put32(&maker->bytes, made.stored);
			put32(&maker->bytes, entry->size);
		}
	}
	append_central(&maker->directory, &made);
}

void zip_maker_text(struct zip_maker *maker, const char *name, const char *text, unsigned method)
{
	zip_maker_add(maker, &(struct zip_entry){.name = name, .bytes = text, .size = strlen(text), .method = method});
}

void zip_maker_end(struct zip_maker *maker, bool zip64, const void *comment, size_t comment_size)
{
	struct str *bytes = &maker->bytes;
	uint64_t at = maker->hole + bytes->size - maker->base, size = maker->directory.size;
	for (size_t i = 0; i < MIN(maker->n, (uint64_t)ZIPS_MOST); i++)
		maker->records[i] += bytes->size;
	str_append_bytes(bytes, maker->directory.text, maker->directory.size);
	if (zip64) {
		str_append_bytes(bytes, "PK\6\6", 4);
		put64(bytes, 44);
		put16(bytes, 45);
		put16(bytes, 45);
		put32(bytes, 0);
		put32(bytes, 0);
		put64(bytes, maker->n);
		put64(bytes, maker->n);
		put64(bytes, size);
		put64(bytes, at);
		str_append_bytes(bytes, "PK\6\7", 4);
		put32(bytes, 0);
		put64(bytes, at + size);
		put32(bytes, 1);
	}
	maker->end = bytes->size;
	str_append_bytes(bytes, "PK\5\6", 4);
	put32(bytes, 0);
	put16(bytes, zip64 ? UINT16_MAX : (unsigned)maker->n);
	put16(bytes, zip64 ? UINT16_MAX : (unsigned)maker->n);
	put32(bytes, zip64 ? UINT32_MAX : size);
	put32(bytes, zip64 ? UINT32_MAX : at);
	put16(bytes, (unsigned)comment_size);
	if (comment_size)
		str_append_bytes(bytes, comment, comment_size);
	must(!bytes->failed && !maker->directory.failed);
}

void zip_maker_write(const struct zip_maker *maker, const char *path)
{
	FILE *file = fopen(path, "wb");
	must(file != NULL);
	must(fwrite(maker->bytes.text, 1, maker->bytes.size, file) == maker->bytes.size);
	must(fclose(file) == 0);
}

void zip_maker_replace(const struct zip_maker *maker, const char *path)
{
	char other[PATH_MAX];
	must(snprintf(other, sizeof(other), "%s.new", path) < (int)sizeof(other));
	zip_maker_write(maker, other);
	must(rename(other, path) == 0);
}
