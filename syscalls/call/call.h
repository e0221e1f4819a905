/*
 * One notified system call: decode -> view -> policy -> record -> perform -> outcome -> response. Each row's handler
 * (sys_NAME) gets copies of the arguments, and reads target memory only through decode.h. It calls call_commit_record()
 * after the decision and before the effect. If a call has no effect, the dispatcher calls call_commit_record().
 */
#ifndef CALLGATE_SYSCALLS_CALL_CALL_H
#define CALLGATE_SYSCALLS_CALL_CALL_H

#include <stdatomic.h>

#include "audit/audit.h"
#include "audit/record.h"
#include "policy/network/net.h"
#include "policy/policy.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/locks.h"
#include "syscalls/call/memory.h"
#include "syscalls/process/ptrace.h"
#include "syscalls/table/table.h"
#include "view/tree.h"
#include "view/view.h"

/* How much of RLIMIT_NOFILE and RLIMIT_FSIZE target processes use, as far as handlers see it. For the result. */
struct rlimit_usage {
	uint64_t open_files;   /* lower bound of the highest descriptor number so far in any target process */
	/* files that the supervisor has opened for targets so far, including those closed since */
	uint64_t files_opened_in_total;
	bool open_files_limit_hit;  /* a call failed with EMFILE */
	bool file_size_limit_hit; /* a call failed with EFBIG */
};

#define CALL_CACHED_FD_DIRS_MAX 16u /* cached descriptors of /proc/PID/fd directories */

/* O_PATH descriptor of /proc/TID/fd of a target thread. */
struct task_fd_dir {
	pid_t tid; /* 0: the entry is empty */
	int fd;
};

/* The supervisor's state that handlers use; one for each run. */
struct sandbox {
	const struct policy *policy;
	struct view *view;
	struct task_table *tree;   /* view/tree.h: the run's tasks */
	struct audit *audit;       /* the log */
	struct changes *changes;   /* changes.h: files that the run changed in granted trees */
	struct reads *reads;       /* reads.h: what was read of workspaces; NULL: nothing */
	struct dirs *dirs;         /* account/workspace/dirs.h: directories of workspaces; NULL: none */
	struct moves *moves;       /* moves.h: names of workspaces; NULL: none */
	_Atomic uint64_t copying_until_ns; /* copying.h; 0: nothing is copied. Read by the watchdog */
	struct copied_files copied_files;  /* copying.h */
	/* a worker fills a file (filling.h) or copies one for link(2) (raise.h); no call is handled meanwhile */
	bool is_filling;
	uint64_t bases_bytes;      /* bases.h: bytes of the records of files of workspaces as they were */
	struct denials *denials;   /* denials.h: denied attempts, for the result */
	struct decoys *decoys;     /* decoys.h: decoys that were read, for the result */
	struct after_entries *after_entries;       /* after.h: what after_read has done; NULL: the policy has none */
	const struct stop_notices *stop_notices;   /* supervisor/on-deny.h; NULL: stopped processes are not reported */
	struct disk *disk;         /* disk.h; NULL: disk space is not limited */
	struct rlimit_usage rlimit_usage;
	/* file/room.c: descriptor tables of the threads that opened files last */
	struct task_fd_dir cached_fd_dir[CALL_CACHED_FD_DIRS_MAX];
	uint64_t added_xattr_bytes; /* file/xattr.c: bytes of extended attributes that the run has added */
	struct forks *forks;       /* forks.h; NULL: the kernel limits the number of processes */
	struct memfds *memfds;     /* memfds.h; NULL: the kernel limits memory */
	struct locks record_locks;        /* locks.h; used if memfds is not NULL */
	int machine_proc_fd;              /* borrowed: a procfs with files about the machine; -1: /proc has them */
	struct {
		uint64_t limit_bytes;                /* 0: memory is not limited */
		uint64_t (*used_bytes)(void *meter); /* memory that the run uses now */
		void *meter;
	} memory; /* for /proc/meminfo */
	bool (*is_over)(void *meter); /* checks the limits while a handler waits; true: the run ends */
	struct sockets *unix_sockets; /* unix-sockets.h: the sockets that the run has bound */
	struct peers *unix_peers;     /* unix-peers.h: which process has the other end of a socket */
	struct inet *inet;         /* inet.h; NULL: the run has no network */
	struct netlink *netlink;   /* netlink-standins.h; NULL: route queries are native (RUN_NATIVE_NETLINK) */
	const struct memory_ops *target_memory; /* how target memory is read and written */
	int listener_fd;                        /* the seccomp listener of the program */
	bool has_unix_datagrams;                /* RUN_HAS_UNIX_DATAGRAMS: the run may use unix datagram sockets */
	bool has_own_ipc_namespace;    /* the run has its own IPC namespace, and its memory is bounded */
	/* the kernel confines signals to the run: a pid namespace, or Landlock's scope (ABI 6) */
	bool kernel_confines_signals;
	bool kernel_confines_ptrace; /* the kernel confines ptrace(2) to the run: a pid namespace, or Landlock */
	struct ptrace_attachments ptrace_attachments; /* ptrace.h: processes of the run that trace others */
	uid_t uid;
	gid_t gid;
};

