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

int main(void)
{
	put_and_get();
	puts("ok");
	return 0;
}
