#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void reader_init(struct reader *r, int fd)
{
	r->fd = fd;
	r->data = NULL;
	r->capacity = 0;
	r->start = 0;
	r->scanned = 0;
	r->end = 0;
}

void reader_free(struct reader *r)
{
	free(r->data);
	reader_init(r, r->fd);
}

/* Makes room for at least one more byte. Returns 1, or 0 if the line is too long or memory is exhausted. */
static int make_room(struct reader *r)
{
	size_t capacity;
	char *data;

	if (r->start > 0) {
		memmove(r->data, r->data + r->start, r->end - r->start);
		r->scanned -= r->start;
		r->end -= r->start;
		r->start = 0;
	}
	if (r->end < r->capacity)
		return 1;
	if (r->capacity >= READER_MAX)
		return 0;
	capacity = r->capacity ? r->capacity * 2 : READER_FIRST;
	data = realloc(r->data, capacity);
	if (!data)
		return 0;
	r->data = data;
	r->capacity = capacity;
	return 1;
}

/* Reads more bytes. Returns 1, or 0 if there is no more or no room. */
static int fill(struct reader *r)
{
	ssize_t n;

	if (!make_room(r))
		return 0;
	do {
		n = read(r->fd, r->data + r->end, r->capacity - r->end);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	r->end += (size_t)n;
	return 1;
}

char *reader_line(struct reader *r)
{
	for (;;) {
		if (r->scanned < r->end) {
			/* Only look at what is new; long lines come in many pieces. */
			char *newline = memchr(r->data + r->scanned, '\n', r->end - r->scanned);

			if (newline) {
				char *line = r->data + r->start;

				*newline = '\0';
				r->start = (size_t)(newline - r->data) + 1;
				r->scanned = r->start;
				return line;
			}
			r->scanned = r->end;
		}
		/* May move the buffer; we hold no pointer into it here. */
		if (!fill(r))
			return NULL;
	}
}