/* A path argument of the call. */
struct call_path {
	size_t len;
	int dirfd;  /* AT_FDCWD if the row has no ARG_DIRFD before this path */
	bool is_null_pointer; /* the pointer was NULL (ARG_PATH_OR_NULL) */
	int error;  /* -errno of the copy; then text is "". Handlers check flags first, as the kernel does */
	char text[PATH_MAX]; /* the path, copied from target memory */
};

/* The endpoint of a network call, for its audit record and its denial. */
struct call_net {
	/* the name that belongs to the address, or the address as text; "": not a network call */
	char host[NET_HOST_SIZE];
	char address[NET_ADDRESS_TEXT_SIZE]; /* the address and port as text */
	struct audit_net audit_net; /* points to host and address */
};

enum outcome_kind {
	OUTCOME_ERROR,    /* `value` is the -errno */
	OUTCOME_VALUE,    /* the call returns `value` */
	OUTCOME_FD,       /* fd is injected by ADDFD; its number in the target is the response */
	OUTCOME_CONTINUE, /* the kernel runs the call */
	OUTCOME_EXEC,     /* the exec continues and is verified, or is restarted with other arguments (execve.h) */
	/* fd is an O_PATH descriptor, which ADDFD cannot inject: the tracer passes it; for chdir, fd is the new cwd */
	OUTCOME_OPATH_FD,
	OUTCOME_MAP_MEMFD,     /* mmap(2) of anonymous memory: an injected call maps fd instead (memfds.h) */
	OUTCOME_BLOCKING_OPEN, /* the open may block: a cancellable worker reopens fd with open_flags and responds */
	/* connect(2) of internet socket fd waits for egress' answer to the request in `egress` (inet.h) */
	OUTCOME_CONNECT_BY_EGRESS,
	OUTCOME_BLOCKING_WORK, /* a call on fd may block: a worker performs `work` (work.h) */
	/*
	 * an injected call sends the target's descriptor `value` to the supervisor; then this call is restarted and
	 * judged
	 */
	OUTCOME_FETCH_DESCRIPTOR,
	/* a worker has the file of fd copied first, by `work`; then this call is judged again (copying.h, filling.h) */
	OUTCOME_COPY_FIRST,
	OUTCOME_TARGET_GONE, /* the target died or was interrupted, and waits for no response */
	OUTCOME_MAX,
};

/* What the answer to a question decided about a call that the policy denies ("on_deny": "ask-file" or "ask"). */
struct call_answer {
	enum policy_on_deny mode; /* ON_DENY_ASK_FILE or ON_DENY_ASK: who was asked */
	const char *answer_word; /* static; "allow", "deny", "timeout" …: callgate-audit(5) */
	const char *how;         /* static; by which way the approver answered: "socket" …; NULL: by a file, or not */
	bool kills_process; /* the answer ends the process */
	bool ends_run;      /* the answer ends the run */
	int64_t uid;        /* who answered: the owner of the answer's file, the approver; -1: no answer has come */
	uint64_t question_open_ns; /* how long the question was open */
	const char *rule, *reason; /* of the denial */
};

/*
 * Decides whether a call may have an effect, when it is judged again after a question. permits_effect() is called
 * before the call's record is written and before the call writes target memory. False: the call fails and has no
 * effect. Once it has returned true, it must return true for the rest of the call.
 */
struct call_effect_check {
	bool is_without_effect; /* permits_effect() returns false in any case */
	bool (*permits_effect)(struct call_effect_check *gate, const struct call *call);
	/* Called with all bytes that decode_memory_at() copies from the target. */
	void (*note_copied_bytes)(struct call_effect_check *gate, const void *bytes, size_t len);
};

struct exec_plan; /* execve.h */

/*
 * What a handler decided. A table in supervisor/outcome.c says for each kind how it responds, and which members it
 * owns.
 */
struct outcome {
	enum outcome_kind kind;
	int64_t value;     /* result of the call, or -errno with OUTCOME_ERROR */
	int fd;            /* owned; -1: unset */
	int open_flags;    /* OUTCOME_BLOCKING_OPEN: O_* flags */
	bool fd_is_cloexec; /* OUTCOME_FD: O_CLOEXEC in newfd_flags */
	/* OUTCOME_OPATH_FD: fd is a terminal, which becomes the session's controlling terminal */
	bool becomes_controlling_terminal;
	struct exec_plan *exec_plan; /* OUTCOME_EXEC: owned */
	struct inet_egress_connect *egress_connect; /* OUTCOME_CONNECT_BY_EGRESS: owned */
	struct call_work *blocking_work;            /* OUTCOME_BLOCKING_WORK, OUTCOME_COPY_FIRST: owned */
};

