/* Allocator of a policy: its memory is freed only as a whole, by arena_done. Not for concurrent use. */
#ifndef CALLGATE_POLICY_ARENA_H
#define CALLGATE_POLICY_ARENA_H

#include <stddef.h>

struct arena_chunk;

/* Starts zero-initialised. */
struct arena {
	struct arena_chunk *chunk;
};

/* Zeroed memory, aligned for any object; NULL when memory ran out. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_dup(struct arena *arena, const char *text);
char *arena_dupn(struct arena *arena, const char *text, size_t len);
/* Concatenates; the last argument is NULL. */
char *arena_cat(struct arena *arena, const char *first, ...) __attribute__((sentinel));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes room for one more item in an array of `count` items of `size` bytes that only arena_grow allocated. Returns the
 * array while it has room (capacities are powers of two), else a copy twice as large; NULL when memory ran out.
 */
void *arena_grow(struct arena *arena, void *items, size_t count, size_t size);

void arena_done(struct arena *arena);

#endif
