#ifndef STATE_H
#define STATE_H

#include <stddef.h>
#include <stdint.h>

/* The counters of one rain gauge, as they survive a restart. */
struct gauge {
	uint32_t id;
	uint32_t tips;
	int64_t last_tip;	/* seconds since the epoch */
};

/*
 * Replaces the state file with the given gauges. Returns 0, or -1 with errno
 * set; the old file is then still there.
 */
int state_save(const char *path, const struct gauge *gauges, size_t count);

/* Reads at most max gauges. Returns their number, or -1 if there is no state file. */
long state_load(const char *path, struct gauge *gauges, size_t max);

#endif
