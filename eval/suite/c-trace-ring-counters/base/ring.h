#ifndef RING_H
#define RING_H

#include <stdint.h>

#define RING_SIZE 256

/* A sample of the motor controller. */
struct sample {
	uint32_t time;		/* microseconds, wraps */
	int16_t current;
	int16_t position;
};

/*
 * A queue of samples; used by the main loop only, which collects and sends
 * them in turn.
 */
struct ring {
	struct sample slots[RING_SIZE];
	uint32_t head;		/* where the next sample goes, 0 to RING_SIZE - 1 */
	uint32_t tail;		/* the oldest sample, 0 to RING_SIZE - 1 */
	uint32_t lost;		/* samples that found the ring full */
};

void ring_init(struct ring *r);

/* Number of samples in the ring. */
uint32_t ring_count(const struct ring *r);

/* Appends a sample. Returns 1, or 0 if the ring is full. */
int ring_put(struct ring *r, const struct sample *s);

/* Takes the oldest sample. Returns 1, or 0 if the ring is empty. */
int ring_get(struct ring *r, struct sample *s);

#endif
