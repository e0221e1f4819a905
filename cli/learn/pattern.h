/* Finds numbers in names, and makes patterns of them. All functions return owned texts; NULL: no memory. */
#ifndef CALLGATE_CLI_LEARN_PATTERN_H
#define CALLGATE_CLI_LEARN_PATTERN_H

#include <stdbool.h>

/* True when the path has a number, such as "tmp4f2a91/x7": digits, or a random text as mkstemp(3) makes it. */
bool pattern_has_number(const char *path);

/* Replaces each number by "*": "/d/tmp*", "/d/cpu*". Paths that differ only in numbers become equal. */
char *pattern_replace_numbers(const char *path);

/* As pattern_replace_numbers, for a single name. A random text in it counts as a number, too. */
char *pattern_replace_random_in_name(const char *name);

/*
 * As pattern_replace_numbers, but replaces only what programs choose anew in each run: at least five digits, and random
 * texts.
 */
char *pattern_replace_temporary_names(const char *path);

/*
 * Makes one pattern of two paths or patterns with the same number of components: components that differ get "*" for
 * what differs.
 */
char *pattern_merge_paths(const char *a, const char *b);

/* True if each component with "*" has enough letters or digits to be specific; "a*" has too few. "**" is ignored. */
bool pattern_components_are_specific(const char *pattern);

/* True when some name matches both patterns, in which "*" stands for any text. Neither contains a slash. */
bool pattern_may_match_same_name(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
