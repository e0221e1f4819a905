/* The name of this machine, as it is written into the hosts(5) and hostname(5) files that programs of a run see. */
#ifndef CALLGATE_BASE_HOSTNAME_H
#define CALLGATE_BASE_HOSTNAME_H

#include <stdbool.h>

#define HOSTNAME_LINE_MAX 160 /* buffer for the host's name, or its line in /etc/hosts */

/*
 * Makes a line of hosts(5) that resolves the name of uname(2) to 127.0.0.1, for runs without a network. The name
 * without its domain is an alias. "" when there is no name, or when its characters would break the line.
 */
void hostname_make_hosts_line(char ret_line[HOSTNAME_LINE_MAX]);
/* The name of uname(2), or "localhost" when its characters would break a line of hosts(5). */
void hostname_get(char ret_name[HOSTNAME_LINE_MAX]);

#endif
