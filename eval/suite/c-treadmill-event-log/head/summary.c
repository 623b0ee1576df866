#include "summary.h"

#include "log.h"

int summary_active_seconds(FILE *in, uint32_t *seconds)
{
	struct event e;
	uint32_t started = 0;
	int running = 0;
	int rc;

	*seconds = 0;
	while ((rc = log_read(in, &e)) > 0) {
		switch (e.kind) {
		case EVENT_START:
		case EVENT_RESUME:
			if (!running)
				started = e.at;
			running = 1;
			break;
		case EVENT_STOP:
		case EVENT_PAUSE:
			if (running)
				*seconds += e.at - started;
			running = 0;
			break;
		default:
			break;
		}
	}
	return rc;
}
