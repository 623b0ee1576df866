#ifndef SCRIPT_H
#define SCRIPT_H

#include "mixer.h"

/* Runs one line of a show script. Returns 0, or -1 if it cannot be done. */
int script_line(struct mixer *m, const char *line);

#endif
