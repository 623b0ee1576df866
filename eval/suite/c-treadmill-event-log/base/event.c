#include "event.h"

static const char *const names[EVENT_KINDS] = {
	[EVENT_INCLINE] = "incline",
	[EVENT_SPEED] = "speed",
	[EVENT_START] = "start",
	[EVENT_STOP] = "stop",
};

const char *event_name(enum event_kind kind)
{
	return names[kind];
}
