#include "ring.h"

/*
 * The counters are never reduced. The difference is right even when head has
 * wrapped and tail has not, and as RING_SIZE divides 2^32 the slots go on in
 * order there.
 */
_Static_assert((RING_SIZE & (RING_SIZE - 1)) == 0, "RING_SIZE must be a power of two");

static uint32_t slot(uint32_t counter)
{
	return counter & (RING_SIZE - 1);
}

void ring_init(struct ring *r)
{
	r->head = 0;
	r->tail = 0;
	r->lost = 0;
}

uint32_t ring_count(const struct ring *r)
{
	return r->head - r->tail;
}

uint32_t ring_total(const struct ring *r)
{
	return r->head;
}

int ring_put(struct ring *r, const struct sample *s)
{
	if (ring_count(r) == RING_SIZE) {
		r->lost++;
		return 0;
	}
	r->slots[slot(r->head++)] = *s;
	return 1;
}

int ring_get(struct ring *r, struct sample *s)
{
	if (r->head == r->tail)
		return 0;
	*s = r->slots[slot(r->tail++)];
	return 1;
}
