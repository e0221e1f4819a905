/* The machine's name, for files that the program finds it in. */
#ifndef CALLGATE_BASE_HOSTNAME_H
#define CALLGATE_BASE_HOSTNAME_H

#include <stdbool.h>

#define HOSTNAME_LINE_MAX 160

/*
 * The line of hosts(5) with which uname(2)'s name resolves to the loopback address without a network, an alias without
 * the domain included. "": no name, or one that would break the line.
 */
void hostname_hosts_line(char ret_line[HOSTNAME_LINE_MAX]);
/* uname(2)'s name; "localhost" where that name would break a line. */
void hostname_get(char ret_name[HOSTNAME_LINE_MAX]);

#endif
