#include <assert.h>
#include <errno.h>

#include "syscalls/table/numbers.h"
#include "syscalls/table/table.h"
#include "syscalls/table/terms.h"

/* Greater than all system call numbers of x86-64 and aarch64. Numbers of x32 begin at 0x40000000 and are denied. */
#define SYSCALL_NUMBER_BOUND 512

#define ROW_OF_OTHER_CLASS(name) ROW_INDEX_##name, /* every row, whatever its class */
enum row_index {
#include "syscalls/table/syscalls.def"
	ROW_INDEX_END
};

/* The columns of syscalls.def. */
#define ARG(kind_, name_) {.kind = ARG_##kind_, .name = #name_}
#define ARGS(...) .arg = {__VA_ARGS__}                 /* column: how each argument is decoded and recorded */
#define INTENT(kind) .intent = INTENT_##kind           /* column: what a refused call does, for the summary */
#define FILE_USE(kind) .file_use = FILE_USE_##kind     /* column: what the call learns of its file */
#define MAY_END_WITH_EINTR(when) .eintr = EINTR_##when /* column: when a signal may end the call with EINTR */
/* only calls whose registers match waits_NAME */
#define MAY_END_WITH_EINTR_IF(name) .eintr = EINTR_ANY_TIME, .waits_if = waits_##name
/* column: in runs with these traits, allowed_if does not apply */
#define JUDGED_IN_RUNS(runs) .judged_with_run_traits = (runs)
/* An entry of MORE_TERMS: terms for runs with some traits and without others. */
#define TERMS_IN_RUNS(with_traits_, without_traits_, terms_)                                     \
	{                                                                                        \
		.required_run_traits = (with_traits_), .excluded_run_traits = (without_traits_), \
		.terms = allow_##terms_                                                          \
	}
/* Column: further terms with which the filter allows the call in some runs. */
#define MORE_TERMS(...)                                     \
	.more_terms = (const struct row_more_terms[]) \
	{                                             \
		__VA_ARGS__,                          \
		{                                     \
			.terms = NULL                 \
		}                                     \
	}
#define NATIVE_IF_KERNEL_READS(terms) MORE_TERMS(TERMS_IN_RUNS(RUN_KERNEL_READS, 0, terms))
#define HOOK(name) .hook = HOOK_##name             /* column: what the dispatcher does before the call is judged */
#define MAY_BE_LACKING .may_be_lacking = true      /* column: the call is newer than Linux 5.14 */
#define SELF(roles) .self_roles = (roles)          /* column: callgate's own processes that may make the call */
#define SELF_TERMS(name) .self_terms = self_##name /* column: registers with which they may make it */
#define K SELF_KEEPER
#define S SELF_SUPERVISOR
#define C SELF_CUSTODIAN
#define E SELF_EGRESS
#define R SELF_RESOLVER
#define N SELF_SUPERVISOR_WITH_NETWORK
#define H SELF_SUPERVISOR_OF_SESSION
#define ALL (K | S | C | E | R)
#define NEVER SELF_ROLE_OF_NO_PROCESS /* for SELF: the call kills callgate's own processes */

/* The classes of syscalls.def, followed by the row's columns. */
/* A struct syscall_row from a row of syscalls.def; the further arguments are its columns. */
#define SYSCALL_ROW(name_, class_, ...) \
	{.nr = __SNR_##name_, .name = #name_, .row_number = ROW_INDEX_##name_ + 1, .class = class_, __VA_ARGS__},
#define NATIVE(name, ...) SYSCALL_ROW(name, ROW_NATIVE, __VA_ARGS__) /* a row whose call is always allowed */
/* A row whose call is allowed by the filter if the registers match allow_TERMS. */
#define FILTERED(name, error_, basis_, terms_, ...) \
	SYSCALL_ROW(name, ROW_FILTER, .error = error_, .basis = basis_, .allowed_if = allow_##terms_, __VA_ARGS__)
/* A row that is native but in runs with one of these traits, where its handler judges the call. */
#define NATIVE_UNLESS(name, runs, basis, ...) \
	FILTERED(name, EPERM, basis, always, .judged_with_run_traits = (runs), __VA_ARGS__)
/* A row whose call the filter allows by its registers, or which is refused with `error`. */
#define FILTER(name, error, ...) FILTERED(name, error, BASIS_REGS, name, __VA_ARGS__)
/* a row allowed by its registers, else judged by its handler */
#define JUDGE(name, basis, ...) FILTERED(name, EPERM, basis, name, __VA_ARGS__)
/* a row judged by its handler */
#define NOTIFY(name, basis_, ...) SYSCALL_ROW(name, ROW_NOTIFY, .basis = basis_, __VA_ARGS__)
/* a row that is always refused, and recorded */
#define REFUSE(name, error_, ...) SYSCALL_ROW(name, ROW_REFUSE, .error = error_, __VA_ARGS__)
/* A row that is native if the run has its own IPC namespace, and refused otherwise. */
#define NATIVE_IN_OWN_IPC(name, error_, ...) SYSCALL_ROW(name, ROW_NATIVE_IN_OWN_IPC, .error = error_, __VA_ARGS__)
/* A row that the filter refuses by itself, without a record. */
#define REFUSE_UNRECORDED(name, error_, ...) SYSCALL_ROW(name, ROW_REFUSE_UNRECORDED, .error = error_, __VA_ARGS__)

static const struct syscall_row rows[] = {
#include "syscalls/table/syscalls.def"
};

/*
 * row->row_number by system call number. Calls that the architecture lacks get slots above SYSCALL_NUMBER_BOUND. So
 * each slot is initialised once, and two rows with the same number cause a warning (-Woverride-init, an error in
 * ./check).
 */
#define ROW_OF_OTHER_CLASS(name) \
	[__SNR_##name >= 0 ? __SNR_##name : SYSCALL_NUMBER_BOUND + (int)ROW_INDEX_##name] = ROW_INDEX_##name + 1,
static const uint16_t row_numbers[SYSCALL_NUMBER_BOUND + ROW_INDEX_END] = {
#include "syscalls/table/syscalls.def"
};

static_assert(sizeof(rows) / sizeof(rows[0]) == ROW_INDEX_END, "one row, one number");
static_assert(ROW_INDEX_END < UINT16_MAX, "a row number fits");

const struct syscall_row *table_get_rows(size_t *ret_count)
{
	*ret_count = ROW_INDEX_END;
	return rows;
}

const struct syscall_row *table_find_row(int nr)
{
	if (nr < 0 || nr >= SYSCALL_NUMBER_BOUND || !row_numbers[nr])
		return NULL;
	return &rows[row_numbers[nr] - 1];
}
