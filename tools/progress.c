/*
 * progress.c: draws at most ten times a second, with one write a time.
 */
#include "tools/progress.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "pool/request.h"
#include "tools/command.h"

#define FIRST_DRAW_NS UINT64_C(500000000)
#define NEXT_DRAW_NS UINT64_C(100000000)
#define BAR_CELLS 30

static const char wipe[] = "\r\033[K";

/* Read by the signal handlers. */
static volatile sig_atomic_t bar_stands;
static volatile sig_atomic_t interrupted;

static void put(const char *text, size_t size)
{
	/* A terminal that takes nothing is no reason to stop. */
	ssize_t written = write(STDERR_FILENO, text, size);
	(void)written;
}

static bool is_capable_terminal(void)
{
	const char *term = getenv("TERM");
	return isatty(STDERR_FILENO) && term && strcmp(term, "dumb") != 0;
}

void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	progress_begin_with_lines(progress, what, total);
	progress->is_shown &= !isatty(STDOUT_FILENO);
}

void progress_begin_with_lines(struct progress *progress, const char *what, uint64_t total)
{
	progress->is_shown = is_capable_terminal();
	progress->what = what;
	progress->total = total;
	progress->begun_ns = progress->drawn_ns = monotonic_ns();
}

static int draw_bar(char *line, size_t size, const struct progress *progress, uint64_t done, double seconds)
{
	if (progress->total == 0)
		return snprintf(line, size, "%s%s: %" PRIu64, wipe, progress->what, done);
	double part = (double)MIN(done, progress->total) / (double)progress->total;
	int cells = (int)(part * BAR_CELLS);
	char bar[BAR_CELLS + 1];
	memset(bar, ' ', BAR_CELLS);
	memset(bar, '#', (size_t)cells);
	bar[BAR_CELLS] = '\0';
	double left = part > 0 ? seconds / part - seconds : 0;
	return snprintf(line, size, "%s%s: [%s] %3d%%  %.0f s left", wipe, progress->what, bar, (int)(part * 100), left);
}

void progress_update(struct progress *progress, uint64_t done)
{
	if (!progress->is_shown)
		return;
	uint64_t now = monotonic_ns();
	if (now - progress->begun_ns < FIRST_DRAW_NS || now - progress->drawn_ns < NEXT_DRAW_NS)
		return;
	progress->drawn_ns = now;
	char line[160];
	int n = draw_bar(line, sizeof(line), progress, done, (double)(now - progress->begun_ns) / 1e9);
	bar_stands = 1;
	put(line, MIN((size_t)n, sizeof(line) - 1));
}

void progress_hide(struct progress *progress)
{
	if (bar_stands)
		put(wipe, sizeof(wipe) - 1);
	bar_stands = 0;
}

void progress_end(struct progress *progress)
{
	progress_hide(progress);
	progress->is_shown = false;
}

static void end_interrupted(int signal_number)
{
	if (bar_stands)
		put(wipe, sizeof(wipe) - 1);
	_exit(CODE_INTERRUPTED);
}

void progress_catch_signals(void)
{
	struct sigaction action = {.sa_handler = end_interrupted};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* Whoever started us may have it ignored. */
	signal(SIGPIPE, SIG_DFL);
}

static void note_interrupt(int signal_number)
{
	if (interrupted)
		end_interrupted(signal_number);
	interrupted = 1;
}

void progress_note_signals(void)
{
	static const int numbers[] = {SIGINT, SIGTERM};
	struct sigaction action = {.sa_handler = note_interrupt, .sa_flags = SA_RESTART}, old;
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(numbers[i], &action, NULL);
	signal(SIGPIPE, SIG_DFL);
}

bool progress_is_interrupted(void)
{
	return interrupted;
}
