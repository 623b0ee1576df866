#include "meter.h"

#include <stdlib.h>
#include <string.h>

void meter_reset(struct meter *meter)
{
	memset(meter, 0, sizeof(*meter));
}

void meter_feed(struct meter *meter, const struct mixer *m, const short *samples, int frames)
{
	int frame, number;

	for (frame = 0; frame < frames; frame++) {
		for (number = 1; number <= m->count; number++) {
			int level = abs(samples[frame * m->count + number - 1]);

			if (level > meter->peak[number - 1])
				meter->peak[number - 1] = level;
		}
	}
}

int meter_peak(const struct meter *meter, const struct mixer *m, const char *name)
{
	int number = mixer_find(m, name);

	return number == 0 ? -1 : meter->peak[number - 1];
}
