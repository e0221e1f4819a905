/* What reading host names needs libraries for: libidn2 and libpsl. */
#ifndef CALLGATE_POLICY_NETWORK_NAMES_H
#define CALLGATE_POLICY_NETWORK_NAMES_H

#include <stdbool.h>

/* IDNA 2008 by UTS #46. Owned; NULL: *ret_why (static) says why not, to follow a name. */
char *net_names_ascii(const char *text, const char **ret_why);

/*
 * Whether anybody may register a name right below it, by the list of public suffixes. True as well when that cannot be
 * found out: *ret_why (static) then says why. It is untouched otherwise.
 */
bool net_names_public(const char *name, const char **ret_why);

#endif
