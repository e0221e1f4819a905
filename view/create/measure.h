/* Measures a tree as limits.disk counts a copy of it. */
#ifndef CALLGATE_VIEW_CREATE_MEASURE_H
#define CALLGATE_VIEW_CREATE_MEASURE_H

#include "view/copy/copy.h"

/*
 * Adds what the entries below an open directory take. What the caller may not read, and what is below a path of more
 * than PATH_MAX, is left out. 0 or -ENOMEM.
 */
int measure_tree(int dir_fd, struct copy_size *size);

#endif
