#include <stdio.h>

#include "outline.h"

static struct pool pool;

int main(void)
{
	int rc;

	pool_init(&pool);
	rc = outline_read(&pool, stdin);
	if (rc != 0)
		fprintf(stderr, "outline: out of memory\n");
	else
		outline_print(&pool, stdout);
	pool_free(&pool);
	return rc == 0 ? 0 : 1;
}
