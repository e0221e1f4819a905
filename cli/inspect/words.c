#include "cli/inspect/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char blanks[] = " \t\n\v\f\r";

/* Copies a word without its quotes. Returns what is behind it; NULL: a quote is open. */
static const char *words_copy(const char *text, char *out)
{
	char quote = '\0';

	for (; *text && (quote || !strchr(blanks, *text)); text++)
		if (quote ? *text == quote : (*text == '\'' || *text == '"'))
			quote = quote ? '\0' : *text;
		else
			*out++ = *text;
	*out = '\0';
	return quote ? NULL : text;
}

int inspect_split_words(const char *text, struct cli_list *words)
{
	if (strpbrk(text, "$\\#"))
		return -EINVAL;
	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		_cleanup_free_ char *word = malloc(strlen(text) + 1);

		text = word ? words_copy(text, word) : text;
		if (!text)
			return -EINVAL;
		if (cli_list_add_owned(words, steal_pointer(&word)) < 0)
			return -ENOMEM;
	}
	return 0;
}
