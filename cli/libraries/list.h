/* What callgate libraries prints of installed packages. */
#ifndef CALLGATE_CLI_LIBRARIES_LIST_H
#define CALLGATE_CLI_LIBRARIES_LIST_H

#include <jansson.h>

#include "cli/libraries/find.h"

/*
 * A finding as JSON, as callgate-libraries(1) describes it. chosen_only: only the packages that were chosen, with why
 * each was. Owned by the caller; NULL: no memory.
 */
json_t *list_make_json(const struct library_finding *finding, enum policy_language language, bool chosen_only);

/* Prints such an object as text. CLI_EXIT_OK or CLI_EXIT_ERROR. */
int list_print_text(const json_t *object);

#endif
