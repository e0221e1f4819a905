/* Stands in for policy/paths/libraries.c in tests of the view: "libraries" hides nothing. Included once a program. */
#ifndef CALLGATE_TESTS_UNIT_VIEW_NO_LIBRARIES_H
#define CALLGATE_TESTS_UNIT_VIEW_NO_LIBRARIES_H

#include "policy/paths/libraries.h"

bool policy_hides_names(const struct policy *policy)
{
	(void)policy;
	return false;
}

bool policy_hides_names_in(const struct policy *policy, const char *path)
{
	(void)policy;
	(void)path;
	return false;
}

bool policy_lists_hidden_name(const struct policy *policy, const char *path, size_t len)
{
	(void)policy;
	(void)path;
	(void)len;
	return false;
}

#endif
