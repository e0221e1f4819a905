/* Sums up what a program looked for in vain because "libraries" of the policy lacks it. */
#ifndef CALLGATE_KEEPER_LIBRARIES_H
#define CALLGATE_KEEPER_LIBRARIES_H

#include <jansson.h>

/*
 * The packages that denials were about: for each language an object with "language", "missing", a list of names, and
 * "suggest", what would show all of them. An import makes several denials. Owned by the caller.
 */
json_t *libraries_make_missing(const json_t *denials);

#endif
