/* Shared by the files of trace/ only. They run in the supervisor thread, which is the tracer. */
#ifndef CALLGATE_SUPERVISOR_TRACE_PRIVATE_H
#define CALLGATE_SUPERVISOR_TRACE_PRIVATE_H

#include <sys/socket.h>

#include "supervisor/trace/trace.h"
#include "syscalls/arch/arch.h"

/*
 * The state of a call. Every seized thread is interrupted before its call gets a response, so the call ends in exactly
 * one stop: PTRACE_EVENT_EXEC if an exec succeeded, else PTRACE_EVENT_STOP with the result in the registers (any trap
 * clears the pending interrupt: ptrace_stop() in kernel/signal.c).
 */
enum pending_state {
	/* its response was -EINTR: at its stop the call is restarted, or performed by injected calls */
	PENDING_RESPONDED,
	PENDING_RESTARTED, /* the thread will make the call again, perhaps after a signal handler */
	PENDING_RUNNING,   /* the response was a continue: the thread stops when the call has ended */
	PENDING_TO_BE_DETACHED,   /* nothing is left to do: the thread is detached at its stop */
};

/* What the tracer does for a call. */
enum pending_kind {
	PENDING_VERIFY_EXEC,   /* an exec with a plan; without a plan the tracer does nothing */
	PENDING_RECEIVE_FD, /* an open with O_PATH, or a chdir: the thread receives a descriptor */
	PENDING_MAP_FILE,    /* the thread maps the file of the carrier */
	PENDING_SEND_FD_TO_SUPERVISOR,  /* the thread sends its descriptor `fd_to_fetch` through the carrier */
};

/* What an exec that is restarted with other arguments needs in target memory: the argument array, then texts. */
struct trace_blob {
	char *bytes;     /* owned */
	/* number of bytes in all blobs of the tracer, including this one; NULL: not counted */
	size_t *total_blob_bytes;
	size_t len;
	size_t host_path_offset;  /* offset of the host path */
	size_t pointer_count; /* array entries that point into the blob; offsets before blob_relocate_argv_pointers() */
	bool has_argv;        /* the exec gets another argument array, as for a script */
};

/*
 * One call of a seized thread. A thread may have several: calls that will be restarted, and a call that a signal
 * handler makes before. The list has the newest first.
 */
struct pending {
	struct pending *next;
	pid_t tid;
	pid_t tgid;
	enum pending_state state;
	enum pending_kind kind;
	/* Linux < 5.19: PTRACE_INTERRUPT would end the thread's wait for the response, so the thread gets none */
	bool interrupt_would_end_response_wait;
	/* number of other calls that the thread has made while this one waits for its restart */
	unsigned calls_before_restart;
	int deferred_wait_status;      /* wait status of a stop that waits for another thread's exec; 0: none */
	const struct syscall_row *row;
	uint64_t arg[6];         /* arguments of the program's call */
	uint64_t pc_after_call;  /* address behind the instruction of the call */
	uint64_t restart_arg[6]; /* the arguments of the restarted call */
	struct trace_blob blob;
	uint64_t blob_addr;      /* address in target memory; 0: the blob is not written */
	struct exec_plan *plan;  /* owned; NULL: not an exec */
	/*
	 * the carrier: a descriptor that was added to the target, a socket with another descriptor in its queue;
	 * PENDING_MAP_FILE: the file to map
	 */
	int carrier_fd;
	/* PENDING_RECEIVE_FD: the carrier itself is the directory of the chdir */
	bool carrier_is_directory;
	/* PENDING_RECEIVE_FD: the carrier is a terminal, which becomes the controlling terminal */
	bool carrier_becomes_controlling_tty;
	bool fd_is_cloexec;           /* the received descriptor gets FD_CLOEXEC */
	int fd_to_fetch;              /* PENDING_SEND_FD_TO_SUPERVISOR: the target's descriptor that is fetched */
	/*
	 * PENDING_SEND_FD_TO_SUPERVISOR: the supervisor's end of the carrier, until the descriptor was received; owned
	 */
	int supervisor_carrier_end_fd;
	int fetched_fd;          /* PENDING_SEND_FD_TO_SUPERVISOR: the fetched descriptor, owned, or -errno */
	char *path_as_written;   /* the path as the program wrote it, for the record of a kill; owned */
	struct policy_decision decision;                /* why the call was allowed, for a later record */
	struct audit_outcome_location outcome_location; /* where the log has the call's record */
	uint64_t start_ns;                              /* when the notification was received */
};

/* A judged call that waits for the end of another thread's exec. Its notification has got no response yet. */
struct delayed_call {
	struct delayed_call *next;
	struct call call; /* a copy that owns what the call's outcome owned */
	struct task task; /* call.task points to this copy; its `exe` is NULL, because it would be owned twice */
};

