#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "policy/arena.h"

/*
 * The kernel gives memory only to pages that are written, so large chunks cost nothing. Pages are populated a few at a
 * time by madvise(2), which takes a quarter of the time of as many page faults.
 */
#define ARENA_CHUNK_BYTES ((size_t)524288)
#define ARENA_POPULATE_STEP_BYTES_MIN ((size_t)16384) /* bytes of a chunk that are populated first */
#define ARENA_POPULATE_STEP_BYTES_MAX ((size_t)65536) /* most bytes populated at once, as more may stay unused */

/* A chunk of an arena's memory, from which allocations are taken in order. */
struct arena_chunk {
	struct arena_chunk *next;
	size_t used_bytes;
	size_t cap; /* size of data */
	/* number of bytes, from the start of this structure on, whose pages are populated */
	size_t populated_bytes;
	alignas(max_align_t) unsigned char data[];
};

void *arena_fail_no_memory(const struct arena *arena)
{
	if (arena->no_memory)
		longjmp(*arena->no_memory, 1);
	return NULL;
}

/* Adds a chunk with room for at least `size` bytes. */
static struct arena_chunk *arena_add_chunk(struct arena *arena, size_t size)
{
	size_t needed = size + sizeof(struct arena_chunk),
	       bytes = needed < ARENA_CHUNK_BYTES ? ARENA_CHUNK_BYTES : needed;
	struct arena_chunk *chunk = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (chunk == MAP_FAILED)
		return arena_fail_no_memory(arena);
	chunk->cap = bytes - sizeof(*chunk);
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

/* Populates pages for the next allocations: about as many as before, so that large chunks take few calls. */
static void arena_populate(struct arena_chunk *chunk, size_t size)
{
	const size_t before = chunk->populated_bytes, all = chunk->cap + sizeof(*chunk);
	size_t more = before < ARENA_POPULATE_STEP_BYTES_MIN    ? ARENA_POPULATE_STEP_BYTES_MIN
		      : before < ARENA_POPULATE_STEP_BYTES_MAX ? before
							   : ARENA_POPULATE_STEP_BYTES_MAX;

	if (sizeof(*chunk) + chunk->used_bytes + size <= before || size > ARENA_POPULATE_STEP_BYTES_MAX ||
	    before >= all)
		return;
	if (more > all - before)
		more = all - before;
	chunk->populated_bytes += more;
	/* If madvise(2) fails, page faults populate the pages when they are used. */
	(void)madvise((unsigned char *)chunk + before, more, MADV_POPULATE_WRITE);
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunk;
	void *memory;

	if (size > SIZE_MAX / 2)
		return arena_fail_no_memory(arena);
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!chunk || size > chunk->cap - chunk->used_bytes)
		chunk = arena_add_chunk(arena, size);
	if (!chunk)
		return NULL;
	arena_populate(chunk, size);
	memory = chunk->data + chunk->used_bytes;
	chunk->used_bytes += size;
	return memory;
}

char *arena_dupn(struct arena *arena, const char *text, size_t len)
{
	char *copy = arena_alloc(arena, len < SIZE_MAX ? len + 1 : len);

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_dup(struct arena *arena, const char *text)
{
	return arena_dupn(arena, text, strlen(text));
}

char *arena_concat_texts(struct arena *arena, const char *first, ...)
{
	va_list args, again;
	size_t len = 0;
	char *text, *end;

	va_start(args, first);
	va_copy(again, args);
	for (const char *part = first; part; part = va_arg(args, const char *))
		len += strlen(part);
	text = end = arena_alloc(arena, len + 1);
	for (const char *part = first; text && part; part = va_arg(again, const char *))
		end = stpcpy(end, part);
	va_end(again);
	va_end(args);
	return text;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	char *text, *copy;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	if (len < 0)
		return arena_fail_no_memory(arena);
	copy = arena_dupn(arena, text, (size_t)len);
	free(text);
	return copy;
}

#define ARENA_ARRAY_FIRST_ITEMS ((size_t)8) /* capacity of a new array; a power of two */

void *arena_grow_array(struct arena *arena, void *items, size_t count, size_t size)
{
	size_t bytes;
	void *grown;

	/* A full array has 0 items or a power of two from ARENA_ARRAY_FIRST_ITEMS on. Any other has room. */
	if (count % ARENA_ARRAY_FIRST_ITEMS || count & (count - 1))
		return items;
	if (__builtin_mul_overflow(count ? count * 2 : ARENA_ARRAY_FIRST_ITEMS, size, &bytes))
		return arena_fail_no_memory(arena);
	grown = arena_alloc(arena, bytes);
	if (grown && count)
		memcpy(grown, items, count * size);
	return grown;
}

void arena_release(struct arena *arena)
{
	struct arena_chunk *next;

	for (struct arena_chunk *chunk = arena->chunk; chunk; chunk = next) {
		next = chunk->next;
		(void)munmap(chunk, chunk->cap + sizeof(*chunk)); /* cannot fail for a whole mapping */
	}
	arena->chunk = NULL;
}
