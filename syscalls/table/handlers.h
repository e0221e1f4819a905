/* The handlers: sys_NAME for each row of syscalls.def that the supervisor judges. Used by the dispatcher. */
#ifndef CALLGATE_SYSCALLS_TABLE_HANDLERS_H
#define CALLGATE_SYSCALLS_TABLE_HANDLERS_H

#include "syscalls/table/table.h"

#define NATIVE_UNLESS(name, ...) syscall_fn sys_##name; /* declares the row's handler */
#define JUDGE(name, ...) syscall_fn sys_##name;         /* declares the row's handler */
#define NOTIFY(name, ...) syscall_fn sys_##name;        /* declares the row's handler */
#include "syscalls/table/syscalls.def"

/* Defines a handler that consists of one step: a call of a function that related handlers share. */
#define HANDLER(name, step)             \
	void name(struct call *call)    \
	{                               \
		step;                   \
	}

/* The function that judges and performs the row's call. NULL: no call of this row is judged. */
syscall_fn *table_get_handler(const struct syscall_row *row);

#endif
