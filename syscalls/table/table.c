#include <assert.h>
#include <errno.h>

#include "syscalls/table/handlers.h"
#include "syscalls/table/numbers.h"
#include "syscalls/table/table.h"

#include "base/banned.h"

#define NR_MAX 512 /* above every number either architecture assigns; x32's start at 0x40000000 and are foreign */

#define ARG(kind_, name_) {.kind = ARG_##kind_, .name = #name_}
#define ENTRY(name_, class_, basis_, eintr_, error_, allow_, perform_, ...) \
	{.nr = __SNR_##name_, .name = #name_, .class = class_, .basis = basis_, .eintr = EINTR_##eintr_, .error = error_, \
	 .allow = allow_, .perform = perform_, .arg = {__VA_ARGS__}},

#define NATIVE(name) ENTRY(name, ROW_NATIVE, BASIS_REGS, NEVER, 0, NULL, NULL)
#define FILTER(name, error, ...) ENTRY(name, ROW_FILTER, BASIS_REGS, NEVER, error, allow_##name, NULL, __VA_ARGS__)
#define JUDGE_ENTRY(name, basis, eintr, ...) \
	ENTRY(name, ROW_FILTER, basis, eintr, EPERM, allow_##name, sys_##name, __VA_ARGS__)
#define JUDGE(name, basis, ...) JUDGE_ENTRY(name, basis, NEVER, __VA_ARGS__)
#define JUDGE_WAITS(name, basis, ...) JUDGE_ENTRY(name, basis, MAY, __VA_ARGS__)
#define ROW_ENTRY(name, basis, eintr, ...) ENTRY(name, ROW_NOTIFY, basis, eintr, 0, NULL, sys_##name, __VA_ARGS__)
#define ROW(name, basis, ...) ROW_ENTRY(name, basis, NEVER, __VA_ARGS__)
#define ROW_OPENS(name, basis, ...) ROW_ENTRY(name, basis, OPEN, __VA_ARGS__)
#define ROW_WAITS(name, basis, ...) ROW_ENTRY(name, basis, MAY, __VA_ARGS__)
#define REFUSE(name, error, ...) ENTRY(name, ROW_REFUSE, BASIS_REGS, NEVER, error, NULL, NULL, __VA_ARGS__)
#define PRIVATE(name, error, ...) ENTRY(name, ROW_PRIVATE, BASIS_REGS, NEVER, error, NULL, NULL, __VA_ARGS__)
#define QUIET(name, error) ENTRY(name, ROW_QUIET, BASIS_REGS, NEVER, error, NULL, NULL)

static const struct syscall_row rows[] = {
#include "syscalls/table/syscalls.def"
};

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

/* A row's place in rows[]. */
#define PLACE(name) PLACE_##name,
#define NATIVE(name) PLACE(name)
#define FILTER(name, ...) PLACE(name)
#define JUDGE(name, ...) PLACE(name)
#define JUDGE_WAITS JUDGE
#define ROW(name, ...) PLACE(name)
#define ROW_OPENS ROW
#define ROW_WAITS ROW
#define REFUSE(name, ...) PLACE(name)
#define PRIVATE(name, ...) PLACE(name)
#define QUIET(name, ...) PLACE(name)

enum row_place {
#include "syscalls/table/syscalls.def"
	PLACES
};

#undef PLACE

/*
 * number -> place + 1. Numbers the architecture lacks get a slot of their own above NR_MAX, so that every slot is named
 * once: a number listed twice is a warning here (-Woverride-init, an error in ./check).
 */
#define PLACE(name) [__SNR_##name >= 0 ? __SNR_##name : NR_MAX + (int)PLACE_##name] = PLACE_##name + 1,

static const uint16_t places[NR_MAX + PLACES] = {
#include "syscalls/table/syscalls.def"
};

static_assert(sizeof(rows) / sizeof(rows[0]) == PLACES, "one row, one place");
static_assert(PLACES < UINT16_MAX, "a place fits");

const struct syscall_row *table_rows(size_t *ret_count)
{
	*ret_count = PLACES;
	return rows;
}

const struct syscall_row *table_find(int nr)
{
	if (nr < 0 || nr >= NR_MAX || !places[nr])
		return NULL;
	return &rows[places[nr] - 1];
}
