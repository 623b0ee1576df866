#ifndef METER_H
#define METER_H

#include "mixer.h"

/* The loudest sample of each channel since the last reset. */
struct meter {
	int peak[MIXER_CHANNELS];
};

void meter_reset(struct meter *meter);

/* Takes a block of interleaved samples, one per channel and frame. */
void meter_feed(struct meter *meter, const struct mixer *m, const short *samples, int frames);

/* The peak of the channel with this name, or -1 if there is none. */
int meter_peak(const struct meter *meter, const struct mixer *m, const char *name);

#endif
