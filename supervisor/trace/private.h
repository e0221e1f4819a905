/* Shared by the files of trace/ only. All of it runs in the supervisor thread, which is the tracer. */
#ifndef CALLGATE_SUPERVISOR_TRACE_PRIVATE_H
#define CALLGATE_SUPERVISOR_TRACE_PRIVATE_H

#include <sys/socket.h>

#include "supervisor/trace/trace.h"
#include "syscalls/arch/arch.h"

/*
 * Every seized thread is interrupted before its call gets a response, so the call ends in exactly one stop:
 * PTRACE_EVENT_EXEC when an exec succeeded, else PTRACE_EVENT_STOP with the result in its registers (any trap clears
 * the pending interrupt, ptrace_stop() in kernel/signal.c).
 */
enum pending_state {
	PENDING_ANSWERED,  /* got -EINTR: at its stop the call is restarted, or performed by injected calls */
	PENDING_RESTARTED, /* will make the call again, perhaps after a signal handler */
	PENDING_RUNNING,   /* got a continue: stops when the call has ended */
	PENDING_DROPPED,   /* nothing is left to do: is detached at its stop */
};

/* What is done for the call. */
enum pending_kind {
	PENDING_EXEC,   /* an exec with a plan; without a plan nothing is done */
	PENDING_PATHFD, /* an open with O_PATH, or a chdir: the thread receives its descriptor */
	PENDING_MAP,    /* the thread maps the carrier */
	PENDING_FETCH,  /* the thread sends its descriptor `wanted` through the carrier */
};

/* What an exec that is restarted with other arguments needs in the target's memory: the argument array, then texts. */
struct trace_blob {
	char *bytes;     /* owned */
	size_t *budget;  /* the tracer's sum that len is part of; NULL: none */
	size_t len;
	size_t host_at;  /* offset of the host path */
	size_t pointers; /* entries of the array that point into the blob; offsets until blob_relocate_array */
	bool has_argv;
};

/*
 * One call of a seized thread. A thread may have several: one that will be restarted, and one that a signal handler
 * makes before that. The newest is first in the list.
 */
struct pending {
	struct pending *next;
	pid_t tid;
	pid_t tgid;
	enum pending_state state;
	enum pending_kind kind;
	bool skip_interrupt;  /* Linux < 5.19: the interrupt would end the wait for the response; continue without */
	unsigned other_calls; /* made by the thread while this one waits for its restart */
	int held_status;      /* of a stop that waits for another thread's exec to end; 0: none */
	const struct syscall_row *row;
	uint64_t arg[6];         /* as the program made the call */
	uint64_t restart_arg[6]; /* the arguments of the restarted call */
	struct trace_blob blob;
	uint64_t blob_addr;      /* in the target's memory; 0: not written */
	struct exec_plan *plan;  /* NULL: not an exec. Owned */
	int carrier;             /* descriptor in the target: a socket for another descriptor; PENDING_MAP: a file */
	bool direct;             /* PENDING_PATHFD: the carrier is the directory of the chdir itself */
	bool controlling;        /* PENDING_PATHFD: the carrier is a terminal, which becomes the controlling one */
	bool cloexec;
	int wanted;              /* PENDING_FETCH: the target's descriptor to be fetched */
	int near_fd;             /* PENDING_FETCH: our end of the carrier, until the descriptor came. Owned */
	int fetched_fd;          /* PENDING_FETCH: the fetched descriptor, or -errno. Owned */
	char *text;              /* the path as the program wrote it, for the record of a kill. Owned */
	struct policy_decision decision;
	struct audit_slot slot;
	uint64_t start_ns;
};

/* A judged call that waits for another thread's exec to end. Its notification got no response yet. */
struct later {
	struct later *next;
	struct call call; /* a copy, with what its outcome owns */
	struct task task; /* call.task points to this copy; without exe */
};

struct tracer {
	struct sandbox *sandbox;
	struct pending *pending;
	struct later *later;
	size_t blob_bytes; /* of all pending entries */
	unsigned fetches;  /* pending entries that fetch a descriptor, or hold one */
	unsigned fetches_most; /* limit of `fetches`: leaves descriptors for everything else */
};

