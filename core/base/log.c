/*
 * log.c: lines to the sink, and the table behind the rate limit.
 *
 * The table has a fixed size: a store can name any number of subjects. A subject has four places to be in; a new one
 * takes the place of the one that passed longest ago, which then may pass once too often.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#include "base/clock.h"

#define LOG_LINE_BYTES 2048 /* a longer line is cut */
#define LOG_PERIOD_NS (INT64_C(10) * 1000 * 1000 * 1000)
#define LOG_SETS 128
#define LOG_WAYS 4

struct subject {
	uint64_t hash; /* of category and subject; 0: free */
	int64_t passed_ns;
	uint64_t suppressed;
};

static atomic_int log_level = LOG_LEVEL_WARN;
static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static void (*log_sink)(enum log_level level, const char *line, void *arg);
static void *log_sink_arg;
static struct subject log_subjects[LOG_SETS][LOG_WAYS];

void log_set_sink(void (*sink)(enum log_level level, const char *line, void *arg), void *arg)
{
	autolock(&log_lock);
	log_sink = sink;
	log_sink_arg = arg;
}

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&log_level, (int)level, memory_order_relaxed);
}

static bool log_is_on(enum log_level level)
{
	return (int)level <= atomic_load_explicit(&log_level, memory_order_relaxed);
}

/* Bytes of the control character at `p` (ASCII's, DEL, and the UTF-8 of U+0080 to U+009F); 0 when it is none. */
static int control_bytes(const uint8_t *p)
{
	if (p[0] < 0x20 || p[0] == 0x7f)
		return 1;
	return p[0] == 0xc2 && p[1] >= 0x80 && p[1] <= 0x9f ? 2 : 0;
}

static void escape_controls(const char *text, char *ret_line)
{
	static const char hex[] = "0123456789abcdef";
	const uint8_t *p = (const uint8_t *)text;
	while (*p) {
		int controls = control_bytes(p);
		if (controls == 0)
			*ret_line++ = (char)*p++;
		for (; controls > 0; controls--, p++) {
			*ret_line++ = '\\';
			*ret_line++ = 'x';
			*ret_line++ = hex[*p >> 4];
			*ret_line++ = hex[*p & 15];
		}
	}
	*ret_line = '\0';
}

/* Formats and hands out one line; `suppressed` like it did not pass before. */
static void log_emit(enum log_level level, const char *category, uint64_t suppressed, const char *fmt, va_list args)
{
	int saved_errno = errno;
	char text[LOG_LINE_BYTES], line[4 * LOG_LINE_BYTES];
	size_t used = 0;
	if (category && category[0])
		used = (size_t)snprintf(text, sizeof(text) / 2, "%s: ", category);
	used = MIN(used, sizeof(text) / 2 - 1);
	int printed = vsnprintf(text + used, sizeof(text) - used, fmt, args);
	if (printed > 0)
		used = MIN(used + (size_t)printed, sizeof(text) - 1);
	if (suppressed > 0)
		snprintf(text + used, sizeof(text) - used, " (%llu more suppressed)", (unsigned long long)suppressed);
	escape_controls(text, line);
	{
		autolock(&log_lock);
		if (log_sink)
			log_sink(level, line, log_sink_arg);
		else
			fprintf(stderr, "zarrfs: %s\n", line);
	}
	errno = saved_errno;
}

void log_line(enum log_level level, const char *category, const char *fmt, ...)
{
	if (!log_is_on(level))
		return;
	va_list args;
	va_start(args, fmt);
	log_emit(level, category, 0, fmt, args);
	va_end(args);
}

/* FNV-1a over both strings with their ends, so that ("a", "bc") and ("ab", "c") differ; never 0. */
static uint64_t hash_subject(const char *category, const char *subject)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	const char *parts[] = {category ? category : "", subject ? subject : ""};
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const char *p = parts[i];
		do
			hash = (hash ^ (uint8_t)*p) * UINT64_C(0x100000001b3);
		while (*p++);
	}
	return hash ? hash : 1;
}

/* The subject's place: its own, else a free one, else the one that passed longest ago. The lock is held. */
static struct subject *find_place(uint64_t hash)
{
	struct subject *set = log_subjects[(hash >> 32) % LOG_SETS];
	struct subject *place = &set[0];
	for (int i = 0; i < LOG_WAYS; i++) {
		if (set[i].hash == hash)
			return &set[i];
		if (place->hash != 0 && (set[i].hash == 0 || set[i].passed_ns < place->passed_ns))
			place = &set[i];
	}
	return place;
}

/* Whether the subject's next line may pass, and how many did not since the last. */
static bool may_pass(const char *category, const char *subject, uint64_t *ret_suppressed)
{
	int64_t now_ns = (int64_t)monotonic_ns();
	uint64_t hash = hash_subject(category, subject);
	autolock(&log_lock);
	struct subject *place = find_place(hash);
	if (place->hash == hash && now_ns - place->passed_ns < LOG_PERIOD_NS) {
		place->suppressed++;
		return false;
	}
	*ret_suppressed = place->hash == hash ? place->suppressed : 0;
	*place = (struct subject){.hash = hash, .passed_ns = now_ns};
	return true;
}

void log_limited(enum log_level level, const char *category, const char *subject, const char *fmt, ...)
{
	uint64_t suppressed;
	if (!log_is_on(level) || !may_pass(category, subject, &suppressed))
		return;
	va_list args;
	va_start(args, fmt);
	log_emit(level, category, suppressed, fmt, args);
	va_end(args);
}
