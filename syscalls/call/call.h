/*
 * One notified system call: decode -> view -> policy -> record -> perform -> outcome -> response. A handler (sys_NAME,
 * one a row) gets copies of the arguments and reads target memory only through decode.h. It calls call_commit_record()
 * after the decision and before the effect. The dispatcher does so for handlers without an effect.
 */
#ifndef CALLGATE_SYSCALLS_CALL_CALL_H
#define CALLGATE_SYSCALLS_CALL_CALL_H

#include "audit/audit.h"
#include "audit/record.h"
#include "policy/network/net.h"
#include "policy/policy.h"
#include "syscalls/account/locks.h"
#include "syscalls/call/memory.h"
#include "syscalls/process/ptrace.h"
#include "syscalls/table/table.h"
#include "view/tree.h"
#include "view/view.h"

/* Use of per-process limits (RLIMIT_NOFILE, RLIMIT_FSIZE) as handlers see it, for the result file. */
struct limit_events {
	uint64_t open_files;   /* lower bound of the highest descriptor number so far in any target process */
	uint64_t files_opened; /* opened by the supervisor for targets so far, including those closed since */
	bool open_files_full;  /* a call failed with EMFILE */
	bool file_size_passed; /* a call failed with EFBIG */
};

#define CALL_TABLES_MAX 16u

/* /proc/TID/fd of a target thread, O_PATH. */
struct task_table {
	pid_t tid; /* 0: none */
	int fd;
};

/* The supervisor's state that handlers use. One a run. */
struct sandbox {
	const struct policy *policy;
	struct view *view;
	struct tree *tree;
	struct audit *audit;
	struct changes *changes;   /* changes.h: files that the run changed in granted trees */
	struct denials *denials;   /* denials.h: for the result */
	struct disk *disk;         /* disk.h; NULL: there is no limit */
	struct limit_events notes;
	struct task_table table[CALL_TABLES_MAX]; /* file/room.c: of the threads that opened files last */
	uint64_t attribute_bytes;  /* file/xattr.c: extended attributes that the run has added */
	struct forks *forks;       /* forks.h; NULL: the kernel limits the number of processes */
	struct memfds *memfds;     /* memfds.h; NULL: the kernel limits memory */
	struct locks locks;        /* locks.h; used if memfds is not NULL */
	struct {
		uint64_t limit_bytes;                /* 0: none */
		uint64_t (*used_bytes)(void *meter); /* now */
		void *meter;
	} memory; /* for /proc/meminfo */
	bool (*is_over)(void *meter); /* checks the limits, for handlers that wait; true: the run ends */
	struct sockets *sockets;   /* unix-sockets.h */
	struct inet *inet;         /* inet.h; NULL: there is no network */
	struct netlink *netlink;   /* netlink.h; NULL: route queries are native (RUN_ROUTES) */
	const struct memory_ops *guest;
	int listener_fd;
	bool private_ipc;     /* the run has its own IPC namespace, whose memory is bounded */
	bool signals_bounded; /* the kernel confines signals to the run: a pid namespace, or Landlock's scope (ABI 6) */
	bool traces_bounded;  /* the kernel confines ptrace(2) to the run: a pid namespace, or Landlock */
	struct traces traces; /* ptrace.h: processes of the run that trace others */
	uid_t uid;
	gid_t gid;
};

struct call_path {
	size_t len;
	int dirfd;  /* AT_FDCWD when the row has no ARG_DIRFD for it */
	bool null;  /* the pointer was NULL (ARG_PATH_NULL) */
	int error;  /* -errno of the copy; text is "" then. Handlers check flags first, as the kernel */
	char text[PATH_MAX]; /* the copy */
};

/* The endpoint of a network call, for its record and the denials. */
struct call_net {
	char host[NET_HOST_MAX]; /* the host name that belongs to the address, or the address; "": not a network call */
	char address[NET_ADDRESS_TEXT];
	struct audit_net record; /* points to host and address */
};

