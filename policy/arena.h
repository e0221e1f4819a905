/* Memory of one policy: everything it is made of is allocated here and freed at once. */
#ifndef CALLGATE_POLICY_ARENA_H
#define CALLGATE_POLICY_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* Zero-initialise to begin. */
struct arena {
	struct arena_chunk *chunk;
};

/* Zeroed memory, aligned for any object; NULL when memory ran out. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_dup(struct arena *arena, const char *text);
char *arena_dupn(struct arena *arena, const char *text, size_t len);
/* The texts behind one another; the last argument is NULL. */
char *arena_cat(struct arena *arena, const char *first, ...) __attribute__((sentinel));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for one item more in an array that holds `count` items of `size` bytes, all got in this way: the array itself
 * while it has room (capacities are powers of two), else a copy twice as large; NULL when memory ran out.
 */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t size);

void arena_done(struct arena *arena);

#endif
