#include "pool.h"

#include <stdio.h>

void pool_init(struct pool *p)
{
	p->used = 0;
}

void pool_free(struct pool *p)
{
	p->used = 0;
}

struct node *pool_new(struct pool *p, const char *title, int level)
{
	struct node *n;

	if (p->used == POOL_MAX)
		return NULL;
	n = &p->nodes[p->used++];
	snprintf(n->title, sizeof(n->title), "%s", title);
	n->level = level;
	n->first_child = NODE_NONE;
	n->last_child = NODE_NONE;
	n->next = NODE_NONE;
	return n;
}
