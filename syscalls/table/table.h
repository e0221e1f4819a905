/*
 * The one list of system calls: each row of syscalls.def becomes a struct syscall_row. Everything that depends on the
 * call uses it: the seccomp filters of the program and of callgate's own processes, dispatch, argument decoding, the
 * argument names of audit records, the summary of denials, and the check that every row has a test.
 */
#ifndef CALLGATE_SYSCALLS_TABLE_TABLE_H
#define CALLGATE_SYSCALLS_TABLE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct call;

enum row_class {
	ROW_NATIVE, /* always allowed by the filter, because no policy rule is about the call */
	/*
	 * allowed by the filter if the registers match row->allowed_if, else notified: judged by the handler or refused
	 */
	ROW_FILTER,
	ROW_NOTIFY, /* notified and judged by its handler, if the registers match none of row->more_terms */
	ROW_REFUSE, /* notified, recorded and refused with row->error */
	ROW_NATIVE_IN_OWN_IPC, /* like ROW_NATIVE if the run has its own IPC namespace, else like ROW_REFUSE */
	/* refused with row->error by the filter, unrecorded: libraries try it at each thread or fork */
	ROW_REFUSE_UNRECORDED,
	ROW_CLASS_MAX,
};

/*
 * What a verdict rests on. If it rests on memory, it does not hold for a continued call, because the kernel reads the
 * memory again (TOCTOU). The dispatcher refuses to continue such a call, with the exceptions below.
 */
enum row_basis {
	BASIS_REGS,   /* registers alone, which the program cannot change after the notification */
	BASIS_MEMORY, /* also texts or structures that the program can change meanwhile */
	BASIS_EXEC,   /* memory; may be continued, because the image is verified at PTRACE_EVENT_EXEC, before it runs */
	/* memory; may be continued if the run has no internet sockets or has its own network namespace */
	BASIS_NETNS,
	BASIS_MOUNTNS, /* memory; may be continued in a mount namespace where the kernel's names are the view's */
};

/* Whether a signal whose handler lacks SA_RESTART natively ends the call with EINTR. */
enum row_eintr {
	/* never; a call that a signal ends before its notification is received is restarted (interrupted.h) */
	EINTR_NEVER,
	/* only while it waits for the other end of a FIFO: restarted, and then it does not wait */
	EINTR_WHILE_OPENING_FIFO,
	/* at any time, because the call may wait: the program gets EINTR, the call is not restarted */
	EINTR_ANY_TIME,
};

/* What a refused call does, for the wording of the summary of denials. No verdict rests on this. */
enum row_intent {
	INTENT_NONE,            /* if the call has a path: writes to its object, unless the open flags say otherwise */
	INTENT_READ_PATH,       /* reads the object of a path */
	INTENT_CHANGE_NAME,     /* creates or removes a name, for which its directory must be writable */
	INTENT_SEND_OR_CONNECT, /* reaches an address of the network */
	INTENT_LISTEN,          /* accepts connections from the network */
	INTENT_AFFECT_PROCESS,  /* signals, traces or reads another process */
	INTENT_MAX,
};

/*
 * What a call lets the program learn of the object that its path names, directly or under another name. after_read
 * fires by this.
 */
enum row_file_use {
	FILE_USE_NONE,    /* nothing that matters to after_read */
	FILE_USE_READ,    /* opens with the right to read: the program learns its content, or the names in it */
	FILE_USE_EXECUTE, /* executes the object */
	FILE_USE_RENAME,  /* gives the object of the first path another name */
};

/* What the dispatcher does before a call is judged. A call that a hook continues is neither judged nor recorded. */
enum row_hook {
	HOOK_NONE,         /* nothing: the call is judged */
	HOOK_SIGRETURN,    /* restarts the call that a signal interrupted (interrupted.h); always continues */
	HOOK_GET_AFFINITY, /* unpins the run, so that the program reads its own affinity mask (cpu.h) */
	HOOK_SET_AFFINITY, /* the run sets masks itself: it is unpinned and never pinned again */
	HOOK_SEND,         /* continues a send without an address, unless it is on a stand-in socket (netlink.h) */
	HOOK_FCNTL_LOCK,   /* continues while the number of locks is below its limit (locks.h) */
};

