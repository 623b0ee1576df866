#ifndef LOOP_H
#define LOOP_H

#include "timers.h"

struct loop {
	int fd;					/* the bus */
	void (*on_input)(struct loop *loop);	/* reads from fd; may take a while */
	int stop;				/* set by a callback to end the loop */
	struct timers timers;
};

void loop_run(struct loop *loop);

#endif
