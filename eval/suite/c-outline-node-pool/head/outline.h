#ifndef OUTLINE_H
#define OUTLINE_H

#include <stdio.h>

#include "pool.h"

#define OUTLINE_DEPTH 16

/*
 * Reads lines of the form "## title" and builds the tree of headings below a
 * root node, which becomes node 0. Other lines are skipped, headings deeper
 * than OUTLINE_DEPTH - 1 too. Lines have at most 254 characters.
 * Returns 0, or -1 if memory is exhausted.
 */
int outline_read(struct pool *p, FILE *in);

/* Prints the tree, two blanks per level. */
void outline_print(struct pool *p, FILE *out);

#endif
