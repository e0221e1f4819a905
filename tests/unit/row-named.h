/* Rows of the syscall table by name, also those that this architecture lacks. */
#ifndef CALLGATE_TESTS_ROW_NAMED_H
#define CALLGATE_TESTS_ROW_NAMED_H

#include <string.h>

#include "syscalls/table/table.h"

static inline const struct syscall_row *row_named(const char *name)
{
	size_t count;
	const struct syscall_row *rows = table_get_rows(&count);

	for (size_t i = 0; i < count; i++)
		if (strcmp(rows[i].name, name) == 0)
			return &rows[i];
	return NULL;
}

#endif