/* Properties of a run that decide which calls are native. */
enum run_trait {
	/* the run has its own IPC namespace and bounded memory: SysV IPC and POSIX queues are native */
	RUN_OWN_IPC = 1 << 0,
	/* newfstatat and statx with a descriptor and AT_EMPTY_PATH are native: see view_native_stat_is_safe */
	RUN_NATIVE_FSTAT = 1 << 1,
	RUN_OWN_TERMINALS = 1 << 2, /* the run can have terminals, and only its own: pairs of /dev/ptmx, --tty */
	/* the supervisor limits the number of tasks: calls that create a task are judged */
	RUN_LIMITS_TASKS = 1 << 3,
	/* the supervisor samples memory: calls that allocate memory which samples miss are judged (memfds.h) */
	RUN_SAMPLES_MEMORY = 1 << 4,
	RUN_LIMITS_DISK = 1 << 5, /* the supervisor limits disk use: fallocate is judged */
	RUN_HAS_TCP = 1 << 6,     /* the policy has a network: TCP sockets may be created */
	/* UDP sockets may be created: only in the run's own network namespace (net/socket.c) */
	RUN_HAS_UDP = 1 << 7,
	/* sendmsg and sendmmsg are judged, because they may contain an address; descriptor.h has the exception */
	RUN_JUDGES_MESSAGES = 1 << 8,
	RUN_SHARED_NETNS = 1 << 9, /* the run has no network namespace: shutdown and some socket options are judged */
	/* the supervisor may set CPU affinity masks: calls that read or set a mask are notified (cpu/cpu.h) */
	RUN_SETS_AFFINITY = 1 << 10,
	/* rt_sigreturn is notified, to restart interrupted calls (interrupted.h) */
	RUN_RESTARTS_CALLS = 1 << 11,
	/*
	 * NETLINK_ROUTE and SIOCGIF* are native. The run has its own network namespace; its own pid namespace, because
	 * RTM_GETNSID tells whether a pid exists; and no limit of memory, because no control group counts what netlink
	 * sockets queue. In other runs netlink.h and interfaces.h answer.
	 */
	RUN_NATIVE_NETLINK = 1 << 12,
	/*
	 * The kernel decides about calls that only read, by the mounts of the view: "judge": "changes". Only where
	 * view_kernel_judges_reads(), see supervisor/process-reads.c.
	 */
	RUN_KERNEL_READS = 1 << 15,
	/* unix datagram sockets: the policy asks for them, and pidfd_getfd(2) works, so that all messages are judged */
	RUN_HAS_UNIX_DATAGRAMS = 1 << 14,
	/* without RUN_NATIVE_NETLINK: sends that may be requests to a stand-in socket are notified */
	RUN_HAS_STANDIN_SOCKETS = 1 << 13,
};

/* callgate's own processes. Each role has its own seccomp filter (confine/selffilter.h). */
enum self_role {
	SELF_KEEPER = 1 << 0,
	SELF_SUPERVISOR = 1 << 1,
	SELF_CUSTODIAN = 1 << 2, /* only with --user */
	SELF_EGRESS = 1 << 3,    /* uses sockets, but no paths */
	SELF_RESOLVER = 1 << 4,  /* calls getaddrinfo(3): reads files, maps libraries, sends to name servers */
	SELF_SUPERVISOR_WITH_NETWORK = 1 << 5, /* added to SELF_SUPERVISOR if the policy has a network */
	/* no role: the call kills these processes; only an attacker has a use for it */
	SELF_ROLE_OF_NO_PROCESS = 1 << 6,
	SELF_SUPERVISOR_OF_SESSION =
		1 << 7, /* added to SELF_SUPERVISOR of a session, which accepts connections of clients */
};

