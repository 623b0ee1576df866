#ifndef QUERY_H
#define QUERY_H

#include <stddef.h>

struct param {
	char *name;
	char *value;
};

/*
 * Splits "a=1&b=2" in place; the parameters point into text. A parameter
 * without "=" gets an empty value, empty ones are left out. Returns the number
 * of parameters, or -1 if there are more than max.
 */
int query_split(char *text, struct param *params, int max);

#endif
