/* The memory allocator of a policy: arena_release frees all memory at once. Not thread-safe. */
#ifndef CALLGATE_POLICY_ARENA_H
#define CALLGATE_POLICY_ARENA_H

#include <setjmp.h>
#include <stddef.h>

struct arena_chunk;

/* Starts zero-initialised. */
struct arena {
	struct arena_chunk *chunk; /* the chunks, the newest first */
	jmp_buf *no_memory; /* where to longjmp(3) when out of memory; NULL: the functions below return NULL */
};

/* Allocates zeroed memory, aligned for any object. */
void *arena_alloc(struct arena *arena, size_t size);
char *arena_dup(struct arena *arena, const char *text);
char *arena_dupn(struct arena *arena, const char *text, size_t len);
/* Concatenates texts into a new one. The last argument is NULL. */
char *arena_concat_texts(struct arena *arena, const char *first, ...) __attribute__((sentinel));
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Makes room for one more item in an array of `count` items of `size` bytes. Only this function may have allocated the
 * array. Returns the same array while it has room (capacities are powers of two), else a copy of twice the capacity.
 */
void *arena_grow_array(struct arena *arena, void *items, size_t count, size_t size);

/* Fails as an allocation would: jumps to arena->no_memory, or returns NULL. */
void *arena_fail_no_memory(const struct arena *arena);

/* Appends an item to an array, by arena_grow_array. Only for an arena with no_memory set: the result is not checked. */
#define ARENA_APPEND(arena, list, count, item) \
	((void)((list) = arena_grow_array((arena), (list), (count), sizeof(*(list))), (list)[(count)++] = (item)))

void arena_release(struct arena *arena);

#endif
