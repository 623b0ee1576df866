#include <stdio.h>
#include <string.h>
#include <errno.h>

#include "logger.h"
#include "state.h"

void logger_checkpoint(const char *path, const struct gauge *gauges, size_t count)
{
	/* Try again at the next checkpoint; the counters are still in memory. */
	if (state_save(path, gauges, count) != 0)
		fprintf(stderr, "checkpoint: %s: %s\n", path, strerror(errno));
}
