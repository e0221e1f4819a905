/*
 * The one list of system calls. Each row of syscalls.def becomes a struct syscall_row; the program's filter, those of
 * callgate's own processes, the lookup, the decoder, the audit field names, the summary of denials and the test that
 * every row has a test are all made from it.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_TABLE_H
#define CALLGATE_SYSCALLS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;

enum row_class {
	ROW_NATIVE, /* the filter allows it, always: it grants nothing that is judged */
	/*
	 * the filter allows it when its registers match row->allow; otherwise notified, recorded and refused with
	 * row->error, or given to its handler when there is one
	 */
	ROW_FILTER,
	ROW_NOTIFY, /* always notified; its handler acts */
	ROW_REFUSE, /* notified, recorded and refused with row->error */
	ROW_PRIVATE, /* as ROW_NATIVE in an ipc namespace of the run's own, else as ROW_REFUSE */
	ROW_QUIET,  /* refused with row->error in the filter itself, unrecorded: probes made for every thread or fork */
	ROW_CLASS_MAX,
};

/*
 * What a verdict rests on. Only BASIS_REGS rows may CONTINUE, and some others where something else bounds what they do;
 * the dispatcher itself refuses it for the rest.
 */
enum row_basis {
	BASIS_REGS,
	BASIS_MEMORY,
	BASIS_EXEC, /* CONTINUE, then verified at PTRACE_EVENT_EXEC before the image runs an instruction */
	/* memory; CONTINUE only where that cannot matter: without internet sockets, or in a network namespace */
	BASIS_NETNS,
	BASIS_MOUNTNS, /* memory; CONTINUE only where the kernel's names are the view's, in a mount namespace */
};

/* Whether natively a signal whose handler lacks SA_RESTART may end the call with EINTR. */
enum row_eintr {
	EINTR_NEVER, /* before it is received it may: then it is run again (supervisor/interrupted.h) */
	EINTR_OPEN,  /* of a FIFO, while it waits for the other end: run again, and then not waiting any more */
	EINTR_MAY,   /* it may wait: left as it is */
};

/*
 * What a refused call was after, where its arguments do not tell. It serves the wording alone: no verdict rests on it.
 */
enum row_intent {
	INTENT_NONE,    /* of a path: to change what it names, unless its open flags say otherwise */
	INTENT_LOOK,    /* only to look at what a path names */
	INTENT_NAME,    /* to make or remove a name: what must be writable is the directory that holds it */
	INTENT_NET,
	INTENT_SERVE,   /* on the network as well, but to be connected to */
	INTENT_PROCESS,
	INTENT_MAX,
};

/*
 * What the dispatcher does with a notification before the call is judged. A hook may have the call continued, which is
 * then neither judged nor recorded.
 */
enum row_hook {
	HOOK_NONE,
	HOOK_SIGRETURN,    /* restarts the call that a signal interrupted (interrupted.h); is always continued */
	HOOK_GET_AFFINITY, /* must not see a mask that CPU placement has set (cpu.h) */
	HOOK_SET_AFFINITY,
	HOOK_RECORD_LOCK,  /* is continued while there is room for the lock (locks.h) */
};

/* What differs from run to run and decides about what is native. None: the strictest. */
enum run_trait {
	/* an ipc namespace of its own, whose memory is bounded: SysV IPC and POSIX queues are native */
	RUN_OWN_IPC = 1 << 0,
	/* newfstatat and statx of what is to be a descriptor are native: see view_matches_kernel */
	RUN_FSTAT = 1 << 1,
	RUN_TERMINAL = 1 << 2,  /* --tty: modes, size and foreground group of the run's own terminal may be set */
	RUN_FORKS = 1 << 3,     /* nothing else bounds the number of processes: what makes one is judged */
	/* nothing else bounds memory: what gets some that no process shows is judged (memfds.h) */
	RUN_MEMORY = 1 << 4,
	RUN_DISK = 1 << 5,      /* what is added to the disk is counted: fallocate is judged */
	RUN_INET = 1 << 6,      /* the policy has a network: TCP sockets may be made */
	RUN_UDP = 1 << 7,       /* UDP sockets likewise, in a network namespace of the run's own: see net/socket.c */
	/* sendmsg and sendmmsg, in which an address may be, are judged: always, but see descriptor.h */
	RUN_MESSAGES = 1 << 8,
	RUN_LISTENERS = 1 << 9, /* without a network namespace of its own: shutdown and some options are judged */
	/* CPU masks may be ours for a moment: calls that show or set one are notified (cpu/cpu.h) */
	RUN_PINNED = 1 << 10,
	/* rt_sigreturn is notified: calls that a signal interrupted are run again (interrupted.h) */
	RUN_RESTART = 1 << 11,
};

/* callgate's own processes, by the filter they are under (confine/selffilter.h). */
enum self_role {
	SELF_KEEPER = 1 << 0,
	SELF_SUPERVISOR = 1 << 1,
	SELF_CUSTODIAN = 1 << 2,
	SELF_EGRESS = 1 << 3,   /* the network's bytes: sockets, and nothing that has a name on this machine */
	SELF_RESOLVER = 1 << 4, /* getaddrinfo(3): reads files, maps libraries, talks to servers of names */
	SELF_NETWORK = 1 << 5,  /* besides SELF_SUPERVISOR, when the policy has a network: the sockets it takes */
	SELF_NEVER = 1 << 6,    /* no role: a call that none of them has any use for, but an attacker has */
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

#define ROW_MORE_MAX 3

/* What passes besides row->allow, in runs with all traits of `in` and none of `not_in`. Ended by terms NULL. */
struct row_more {
	unsigned in;
	unsigned not_in;
	const struct row_term *terms;
};

/* With which registers these roles may make a call. The last that has a role counts. Ended by roles 0. */
struct self_terms {
	unsigned roles;
	const struct row_term *terms;
};

typedef void syscall_fn(struct call *call);

struct syscall_row {
	int nr; /* negative: this architecture lacks it */
	enum row_class class;
	const char *name;
	enum row_basis basis;
	enum row_eintr eintr; /* of what is notified; what the filter allows never comes to us */
	enum row_intent intent;
	int error;
	unsigned judged_in; /* ROW_FILTER: in runs with one of these traits `allow` does not count */
	unsigned self;      /* enum self_role: these make it with any registers */
	const struct row_term *allow; /* ROW_FILTER */
	const struct row_term *waits; /* EINTR_MAY: with these registers only; NULL: with any */
	const struct row_more *more;  /* ROW_FILTER; NULL: nothing */
	const struct self_terms *self_terms; /* NULL: as `self` says */
	struct {
		enum arg_kind kind;
		const char *name;
	} arg[6];
	uint16_t place; /* in the table, from 1; 0: a row that is not of it */
	enum row_hook hook;
};

/* All rows, in the order of syscalls.def. */
const struct syscall_row *table_rows(size_t *ret_count);

/* The row of a number of the native architecture, or NULL when it is not listed (then it is ENOSYS). O(1). */
const struct syscall_row *table_find(int nr);

/* True when these registers match one of the terms. */
bool table_match(const struct row_term *terms, const uint64_t *arg);

/* True when they match a ROW_FILTER row's own terms, whatever the run. */
bool table_allows(const struct syscall_row *row, const uint64_t *arg);

#endif
