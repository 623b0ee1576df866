#include "script.h"

#include <stdio.h>
#include <string.h>

/* "solo <name>" mutes all channels but one. */
static int solo(struct mixer *m, const char *name)
{
	int keep = mixer_find(m, name);
	int i;

	if (!keep)
		return -1;
	for (i = 1; i <= m->count; i++)
		m->channels[i - 1].muted = i != keep;
	return 0;
}

static int unmute_all(struct mixer *m)
{
	int i;

	for (i = 0; i < m->count; i++)
		m->channels[i].muted = 0;
	return 0;
}

int script_line(struct mixer *m, const char *line)
{
	char name[MIXER_NAME];
	int gain;

	if (sscanf(line, "gain %11s %d", name, &gain) == 2)
		return mixer_set_gain(m, name, gain);
	if (sscanf(line, "solo %11s", name) == 1)
		return solo(m, name);
	if (strcmp(line, "unmute") == 0)
		return unmute_all(m);
	return -1;
}
