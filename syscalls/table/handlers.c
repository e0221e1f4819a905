/* Apart from table.c, so that programs that need only the rows, as unit tests do, need not link all handlers. */
#include "syscalls/table/handlers.h"

#define NOTIFY(name, ...) sys_##name,  /* a row with a handler */
#define ROW_OF_OTHER_CLASS(name) NULL, /* a row without a handler */
#define NATIVE_UNLESS NOTIFY           /* rows of this class have a handler, as those of class NOTIFY */
#define JUDGE NOTIFY                   /* rows of this class have a handler, as those of class NOTIFY */
static syscall_fn *const handlers[] = {
#include "syscalls/table/syscalls.def"
};

syscall_fn *table_get_handler(const struct syscall_row *row)
{
	return row->row_number ? handlers[row->row_number - 1] : NULL;
}
