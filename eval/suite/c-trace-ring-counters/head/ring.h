#ifndef RING_H
#define RING_H

#include <stdint.h>

#define RING_SIZE 256u	/* a power of two, see ring.c */

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
	uint32_t head;		/* samples ever put, modulo 2^32 */
	uint32_t tail;		/* samples ever taken, modulo 2^32 */
	uint32_t lost;		/* samples that found the ring full */
};

void ring_init(struct ring *r);

/* Number of samples in the ring. */
uint32_t ring_count(const struct ring *r);

/* Number of samples ever put into the ring, modulo 2^32, without the lost ones. */
uint32_t ring_total(const struct ring *r);

/* Appends a sample. Returns 1, or 0 if the ring is full. */
int ring_put(struct ring *r, const struct sample *s);

/* Takes the oldest sample. Returns 1, or 0 if the ring is empty. */
int ring_get(struct ring *r, struct sample *s);

#endif
