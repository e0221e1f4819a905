#include "base/hostname.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool hostname_read(char ret_name[HOST_NAME_MAX + 1])
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._";

	memset(ret_name, 0, HOST_NAME_MAX + 1);
	return gethostname(ret_name, HOST_NAME_MAX) == 0 && *ret_name && ret_name[0] != '.' &&
	       !ret_name[strspn(ret_name, plain)];
}

void hostname_get(char ret_name[HOSTNAME_LINE_MAX])
{
	char name[HOST_NAME_MAX + 1];

	(void)snprintf(ret_name, HOSTNAME_LINE_MAX, "%s", hostname_read(name) ? name : "localhost");
}

void hostname_make_hosts_line(char ret_line[HOSTNAME_LINE_MAX])
{
	char name[HOST_NAME_MAX + 1];
	const char *domain;

	*ret_line = '\0';
	if (!hostname_read(name) || strcmp(name, "localhost") == 0)
		return;
	domain = strchr(name, '.');
	(void)snprintf(ret_line, HOSTNAME_LINE_MAX, "127.0.0.1\t%s%s%.*s\n", name, domain ? " " : "",
		       domain ? (int)(domain - name) : 0, name);
}
