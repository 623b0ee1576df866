#ifndef MIXER_H
#define MIXER_H

#define MIXER_CHANNELS 16
#define MIXER_NAME 12

struct channel {
	char name[MIXER_NAME];
	int gain;		/* tenths of a decibel */
	int muted;
};

struct mixer {
	struct channel channels[MIXER_CHANNELS];
	int count;
};

/* Adds a channel. Returns its index, or -1 if there is no room or the name is not usable. */
int mixer_add(struct mixer *m, const char *name);

/* The index of the channel with this name, or -1 if there is none. */
int mixer_find(const struct mixer *m, const char *name);

/* Sets the gain in tenths of a decibel. Returns 0, or -1 if there is no such channel. */
int mixer_set_gain(struct mixer *m, const char *name, int gain);

#endif
