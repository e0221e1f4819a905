#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "words.h"

/* Reads the words of stdin, letters only; 0, or -1 without memory. */
static int count_all(struct words *words)
{
	char word[64];
	size_t len = 0;
	int c;

	do {
		c = getchar();
		if (c != EOF && isalpha(c) && len < sizeof(word) - 1) {
			word[len++] = (char)tolower(c);
			continue;
		}
		word[len] = '\0';
		if (len && words_add(words, word) < 0)
			return -1;
		len = 0;
	} while (c != EOF);
	return 0;
}

int main(int argc, char **argv)
{
	size_t top = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	struct words words = {0};
	int status = EXIT_SUCCESS;

	if (count_all(&words) < 0) {
		perror("top-words");
		status = EXIT_FAILURE;
	}
	words_sort(&words);
	for (size_t i = 0; i < top && i < words.len; i++)
		printf("%lu %s\n", words.all[i].count, words.all[i].text);
	words_free(&words);
	return status;
}
