/* What the text of host names takes libraries for: the module has it (base/module.h), and programs that link it. */
#ifndef CALLGATE_POLICY_NETWORK_NAMES_H
#define CALLGATE_POLICY_NETWORK_NAMES_H

#include <stdbool.h>

struct net_names {
	/* IDNA 2008 by UTS #46. Owned; NULL: *ret_why (static) says why not */
	char *(*to_ascii)(const char *text, const char **ret_why);
	/* Whether anybody may register a name right below it, by the list of public suffixes. */
	bool (*is_public)(const char *name);
};

extern const struct net_names net_names_linked;

/* NULL: they cannot be had; *ret_why (static) says why, to follow a name. */
const struct net_names *net_names(const char **ret_why);

#endif