/* The large buffers come last, so that most calls touch few pages. */
struct call {
	struct sandbox *sandbox;
	uint64_t id; /* the notification's id */
	pid_t tid;
	unsigned path_count; /* used entries of path[] */
	struct task *task;
	const struct syscall_row *row;
	uint64_t arg[6];
	uint64_t pc_after_call; /* address behind the thread's system call instruction */
	uint64_t start_ns;   /* when the notification was received */
	size_t text_arg_len; /* length of text_arg */
	int text_arg_error; /* -errno with which copying text_arg from target memory failed; 0: it was copied */
	/* entries of after_read that the call fires, before it may be performed; see after.h */
	uint32_t after_entries_to_fire;
	/* the entries that the call fires were looked up already, so its later records fire none */
	bool after_entries_checked;
	bool record_was_written; /* the audit record was written */
	/* a restarted open: it fails with EINTR where it would wait (interrupted.h) */
	bool fails_instead_of_waiting;
	/*
	 * restarted after OUTCOME_FETCH_DESCRIPTOR: `fetched_fd` is the target's descriptor, owned, or -errno
	 * (descriptor.h)
	 */
	bool has_fetched_fd;
	bool copies_inline;              /* no worker can copy for it: it never ends with OUTCOME_COPY_FIRST */
	int fill_error; /* -errno with which a worker failed to fill or copy a file for it; 0: none has */
	int fetched_fd;                  /* owned; -errno: it could not be fetched */
	struct policy_decision decision; /* the verdict so far, for the record */
	/*
	 * what the policy's "on_deny" says about a recorded denial; ON_DENY_UNSET: there was no denial, or only a probe
	 */
	enum policy_on_deny on_deny;
	struct call_effect_check *effect_check; /* borrowed; NULL: none */
	const struct call_answer *answer;       /* borrowed; NULL: there was no question */
	struct {
		uint64_t flags, mode, resolve;
	} how; /* the struct open_how of an openat2, copied from target memory */
	struct outcome outcome; /* what the handler has decided */
	/* where the log has the call's record, to add a late outcome */
	struct audit_outcome_location outcome_location;
	struct call_net net;
	struct call_path path[2];        /* the call's path arguments */
	struct place resolved_place[2];  /* what path[i] resolved to, for the record */
	char text_arg[PATH_MAX]; /* the argument of kind ARG_TEXT, copied from target memory */
};

/* ---- the outcome: a handler calls one of these functions, once ---- */
void call_return(struct call *call, int64_t value);
int call_fail(struct call *call, int error); /* error is -errno. Returns -1, so that callers can return it */
/* Ends the call with the descriptor fd, which is taken. A negative fd is the -errno with which the call fails. */
void call_return_fd(struct call *call, int fd, bool cloexec);
void call_continue(struct call *call);
/* Denies the call: rule and reason go to the record. error is -errno. Returns -1. */
int call_refuse(struct call *call, int error, const char *rule, const char *reason);

/* True when the call is performed although the judged policy denies it: --mode observe. */
static inline bool call_is_observed(const struct call *call)
{
	return call->decision.verdict != VERDICT_DENY && call->decision.observed_denial.error && !call->answer;
}

/* False: the call must have no effect, because call->effect_check does not permit one. */
static inline bool call_may_take_effect(const struct call *call)
{
	return !call->effect_check || call->effect_check->permits_effect(call->effect_check, call);
}

/* True when the call is not performed after it was judged. Its handler must not prepare what takes long, either. */
static inline bool call_is_only_judged(const struct call *call)
{
	return call->effect_check && call->effect_check->is_without_effect;
}

/*
 * Writes the call's audit record. On failure returns -errno and sets the outcome; the call must then have no effect.
 * Also fails if the call fires an entry of after_read: then call->after_entries_to_fire is set, and the target thread
 * makes the call again later.
 */
int call_commit_record(struct call *call);

/* Fills an audit record with texts that are borrowed from the call. Used by call_commit_record(). */
void call_fill_record(const struct call *call, struct audit_record *ret_record);

/* Whether the target still waits for this notification (SECCOMP_IOCTL_NOTIF_ID_VALID). */
bool call_thread_still_waits(const struct call *call);

/* No response is sent, because the task died or its call was interrupted. Returns -1. */
static inline int call_end_without_response(struct call *call)
{
	call->outcome.kind = OUTCOME_TARGET_GONE;
	return -1;
}

/* Returns or fails by `result`: the value or -errno of a system call that the supervisor made for the target. */
static inline void call_return_result(struct call *call, int64_t result)
{
	if (result < 0)
		call_fail(call, (int)result);
	else
		call_return(call, result);
}

/* Arguments of type int, unsigned and mode_t: their low word, because the kernel ignores the high word. */
static inline int call_get_int(const struct call *call, unsigned arg)
{
	return (int)(uint32_t)call->arg[arg];
}

static inline unsigned call_get_uint(const struct call *call, unsigned arg)
{
	return (unsigned)(uint32_t)call->arg[arg];
}

#endif
