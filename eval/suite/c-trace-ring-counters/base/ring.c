#include "ring.h"

void ring_init(struct ring *r)
{
	r->head = 0;
	r->tail = 0;
	r->lost = 0;
}

uint32_t ring_count(const struct ring *r)
{
	return (r->head + RING_SIZE - r->tail) % RING_SIZE;
}

int ring_put(struct ring *r, const struct sample *s)
{
	uint32_t next = (r->head + 1) % RING_SIZE;

	/* One slot stays free, so that full and empty differ. */
	if (next == r->tail) {
		r->lost++;
		return 0;
	}
	r->slots[r->head] = *s;
	r->head = next;
	return 1;
}

int ring_get(struct ring *r, struct sample *s)
{
	if (r->head == r->tail)
		return 0;
	*s = r->slots[r->tail];
	r->tail = (r->tail + 1) % RING_SIZE;
	return 1;
}
