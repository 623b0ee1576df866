#include "pool.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

void pool_init(struct pool *p)
{
	p->nodes = NULL;
	p->used = 0;
	p->capacity = 0;
}

void pool_free(struct pool *p)
{
	free(p->nodes);
	pool_init(p);
}

static int pool_grow(struct pool *p)
{
	size_t capacity = p->capacity ? p->capacity * 2 : POOL_FIRST;
	struct node *nodes;

	/* Links are ints. */
	if (capacity > INT_MAX || capacity > SIZE_MAX / sizeof(*nodes))
		return -1;
	nodes = realloc(p->nodes, capacity * sizeof(*nodes));
	if (!nodes)
		return -1;
	p->nodes = nodes;
	p->capacity = capacity;
	return 0;
}

struct node *pool_new(struct pool *p, const char *title, int level)
{
	struct node *n;

	if (p->used == p->capacity && pool_grow(p) != 0)
		return NULL;
	n = &p->nodes[p->used++];
	snprintf(n->title, sizeof(n->title), "%s", title);
	n->level = level;
	n->first_child = NODE_NONE;
	n->last_child = NODE_NONE;
	n->next = NODE_NONE;
	return n;
}
