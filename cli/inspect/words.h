/* Lists of words: of the text of "env -S", and of what parsers tell. */
#ifndef CALLGATE_CLI_INSPECT_WORDS_H
#define CALLGATE_CLI_INSPECT_WORDS_H

#include <jansson.h>

#include "cli/options.h"

/*
 * Adds the words of a text, in which quotes keep blanks, as env(1) splits it. 0; -EINVAL: it has variables, escapes or
 * comments, which are not read here, or a quote is open; or -ENOMEM.
 */
int inspect_split_words(const char *text, struct cli_list *words);

/* Adds the texts of an array. 0, -EBADMSG: it is not of this form; or -ENOMEM. */
int inspect_read_words(const json_t *array, struct cli_list *words);
/* Takes a word, unless the list has it. NULL: no memory. 0 or -ENOMEM. */
int inspect_add_new_word(char *word, struct cli_list *words);
/* Adds the texts of an array that the list does not have. array NULL: there are none. As inspect_read_words(). */
int inspect_add_new_words(const json_t *array, struct cli_list *words);

#endif
