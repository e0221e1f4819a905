/*
 * A network namespace that nobody needs before the program starts is made by a thread while the view is built: it takes
 * as long as all the others together.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "confine/aside.h"
#include "confine/namespaces-private.h"

#include "base/banned.h"

/* Not by way of /proc: the root that is found in is being changed meanwhile. */
static int make_network(int *ret_loopback)
{
	_cleanup_close_ int fd = -1;
	int ns_fd;

	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ns_fd = fd < 0 ? -1 : ioctl(fd, SIOCGSKNS);
	if (ns_fd < 0)
		return -errno;
	*ret_loopback = namespaces_raise_loopback(fd);
	return ns_fd;
}

static void *thread_main(void *ctx)
{
	struct namespaces *namespaces = ctx;

	namespaces->net_fd = make_network(&namespaces->loopback);
	return NULL;
}

void namespaces_begin_network(struct namespaces *namespaces)
{
	if (!namespaces->net_later)
		return;
	namespaces->net_later = pthread_create(&namespaces->net_thread, NULL, thread_main, namespaces) == 0;
	if (namespaces->net_later)
		aside_move_thread(namespaces->net_thread);
	else
		layers_set(namespaces->layers, LAYER_NETNS, false, "no thread can be made for it");
}

/* Its thread has capabilities of its own, so it ends before ours are given up. */
void namespaces_enter_network(struct namespaces *namespaces)
{
	_cleanup_close_ int fd = -1;
	int error;

	if (!namespaces->net_later)
		return;
	namespaces->net_later = false;
	aside_return_thread(namespaces->net_thread); /* the other processor may be busy, and ours is free now */
	error = -pthread_join(namespaces->net_thread, NULL);
	if (error == 0)
		error = fd = namespaces->net_fd;
	if (error >= 0 && setns(fd, CLONE_NEWNET) < 0)
		error = -errno;
	if (error >= 0)
		namespaces_note_network(namespaces, namespaces->loopback);
	else
		layers_set(namespaces->layers, LAYER_NETNS, false, "refused by the system: %s", strerror(-error));
}
