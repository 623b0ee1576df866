#include "query.h"

#include <string.h>

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/* Decodes in place: the result is never longer. Returns 0, or -1 if it is malformed. */
static int decode(char *text)
{
	const char *from = text;
	char *to = text;

	while (*from != '\0') {
		int high, low;

		if (*from == '+') {
			*to++ = ' ';
			from++;
			continue;
		}
		if (*from != '%') {
			*to++ = *from++;
			continue;
		}
		high = hex(from[1]);
		if (high < 0)
			return -1;
		low = hex(from[2]);
		if (low < 0 || (high == 0 && low == 0))
			return -1;
		*to++ = (char)(high << 4 | low);
		from += 3;
	}
	*to = '\0';
	return 0;
}

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
			/* Only now: a decoded "&" or "=" is part of the text. */
			if (decode(text) != 0 || decode(equals) != 0)
				return -1;
			params[n].name = text;
			params[n].value = equals;
			n++;
		}
		text = rest;
	}
	return n;
}
