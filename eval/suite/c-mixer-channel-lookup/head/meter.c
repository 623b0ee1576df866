#include "meter.h"

#include <stdlib.h>
#include <string.h>

void meter_reset(struct meter *meter)
{
	memset(meter, 0, sizeof(*meter));
}

void meter_feed(struct meter *meter, const struct mixer *m, const short *samples, int frames)
{
	int frame, i;

	for (frame = 0; frame < frames; frame++) {
		for (i = 0; i < m->count; i++) {
			int level = abs(samples[frame * m->count + i]);

			if (level > meter->peak[i])
				meter->peak[i] = level;
		}
	}
}

int meter_peak(const struct meter *meter, const struct mixer *m, const char *name)
{
	int index = mixer_find(m, name);

	return index < 0 ? -1 : meter->peak[index];
}
