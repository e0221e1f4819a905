/* The canonical order and layout of a policy file, for callgate policy fmt. No I/O. */
#ifndef CALLGATE_POLICY_PARSE_FORMAT_H
#define CALLGATE_POLICY_PARSE_FORMAT_H

#include "policy/parse/errors.h"
#include "policy/policy.h"

/*
 * Formats the text of a policy file; `path` is for messages. The meaning stays the same:
 *   - keys get the order of keys.c; names of files, variables and hosts are sorted;
 *   - lists whose order means nothing are sorted: paths, variables, layers, ports; of equal items one is kept;
 *     {"path": PATH} without other keys becomes PATH;
 *   - other lists keep their order.
 * Formatting the result again changes nothing. 0 with a text owned by the caller; -EINVAL with messages; -ENOMEM.
 */
int policy_format_text(const char *path, const char *text, struct policy_errors *errors, char **ret_text);

#endif
