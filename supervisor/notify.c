#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "base/kernel.h"
#include "supervisor/notify.h"

#include "base/banned.h"

#ifndef SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP /* Linux 6.6 */
#define SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP (1UL << 0)
#define SECCOMP_IOCTL_NOTIF_SET_FLAGS SECCOMP_IOW(4, __u64)
#endif

void notify_prepare(int listener_fd)
{
	(void)ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SET_FLAGS, SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP);
}

static int listener(int listener_fd, unsigned long request, const void *argument)
{
	return (int)kernel_call(SYS_ioctl, kernel_int(listener_fd), request, kernel_pointer(argument), 0, 0, 0);
}

int notify_receive(int listener_fd, struct seccomp_notif *ret_notification)
{
	int r;

	/* The kernel refuses a structure that is not zeroed. */
	memset(ret_notification, 0, sizeof(*ret_notification));
	r = listener(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, ret_notification);
	return r == -EINTR ? -ENOENT : r;
}

static int respond(int listener_fd, struct seccomp_notif_resp *response)
{
	int r;

	do
		r = listener(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, response);
	while (r == -EINTR);
	return r;
}

int notify_value(int listener_fd, uint64_t id, int64_t value)
{
	struct seccomp_notif_resp response = {.id = id, .val = value};

	return respond(listener_fd, &response);
}

int notify_error(int listener_fd, uint64_t id, int error)
{
	struct seccomp_notif_resp response = {.id = id, .error = error};

	return respond(listener_fd, &response);
}

int notify_continue(int listener_fd, uint64_t id)
{
	struct seccomp_notif_resp response = {.id = id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE};

	return respond(listener_fd, &response);
}

static int add_fd_undisturbed(int listener_fd, struct seccomp_notif_addfd *addfd)
{
	return listener(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, addfd);
}

/*
 * Our own wake-ups (the watchdog's, a cancelled worker's) stay out of it: the kernel counts a call with ADDFD_FLAG_SEND as
 * answered before the task has taken the descriptor, and an interrupted wait for that takes the descriptor back but not
 * the answer, whose value then is 0 (seccomp_notify_addfd() in kernel/seccomp.c): the program would take it for its stdin.
 */
static int add_fd(int listener_fd, struct seccomp_notif_addfd *addfd)
{
	sigset_t wakeup, saved;
	int r;

	(void)sigemptyset(&wakeup);
	(void)sigaddset(&wakeup, SIGUSR1);
	(void)pthread_sigmask(SIG_BLOCK, &wakeup, &saved);
	r = add_fd_undisturbed(listener_fd, addfd);
	(void)pthread_sigmask(SIG_SETMASK, &saved, NULL);
	return r;
}

static struct seccomp_notif_addfd answer(uint64_t id, int fd, bool cloexec)
{
	return (struct seccomp_notif_addfd){.id = id,
					    .flags = SECCOMP_ADDFD_FLAG_SEND,
					    .srcfd = (unsigned)fd,
					    .newfd_flags = cloexec ? O_CLOEXEC : 0};
}

int notify_fd(int listener_fd, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd addfd = answer(id, fd, cloexec);

	return add_fd(listener_fd, &addfd);
}

int notify_fd_undisturbed(int listener_fd, uint64_t id, int fd, bool cloexec)
{
	struct seccomp_notif_addfd addfd = answer(id, fd, cloexec);

	return add_fd_undisturbed(listener_fd, &addfd);
}

int notify_add(int listener_fd, uint64_t id, int fd)
{
	struct seccomp_notif_addfd addfd = {.id = id, .srcfd = (unsigned)fd, .newfd_flags = O_CLOEXEC};

	return add_fd(listener_fd, &addfd);
}
