/*
 * zip_member.c: a member's data. Where they are is known from the local header alone (4.3.7), whose name and extra field may differ in
 * length from the central ones; all else that it says must agree with the central directory, or be left out (bit 3).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/deflate_context.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/zstd_context.h"
#include "store/zip_impl.h"

#define LOCAL_BYTES 30u
#define LOCAL_SIGNATURE 0x04034b50u
#define STORED_SLACK ((uint64_t)64 << 10)
/* A larger value is not decompressed in a thread that only tries: it would take more than some 30 us. */
#define TRY_BYTES ((uint64_t)16 << 10)

/* Methods (4.4.5) that are read, and those that are known by name. `ratio`: one byte gives at most so many. */
static const struct method {
	uint16_t number;
	const char *name;
	uint32_t ratio; /* 0: not read */
} methods[] = {
	{ZIP_STORED, "stored", 1},
	{ZIP_DEFLATED, "deflate", 1040},		/* 258 bytes from two bits */
	{ZIP_ZSTD_OLD, "zstd", 128 << 10 >> 2}, /* a block of 128 KiB from four bytes */
	{ZIP_ZSTD, "zstd", 128 << 10 >> 2},
	{1, "shrink", 0},
	{6, "implode", 0},
	{9, "deflate64", 0},
	{12, "bzip2", 0},
	{14, "lzma", 0},
	{95, "xz", 0},
	{98, "ppmd", 0},
	{99, "encrypted by AES", 0},
};

static const struct method *method_of(unsigned number)
{
	for (size_t i = 0; i < ARRAY_LEN(methods); i++)
		if (methods[i].number == number)
			return &methods[i];
	return NULL;
}

static int check_method(const struct zip_member *member, const char *name)
{
	const struct method *method = method_of(member->method);
	if (member->flags & ZIP_FLAG_ENCRYPTED)
		return err_set(ENOTSUP, "%s: encrypted in the zip file", name);
	if (!method)
		return err_set(ENOTSUP, "%s: compression method %u of the zip file is unknown", name, member->method);
	if (!method->ratio)
		return err_set(ENOTSUP, "%s: compression method %u (%s) of the zip file is not read", name, member->method,
					   method->name);
	if (member->is_link)
		return err_set(EIO, "%s: a symbolic link in a zip file", name);
	return 0;
}

/* A bomb says what its bytes cannot give; and bytes that give nothing are not read. */
static int check_sizes(const struct zip_member *member, const char *name)
{
	uint64_t ratio = method_of(member->method)->ratio;
	bool fits = member->method == ZIP_STORED
					? member->stored == member->size
					: member->size / ratio <= member->stored && member->stored / 2 <= member->size + STORED_SLACK;
	if (!fits)
		return err_set(EIO, "%s: %" PRIu64 " bytes in the zip file cannot be %" PRIu64 " bytes", name, member->stored,
					   member->size);
	return 0;
}

/* A field of a local header: the central one's value, or all ones where the zip64 extra field has it. */
static bool agrees(const uint8_t *field, uint64_t central)
{
	uint32_t local = load_le32(field);
	return local == central || local == UINT32_MAX;
}

static bool header_agrees(const struct zip_member *member, const uint8_t *local)
{
	unsigned flags = load_le16(local + 6);
	if (load_le16(local + 8) != member->method || ((flags ^ member->flags) & ZIP_FLAG_ENCRYPTED) ||
		load_le16(local + 26) != member->raw_size ||
		libdeflate_crc32(0, local + LOCAL_BYTES, member->raw_size) != member->raw_crc)
		return false;
	return (flags & ZIP_FLAG_DESCRIPTOR) || (load_le32(local + 14) == member->crc &&
											 agrees(local + 18, member->stored) && agrees(local + 22, member->size));
}

int zip_member_locate(struct local_file *file, const struct zip_member *member, const char *name, enum store_how how,
					  uint64_t *ret_data)
{
	int rc = check_method(member, name);
	if (!rc)
		rc = check_sizes(member, name);
	if (rc)
		return rc;
	uint64_t after, end;
	size_t size = LOCAL_BYTES + (size_t)member->raw_size;
	if (!checked_add(member->header, size, &after) || after > member->end)
		return err_set(EIO, "%s: overlaps another member of the zip file", name);
	autofree uint8_t *local = malloc(size);
	if (!local)
		return err_set(ENOMEM, "%s: no memory for a local header", name);
	rc = local_file_read(file, member->header, local, size, how, name);
	if (rc)
		return rc;
	if (load_le32(local) != LOCAL_SIGNATURE)
		return err_set(EIO, "%s: not where the zip file's directory says", name);
	if (!header_agrees(member, local))
		return err_set(EIO, "%s: its local header in the zip file disagrees with the central directory", name);
	if (!checked_add(after, load_le16(local + 28), &after) || !checked_add(after, member->stored, &end) ||
		end > member->end)
		return err_set(EIO, "%s: overlaps another member of the zip file", name);
	*ret_data = end - member->stored;
	return 0;
}

/* Exactly `size` bytes, or damaged; never more are written. */
static int decompress(unsigned method, const void *src, size_t stored, void *dst, size_t size, const char *name)
{
	bool decoded;
	if (method == ZIP_DEFLATED) {
		struct libdeflate_decompressor *context = deflate_context();
		if (!context)
			return err_set(ENOMEM, "%s: no memory to decompress", name);
		decoded = libdeflate_deflate_decompress(context, src, stored, dst, size, NULL) == LIBDEFLATE_SUCCESS;
	} else {
		ZSTD_DCtx *context = zstd_context();
		if (!context)
			return err_set(ENOMEM, "%s: no memory to decompress", name);
		decoded = ZSTD_decompressDCtx(context, dst, size, src, stored) == size;
	}
	return decoded ? 0 : err_set(EIO, "%s: its compressed data in the zip file are damaged", name);
}

static int read_compressed(struct local_file *file, const struct zip_member *member, uint64_t data, const char *name,
						   enum store_how how, void *dst)
{
	if (how == STORE_TRY && member->size > TRY_BYTES)
		return -EAGAIN;
	autobuf stored = NULL;
	int rc = buf_new((size_t)member->stored, &stored);
	if (!rc)
		rc = local_file_read(file, data, stored->data, stored->size, how, name);
	if (!rc)
		rc = decompress(member->method, stored->data, stored->size, dst, (size_t)member->size, name);
	return rc;
}

int zip_member_read(struct local_file *file, const struct zip_member *member, uint64_t data, const char *name,
					enum store_how how, void *dst)
{
	int rc = member->method == ZIP_STORED ? local_file_read(file, data, dst, (size_t)member->size, how, name)
										  : read_compressed(file, member, data, name, how, dst);
	if (rc)
		return rc;
	uint32_t crc = libdeflate_crc32(0, dst, (size_t)member->size);
	if (crc != member->crc)
		return err_set(EIO, "%s: its CRC-32 is %08x in place of %08x", name, crc, member->crc);
	return 0;
}
