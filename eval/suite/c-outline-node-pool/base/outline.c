#include "outline.h"

#include <string.h>

static int append_child(struct pool *p, struct node *parent, const char *title, int level)
{
	struct node *child = pool_new(p, title, level);
	int index;

	if (!child)
		return NODE_NONE;
	index = pool_index(p, child);
	if (parent->last_child == NODE_NONE)
		parent->first_child = index;
	else
		pool_at(p, parent->last_child)->next = index;
	parent->last_child = index;
	return index;
}

int outline_read(struct pool *p, FILE *in)
{
	int open[OUTLINE_DEPTH];	/* the headings we are in, outermost first */
	int depth = 0;
	char line[256];

	if (!pool_new(p, "", 0))
		return -1;
	open[0] = 0;
	while (fgets(line, sizeof(line), in)) {
		size_t level = strspn(line, "#");
		int index;

		line[strcspn(line, "\n")] = '\0';
		if (level == 0 || level >= OUTLINE_DEPTH || line[level] != ' ')
			continue;
		/* The parent is the innermost open heading of a lower level. */
		while (pool_at(p, open[depth])->level >= (int)level)
			depth--;
		index = append_child(p, pool_at(p, open[depth]), line + level + 1, (int)level);
		if (index == NODE_NONE)
			return -1;
		open[++depth] = index;
	}
	return 0;
}

static void print_below(struct pool *p, int index, int indent, FILE *out)
{
	int child;

	for (child = pool_at(p, index)->first_child; child != NODE_NONE; child = pool_at(p, child)->next) {
		fprintf(out, "%*s%s\n", indent, "", pool_at(p, child)->title);
		print_below(p, child, indent + 2, out);
	}
}

void outline_print(struct pool *p, FILE *out)
{
	if (p->used > 0)
		print_below(p, 0, 0, out);
}
