/*
 * Apart from table.c, so that whoever only asks about rows does not link every handler: callgate-egress, the unit
 * tests.
 */
#include "syscalls/table/handlers.h"

#include "base/banned.h"

#define HANDLER(name, ...) sys_##name,
#define EACH(name) NULL,
#define UNLESS HANDLER
#define JUDGE HANDLER
#define ROW HANDLER
static syscall_fn *const handlers[] = {
#include "syscalls/table/syscalls.def"
};

syscall_fn *table_handler(const struct syscall_row *row)
{
	return row->place ? handlers[row->place - 1] : NULL;
}
