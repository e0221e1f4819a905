/* Counts words. */
#ifndef WORDS_H
#define WORDS_H

#include <stddef.h>

struct word {
	char *text;
	unsigned long count;
};

struct words {
	struct word *all;
	size_t len, cap;
};

/* Counts one more TEXT; 0, or -1 without memory. */
int words_add(struct words *words, const char *text);
/* The most frequent first, equal ones by the alphabet. */
void words_sort(struct words *words);
void words_free(struct words *words);

#endif
