#include <assert.h>
#include <stdio.h>

#include "ring.h"

static void put_and_get(void)
{
	struct ring r;
	struct sample s = { 0, 0, 0 };
	uint32_t i;

	ring_init(&r);
	assert(!ring_get(&r, &s));
	for (i = 0; i < 1000; i++) {
		s.time = i;
		assert(ring_put(&r, &s));
		assert(ring_count(&r) == 1);
		assert(ring_get(&r, &s) && s.time == i);
	}
	assert(ring_count(&r) == 0);
}

/* Fills the ring, starting from the given value of both counters, and empties it. */
static void fill_from(uint32_t start)
{
	struct ring r;
	struct sample s = { 0, 0, 0 };
	uint32_t i;

	ring_init(&r);
	r.head = r.tail = start;
	for (i = 0; i < RING_SIZE; i++) {
		s.time = i;
		assert(ring_count(&r) == i);
		assert(ring_put(&r, &s));
	}
	assert(!ring_put(&r, &s));
	assert(r.lost == 1);
	assert(ring_total(&r) == start + RING_SIZE);
	for (i = 0; i < RING_SIZE; i++)
		assert(ring_get(&r, &s) && s.time == i);
	assert(!ring_get(&r, &s));
}

int main(void)
{
	put_and_get();
	fill_from(0);
	fill_from(100);
	fill_from(UINT32_MAX - 10);
	puts("ok");
	return 0;
}
