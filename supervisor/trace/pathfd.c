/*
 * Gives O_PATH descriptors to target threads. SECCOMP_IOCTL_NOTIF_ADDFD refuses them, but a socket can carry them. The
 * thread gets a socket with the descriptor in its queue, and runs recvmsg, dup3 and close as injected calls. The
 * descriptor is then the lowest free one, as after open(2). For a chdir the thread runs fchdir in place of dup3. If the
 * directory may be read, ADDFD adds it, so that its chdir needs registers only. A file that is to be mapped is added by
 * ADDFD too.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "supervisor/trace/private.h"

int pathfd_make_carrier_socket(int fd)
{
	_cleanup_close_ int near = -1;
	_cleanup_close_ int far = -1;
	struct fd_message message;
	int pair[2];

	/* A SOCK_DGRAM socket could send to the addresses of other sockets. */
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	near = pair[0];
	far = pair[1];
	fd_message_init(&message, (uint64_t)(uintptr_t)&message, fd);
	if (sendmsg(near, &message.header, MSG_DONTWAIT | MSG_NOSIGNAL) != 1)
		return -errno;
	return steal_fd(&far);
}

int pathfd_open_directory(const struct call *call, int fd)
{
	const struct place *place = &call->resolved_place[0];

	if (call->row->nr != __NR_chdir || place->is_magic_link || view_has_standin(place))
		return -1;
	return open(io_proc_fd_path(fd).path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
}

/* Reads the number of the received descriptor. -errno: none was received. */
static int64_t pathfd_read_message(const struct injection *injection, uint64_t addr)
{
	struct fd_message message;
	int number;

	if (memory_copy_in(injection->tracer->sandbox->target_memory, injection->pending->tid, addr, &message,
			   sizeof(message)) < 0)
		return -EFAULT;
	if (message.header.msg_controllen < CMSG_LEN(sizeof(int)) || message.control.align.cmsg_type != SCM_RIGHTS)
		return -EMFILE; /* the message came without its descriptor, because the table is full */
	memcpy(&number, CMSG_DATA(&message.control.align), sizeof(number));
	return number < 0 ? -EMFILE : number;
}

/* Writes the arguments of recvmsg(2), with which the target thread receives a descriptor. */
static int pathfd_write_message(const struct injection *injection, uint64_t addr)
{
	struct fd_message message;

	fd_message_init(&message, addr, -1);
	return inject_write_memory(injection->tracer, injection->pending->tid, addr, &message, sizeof(message));
}

/* Changes the thread's cwd to the directory that was added to the target. */
static int64_t pathfd_inject_fchdir(struct injection *injection)
{
	uint64_t directory = (uint64_t)injection->pending->carrier_fd;
	int64_t result = inject_syscall(injection, __NR_fchdir, directory, 0, 0);

	(void)inject_syscall(injection, __NR_close, directory, 0, 0); /* fails only for a dead thread */
	return result;
}

/* Makes the added terminal the controlling terminal. A failure is ignored, as by open(2). */
static int64_t pathfd_inject_set_terminal(struct injection *injection)
{
	uint64_t terminal = (uint64_t)injection->pending->carrier_fd;

	(void)inject_syscall(injection, __NR_ioctl, terminal, TIOCSCTTY, 0);
	if (!injection->pending->fd_is_cloexec) /* the terminal was added with O_CLOEXEC */
		(void)inject_syscall(injection, __NR_fcntl, terminal, F_SETFD, 0);
	return (int64_t)terminal;
}

/*
 * Makes the thread receive the descriptor from the carrier socket. Then replaces the carrier by that descriptor or, for
 * a chdir, changes the cwd to its directory.
 */
static int64_t pathfd_inject_receive_of_fd(struct injection *injection)
{
	uint64_t carrier = (uint64_t)injection->pending->carrier_fd;
	uint64_t addr = inject_find_stack_room(injection, sizeof(struct fd_message));
	bool enters = injection->pending->row->nr == __NR_chdir;
	int64_t number = pathfd_write_message(injection, addr);

	if (number == 0)
		number = inject_syscall(injection, __NR_recvmsg, carrier, addr, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (number >= 0)
		number = pathfd_read_message(injection, addr);
	if (number >= 0) {
		uint64_t received = (uint64_t)number;

		if (enters)
			number = inject_syscall(injection, __NR_fchdir, received, 0, 0);
		else
			number = inject_syscall(injection, __NR_dup3, received, carrier,
						injection->pending->fd_is_cloexec ? O_CLOEXEC : 0);
		(void)inject_syscall(injection, __NR_close, received, 0, 0); /* fails only for a dead thread */
	}
	if (number < 0 || enters)
		(void)inject_syscall(injection, __NR_close, carrier, 0, 0);
	return number;
}

int64_t pathfd_make_thread_receive_fd(const struct tracer *tracer, const struct pending *pending)
{
	if (pending->carrier_becomes_controlling_tty)
		return inject_calls_and_set_result(tracer, pending, pathfd_inject_set_terminal);
	return inject_calls_and_set_result(
		tracer, pending, pending->carrier_is_directory ? pathfd_inject_fchdir : pathfd_inject_receive_of_fd);
}

/*
 * Injects the program's own mmap(2) of shared anonymous memory, but with a memfd, so that the memory is counted
 * (memfds.h). The thread has the memfd's descriptor until the injected close(2). Another thread may use the descriptor
 * meanwhile, which does no harm: the memfd's bytes stay counted.
 */
static int64_t pathfd_inject_mmap_of_carrier(struct injection *injection)
{
	const struct pending *pending = injection->pending;
	uint64_t arg[6];
	int64_t result;

	memcpy(arg, pending->arg, sizeof(arg));
	/* MAP_POPULATE is only a hint, and its work would take longer than a single step may. */
	arg[3] &= ~(uint64_t)(MAP_ANONYMOUS | MAP_POPULATE);
	arg[4] = (uint64_t)pending->carrier_fd;
	arg[5] = 0;
	result = inject_syscall_with_args(injection, __NR_mmap, arg);
	(void)inject_syscall(injection, __NR_close, (uint64_t)pending->carrier_fd, 0,
			     0); /* fails only for a dead thread */
	return result;
}

int64_t pathfd_make_thread_map_file(const struct tracer *tracer, const struct pending *pending)
{
	return inject_calls_and_set_result(tracer, pending, pathfd_inject_mmap_of_carrier);
}
