#ifndef EVENT_H
#define EVENT_H

#include <stdint.h>

/* What can happen during a workout, in alphabetical order. */
enum event_kind {
	EVENT_INCLINE,
	EVENT_PAUSE,
	EVENT_RESUME,
	EVENT_SPEED,
	EVENT_START,
	EVENT_STOP,
	EVENT_KINDS
};

struct event {
	uint32_t at;		/* seconds since the workout began */
	enum event_kind kind;
	int16_t value;		/* tenths of km/h or of a per cent, else 0 */
};

/* The name for the display. */
const char *event_name(enum event_kind kind);

#endif
