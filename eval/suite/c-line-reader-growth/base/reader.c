#include "reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void reader_init(struct reader *r, int fd)
{
	r->fd = fd;
	r->start = 0;
	r->end = 0;
}

/* Reads more bytes. Returns 1, or 0 if there is no more or no room. */
static int fill(struct reader *r)
{
	ssize_t n;

	if (r->start > 0) {
		memmove(r->data, r->data + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	if (r->end == READER_SIZE)
		return 0;
	do {
		n = read(r->fd, r->data + r->end, READER_SIZE - r->end);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	r->end += (size_t)n;
	return 1;
}

char *reader_line(struct reader *r)
{
	for (;;) {
		char *from = r->data + r->start;
		char *newline = memchr(from, '\n', r->end - r->start);

		if (newline) {
			*newline = '\0';
			r->start = (size_t)(newline - r->data) + 1;
			return from;
		}
		if (!fill(r))
			return NULL;
	}
}
