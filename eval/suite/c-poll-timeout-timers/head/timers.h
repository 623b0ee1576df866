#ifndef TIMERS_H
#define TIMERS_H

#include <stdint.h>

#define TIMERS_MAX 32
#define TIMERS_WAIT_MAX 60000

typedef void (*timer_fn)(void *arg);

struct timer {
	uint64_t due;		/* milliseconds, monotonic clock */
	uint32_t period;	/* milliseconds, at least 1 */
	timer_fn fn;
	void *arg;
};

struct timers {
	struct timer slots[TIMERS_MAX];
	int count;
};

/* Calls fn(arg) every period milliseconds. Returns 0, or -1 if all slots are taken. */
int timers_every(struct timers *ts, uint64_t now, uint32_t period, timer_fn fn, void *arg);

/* Runs what is due. A timer that is late runs once and is then due one period from now. */
void timers_run(struct timers *ts, uint64_t now);

/* Milliseconds until the next timer is due, for poll(): at most TIMERS_WAIT_MAX. */
int timers_wait(const struct timers *ts, uint64_t now);

#endif
