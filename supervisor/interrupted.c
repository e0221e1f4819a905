#include "supervisor/interrupted.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "confine/filter.h"
#include "syscalls/arch/frame.h"
#include "syscalls/table/table.h"

#include "base/banned.h"

#define OTHERS_MAX 64u /* calls of other handlers before a restarted open is taken for abandoned (siglongjmp) */

/* ---- the stack pointer ---- */

/* In /proc/TID/syscall: number, six arguments, stack pointer and instruction pointer of a task that waits. */
static bool parse_stack(const char *text, int nr, uint64_t *ret_stack)
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

static ssize_t read_again(const struct interrupted_source *source, char *text, size_t size)
{
	return pread(source->fd, text, size, 0);
}

static void close_source(struct interrupted_source *source)
{
	if (source->tid != 0)
		(void)close(source->fd);
	source->tid = 0;
}

/* To open it takes as long as all the rest. */
static ssize_t read_source(struct interrupted *interrupted, pid_t tid, char *text, size_t size)
{
	struct interrupted_source *source = &interrupted->source[(unsigned)tid % INTERRUPTED_SOURCES];
	char path[32];
	ssize_t len = source->tid == tid ? read_again(source, text, size) : -1;

	if (len > 0)
		return len;
	close_source(source);
	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	source->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (source->fd < 0)
		return -1;
	source->tid = tid;
	return read_again(source, text, size);
}

static bool read_stack(struct interrupted *interrupted, pid_t tid, int nr, uint64_t *ret_stack)
{
	char text[256];
	ssize_t len = read_source(interrupted, tid, text, sizeof(text) - 1);

	if (len <= 0)
		return false;
	text[len] = '\0';
	return parse_stack(text, nr, ret_stack);
}

void interrupted_done(struct interrupted *interrupted)
{
	for (unsigned i = 0; i < INTERRUPTED_SOURCES; i++)
		close_source(&interrupted->source[i]);
}

/* ---- which calls ---- */

/*
 * True when the call was notified, and its EINTR therefore is from the wait for us or from our answer. That of a
 * call which the filter lets pass is the kernel's own. Of FRAME_UNKNOWN the arguments may be wrong: then it is
 * asked by number alone.
 */
static bool was_notified(const struct interrupted *interrupted, const struct frame *frame, enum frame_kind kind)
{
	if (frame->nr < 0)
		return true;
	if (kind == FRAME_UNKNOWN)
		return filter_may_notify(interrupted->traits, frame->nr);
	return filter_notifies(interrupted->traits, frame->nr, frame->arg);
}

/* The arguments may be wrong when the number is: such a call is left as it is in any case. */
static enum row_eintr natively(const struct frame *frame)
{
	const struct syscall_row *row = frame->nr < 0 ? NULL : table_find(frame->nr);

	if (!row)
		return EINTR_NEVER; /* unlisted ones are ENOSYS at once */
	if (row->waits && !table_match(row->waits, frame->arg))
		return EINTR_NEVER; /* F_SETLK */
	return row->eintr;
}

/* ---- calls that are left as they are ---- */

static void read_slots(const struct memory_ops *guest, pid_t tid, uint64_t stack, uint64_t slot[INTERRUPTED_SLOTS])
{
	memset(slot, 0, INTERRUPTED_SLOTS * sizeof(slot[0]));
	(void)guest->read(tid, stack, slot, INTERRUPTED_SLOTS * sizeof(slot[0])); /* as far as there is a stack */
}

/*
 * Whose timer rings more often than we answer runs handler after handler before its program goes on: each time the
 * same call is found there. To look for its number again would take the time in which the program could go on. At one
 * place, such as syscall(2), and with one frame there may be many calls: the same one has the same registers, and was
 * made by the same functions.
 */
static bool was_left(const struct interrupted *interrupted, const struct memory_ops *guest, pid_t tid,
		     const struct frame *frame)
{
	const struct interrupted_left *left = &interrupted->last[(unsigned)tid % INTERRUPTED_LEFT];
	uint64_t slot[INTERRUPTED_SLOTS];

	if (left->tid != tid || left->frame.addr != frame->addr ||
	    memcmp(left->frame.word, frame->word, sizeof(frame->word)) != 0)
		return false;
	read_slots(guest, tid, frame->stack, slot);
	return memcmp(left->slot, slot, sizeof(slot)) == 0;
}

