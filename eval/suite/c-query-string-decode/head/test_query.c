#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "query.h"

static void splits(void)
{
	char text[] = "room=12&&dim&scene=night";
	struct param p[3];

	assert(query_split(text, p, 3) == 3);
	assert(strcmp(p[0].name, "room") == 0 && strcmp(p[0].value, "12") == 0);
	assert(strcmp(p[1].name, "dim") == 0 && strcmp(p[1].value, "") == 0);
	assert(strcmp(p[2].name, "scene") == 0 && strcmp(p[2].value, "night") == 0);
}

static void decodes(void)
{
	char text[] = "scene=late+night&a%26b=1%3D1&d%75m";
	struct param p[3];

	assert(query_split(text, p, 3) == 3);
	assert(strcmp(p[0].value, "late night") == 0);
	assert(strcmp(p[1].name, "a&b") == 0 && strcmp(p[1].value, "1=1") == 0);
	assert(strcmp(p[2].name, "dum") == 0 && strcmp(p[2].value, "") == 0);
}

static void refuses(const char *query)
{
	char text[32];
	struct param p[3];

	assert(strlen(query) < sizeof(text));
	strcpy(text, query);
	assert(query_split(text, p, 3) == -1);
}

int main(void)
{
	splits();
	decodes();
	refuses("a=%");
	refuses("a=%4");
	refuses("a=%4&b=1");
	refuses("a=%x1");
	refuses("a=x%00y");
	puts("ok");
	return 0;
}
