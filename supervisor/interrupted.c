#include "supervisor/interrupted.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/proc/stat.h"
#include "confine/filter.h"
#include "syscalls/arch/frame.h"
#include "syscalls/table/table.h"

/* after this number of other calls of its thread, a restarted open counts as abandoned by siglongjmp(3) */
#define OTHER_CALLS_BEFORE_RESTART_MAX 64u

/* /proc/TID/syscall has a waiting thread's call number, six arguments, stack pointer and instruction pointer. */
static bool interrupted_parse_stack_pointer(const char *text, int nr, uint64_t *ret_stack)
{
	char *end;

	if (strtol(text, &end, 10) != nr || end == text)
		return false;
	for (unsigned i = 0; i < 7; i++) {
		if (*end != ' ')
			return false;
		*ret_stack = strtoull(end + 1, &end, 16);
	}
	return *end == ' ';
}

static void interrupted_close_syscall_file(struct interrupted_proc_syscall *source)
{
	if (source->tid != 0)
		(void)close(source->fd);
	source->tid = 0;
}

/* Reads /proc/TID/syscall. Its descriptor is kept open, because opening it takes as long as the rest of the restart. */
static ssize_t interrupted_read_syscall_file(struct interrupted_calls *interrupted, pid_t tid, char *text, size_t size)
{
	struct interrupted_proc_syscall *source =
		&interrupted->proc_syscall_file[(unsigned)tid % INTERRUPTED_PROC_SYSCALLS_MAX];
	ssize_t len = source->tid == tid ? pread(source->fd, text, size, 0) : -1;

	if (len > 0)
		return len;
	interrupted_close_syscall_file(source);
	source->fd = procstat_open_file(tid, "syscall");
	if (source->fd < 0)
		return -1;
	source->tid = tid;
	return pread(source->fd, text, size, 0);
}

