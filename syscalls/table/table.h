/*
 * The one list of system calls. Each row of syscalls.def becomes a struct syscall_row; the filter, the lookup, the
 * decoder, the audit field names, the manual's list and the every-row-has-a-test test are all made from it.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_TABLE_H
#define CALLGATE_SYSCALLS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;

enum row_class {
	ROW_NATIVE, /* the filter allows it, always: it grants nothing that is judged */
	ROW_FILTER, /* the filter allows it when its registers match row->allow; otherwise notified, recorded and refused
		       with row->error, or given to row->perform when there is one */
	ROW_NOTIFY, /* always notified; row->perform acts */
	ROW_REFUSE, /* notified, recorded and refused with row->error */
	ROW_PRIVATE, /* as ROW_NATIVE in an ipc namespace of the run's own, else as ROW_REFUSE */
	ROW_QUIET,  /* refused with row->error in the filter itself, unrecorded: probes made for every thread or fork */
	ROW_CLASS_MAX,
};

/*
 * What a verdict rests on. Only BASIS_REGS rows may CONTINUE, and some others where something else bounds what they do; the
 * dispatcher itself refuses it for the rest.
 */
enum row_basis {
	BASIS_REGS,
	BASIS_MEMORY,
	BASIS_EXEC, /* CONTINUE, then verified at PTRACE_EVENT_EXEC before the image runs an instruction */
	BASIS_NETNS, /* memory; CONTINUE only where that cannot matter: without internet sockets, or in a network namespace */
	BASIS_MOUNTNS, /* memory; CONTINUE only where the kernel's names are the view's, in a mount namespace */
};

/* Whether natively a signal whose handler lacks SA_RESTART may end the call with EINTR. */
enum row_eintr {
	EINTR_NEVER, /* before it is received it may: then it is run again (supervisor/interrupted.h) */
	EINTR_OPEN,  /* of a FIFO, while it waits for the other end: run again, and then not waiting any more */
	EINTR_MAY,   /* it may wait: left as it is */
};

/* How decode treats a register and what the audit calls it. */
enum arg_kind {
	ARG_NONE,
	ARG_DIRFD,     /* belongs to the next ARG_PATH */
	ARG_FD,
	ARG_PATH,      /* copied: call->path[n] */
	ARG_PATH_NULL, /* the same, NULL allowed (utimensat, *at with AT_EMPTY_PATH): call->path[n].null */
	ARG_TEXT,      /* copied: call->text (symlink target, xattr name) */
	ARG_OPENFLAGS,
	ARG_ATFLAGS,
	ARG_FLAGS,
	ARG_MODE,
	ARG_INT,
	ARG_UINT,
	ARG_PID,
	ARG_SIGNAL,
	ARG_SIZE,
	ARG_PTR, /* copied by the handler through decode.h, logged as an address */
	ARG_KIND_MAX,
};

/* One comparison on a register, as libseccomp's scmp_arg_cmp with MASKED_EQ. All of a term's must hold. */
struct row_compare {
	unsigned arg;
	uint64_t mask;
	uint64_t value;
};

#define ROW_COMPARES_MAX 3

/* A conjunction; a row's terms are alternatives. Ended by count 0. */
struct row_term {
	unsigned count;
	struct row_compare compare[ROW_COMPARES_MAX];
};

typedef void syscall_fn(struct call *call);

struct syscall_row {
	int nr; /* negative: this architecture lacks it */
	const char *name;
	enum row_class class;
	enum row_basis basis;
	enum row_eintr eintr; /* of what is notified; what the filter allows never comes to us */
	int error;
	const struct row_term *allow; /* ROW_FILTER */
	syscall_fn *perform;
	struct {
		enum arg_kind kind;
		const char *name;
	} arg[6];
};

/* All rows, in the order of syscalls.def. */
const struct syscall_row *table_rows(size_t *ret_count);

/* The row of a number of the native architecture, or NULL when it is not listed (then it is ENOSYS). O(1). */
const struct syscall_row *table_find(int nr);

/* True when these registers match one of the terms. */
bool table_match(const struct row_term *terms, const uint64_t *arg);

/* True when they match a ROW_FILTER row's own terms. */
bool table_allows(const struct syscall_row *row, const uint64_t *arg);

#endif
