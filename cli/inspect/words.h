/* Splits the text of "env -S" into words. */
#ifndef CALLGATE_CLI_INSPECT_WORDS_H
#define CALLGATE_CLI_INSPECT_WORDS_H

#include "cli/options.h"

/*
 * Adds the words of a text, in which quotes keep blanks, as env(1) splits it. 0; -EINVAL: it has variables, escapes or
 * comments, which are not read here, or a quote is open; or -ENOMEM.
 */
int inspect_split_words(const char *text, struct cli_list *words);

#endif
