#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/arena.h"

#include "base/banned.h"

#define CHUNK_BYTES ((size_t)16384)

struct arena_chunk {
	struct arena_chunk *next;
	size_t used;
	size_t cap;
	alignas(max_align_t) unsigned char data[];
};

static struct arena_chunk *new_chunk(struct arena *arena, size_t size)
{
	size_t cap = size > CHUNK_BYTES ? size : CHUNK_BYTES;
	struct arena_chunk *chunk;

	if (cap > SIZE_MAX - sizeof(*chunk))
		return NULL;
	chunk = calloc(1, sizeof(*chunk) + cap);
	if (!chunk)
		return NULL;
	chunk->cap = cap;
	chunk->next = arena->chunk;
	arena->chunk = chunk;
	return chunk;
}

void *arena_alloc(struct arena *arena, size_t size)
{
	struct arena_chunk *chunk = arena->chunk;
	void *memory;

	if (size > SIZE_MAX - alignof(max_align_t))
		return NULL;
	size = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (!chunk || size > chunk->cap - chunk->used)
		chunk = new_chunk(arena, size);
	if (!chunk)
		return NULL;
	memory = chunk->data + chunk->used;
	chunk->used += size;
	return memory;
}

char *arena_dupn(struct arena *arena, const char *text, size_t len)
{
	char *copy = len < SIZE_MAX ? arena_alloc(arena, len + 1) : NULL;

	if (copy && len)
		memcpy(copy, text, len);
	return copy;
}

char *arena_dup(struct arena *arena, const char *text)
{
	return arena_dupn(arena, text, strlen(text));
}

char *arena_cat(struct arena *arena, const char *first, ...)
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
	va_list args, again;
	char *text = NULL, most[256]; /* are shorter than that, and printed once */
	int len;

	va_start(args, format);
	va_copy(again, args);
	len = vsnprintf(most, sizeof(most), format, args);
	if (len >= 0)
		text = arena_alloc(arena, (size_t)len + 1);
	if (text && (size_t)len < sizeof(most))
		memcpy(text, most, (size_t)len + 1);
	else if (text)
		(void)vsnprintf(text, (size_t)len + 1, format, again); /* fits: measured with the same arguments */
	va_end(again);
	va_end(args);
	return text;
}

void *arena_grow(struct arena *arena, void *items, size_t count, size_t size)
{
	size_t bytes;
	void *grown;

	if (count & (count - 1)) /* not 0, not a power of two: there is room */
		return items;
	if (__builtin_mul_overflow(count ? count * 2 : 1, size, &bytes))
		return NULL;
	grown = arena_alloc(arena, bytes);
	if (grown && count)
		memcpy(grown, items, count * size);
	return grown;
}

void arena_done(struct arena *arena)
{
	struct arena_chunk *next;

	for (struct arena_chunk *chunk = arena->chunk; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	arena->chunk = NULL;
}
