/* Reads the syntax of git's configuration files: git-config(1), SYNTAX. */
#ifndef CALLGATE_WORKSPACE_EXECUTED_GIT_CONFIG_H
#define CALLGATE_WORKSPACE_EXECUTED_GIT_CONFIG_H

#include <limits.h>
#include <stdbool.h>

/* A variable. Names are in lower case, without the subsection; longer names and values are shortened. */
struct git_config_variable {
	char section[32], key[32], value[PATH_MAX];
};

/*
 * Reads the next variable that has a value. *text: where to go on; section and key stay from one call to the next.
 * Begin with a zeroed variable. False: there is none. What git refuses is skipped, not refused.
 */
bool git_config_read(const char **text, struct git_config_variable *variable);

#endif
