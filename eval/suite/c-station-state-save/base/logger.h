#ifndef LOGGER_H
#define LOGGER_H

#include <stddef.h>

struct gauge;

/* Saves the counters; called every five minutes. */
void logger_checkpoint(const char *path, const struct gauge *gauges, size_t count);

#endif
