/* Shared by the tracer's own files only. */
#ifndef CALLGATE_SUPERVISOR_TRACE_PRIVATE_H
#define CALLGATE_SUPERVISOR_TRACE_PRIVATE_H

#include <sys/socket.h>

#include "supervisor/trace/trace.h"
#include "syscalls/arch/arch.h"

/*
 * Every seized call is interrupted before it is answered, so it ends in exactly one stop of its own: PTRACE_EVENT_EXEC
 * when an exec succeeded, PTRACE_EVENT_STOP with the result in its registers otherwise (any trap clears the pending
 * interrupt, kernel/signal.c ptrace_stop()).
 */
enum pending_state {
	PENDING_ANSWERED, /* -EINTR is on its way to the task: at its stop the call is rewound */
	PENDING_REWOUND,  /* the call will come round again, after a signal handler perhaps */
	PENDING_RUNNING,  /* CONTINUE is on its way to the task: stops when the call is over */
	PENDING_DROPPED,  /* nothing more to do: is let go at its stop */
};

/* What a detour puts into the task's memory: the argument array, then texts. */
struct trace_blob {
	char *bytes;       /* owned */
	size_t *budget;    /* the tracer's count that len is part of; NULL: none */
	size_t len;
	size_t host_at;    /* offset of the host path */
	size_t pointers;   /* entries of the array at offset 0 that point into the blob, as offsets until relocated */
	bool has_argv;
};

/*
 * A task may have several: a call that was rewound, and one that a signal handler makes before it comes round again.
 * The newest is found first.
 */
struct pending {
	struct pending *next;
	pid_t tid;
	pid_t tgid;
	enum pending_state state;
	bool patient;            /* the wait can be interrupted (Linux < 5.19): rerun without an interrupt */
	unsigned others;         /* other calls seen while rewound */
	int held;                /* the status of its stop that waits for the end of another thread's exec; 0: none */
	const struct syscall_row *row;
	uint64_t arg[6];         /* as the program made the call */
	uint64_t rerun[6];       /* as it will come round again */
	struct trace_blob blob;
	uint64_t blob_addr;      /* 0: not written */
	struct exec_plan *plan;  /* NULL: a descriptor. Owned */
	bool maps;               /* the call is mmap: the carrier is the file to be mapped */
	/* the call is an open with O_PATH or a chdir: a socket in the task holds its descriptor */
	bool carries;
	int carrier;             /* that socket's number there */
	bool direct;             /* it is no socket: a chdir's directory itself */
	bool cloexec;
	bool fetches;            /* the carrier is for a descriptor that the task sends: its number is `wanted` */
	int wanted;
	int near_fd;             /* our end of the carrier, until it came. Owned while fetches */
	int fetched_fd;          /* what came, or -errno. Owned while fetches */
	char *text;              /* the path as the program wrote it, for the record of a kill. Owned */
	struct policy_decision decision;
	struct audit_slot slot;
	uint64_t start_ns;
};

struct later;

struct tracer {
	struct sandbox *sandbox;
	struct pending *pending;
	struct later *later;
	size_t blob_bytes; /* of all pending entries */
	unsigned fetches;  /* how many of them fetch a descriptor, or hold one */
	unsigned fetches_most;
};

/*
 * trace-blob.c: 0 or the errno for the program (-EFAULT, -E2BIG, -ENAMETOOLONG, -ENOMEM). *budget counts the bytes of
 * all blobs that are kept, which a program cannot make grow without end; it must outlive the blob.
 */
int blob_for_exec(const struct call *call, const struct exec_plan *plan, size_t *budget, struct trace_blob *ret_blob);
/* Makes the array's offsets addresses. Once. */
void blob_relocate(struct trace_blob *blob, uint64_t addr);
void blob_done(struct trace_blob *blob);

/*
 * trace-verify.c: NULL when the new image of `pid` (in its exec stop) is what was approved, else the reason. AT_EXECFN
 * of a detoured exec reads as the program named it afterwards.
 */
const char *verify_exec(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan);

/* trace-image.c: true when it certainly is, short of reading all that verify_exec does. */
bool image_is_approved(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan);

/* trace-stop.c: what to do with a task that stopped. */
void stop_exec(struct tracer *tracer, pid_t pid);
void stop_other(struct tracer *tracer, pid_t pid, int status);

/* Writes bytes into the stopped task, growing its stack where need be. 0 or -ENOMEM. */
int stop_write(const struct tracer *tracer, pid_t tid, uint64_t addr, const void *bytes, size_t len);

/*
 * trace-errand.c: a task that stands behind its call is made to run others, by single steps.
 */
#define ERRAND_SIGNALS 65u

