#include "mixer.h"

#include <string.h>

int mixer_find(const struct mixer *m, const char *name)
{
	int i;

	for (i = 0; i < m->count; i++) {
		if (strcmp(m->channels[i].name, name) == 0)
			return i;
	}
	return -1;
}

int mixer_add(struct mixer *m, const char *name)
{
	struct channel *c;

	if (m->count == MIXER_CHANNELS || name[0] == '\0' || strlen(name) >= MIXER_NAME)
		return -1;
	if (mixer_find(m, name) >= 0)
		return -1;
	c = &m->channels[m->count];
	strcpy(c->name, name);
	c->gain = 0;
	c->muted = 0;
	return m->count++;
}

int mixer_set_gain(struct mixer *m, const char *name, int gain)
{
	int index = mixer_find(m, name);

	if (index < 0)
		return -1;
	m->channels[index].gain = gain;
	return 0;
}
