#ifndef POOL_H
#define POOL_H

#include <stddef.h>

#define POOL_MAX 256
#define NODE_NONE (-1)

/* One heading of the outline. Links are indices into the pool. */
struct node {
	char title[48];
	int level;
	int first_child;
	int last_child;
	int next;
};

struct pool {
	struct node nodes[POOL_MAX];
	size_t used;
};

void pool_init(struct pool *p);
void pool_free(struct pool *p);

/* Takes a new node from the pool; NULL if there is no room. */
struct node *pool_new(struct pool *p, const char *title, int level);

static inline struct node *pool_at(struct pool *p, int index)
{
	return &p->nodes[index];
}

static inline int pool_index(const struct pool *p, const struct node *n)
{
	return (int)(n - p->nodes);
}

#endif