struct errand {
	const struct tracer *tracer;
	const struct pending *pending;
	struct arch_regs behind; /* as it stood behind its call */
	uint64_t mask;           /* of signals, likewise */
	bool held[ERRAND_SIGNALS]; /* came meanwhile, sent again afterwards */
	uint64_t end_ns; /* of its patience with strays */
	unsigned strays; /* stops that were not its steps' */
};

/* 0 or -errno: then nothing was changed. */
int errand_begin(const struct tracer *tracer, const struct pending *pending, struct errand *ret_errand);
/* Makes the task run one system call. Its result or -ESRCH. */
int64_t errand_run(struct errand *errand, long nr, uint64_t a, uint64_t b, uint64_t c);
int64_t errand_run_six(struct errand *errand, long nr, const uint64_t arg[6]);
/* Leaves the task as errand->behind says. 0 or -errno: it is dead. */
int errand_end(struct errand *errand);
/* Where in the task's stack `size` bytes may be put. */
uint64_t errand_room(const struct errand *errand, size_t size);

/* What sendmsg and recvmsg need in the task's memory for one descriptor. */
struct letter {
	struct msghdr message;
	struct iovec vector;
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

/* Makes every pointer of a letter lead into itself, at addr of the task. */
void letter_address(struct letter *letter, uint64_t addr);
/* A letter with fd in it. */
void letter_fill(struct letter *letter, int fd);

/* fetch.c: how many at a time leave descriptors for everything else. */
unsigned fetch_most(void);
/* Seizes the thread and gives it a carrier for its descriptor (OUTCOME_FETCH). 0 or -errno, with nothing under way. */
int fetch_start(struct tracer *tracer, const struct call *call);
/* Makes the stopped task send its descriptor and stand in front of its call again. 0 or -errno for it. */
int fetch_send(struct tracer *tracer, struct pending *pending);

/* trace-pathfd.c: a socket whose queue holds fd, for answer_add. A descriptor owned by the caller or -errno. */
int pathfd_carrier(int fd);
/*
 * Of an O_PATH descriptor of the directory that a chdir(2) goes to, one that can be injected; -1: none, or no chdir.
 * Other threads can list it meanwhile. So none is made where open(2) would give another listing than the directory's
 * own: of stand-ins, and of directories without a name in the view.
 */
int pathfd_directory(const struct call *call, int fd);
/* Makes the stopped task take the descriptor out of its carrier. Its number or the errno for the program. */
int64_t pathfd_receive(const struct tracer *tracer, const struct pending *pending);

/* trace-map.c: makes the stopped task map its carrier. The address or the errno for the program. */
int64_t map_carried(const struct tracer *tracer, const struct pending *pending);

/*
 * trace-later.c: PTRACE_SEIZE takes the mutex that an exec of any thread of the target holds while it waits for the
 * other threads to die, and the seized ones among those die only when their tracer reaps them: the receiver would wait
 * for itself. So a thread is not seized while another one of its process is in an exec; its call waits.
 */
bool later_needed(const struct tracer *tracer, const struct call *call);
/* Keeps a copy of the call, and takes what its outcome owns. 0 or -ENOMEM: then nothing was taken. */
int later_add(struct tracer *tracer, struct call *call);
/* Starts what need not wait any longer. */
void later_run(struct tracer *tracer);
void later_free_all(struct tracer *tracer);

/*
 * An exec also takes its leader's number, and the kernel ends a leader that is stopped: whoever then lets the leader go
 * lets the new image go, unverified. So a leader's stop is not handled while another thread of its process is in an
 * exec, which ends it or fails. True: it waits for that, and later_run hands it to stop_other.
 */
bool later_stop(const struct tracer *tracer, struct pending *pending, int status);

/* trace.c */
struct pending *pending_find(const struct tracer *tracer, pid_t tid);
/* An exec that the kernel may be busy with. */
bool pending_in_exec(const struct pending *pending);
/*
 * Whether a call made under the number of an entry (or NULL) is another task's: its own thread stops before it makes
 * another, but gives its number away when its exec succeeds, which is reported a little later.
 */
bool pending_outlived(const struct pending *pending);
/* Writes the outcome of its record, once. */
void pending_end(struct tracer *tracer, struct pending *pending, int64_t ret);
/*
 * Seizes the caller, then gives it a socket: before, that might stay there. Takes carrier. 0 or -errno, with nothing
 * under way.
 */
int pending_begin_carried(struct tracer *tracer, const struct call *call, int carrier, struct pending **ret_pending);
/* The entry whose call this is; those above it belong to handlers that were left by longjmp, and go. NULL: none. */
struct pending *pending_rerun(struct tracer *tracer, pid_t tid, int nr, const __u64 *args);
/* Unlinks and frees; the task itself must be detached or dead. */
void pending_remove(struct tracer *tracer, struct pending *pending);

#endif
