#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

int main(void)
{
	char text[] = "room=12&&dim&scene=night";
	struct param p[3];

	assert(query_split(text, p, 3) == 3);
	assert(strcmp(p[0].name, "room") == 0 && strcmp(p[0].value, "12") == 0);
	assert(strcmp(p[1].name, "dim") == 0 && strcmp(p[1].value, "") == 0);
	assert(strcmp(p[2].name, "scene") == 0 && strcmp(p[2].value, "night") == 0);
	puts("ok");
	return 0;
}
