#include "loop.h"

#include <poll.h>
#include <time.h>

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

void loop_run(struct loop *loop)
{
	while (!loop->stop) {
		struct pollfd pfd = { .fd = loop->fd, .events = POLLIN };

		/* Sleep until there is input or the next timer is due. */
		if (poll(&pfd, 1, timers_wait(&loop->timers, now_ms())) > 0)
			loop->on_input(loop);
		timers_run(&loop->timers, now_ms());
	}
}
