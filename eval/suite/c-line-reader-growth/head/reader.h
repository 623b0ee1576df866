#ifndef READER_H
#define READER_H

#include <stddef.h>

#define READER_FIRST 1024
#define READER_MAX (1024 * 1024)

/* Splits what comes from a descriptor into lines of less than READER_MAX bytes. */
struct reader {
	int fd;
	char *data;
	size_t capacity;
	size_t start;		/* first byte that was not handed out yet */
	size_t scanned;		/* no newline between start and here */
	size_t end;		/* one past the last byte read */
};

void reader_init(struct reader *r, int fd);

/* Releases the buffer; the descriptor stays open. */
void reader_free(struct reader *r);

/*
 * The next line without its newline, valid until the next call, or NULL at the
 * end, on an error or if the line is too long. An unfinished last line is dropped.
 */
char *reader_line(struct reader *r);

#endif
