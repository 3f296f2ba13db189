/*
 * zip_end.c: where a zip's central directory is (4.3.14 to 4.3.16).
 *
 *     ... central directory | zip64 end | zip64 locator | end | comment
 *                                           20 bytes      22    what `end` says, to the end of the file
 *
 * A comment may hold what looks like an end record, so each place from the end of the file backwards is tried, and the first whose
 * comment reaches the end of the file and whose directory is there is taken: what readers that expect no comment find too.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/endian.h"
#include "base/err.h"
#include "base/limits.h"
#include "store/zip_impl.h"

#define END_BYTES 22u
#define LOCATOR_BYTES 20u
#define END64_BYTES 56u
#define TAIL_BYTES (END_BYTES + UINT16_MAX)

#define END_SIGNATURE 0x06054b50u
#define LOCATOR_SIGNATURE 0x07064b50u
#define END64_SIGNATURE 0x06064b50u
#define CENTRAL_SIGNATURE 0x02014b50u

/* The last place at or before *at where an end record with its comment closes the tail; false: none. */
static bool last_end(const uint8_t *tail, size_t size, size_t *at)
{
	for (size_t i = *at + 1; i-- > 0;)
		if (load_le32(tail + i) == END_SIGNATURE && load_le16(tail + i + 20) == size - i - END_BYTES) {
			*at = i;
			return true;
		}
	return false;
}

bool zip_file_has_end(int fd, uint64_t size)
{
	size_t n = (size_t)MIN(size, (uint64_t)TAIL_BYTES), got = 0;
	autofree uint8_t *tail = n >= END_BYTES ? malloc(n) : NULL;
	if (!tail || local_read(fd, size - n, tail, n, &got) || got != n)
		return false;
	size_t at = n - END_BYTES;
	return last_end(tail, n, &at);
}

/* The zip64 end record: where the locator says, with what is before the zip or without, or right before the locator. */
static int find_end64(struct local_file *file, uint64_t locator_at, const uint8_t *locator, uint64_t *ret_at,
					  uint8_t *ret_end64)
{
	uint64_t places[] = {load_le64(locator + 8), locator_at - MIN(locator_at, (uint64_t)END64_BYTES)};
	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		uint64_t after, rest;
		if (!checked_add(places[i], END64_BYTES, &after) || after > locator_at)
			continue;
		int rc = local_file_read(file, places[i], ret_end64, END64_BYTES, STORE_WAIT, "the end record");
		if (rc)
			return rc;
		/* its size counts from after these 12 bytes, up to the locator */
		if (load_le32(ret_end64) == END64_SIGNATURE && checked_add(places[i] + 12, load_le64(ret_end64 + 4), &rest) &&
			rest == locator_at) {
			*ret_at = places[i];
			return 0;
		}
	}
	return -ENOENT;
}

/* What an end record says, in 64 bits where it points to a zip64 end record. */
struct claims {
	uint64_t volume, directory_volume, here, members, size, offset;
	uint64_t directory_end; /* in the file */
	bool is_short;
};

static int read_claims(struct local_file *file, const uint8_t *end, uint64_t end_at, struct claims *claims)
{
	*claims = (struct claims){load_le16(end + 4),
							  load_le16(end + 6),
							  load_le16(end + 8),
							  load_le16(end + 10),
							  load_le32(end + 12),
							  load_le32(end + 16),
							  end_at,
							  true};
	bool is_cut = claims->here == UINT16_MAX || claims->members == UINT16_MAX || claims->size == UINT32_MAX ||
				  claims->offset == UINT32_MAX || claims->volume == UINT16_MAX ||
				  claims->directory_volume == UINT16_MAX;
	uint8_t locator[LOCATOR_BYTES], end64[END64_BYTES];
	uint64_t at;
	if (end_at < LOCATOR_BYTES)
		return 0;
	int rc = local_file_read(file, end_at - LOCATOR_BYTES, locator, LOCATOR_BYTES, STORE_WAIT, "the end record");
	if (rc || load_le32(locator) != LOCATOR_SIGNATURE)
		return rc;
	rc = find_end64(file, end_at - LOCATOR_BYTES, locator, &at, end64);
	if (rc == -ENOENT) /* those bytes are a locator only if they must be one */
		return is_cut ? err_set(EIO, "the zip64 end record is not where its locator says") : 0;
	if (rc)
		return rc;
	*claims = (struct claims){load_le32(end64 + 16),
							  load_le32(end64 + 20),
							  load_le64(end64 + 24),
							  load_le64(end64 + 32),
							  load_le64(end64 + 40),
							  load_le64(end64 + 48),
							  at,
							  false};
	return 0;
}

/* Whether a central directory begins there; an empty one does anywhere. */
static int begins_directory(struct local_file *file, uint64_t at, uint64_t size, bool *ret_begins)
{
	uint8_t signature[4];
	*ret_begins = size == 0;
	if (size < sizeof(signature))
		return 0;
	int rc = local_file_read(file, at, signature, sizeof(signature), STORE_WAIT, "the central directory");
	if (!rc)
		*ret_begins = load_le32(signature) == CENTRAL_SIGNATURE;
	return rc;
}

/*
 * The directory ends where the end records begin; what is before the zip (a program that extracts itself) is the difference
 * to where it is said to be. Or something is between the directory and its end, and the offset is right.
 */
static int place_directory(struct local_file *file, const struct claims *claims, struct zip_end *ret_end)
{
	bool begins = false;
	uint64_t start, end;
	if (claims->volume || claims->directory_volume || claims->here != claims->members)
		return err_set(ENOTSUP, "a zip of several volumes");
	int rc = 0;
	if (checked_sub(claims->directory_end, claims->size, &start) && start >= claims->offset)
		rc = begins_directory(file, start, claims->size, &begins);
	if (!rc && !begins) {
		start = claims->offset;
		if (checked_add(start, claims->size, &end) && end <= claims->directory_end)
			rc = begins_directory(file, start, claims->size, &begins);
	}
	if (rc)
		return rc;
	if (!begins)
		return err_set(EIO, "the central directory is not where the end record says");
	*ret_end = (struct zip_end){start, claims->size, start - claims->offset, claims->members, claims->is_short};
	return 0;
}

int zip_find_end(struct local_file *file, struct zip_end *ret_end)
{
	uint64_t size = file->info.size;
	size_t n = (size_t)MIN(size, (uint64_t)TAIL_BYTES);
	autofree uint8_t *tail = malloc(n + 1);
	if (!tail)
		return err_set(ENOMEM, "no memory for a zip file");
	int rc = n < END_BYTES ? err_set(EIO, "no zip file: no end record closes it")
						   : local_file_read(file, size - n, tail, n, STORE_WAIT, "the end record");
	if (rc)
		return rc;
	struct err_text first;
	int first_rc = 0;
	for (size_t at = n - END_BYTES; last_end(tail, n, &at); at--) {
		struct claims claims;
		rc = read_claims(file, tail + at, size - n + at, &claims);
		if (!rc)
			rc = place_directory(file, &claims, ret_end);
		if (rc != -EIO && rc != -ENOTSUP)
			return rc;
		if (!first_rc)
			err_save(&first);
		first_rc = first_rc ? first_rc : rc;
		if (at == 0)
			break;
	}
	if (!first_rc)
		return err_set(EIO, "no zip file: no end record closes it");
	err_restore(&first);
	return first_rc;
}