enum outcome_kind {
	OUTCOME_ERROR,    /* -errno in value */
	OUTCOME_VALUE,
	OUTCOME_FD,       /* fd is injected by ADDFD, and its number in the target is the response */
	OUTCOME_CONTINUE,
	OUTCOME_EXEC,     /* continued and then verified, or restarted with other arguments (execve.h) */
	/* fd is an O_PATH descriptor, which ADDFD cannot inject: the tracer passes it; for chdir, the new cwd */
	OUTCOME_PATHFD,
	OUTCOME_MAP,      /* mmap(2) of anonymous memory: fd is mapped instead, by an injected call (memfds.h) */
	OUTCOME_BLOCKING, /* the open may block: a cancellable worker reopens fd with open_flags and responds */
	OUTCOME_EGRESS,   /* connect(2) of the internet socket fd: egress must answer first (`egress`, see inet.h) */
	OUTCOME_WORK,     /* a call on fd that may block: a worker does `work` (work.h) */
	OUTCOME_FETCH,    /* not judged yet: an injected call sends the target's descriptor `value`; then restarted */
	OUTCOME_GONE,     /* the target died or was interrupted: no response is awaited */
	OUTCOME_MAX,
};

struct exec_plan; /* exec.h */

/* supervisor/outcome.c has a row for each kind: how to respond, and which members it owns. */
struct outcome {
	enum outcome_kind kind;
	int64_t value;
	int fd;            /* owned; -1: none */
	int open_flags;    /* OUTCOME_BLOCKING */
	bool fd_cloexec;   /* OUTCOME_FD: O_CLOEXEC in newfd_flags */
	bool controlling;  /* OUTCOME_PATHFD: fd is a terminal, which becomes the controlling one of the session */
	struct exec_plan *exec; /* OUTCOME_EXEC: owned */
	struct inet_dial *egress; /* OUTCOME_EGRESS: owned */
	struct call_work *work;   /* OUTCOME_WORK: owned */
};

/* The large buffers come last, so that most calls touch few pages. */
struct call {
	struct sandbox *sandbox;
	uint64_t id; /* of the notification */
	pid_t tid;
	unsigned paths;
	struct task *task;
	const struct syscall_row *row;
	uint64_t arg[6];
	uint64_t start_ns;
	size_t text_len;
	int text_error; /* -errno of the copy, as in call_path */
	bool committed; /* the audit record was written */
	bool no_wait;   /* restarted open: fails with EINTR instead of waiting (interrupted.h) */
	/* restarted after OUTCOME_FETCH: `fetched` is the descriptor, owned, or -errno (descriptor.h) */
	bool again;
	int fetched;
	struct policy_decision decision;
	struct outcome outcome;
	struct audit_slot slot;
	struct call_net net;
	struct call_path path[2];
	struct place place[2];  /* what path[i] resolved to, for the record */
	char text[PATH_MAX]; /* ARG_TEXT */
};

/* ---- set the outcome; a handler calls one of these, once ---- */
void call_return(struct call *call, int64_t value);
int call_fail(struct call *call, int error); /* error is -errno. Returns -1, for callers that fail with it */
void call_return_fd(struct call *call, int fd, bool cloexec); /* takes fd; or fails with it, a -errno */
void call_continue(struct call *call);
/* Denies the call: rule and reason go to the record. error is -errno. Returns -1. */
int call_refuse(struct call *call, int error, const char *rule, const char *reason);

/* Writes the audit record. 0, or -errno with the outcome set: the call must then have no effect. */
int call_commit_record(struct call *call);

/* Fills the audit record with texts borrowed from the call; for call_commit_record(). */
void call_fill_record(const struct call *call, struct audit_record *ret_record);

/* True while the target still waits for this notification (SECCOMP_IOCTL_NOTIF_ID_VALID). */
bool call_is_valid(const struct call *call);

/* The task died or its call was interrupted, so no response is sent. Returns -1. */
static inline int call_set_gone(struct call *call)
{
	call->outcome.kind = OUTCOME_GONE;
	return -1;
}

/* result: of a system call that was made for this one, a value or -errno. */
static inline void call_return_result(struct call *call, int64_t result)
{
	if (result < 0)
		call_fail(call, (int)result);
	else
		call_return(call, result);
}

/* The low word: the kernel ignores the high one of int, unsigned and mode_t arguments. */
static inline int call_get_int(const struct call *call, unsigned arg)
{
	return (int)(uint32_t)call->arg[arg];
}

static inline unsigned call_get_uint(const struct call *call, unsigned arg)
{
	return (unsigned)(uint32_t)call->arg[arg];
}

#endif