static void leave(struct interrupted *interrupted, const struct memory_ops *guest, pid_t tid, const struct frame *frame)
{
	struct interrupted_left *left = &interrupted->last[(unsigned)tid % INTERRUPTED_LEFT];

	interrupted->left++;
	left->tid = tid;
	left->frame = *frame;
	read_slots(guest, tid, frame->stack, left->slot);
}

/* ---- opens ---- */

static struct interrupted_open *find_open(struct interrupted *interrupted, pid_t tid)
{
	for (unsigned i = 0; interrupted->opens > 0 && i < INTERRUPTED_OPENS; i++)
		if (interrupted->open[i].tid == tid)
			return &interrupted->open[i];
	return NULL;
}

static void remember_open(struct interrupted *interrupted, const struct interrupted_open *open)
{
	struct interrupted_open *place = find_open(interrupted, open->tid);

	if (!place) {
		place = &interrupted->open[interrupted->next++ % INTERRUPTED_OPENS];
		interrupted->opens += place->tid == 0;
	}
	*place = *open;
}

static void forget_open(struct interrupted *interrupted, struct interrupted_open *open)
{
	open->tid = 0;
	interrupted->opens--;
}

static bool is_same(const struct interrupted_open *open, int nr, uint64_t pc, const void *args)
{
	return nr == open->nr && pc == open->pc && memcmp(args, open->arg, sizeof(open->arg)) == 0;
}

bool interrupted_again(struct interrupted *interrupted, const struct seccomp_notif *notification)
{
	const struct seccomp_data *data = &notification->data;
	struct interrupted_open *open = find_open(interrupted, (pid_t)notification->pid);
	bool same, waited;

	if (!open)
		return false;
	same = is_same(open, data->nr, data->instruction_pointer, data->args);
	waited = open->waited;
	if (same || ++open->others > OTHERS_MAX)
		forget_open(interrupted, open);
	return same && !waited;
}

void interrupted_waits(struct interrupted *interrupted, const struct seccomp_notif *notification)
{
	const struct seccomp_data *data = &notification->data;
	struct interrupted_open open = {
		.tid = (pid_t)notification->pid, .waited = true, .nr = data->nr, .pc = data->instruction_pointer};

	memcpy(open.arg, data->args, sizeof(open.arg));
	remember_open(interrupted, &open);
}

/* True when the frame's open is one that has waited: its EINTR is as natively, once. */
static bool has_waited(struct interrupted *interrupted, pid_t tid, const struct frame *frame)
{
	struct interrupted_open *open = find_open(interrupted, tid);

	if (!open || !open->waited || !is_same(open, frame->nr, frame->pc, frame->arg))
		return false;
	forget_open(interrupted, open);
	return true;
}

static void restarted_open(struct interrupted *interrupted, pid_t tid, const struct frame *frame)
{
	struct interrupted_open open = {.tid = tid, .nr = frame->nr, .pc = frame->pc};

	memcpy(open.arg, frame->arg, sizeof(open.arg));
	remember_open(interrupted, &open);
}

/* ---- */

void interrupted_return(struct interrupted *interrupted, const struct memory_ops *guest, int listener_fd,
			const struct seccomp_notif *notification)
{
	pid_t tid = (pid_t)notification->pid;
	struct frame frame = {0};
	enum frame_kind kind;
	uint64_t stack;

	if (!read_stack(interrupted, tid, notification->data.nr, &stack) || !frame_read(guest, tid, stack, &frame) ||
	    was_left(interrupted, guest, tid, &frame))
		return;
	kind = frame_identify(guest, tid, &frame);
	if (kind == FRAME_OTHER || natively(&frame) == EINTR_MAY || !was_notified(interrupted, &frame, kind))
		return;
	/* What was read, and is written, may be another process's memory by now: the number was used again. */
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &notification->id) < 0)
		return;
	if (kind == FRAME_CALL && natively(&frame) == EINTR_OPEN && has_waited(interrupted, tid, &frame))
		return;
	if (kind == FRAME_UNKNOWN || frame_restart(guest, tid, &frame) < 0) {
		leave(interrupted, guest, tid, &frame);
		return;
	}
	interrupted->restarted++;
	if (natively(&frame) == EINTR_OPEN)
		restarted_open(interrupted, tid, &frame);
}
