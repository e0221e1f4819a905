/* Allocator of a policy: its memory is freed only as a whole, by arena_release. Not for concurrent use. */
#ifndef CALLGATE_POLICY_ARENA_H
#define CALLGATE_POLICY_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct arena_chunk;

/* Starts zero-initialised. */
struct arena {
	struct arena_chunk *chunk;
	jmp_buf *no_memory; /* where to jump when memory runs out; NULL: the functions below return NULL then */
};

/* Returns zeroed memory, aligned for any object. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_dup(struct arena *arena, const char *text);
char *arena_dupn(struct arena *arena, const char *text, size_t len);
/* Concatenates texts; the last argument is NULL. */
char *arena_concat_texts(struct arena *arena, const char *first, ...) __attribute__((sentinel));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes room for one more item in an array of `count` items of `size` bytes that only arena_grow_array allocated.
 * Returns the array while it has room (capacities are powers of two), else a copy twice as large.
 */
void *arena_grow_array(struct arena *arena, void *items, size_t count, size_t size);

/* Acts as if memory had run out: jumps to arena->no_memory, or returns NULL. */
void *arena_fail(const struct arena *arena);

/*
 * Appends an item to an array of arena_grow_array. Only for an arena whose no_memory is set: the result is not checked.
 */
#define ARENA_APPEND(arena, list, count, item) \
	((void)((list) = arena_grow_array((arena), (list), (count), sizeof(*(list))), (list)[(count)++] = (item)))

void arena_release(struct arena *arena);

#endif
