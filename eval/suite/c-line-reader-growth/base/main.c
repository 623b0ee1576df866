#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "reader.h"

/* Prints the length of every line. */
int main(void)
{
	struct reader reader;
	char *line;

	reader_init(&reader, STDIN_FILENO);
	while ((line = reader_line(&reader)) != NULL)
		printf("%zu\n", strlen(line));
	return 0;
}
