/*
 * O_PATH descriptors. seccomp(2) injects none of them, sockets carry them: the task is given a socket with the
 * descriptor in its queue and, standing behind its open, is made to run recvmsg, dup3 and close by single steps. It
 * then has the lowest number, as from open(2). A chdir goes there by fchdir instead of the dup3: with registers only,
 * where its directory can be injected, because it may be read.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "supervisor/trace/private.h"

#include "base/banned.h"

int pathfd_carrier(int fd)
{
	_cleanup_close_ int near = -1;
	_cleanup_close_ int far = -1;
	struct letter letter = {0};
	int pair[2];

	/* Not SOCK_DGRAM: such a one could reach third parties by address. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	near = pair[0];
	far = pair[1];
	letter_address(&letter, (uint64_t)(uintptr_t)&letter);
	letter_fill(&letter, fd);
	if (sendmsg(near, &letter.message, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return -errno;
	return steal_fd(&far);
}

int pathfd_directory(const struct call *call, int fd)
{
	const struct place *place = &call->place[0];
	char path[32];

	if (call->row->nr != __NR_chdir || place->magic || view_has_standin(place))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
}

/* The number the task received its descriptor under, or -errno. */
static int64_t read_letter(const struct errand *errand, uint64_t addr)
{
	struct letter letter;
	int number;

	if (memory_copy_in(errand->tracer->sandbox->guest, errand->pending->tid, addr, &letter, sizeof(letter)) < 0)
		return -EFAULT;
	if (letter.message.msg_controllen < CMSG_LEN(sizeof(int)) || letter.control.align.cmsg_type != SCM_RIGHTS)
		return -EMFILE; /* the message was there, a number for its descriptor was not */
	memcpy(&number, CMSG_DATA(&letter.control.align), sizeof(number));
	return number < 0 ? -EMFILE : number;
}

static int write_letter(const struct errand *errand, uint64_t addr)
{
	struct letter letter = {0};

	letter_address(&letter, addr);
	return stop_write(errand->tracer, errand->pending->tid, addr, &letter, sizeof(letter));
}

/* The directory is in the task's table already. */
static int64_t enter(struct errand *errand)
{
	uint64_t directory = (uint64_t)errand->pending->carrier;
	int64_t result = errand_run(errand, __NR_fchdir, directory, 0, 0);

	(void)errand_run(errand, __NR_close, directory, 0, 0); /* fails only for a dead task */
	return result;
}

static int64_t receive(struct errand *errand)
{
	uint64_t carrier = (uint64_t)errand->pending->carrier;
	uint64_t addr = errand_room(errand, sizeof(struct letter));
	bool enters = errand->pending->row->nr == __NR_chdir;
	int64_t number = write_letter(errand, addr);

	if (number == 0)
		number = errand_run(errand, __NR_recvmsg, carrier, addr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (number >= 0)
		number = read_letter(errand, addr);
	if (number >= 0) {
		uint64_t received = (uint64_t)number;

		if (enters)
			number = errand_run(errand, __NR_fchdir, received, 0, 0);
		else
			number = errand_run(errand, __NR_dup3, received, carrier,
					    errand->pending->cloexec ? O_CLOEXEC : 0);
		(void)errand_run(errand, __NR_close, received, 0, 0); /* fails only for a dead task */
	}
	if (number < 0 || enters)
		(void)errand_run(errand, __NR_close, carrier, 0, 0);
	return number;
}

int64_t pathfd_receive(const struct tracer *tracer, const struct pending *pending)
{
	struct errand errand;
	int64_t result;
	int r = errand_begin(tracer, pending, &errand);

	if (r < 0)
		return r;
	result = pending->direct ? enter(&errand) : receive(&errand);
	arch_set_result(&errand.behind, result);
	(void)errand_end(&errand); /* fails only for a dead task */
	return result;
}
