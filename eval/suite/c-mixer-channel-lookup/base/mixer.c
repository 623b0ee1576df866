#include "mixer.h"

#include <string.h>

int mixer_find(const struct mixer *m, const char *name)
{
	int i;

	for (i = 0; i < m->count; i++) {
		if (strcmp(m->channels[i].name, name) == 0)
			return i + 1;
	}
	return 0;
}

int mixer_add(struct mixer *m, const char *name)
{
	struct channel *c;

	if (m->count == MIXER_CHANNELS || name[0] == '\0' || strlen(name) >= MIXER_NAME)
		return 0;
	if (mixer_find(m, name) != 0)
		return 0;
	c = &m->channels[m->count++];
	strcpy(c->name, name);
	c->gain = 0;
	c->muted = 0;
	return m->count;
}

int mixer_set_gain(struct mixer *m, const char *name, int gain)
{
	int number = mixer_find(m, name);

	if (number == 0)
		return -1;
	m->channels[number - 1].gain = gain;
	return 0;
}
