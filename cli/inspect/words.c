#include "cli/inspect/words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

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

static int words_split(const char *text, struct cli_list *words)
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

/* Adds copies of NULL-ended words; NULL: none. 0 or -ENOMEM. */
static int words_add_copies(char *const *added, struct cli_list *words)
{
	int r = 0;

	for (; r == 0 && added && *added; added++)
		r = cli_list_add_owned(words, strdup(*added));
	return r;
}

int inspect_make_split_words(const char *program, const char *text, char *const *rest, struct cli_list *words)
{
	int r = cli_list_add_owned(words, strdup(program));

	if (r == 0)
		r = words_split(text, words);
	return r == 0 ? words_add_copies(rest, words) : r;
}

int inspect_make_script_words(char *text, const char *script, char *const *rest, struct cli_list *words)
{
	char *name = text + strspn(text, " \t"), *argument = name + strcspn(name, " \t");
	int r;

	for (size_t len = strlen(text); len > 0 && strchr(" \t", text[len - 1]); len--)
		text[len - 1] = '\0';
	if (*argument)
		*argument++ = '\0';
	argument += strspn(argument, " \t");
	if (!*name)
		return 0;
	r = cli_list_add_owned(words, strdup(name));
	if (r == 0 && *argument)
		r = cli_list_add_owned(words, strdup(argument));
	if (r == 0)
		r = cli_list_add_owned(words, strdup(script));
	return r == 0 ? words_add_copies(rest, words) : r;
}

int inspect_read_words(const json_t *array, struct cli_list *words)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(array))
		return -EBADMSG;
	json_array_foreach(array, i, item)
	{
		if (!json_is_string(item))
			return -EBADMSG;
		if (cli_list_add_owned(words, strdup(json_string_value(item))) < 0)
			return -ENOMEM;
	}
	return 0;
}

static bool words_have(const struct cli_list *words, const char *word)
{
	for (size_t i = 0; i < words->count; i++)
		if (strcmp(words->item[i], word) == 0)
			return true;
	return false;
}

int inspect_add_new_word(char *word, struct cli_list *words)
{
	if (!word || !words_have(words, word))
		return cli_list_add_owned(words, word);
	free(word);
	return 0;
}

int inspect_add_new_words(const json_t *array, struct cli_list *words)
{
	_cleanup_list_ struct cli_list added = {0};
	int r = array ? inspect_read_words(array, &added) : 0;

	for (size_t i = 0; r == 0 && i < added.count; i++)
		r = inspect_add_new_word(steal_pointer(&added.item[i]), words);
	return r;
}

void inspect_put_directories(const char *script, const char *file, json_t *told)
{
	static const char *const keys[] = {"words", "directories"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *item, *list = json_object_get(told, keys[i]);
		size_t at;

		json_array_foreach(list, at, item)
		{
			const char *text = json_string_value(item), *put = text && *text == '\1' ? script : file;
			_cleanup_free_ char *whole = NULL;

			if (!text || (*text != '\1' && *text != '\2'))
				continue;
			whole = put ? text_format("%s%s", put, text + 1) : strdup("");
			(void)json_array_set_new(list, at, json_string(whole)); /* on failure, no file has its name */
			if (!put && i > 0)
				(void)json_object_set_new(told, "lost", json_true());
		}
	}
}
