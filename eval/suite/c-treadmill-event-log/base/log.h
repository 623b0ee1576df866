#ifndef LOG_H
#define LOG_H

#include <stdio.h>

#include "event.h"

/* Appends an event to the workout's log on the memory card. Returns 0 or -1. */
int log_write(FILE *out, const struct event *e);

/* Reads the next event. Returns 1, 0 at the end, or -1 if the log is damaged. */
int log_read(FILE *in, struct event *e);

#endif
