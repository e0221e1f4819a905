#include <stdlib.h>
#include <string.h>

#include "words.h"

int words_add(struct words *words, const char *text)
{
	for (size_t i = 0; i < words->len; i++) {
		if (strcmp(words->all[i].text, text) == 0) {
			words->all[i].count++;
			return 0;
		}
	}
	if (words->len == words->cap) {
		size_t cap = words->cap ? 2 * words->cap : 64;
		struct word *all = realloc(words->all, cap * sizeof(*all));

		if (!all)
			return -1;
		words->all = all;
		words->cap = cap;
	}
	words->all[words->len].text = strdup(text);
	if (!words->all[words->len].text)
		return -1;
	words->all[words->len++].count = 1;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct word *left = a, *right = b;

	if (left->count != right->count)
		return left->count < right->count ? 1 : -1;
	return strcmp(left->text, right->text);
}

void words_sort(struct words *words)
{
	if (words->len)
		qsort(words->all, words->len, sizeof(*words->all), compare);
}

void words_free(struct words *words)
{
	for (size_t i = 0; i < words->len; i++)
		free(words->all[i].text);
	free(words->all);
}