/* ---- pending.c: the list of calls ---- */

/* The newest entry of a thread, or NULL. */
struct pending *pending_find_newest(const struct tracer *tracer, pid_t tid);
/* True when the kernel may be performing the entry's exec. */
bool pending_is_in_exec(const struct pending *pending);
/*
 * Whether a notification that has this entry's tid comes from another thread than the entry's. A thread whose exec
 * succeeds takes over its process's pid as tid, and the kernel reports that a little later; the former tid may be used
 * again meanwhile. pending may be NULL: false.
 */
bool pending_is_stale(const struct pending *pending);
/* Completes the call's record, once. */
void pending_end_record(struct tracer *tracer, struct pending *pending, int64_t ret);
/* pending_end_record, and then pending_remove_entry. */
void pending_end_and_remove(struct tracer *tracer, struct pending *pending, int64_t ret);
/* Seizes and interrupts the target thread, and adds an entry. 0 or -errno, with nothing under way. */
int pending_seize_and_interrupt(struct tracer *tracer, const struct call *call, enum pending_state state,
				struct pending **ret_pending);
/*
 * As pending_seize_and_interrupt, and then adds the carrier to the target; added before the seize, it might stay there.
 * Takes carrier. 0 or -errno, with nothing under way.
 */
int pending_seize_with_carrier(struct tracer *tracer, const struct call *call, int carrier,
			       struct pending **ret_pending);
/*
 * The entry of which this notification is the restarted call, or NULL. Removes newer entries of the thread: their
 * signal handlers were left by longjmp.
 */
struct pending *pending_find_restarted(struct tracer *tracer, pid_t tid, int nr, const __u64 *args);
/* Ends and clears the entry, whose thread is detached at its next stop. */
void pending_drop_call(struct tracer *tracer, struct pending *pending);
/* Unlinks and frees an entry, whose thread must be detached, dead or have another entry. */
void pending_remove_entry(struct tracer *tracer, struct pending *pending);

/* ---- blob.c ---- */

/*
 * Builds a blob. Returns 0, or an errno for the program: -EFAULT, -E2BIG, -ENAMETOOLONG, -ENOMEM. *budget limits the
 * bytes of all blobs, which a program could make grow without end; it must outlive the blob.
 */
int blob_build_for_exec(const struct call *call, const struct exec_plan *plan, size_t *budget,
			struct trace_blob *ret_blob);
/* Turns the array's offsets into addresses. To be called once. */
void blob_relocate_array(struct trace_blob *blob, uint64_t addr);
void blob_release(struct trace_blob *blob);

/* ---- verify.c: what an exec has loaded ---- */

/*
 * Verifies an exec. NULL when the new image of `pid`, which is in its exec stop, is the approved one; else the reason.
 * Afterwards AT_EXECFN of an exec with other arguments reads as the program named the file.
 */
const char *verify_exec_image(const struct memory_ops *guest, pid_t pid, const struct exec_plan *plan);

/* ---- stop.c: handles the stop of a target thread ---- */

void stop_on_exec(struct tracer *tracer, pid_t pid);
void stop_on_other(struct tracer *tracer, pid_t pid, int status);

/* ---- inject.c: injected system calls ---- */

#define INJECT_SIGNALS 65u

/* While a target thread stands behind the system call instruction, single steps can make it run other system calls. */
struct injection {
	const struct tracer *tracer;
	const struct pending *pending;
	struct arch_regs behind;   /* registers behind the thread's own call */
	uint64_t mask;             /* the thread's signal mask */
	bool held[INJECT_SIGNALS]; /* signals that came meanwhile and are sent again at the end */
	uint64_t end_ns;           /* until then more than STRAYS_MAX strays are tolerated */
	unsigned strays;           /* stops other than those of the single steps */
};

