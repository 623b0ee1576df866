#ifndef SUMMARY_H
#define SUMMARY_H

#include <stdint.h>
#include <stdio.h>

/* How long the belt was moving in the workout of this log. Returns 0, or -1 if the log is damaged. */
int summary_active_seconds(FILE *in, uint32_t *seconds);

#endif
