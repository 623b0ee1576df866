#include "log.h"

#define RECORD 7

int log_write(FILE *out, const struct event *e)
{
	uint16_t value = (uint16_t)e->value;
	unsigned char r[RECORD] = {
		e->at >> 24 & 0xff, e->at >> 16 & 0xff, e->at >> 8 & 0xff, e->at & 0xff,
		(unsigned char)e->kind,
		value >> 8, value & 0xff,
	};

	return fwrite(r, RECORD, 1, out) == 1 ? 0 : -1;
}

int log_read(FILE *in, struct event *e)
{
	unsigned char r[RECORD];
	size_t n = fread(r, 1, RECORD, in);

	if (n == 0)
		return ferror(in) ? -1 : 0;
	if (n != RECORD || r[4] >= EVENT_KINDS)
		return -1;
	e->at = (uint32_t)r[0] << 24 | (uint32_t)r[1] << 16 | (uint32_t)r[2] << 8 | r[3];
	e->kind = (enum event_kind)r[4];
	e->value = (int16_t)(r[5] << 8 | r[6]);
	return 1;
}
