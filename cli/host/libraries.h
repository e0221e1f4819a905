/* The directories in which ld.so(8) looks for libraries. */
#ifndef CALLGATE_CLI_HOST_LIBRARIES_H
#define CALLGATE_CLI_HOST_LIBRARIES_H

#include "cli/options.h"

/* Adds the directories of /etc/ld.so.conf and the default ones, in the order of ld.so(8). 0 or -ENOMEM. */
int libraries_list_directories(struct cli_list *dirs);

#endif
