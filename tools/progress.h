/*
 * progress.h: a progress bar on standard error, for long work by one thread. It appears after a moment and leaves no trace;
 * where standard error is no terminal, or standard output is the same one, there is none.
 */
#ifndef ZARRFS_PROGRESS_H
#define ZARRFS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool is_shown; /* wanted at all */
	const char *what;
	uint64_t total; /* 0: unknown; then there is a count in place of a bar */
	uint64_t begun_ns, drawn_ns;
};

/* `what` is short, and outlives the bar. */
void progress_begin(struct progress *progress, const char *what, uint64_t total);

/* The same for work that prints lines meanwhile, perhaps to the same terminal, with progress_hide before each. */
void progress_begin_with_lines(struct progress *progress, const char *what, uint64_t total);
void progress_hide(struct progress *progress);

/* So much is done; cheap enough to call often. */
void progress_update(struct progress *progress, uint64_t done);

/* Wipes the bar. */
void progress_end(struct progress *progress);

/* From now on SIGINT and SIGTERM wipe the bar and end the program with CODE_INTERRUPTED, and a closed pipe ends it quietly. */
void progress_catch_signals(void);

/*
 * The same but for the first SIGINT or SIGTERM, which only makes progress_is_interrupted true; one that whoever started us ignores
 * stays so.
 */
void progress_note_signals(void);
bool progress_is_interrupted(void);

#endif
