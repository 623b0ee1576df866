#include "timers.h"

int timers_every(struct timers *ts, uint64_t now, uint32_t period, timer_fn fn, void *arg)
{
	struct timer *t;

	if (ts->count == TIMERS_MAX || period == 0)
		return -1;
	t = &ts->slots[ts->count++];
	t->due = now + period;
	t->period = period;
	t->fn = fn;
	t->arg = arg;
	return 0;
}

void timers_run(struct timers *ts, uint64_t now)
{
	int i;

	for (i = 0; i < ts->count; i++) {
		struct timer *t = &ts->slots[i];

		if (t->due <= now) {
			t->due = now + t->period;
			t->fn(t->arg);
		}
	}
}

int timers_wait(const struct timers *ts, uint64_t now)
{
	uint64_t wait = TIMERS_WAIT_MAX;
	int i;

	for (i = 0; i < ts->count; i++) {
		uint64_t left = ts->slots[i].due - now;

		if (left < wait)
			wait = left;
	}
	return (int)wait;
}