/* Reads the stack pointer of a thread that is stopped in call nr from /proc/TID/syscall. */
static bool interrupted_read_stack_pointer(struct interrupted_calls *interrupted, pid_t tid, int nr,
					   uint64_t *ret_stack)
{
	char text[256];
	ssize_t len = interrupted_read_syscall_file(interrupted, tid, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return interrupted_parse_stack_pointer(text, nr, ret_stack);
}

void interrupted_release(struct interrupted_calls *interrupted)
{
	for (unsigned i = 0; i < INTERRUPTED_PROC_SYSCALLS_MAX; i++)
		interrupted_close_syscall_file(&interrupted->proc_syscall_file[i]);
}

/*
 * Whether the call was notified, so that its EINTR came from the wait for the supervisor or from its response. A native
 * call's EINTR is kept. With FRAME_CALL_UNKNOWN the arguments may be wrong, so only the number counts.
 */
static bool interrupted_call_was_notified(const struct interrupted_calls *interrupted, const struct frame *frame,
					  enum frame_kind kind)
{
	if (frame->nr < 0)
		return true;
	if (kind == FRAME_CALL_UNKNOWN)
		return filter_may_notify(interrupted->traits, frame->nr);
	return filter_notifies_call(interrupted->traits, frame->nr, frame->arg);
}

/* Whether a signal may natively end the call with EINTR. */
static enum row_eintr interrupted_get_eintr_of_call(const struct frame *frame)
{
	const struct syscall_row *row = frame->nr < 0 ? NULL : table_find_row(frame->nr);

	if (!row)
		return EINTR_NEVER; /* unlisted calls fail with ENOSYS at once */
	if (row->waits_if && !table_terms_match(row->waits_if, frame->arg))
		return EINTR_NEVER; /* fcntl(2) commands that do not wait, such as F_SETLK */
	return row->eintr;
}

/* Reads the top of a thread's stack, to recognise a call by its return addresses. */
static void interrupted_read_stack_slots(const struct memory_ops *memory, pid_t tid, uint64_t stack,
					 uint64_t slot[INTERRUPTED_COMPARED_STACK_WORDS])
{
	memset(slot, 0, INTERRUPTED_COMPARED_STACK_WORDS * sizeof(slot[0]));
	/* Reads less at the end of the stack. */
	(void)memory->read(tid, stack, slot, INTERRUPTED_COMPARED_STACK_WORDS * sizeof(slot[0]));
}

/*
 * Whether this is the call of the thread that could not be restarted when its last handler returned. If a timer expires
 * more often than the supervisor responds, a program runs handler after handler over the same call, and identifying the
 * call each time would starve the program. Calls at the same place, as in syscall(2), are distinguished by registers
 * and return addresses.
 */
static bool interrupted_restart_has_failed_before(const struct interrupted_calls *interrupted,
						  const struct memory_ops *memory, pid_t tid, const struct frame *frame)
{
	const struct interrupted_call_not_restarted *left =
		&interrupted->not_restarted[(unsigned)tid % INTERRUPTED_NOT_RESTARTED_MAX];
	uint64_t slot[INTERRUPTED_COMPARED_STACK_WORDS];

	if (left->tid != tid || left->frame.registers_addr != frame->registers_addr ||
	    memcmp(left->frame.registers, frame->registers, sizeof(frame->registers)) != 0)
		return false;
	interrupted_read_stack_slots(memory, tid, frame->stack_pointer, slot);
	return memcmp(left->stack_slot, slot, sizeof(slot)) == 0;
}

/* Remembers a call whose number is unknown, to recognise it when it is repeated. */
static void interrupted_remember_call_not_restarted(struct interrupted_calls *interrupted,
						    const struct memory_ops *memory, pid_t tid,
						    const struct frame *frame)
{
	struct interrupted_call_not_restarted *left =
		&interrupted->not_restarted[(unsigned)tid % INTERRUPTED_NOT_RESTARTED_MAX];

	interrupted->not_restarted_count++;
	left->tid = tid;
	left->frame = *frame;
	interrupted_read_stack_slots(memory, tid, frame->stack_pointer, left->stack_slot);
}

static struct interrupted_open *interrupted_find_open(struct interrupted_calls *interrupted, pid_t tid)
{
	for (unsigned i = 0; interrupted->remembered_open_count > 0 && i < INTERRUPTED_OPENS_MAX; i++)
		if (interrupted->open[i].tid == tid)
			return &interrupted->open[i];
	return NULL;
}

/* Remembers a restarted or waiting open in place of the oldest one. */
static void interrupted_remember_open(struct interrupted_calls *interrupted, pid_t tid, bool waited, int nr,
				      uint64_t pc, const void *args)
{
	struct interrupted_open *open = interrupted_find_open(interrupted, tid);

	if (!open) {
		open = &interrupted->open[interrupted->next_open_to_replace++ % INTERRUPTED_OPENS_MAX];
		interrupted->remembered_open_count += open->tid == 0;
	}
	*open = (struct interrupted_open){.tid = tid, .had_to_wait = waited, .nr = nr, .pc = pc};
	memcpy(open->arg, args, sizeof(open->arg));
}

static void interrupted_forget_open(struct interrupted_calls *interrupted, struct interrupted_open *open)
{
	open->tid = 0;
	interrupted->remembered_open_count--;
}

/* Whether a call is the remembered open again: same place in the code, same arguments. */
static bool interrupted_is_same_open(const struct interrupted_open *open, int nr, uint64_t pc, const void *args)
{
	return nr == open->nr && pc == open->pc && memcmp(args, open->arg, sizeof(open->arg)) == 0;
}

bool interrupted_is_restarted_open(struct interrupted_calls *interrupted, const struct seccomp_notif *notification)
{
	const struct seccomp_data *data = &notification->data;
	struct interrupted_open *open = interrupted_find_open(interrupted, (pid_t)notification->pid);
	bool same, waited;

	if (!open)
		return false;
	same = interrupted_is_same_open(open, data->nr, data->instruction_pointer, data->args);
	waited = open->had_to_wait;
	if (same || ++open->calls_since_open > OTHER_CALLS_BEFORE_RESTART_MAX)
		interrupted_forget_open(interrupted, open);
	return same && !waited;
}

void interrupted_note_waiting_open(struct interrupted_calls *interrupted, const struct seccomp_notif *notification)
{
	const struct seccomp_data *data = &notification->data;

	interrupted_remember_open(interrupted, (pid_t)notification->pid, true, data->nr, data->instruction_pointer,
				  data->args);
}

/*
 * Whether the open that the signal frame interrupted was waiting for a FIFO, so that EINTR is its native result. True
 * only once for each open.
 */
static bool interrupted_open_has_waited(struct interrupted_calls *interrupted, pid_t tid, const struct frame *frame)
{
	struct interrupted_open *open = interrupted_find_open(interrupted, tid);

	if (!open || !open->had_to_wait || !interrupted_is_same_open(open, frame->nr, frame->pc, frame->arg))
		return false;
	interrupted_forget_open(interrupted, open);
	return true;
}

void interrupted_on_sigreturn(struct interrupted_calls *interrupted, const struct memory_ops *memory, int listener_fd,
			      const struct seccomp_notif *notification)
{
	pid_t tid = (pid_t)notification->pid;
	struct frame frame = {0};
	enum frame_kind kind;
	enum row_eintr eintr;
	uint64_t stack;

	if (!interrupted_read_stack_pointer(interrupted, tid, notification->data.nr, &stack) ||
	    !frame_read_signal_frame(memory, tid, stack, &frame) ||
	    interrupted_restart_has_failed_before(interrupted, memory, tid, &frame))
		return;
	kind = frame_identify_interrupted_call(memory, tid, &frame);
	eintr = interrupted_get_eintr_of_call(&frame);
	if (kind == FRAME_NOT_AFTER_SYSCALL || eintr == EINTR_ANY_TIME ||
	    !interrupted_call_was_notified(interrupted, &frame, kind))
		return;
	/* If the thread has died and its tid was reused, the memory that was read is another process's. */
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification->id) < 0)
		return;
	if (kind == FRAME_CALL_KNOWN && eintr == EINTR_WHILE_OPENING_FIFO &&
	    interrupted_open_has_waited(interrupted, tid, &frame))
		return;
	if (kind == FRAME_CALL_UNKNOWN || frame_restart_call(memory, tid, &frame) < 0) {
		interrupted_remember_call_not_restarted(interrupted, memory, tid, &frame);
		return;
	}
	interrupted->restarted_count++;
	if (eintr == EINTR_WHILE_OPENING_FIFO)
		interrupted_remember_open(interrupted, tid, false, frame.nr, frame.pc, frame.arg);
}
