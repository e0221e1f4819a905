/* Handlers that do nothing, so that the table links alone. Included once, by a test's .c file. */
#ifndef CALLGATE_TESTS_STUB_HANDLERS_H
#define CALLGATE_TESTS_STUB_HANDLERS_H

#include "syscalls/table/handlers.h"

#define STUB(name)                         \
	void sys_##name(struct call *call) \
	{                                  \
		(void)call;                \
	}
#define ARG(kind, name)
#define NATIVE(name)
#define FILTER(name, error, ...)
#define JUDGE(name, basis, ...) STUB(name)
#define ROW(name, basis, ...) STUB(name)
#define JUDGE_WAITS JUDGE
#define ROW_OPENS ROW
#define ROW_WAITS ROW
#define REFUSE(name, error, ...)
#define PRIVATE(name, error, ...)
#define QUIET(name, error)

#include "syscalls/table/syscalls.def"

#undef ARG
#undef NATIVE
#undef FILTER
#undef JUDGE
#undef JUDGE_WAITS
#undef ROW
#undef ROW_OPENS
#undef ROW_WAITS
#undef REFUSE
#undef PRIVATE
#undef QUIET

#endif
