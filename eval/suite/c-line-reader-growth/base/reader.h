#ifndef READER_H
#define READER_H

#include <stddef.h>

#define READER_SIZE 1024

/* Splits what comes from a descriptor into lines. */
struct reader {
	int fd;
	char data[READER_SIZE];
	size_t start;		/* first byte that was not handed out yet */
	size_t end;		/* one past the last byte read */
};

void reader_init(struct reader *r, int fd);

/*
 * The next line without its newline, valid until the next call, or NULL at the
 * end, on an error or if the line is too long. An unfinished last line is dropped.
 */
char *reader_line(struct reader *r);

#endif
