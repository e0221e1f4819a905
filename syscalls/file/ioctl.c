/* ioctl(2): judges the requests that need more than registers to judge. All others are native or refused. */
#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/proc/fdinfo.h"
#include "syscalls/file/owner.h"
#include "syscalls/net/address.h"
#include "syscalls/net/interfaces.h"
#include "syscalls/process/target.h"
#include "syscalls/table/handlers.h"

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41) /* Linux 4.13 */
#endif

#define PTY_SLAVES_MAJOR 136u /* UNIX98_PTY_SLAVE_MAJOR of linux/major.h */
#define TIOCGPTPEER_FLAGS (O_ACCMODE | O_NOCTTY | O_NONBLOCK | O_CLOEXEC) /* open flags that the ioctl takes */

/* The kernel's errno for a descriptor that is not a master: ptm_open_peer() in drivers/tty/pty.c; tty_ioctl(2). */
static int ioctl_get_error_of_non_master(const struct call *call)
{
	char path[64];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", call->tid, call_get_int(call, 0));
	return stat(path, &status) == 0 && S_ISCHR(status.st_mode) && major(status.st_rdev) == PTY_SLAVES_MAJOR ? -EIO
													    : -ENOTTY;
}

/*
 * Opens the slave of the target's master, which Landlock would refuse to the program. If a thread replaces the
 * descriptor meanwhile, another of the run's slaves is opened.
 */
static void ioctl_open_terminal_slave(struct call *call)
{
	int flags = call_get_int(call, 2) & TIOCGPTPEER_FLAGS, fd;
	struct fdinfo info;

	target_allow_without_rule(call);
	if (fdinfo_read(call->tid, call_get_int(call, 0), &info) < 0)
		fd = -EBADF;
	else if (info.is_pty_master)
		fd = view_open_terminal(call->sandbox->view, info.pty_number, flags);
	else
		fd = ioctl_get_error_of_non_master(call);
	if (fd < 0)
		call_fail(call, fd == -ENXIO ? -EIO : fd);
	else
		call_return_fd(call, fd, flags & O_CLOEXEC);
}

void sys_ioctl(struct call *call)
{
	struct fdinfo info;

	switch (call_get_uint(call, 1)) {
	case TIOCGPTPEER:
		ioctl_open_terminal_slave(call);
		break;
	case FIOSETOWN:
	case SIOCSPGRP:
		owner_set_owner_of_socket(call);
		break;
	case SIOCETHTOOL:
		if (net_check_fd_is_socket(call) == 0)
			/* the loopback interface has no settings, and gives this errno */
			target_allow_but_fail(call, -EOPNOTSUPP);
		else
			call_refuse(call, -ENOTTY, NULL, "refused_syscall");
		break;
	default:
		if (interfaces_perform_ioctl(call))
			break;
		if (fdinfo_read(call->tid, call_get_int(call, 0), &info) < 0 || info.open_flags & O_PATH)
			target_allow_but_fail(call, -EBADF);
		else
			call_refuse(call, -ENOTTY, NULL, "refused_syscall");
		break;
	}
}