/* What holds target threads by ptrace(2): pending and delayed calls. */
struct tracer {
	struct sandbox *sandbox;
	struct pending *pending;            /* list of pending calls */
	struct delayed_call *delayed_calls; /* list of calls that wait for a pending one */
	size_t total_blob_bytes; /* number of bytes in all blobs, which is limited */
	/* an interrupt does not end the wait of a thread whose notification was received (WAIT_KILLABLE_RECV) */
	bool response_wait_is_killable;
	/* number of pending entries that fetch a descriptor, or hold a fetched one */
	unsigned fetched_descriptor_count;
	/* maximum of fetched_descriptor_count, which leaves the supervisor descriptors for other uses */
	unsigned fetched_descriptors_max;
};

/* ---- pending.c: the list of calls of seized threads ---- */

/* The newest entry of a thread, or NULL. */
struct pending *pending_find_newest(const struct tracer *tracer, pid_t tid);
/* Whether the kernel may be performing the entry's exec. */
bool pending_is_in_exec(const struct pending *pending);
/*
 * Whether a notification with this entry's tid comes from another thread than the entry's. A thread whose exec succeeds
 * takes over its process's pid as tid, which the kernel reports a little later; the former tid may be reused meanwhile.
 * pending may be NULL: false.
 */
bool pending_tid_may_be_reused(const struct pending *pending);
/* Completes the record of the entry's system call. Does nothing when the record was completed before. */
void pending_end_record(struct tracer *tracer, struct pending *pending, int64_t ret);
/* Calls pending_end_record() and pending_remove_entry(). */
void pending_end_and_remove(struct tracer *tracer, struct pending *pending, int64_t ret);
/* Seizes and interrupts the target thread, and adds an entry. 0; -errno: no entry was added. */
int pending_seize_and_interrupt(struct tracer *tracer, const struct call *call, enum pending_state state,
				struct pending **ret_pending);
/*
 * Like pending_seize_and_interrupt(), but then adds the carrier to the target: before the seize, the carrier might stay
 * there. Takes carrier. 0; -errno: no entry was added.
 */
int pending_seize_with_carrier(struct tracer *tracer, const struct call *call, int carrier,
			       struct pending **ret_pending);
/*
 * The entry of the call that this notification restarts, or NULL. Removes newer entries of the thread: their signal
 * handlers were left by longjmp.
 */
struct pending *pending_find_entry_of_restart(struct tracer *tracer, pid_t tid, int nr, const __u64 *args);
/* Ends the call and clears its entry. The thread is detached at its next stop. */
void pending_end_call_and_detach(struct tracer *tracer, struct pending *pending);
/* Unlinks and frees an entry. Its thread must be detached or dead, or have another entry. */
void pending_remove_entry(struct tracer *tracer, struct pending *pending);

/* ---- blob.c: arguments of a restarted exec ---- */

/*
 * Builds a blob. 0, or an -errno for the program: -EFAULT, -E2BIG, -ENAMETOOLONG, -ENOMEM. *budget counts the bytes of
 * all blobs, whose growth must be limited; it must outlive the blob.
 */
int blob_build_for_exec(const struct call *call, const struct exec_plan *plan, size_t *budget,
			struct trace_blob *ret_blob);
/* Turns the array's offsets into addresses. To be called only once. */
void blob_relocate_argv_pointers(struct trace_blob *blob, uint64_t addr);
void blob_release(struct trace_blob *blob);

/* ---- verify.c: checks what an exec has loaded ---- */

/*
 * Verifies an exec. NULL: the new image of `pid`, which is in its exec stop, is the approved image. Otherwise: the
 * reason. Afterwards AT_EXECFN of an exec with other arguments is the name that the program gave.
 */
const char *verify_exec_image(const struct sandbox *sandbox, pid_t pid, const struct exec_plan *plan);

/* ---- stop.c: handles stops of target threads ---- */

void stop_on_exec(struct tracer *tracer, pid_t pid);
void stop_on_stop_other_than_exec(struct tracer *tracer, pid_t pid, int status);

/* ---- inject.c: injected system calls ---- */

#define INJECT_SIGNAL_NUMBERS_END 65u /* one above the highest signal number */

/* Injected calls: single steps make a stopped thread, which is behind its system call instruction, run other calls. */
struct injection {
	const struct tracer *tracer;
	const struct pending *pending;
	struct arch_regs registers_after_call;   /* the thread's registers behind its own call */
	/* what inject_restore_thread() sets; after inject_prepare_after_own_call(): registers_after_call */
	struct arch_regs registers_to_restore;
	bool has_registers_to_restore;             /* `registers_to_restore` is set */
	uint64_t thread_signal_mask; /* the thread's own signal mask, which is restored after the injection */
	/* signals that arrived during the injection, and are sent to the thread again at its end */
	bool arrived_signals[INJECT_SIGNAL_NUMBERS_END];
	/* until this time more than INJECT_STRAY_STOPS_MAX stray stops are tolerated */
	uint64_t stray_stops_deadline_ns;
	unsigned stray_stop_count;           /* stops that no single step caused */
};

/* Prepares a thread that is stopped behind its own call for injected calls. 0; -errno: the thread is unchanged. */
int inject_prepare_after_own_call(const struct tracer *tracer, const struct pending *pending,
				  struct injection *ret_injection);
