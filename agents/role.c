#include "agents/role.h"

#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>

#include "base/cleanup.h"

static void role_on_signal(void *data, uint32_t events)
{
	(void)events;
	loop_stop(data);
}

int role_stop_on_signals(struct loop *loop, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || !loop_add_source(loop, fd, EPOLLIN, role_on_signal, loop))
		return -errno;
	*ret_fd = steal_fd(&fd);
	return 0;
}
