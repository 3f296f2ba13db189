/*
 * driver.c: replays a corpus without a fuzzing engine: every file of the folders (or every file) given as arguments goes through
 * LLVMFuzzerTestOneInput. Prints how many; fails when there were none, since a replay of nothing proves nothing.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The input has exactly its size, so that a sanitizer sees a read behind it. */
static int replay_file(const char *path, size_t size)
{
	FILE *file = fopen(path, "rb");
	uint8_t *data = malloc(size ? size : 1);
	if (!file || !data || fread(data, 1, size, file) != size) {
		fprintf(stderr, "%s: cannot be read\n", path);
		exit(EXIT_FAILURE);
	}
	fclose(file);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
	return 1;
}

static int replay(const char *path)
{
	struct stat st;
	if (stat(path, &st) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	if (!S_ISDIR(st.st_mode))
		return replay_file(path, (size_t)st.st_size);

	int n = 0;
	DIR *dir = opendir(path);
	if (!dir) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(EXIT_FAILURE);
	}
	for (struct dirent *entry; (entry = readdir(dir));) {
		char inside[4096];
		if (entry->d_name[0] == '.')
			continue;
		snprintf(inside, sizeof(inside), "%s/%s", path, entry->d_name);
		n += replay(inside);
	}
	closedir(dir);
	return n;
}

int main(int argc, char **argv)
{
	int n = 0;
	for (int i = 1; i < argc; i++)
		n += replay(argv[i]);
	printf("%d inputs replayed\n", n);
	return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