/*
 * Prepares a thread that is stopped anywhere, by a system call instruction of its own code. inject_restore_thread()
 * sets its registers back, so that the thread goes on as if nothing had happened. Except on arm64: what the kernel has
 * kept there for the restart of a call is lost, so a sleep for a relative time begins anew (ERESTART_RESTARTBLOCK), and
 * a signal handler does not end the call with EINTR. 0; -errno: the thread is unchanged.
 */
int inject_prepare_at_any_instruction(const struct tracer *tracer, const struct pending *pending,
				      struct injection *ret_injection);
/* Makes the thread run one system call. Returns its result, or -ESRCH. */
int64_t inject_syscall(struct injection *injection, long nr, uint64_t a, uint64_t b, uint64_t c);
int64_t inject_syscall_with_args(struct injection *injection, long nr, const uint64_t arg[6]);
/* Makes a whole injection: `run` makes the calls; its result, or -errno, is returned, and set for the thread's call. */
int64_t inject_calls_and_set_result(const struct tracer *tracer, const struct pending *pending,
				  int64_t (*run)(struct injection *));
/*
 * Sets the thread's registers to those behind its call, or to those before the injection. 0; -errno: the thread is
 * dead.
 */
int inject_restore_thread(struct injection *injection);
/* An address in the thread's stack with room for `size` bytes. */
uint64_t inject_find_stack_room(const struct injection *injection, size_t size);
/* Writes into the stopped thread's memory, and grows its stack if necessary. 0 or -ENOMEM. */
int inject_write_memory(const struct tracer *tracer, pid_t tid, uint64_t addr, const void *bytes, size_t len);

/* Everything that sendmsg and recvmsg need in memory for one descriptor. */
struct fd_message {
	struct msghdr header;
	struct iovec vector;
	char byte; /* the one byte of data that carries the descriptor */
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
};

/* Prepares a message for address addr, to send fd or to receive a descriptor. fd -1: a send of the message fails. */
void fd_message_init(struct fd_message *message, uint64_t addr, int fd);

/* ---- fetch.c: fetches descriptors (OUTCOME_FETCH_DESCRIPTOR) ---- */

/* Seizes the thread and adds a carrier for its descriptor. 0; -errno: nothing has begun. */
int fetch_start_for_call(struct tracer *tracer, const struct call *call);
/* Makes the stopped thread send its descriptor, and restarts its call. 0, or an -errno for the program. */
int fetch_make_thread_send_fd(struct tracer *tracer, struct pending *pending);

/* ---- pathfd.c: O_PATH descriptors and chdir ---- */

/*
 * Makes a carrier: a socket with fd in its queue, which answer_add_descriptor() adds to the target. Returns the socket,
 * owned by the caller, or -errno.
 */
int pathfd_make_carrier_socket(int fd);
/*
 * For a chdir(2) to the directory of the O_PATH descriptor fd: opens a descriptor of the directory that can be added to
 * the target. -1: no chdir, or no such descriptor. Other threads could list that directory meanwhile. So the result is
 * -1 if open(2) would give another listing: for stand-in directories and for directories without a name in the view.
 */
int pathfd_open_directory(const struct call *call, int fd);
/* Makes the stopped thread receive the descriptor from the carrier. Its number, or an -errno for the program. */
int64_t pathfd_make_thread_receive_fd(const struct tracer *tracer, const struct pending *pending);

/* Makes the stopped thread map its carrier. Returns the address, or an -errno for the program. */
int64_t pathfd_make_thread_map_file(const struct tracer *tracer, const struct pending *pending);

/*
 * ---- later.c: calls and stops that wait for another thread's exec ----
 *
 * PTRACE_SEIZE takes a mutex. While a thread of the process waits in its exec for the other threads to die, it holds
 * that mutex. Seized threads die only when the tracer reaps them, so the supervisor thread would wait for itself. So no
 * thread is seized while another thread of its process is in an exec.
 */

/* Whether the call must wait for another thread's exec. */
bool delayed_call_must_wait(const struct tracer *tracer, const struct call *call);
/* Queues a copy of the call, and takes what its outcome owns. 0; -ENOMEM: nothing is taken. */
int delay_call_until_exec_ends(struct tracer *tracer, struct call *call);
/*
 * Removes a call from the queue that need not wait any longer, or that has ended meanwhile (*ret_awaited is false).
 * NULL: there is no such call. delayed_call_free() releases it.
 */
struct delayed_call *delayed_call_dequeue_ready(struct tracer *tracer, bool *ret_awaited);
void delayed_call_free(struct delayed_call *later);
void delayed_calls_free(struct tracer *tracer);
/*
 * True: the stop is kept in pending->deferred_wait_status. An exec takes its leader's pid, and the kernel ends a
 * stopped leader. A tracer that then resumed the leader would resume the new image, unverified. So a leader's stop is
 * not handled while another thread of its process is in an exec.
 */
bool delay_stop_until_exec_ends(const struct tracer *tracer, struct pending *pending, int status);

#endif
