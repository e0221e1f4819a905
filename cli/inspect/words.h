/* Lists of words: of command lines that others make, and of what parsers tell. */
#ifndef CALLGATE_CLI_INSPECT_WORDS_H
#define CALLGATE_CLI_INSPECT_WORDS_H

#include <jansson.h>

#include "cli/options.h"

/*
 * Makes the command line of "env -S TEXT REST...", by which env is called `program`: the words of the text stand in the
 * place of the option. Quotes keep blanks in them. 0; -EINVAL: the text has variables, escapes or comments, which are
 * not read here, or a quote is open; or -ENOMEM.
 */
int inspect_make_split_words(const char *program, const char *text, char *const *rest, struct cli_list *words);
/*
 * Makes the command line that the kernel makes of a script's first line, "#!" and `text`, which is changed; rest: the
 * script's arguments. Without an interpreter there are no words. 0 or -ENOMEM.
 */
int inspect_make_script_words(char *text, const char *script, char *const *rest, struct cli_list *words);

/* Adds the texts of an array. 0, -EBADMSG: it is not of this form; or -ENOMEM. */
int inspect_read_words(const json_t *array, struct cli_list *words);
/* Takes a word, unless the list has it. NULL: no memory. 0 or -ENOMEM. */
int inspect_add_new_word(char *word, struct cli_list *words);
/* Adds the texts of an array that the list does not have. array NULL: there are none. As inspect_read_words(). */
int inspect_add_new_words(const json_t *array, struct cli_list *words);
/*
 * Puts directories in the place of the marks that parsers/shell_own.py makes in a command or an end that it tells: that
 * of the script, by $0, and that of the file in which the command is. NULL: it is not known, and the word is empty.
 */
void inspect_put_directories(const char *script, const char *file, json_t *told);

#endif
