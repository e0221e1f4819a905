/* Names with numbers, and the patterns that stand for them. All functions return owned texts; NULL: no memory. */
#ifndef CALLGATE_CLI_LEARN_PATTERN_H
#define CALLGATE_CLI_LEARN_PATTERN_H

#include <stdbool.h>

/* "tmp4f2a91/x7" has a number: digits, or a random part as mkstemp(3) makes it. */
bool pattern_has_number(const char *path);

/* Puts "*" in place of each number: "/d/tmp*", "/d/cpu*" and so on. Paths that differ in numbers only become equal. */
char *pattern_replace_numbers(const char *path);

/* The same for one name, where also a random part is a number. */
char *pattern_replace_random_in_name(const char *name);

/* Only what a program makes up anew in each run: five digits or more, and random words. */
char *pattern_blur_temporary(const char *path);

/* Two paths or patterns with as many components: each component in which they differ is blurred. */
char *pattern_merge(const char *a, const char *b);

/* False for a pattern of which a component with "*", but for "**" at the end, says too little: "a*". */
bool pattern_components_have_letters(const char *pattern);

/* top + "/" + tail, either may be empty, with "${" escaped as in a policy. */
char *pattern_escape(const char *top, const char *tail);

/* True when some name matches both; "*" in either stands for any text. Neither has a slash. */
bool pattern_may_meet(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