/* How an argument is decoded and recorded. */
enum arg_kind {
	ARG_NONE,  /* the call has no such argument */
	ARG_DIRFD, /* the directory descriptor of the next ARG_PATH */
	ARG_FD,
	ARG_PATH, /* copied to call->path[n] */
	/* copied like ARG_PATH; may be NULL (utimensat, *at with AT_EMPTY_PATH): call->path[n].is_null_pointer */
	ARG_PATH_OR_NULL,
	ARG_TEXT,      /* copied to call->text_arg (symlink target, xattr name) */
	ARG_OPENFLAGS, /* O_* flags */
	ARG_ATFLAGS,   /* AT_* flags */
	ARG_FLAGS,     /* other flags, recorded as a number */
	ARG_MODE,      /* permission bits of a file */
	ARG_INT,       /* a signed 32-bit number */
	ARG_UINT,      /* an unsigned 32-bit number */
	ARG_PID,
	ARG_SIGNAL,
	ARG_SIZE, /* a 64-bit number of bytes */
	ARG_PTR,  /* copied by the handler through decode.h; not recorded (except execve's argv, as text) */
	ARG_KIND_MAX,
};

/* True if (register & mask) == value, like libseccomp's SCMP_CMP_MASKED_EQ. */
struct row_compare {
	unsigned arg; /* index of the register: 0 to 5 */
	uint64_t mask;
	uint64_t value;
};

#define ROW_COMPARES_MAX 3 /* comparisons of one term */

/* A term matches if all its comparisons match. A table matches if one of its terms matches. It ends with count 0. */
struct row_term {
	unsigned compare_count; /* used entries of compare[]; 0 ends a table */
	struct row_compare compare[ROW_COMPARES_MAX];
};

#define ROW_MORE_TERMS_MAX 6 /* entries of row->more_terms */

/*
 * Terms in addition to row->allowed_if, for runs with all of required_run_traits and none of excluded_run_traits. A
 * table ends with terms NULL.
 */
struct row_more_terms {
	unsigned required_run_traits; /* bits of enum run_trait */
	unsigned excluded_run_traits; /* bits of enum run_trait */
	const struct row_term *terms;
};

/*
 * The registers with which these roles may make a call. If a role has several entries, the last one counts. A table
 * ends with roles 0.
 */
struct self_terms {
	unsigned roles;               /* bits of enum self_role */
	const struct row_term *terms; /* a table: allowed if one of them matches */
};

typedef void syscall_fn(struct call *call);

/* What callgate knows of one system call: a row of syscalls.def. */
struct syscall_row {
	int nr; /* negative: the architecture lacks the call */
	enum row_class class;
	const char *name;
	enum row_basis basis;
	enum row_eintr eintr; /* for notified calls */
	enum row_intent intent;
	enum row_file_use file_use;
	int error; /* errno with which the call is refused unless it is judged; 0: its handler decides */
	unsigned judged_with_run_traits; /* ROW_FILTER: in runs with one of these traits, allowed_if does not apply */
	unsigned self_roles;                     /* roles (enum self_role) that may make the call with any registers */
	const struct row_term *allowed_if;       /* ROW_FILTER: terms that the filter allows */
	const struct row_term *waits_if;         /* terms of EINTR_ANY_TIME; NULL: any registers */
	const struct row_more_terms *more_terms; /* ROW_FILTER, ROW_NOTIFY: further terms, or NULL */
	const struct self_terms *self_terms; /* roles that may make the call with certain registers, or NULL */
	struct {
		enum arg_kind kind;
		const char *name;
	} arg[6];
	uint16_t row_number; /* the row's position in the table, from 1; 0: not in the table */
	enum row_hook hook;
	bool may_be_lacking; /* added after Linux 5.14: ENOSYS, unjudged, where this kernel lacks it */
};

/* All rows, in the order of syscalls.def. */
const struct syscall_row *table_get_rows(size_t *ret_count);

/*
 * Returns the row of a system call by its number on this architecture. NULL: not in the table, so refused with ENOSYS.
 */
const struct syscall_row *table_find_row(int nr);

/* Whether the registers match one of the terms. */
bool table_terms_match(const struct row_term *terms, const uint64_t *arg);

/* Whether the registers match row->allowed_if of a ROW_FILTER row. Ignores the run's traits. */
bool table_row_allows(const struct syscall_row *row, const uint64_t *arg);

#endif
