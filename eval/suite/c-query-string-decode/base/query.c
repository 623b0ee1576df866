#include "query.h"

#include <string.h>

int query_split(char *text, struct param *params, int max)
{
	int n = 0;

	while (text) {
		char *rest = strchr(text, '&');
		char *equals;

		if (rest)
			*rest++ = '\0';
		if (*text != '\0') {
			if (n == max)
				return -1;
			equals = strchr(text, '=');
			if (equals)
				*equals++ = '\0';
			else
				equals = text + strlen(text);
			params[n].name = text;
			params[n].value = equals;
			n++;
		}
		text = rest;
	}
	return n;
}
