/* A formatted text of its own. */
#ifndef CALLGATE_CLI_FORMAT_H
#define CALLGATE_CLI_FORMAT_H

#include <stdarg.h>
#include <stdio.h>

/* As asprintf(3), but NULL when memory runs out. Owned by the caller. */
__attribute__((format(printf, 1, 2))) static inline char *cli_format(const char *format, ...)
{
	va_list args;
	char *text;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return len < 0 ? NULL : text;
}

#endif
