/* Host name functions that need libidn2 and libpsl. */
#ifndef CALLGATE_POLICY_NETWORK_NAMES_H
#define CALLGATE_POLICY_NETWORK_NAMES_H

#include <stdbool.h>

/* Converts a name to A-labels: IDNA 2008 by UTS #46. Owned; NULL with a static message in *ret_why. */
char *net_names_ascii(const char *text, const char **ret_why);

/*
 * True when the public suffix list has the name: anybody may register a name directly below it. Also true when that
 * cannot be determined: then *ret_why (static) says why. It is not changed otherwise.
 */
bool net_names_public(const char *name, const char **ret_why);

#endif