/* Prepares the thread. 0 or -errno, with nothing changed. */
int inject_prepare_thread(const struct tracer *tracer, const struct pending *pending, struct injection *ret_injection);
/* Makes the thread run one system call. Its result, or -ESRCH. */
int64_t inject_syscall(struct injection *injection, long nr, uint64_t a, uint64_t b, uint64_t c);
int64_t inject_syscall_with_args(struct injection *injection, long nr, const uint64_t arg[6]);
/* Makes a whole injection: `run` makes the calls, and its result becomes that of the thread's own call, or -errno. */
int64_t inject_run_and_set_result(const struct tracer *tracer, const struct pending *pending,
				  int64_t (*run)(struct injection *));
/* Sets the thread's registers to injection->behind. 0, or -errno: it is dead. */
int inject_restore_thread(struct injection *injection);
/* An address in the thread's stack with room for `size` bytes. */
uint64_t inject_find_stack_room(const struct injection *injection, size_t size);
/* Writes into the stopped thread's memory, growing its stack if need be. 0 or -ENOMEM. */
int inject_write_memory(const struct tracer *tracer, pid_t tid, uint64_t addr, const void *bytes, size_t len);

/* All that sendmsg or recvmsg needs in memory for one descriptor. */
struct fd_message {
	struct msghdr header;
	struct iovec vector;
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

/* Prepares a message that will lie at addr, to send fd or receive one. Sending -1 fails: no descriptor has it. */
void fd_message_init(struct fd_message *message, uint64_t addr, int fd);

/* ---- fetch.c: OUTCOME_FETCH ---- */

/* Seizes the thread and adds a carrier for its descriptor. 0 or -errno, with nothing under way. */
int fetch_start_call(struct tracer *tracer, const struct call *call);
/* Makes the stopped thread send its descriptor, and restarts its call. 0 or -errno for the program. */
int fetch_make_thread_send(struct tracer *tracer, struct pending *pending);

/* ---- pathfd.c: O_PATH descriptors and chdir ---- */

/* A socket with fd in its queue, for answer_add_descriptor: a descriptor owned by the caller, or -errno. */
int pathfd_make_carrier(int fd);
/*
 * For a chdir(2) to the directory of the O_PATH descriptor fd: a descriptor of it that can be added to the target; -1:
 * none, or no chdir. Other threads could list that directory meanwhile. So the result is -1 where open(2) would give
 * another listing: for stand-in directories and for directories without a name in the view.
 */
int pathfd_open_directory(const struct call *call, int fd);
/* Makes the stopped thread take the descriptor out of the carrier. Its number, or -errno for the program. */
int64_t pathfd_give_to_thread(const struct tracer *tracer, const struct pending *pending);

/* Makes the stopped thread map its carrier. The address, or -errno for the program. */
int64_t pathfd_map_for_thread(const struct tracer *tracer, const struct pending *pending);

/*
 * ---- later.c: calls and stops that wait for another thread's exec ----
 *
 * PTRACE_SEIZE takes a mutex that the exec of any thread of the process holds while it waits for the other threads to
 * die. Seized ones among those die only when the tracer reaps them: the supervisor thread would wait for itself. So no
 * thread is seized while another one of its process is in an exec.
 */

/* Whether the call must wait. */
bool later_call_must_wait(const struct tracer *tracer, const struct call *call);
/* Queues a copy of the call and takes what its outcome owns. 0, or -ENOMEM with nothing taken. */
int later_queue_call(struct tracer *tracer, struct call *call);
/*
 * Removes a call from the queue that need not wait any longer, or that has ended meanwhile (*ret_awaited is false).
 * NULL: no such call. Released with later_free.
 */
struct later *later_take_ready_call(struct tracer *tracer, bool *ret_awaited);
void later_free(struct later *later);
void later_free_all(struct tracer *tracer);
/*
 * True: the stop is kept in pending->held_status. An exec takes its leader's pid, and the kernel ends a stopped leader:
 * a tracer that then resumed the leader would resume the new image, unverified. So a leader's stop is not handled while
 * another thread of its process is in an exec.
 */
bool later_hold_stop(const struct tracer *tracer, struct pending *pending, int status);

#endif
