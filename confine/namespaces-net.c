/*
 * Making a network namespace takes as long as making all the others. If nothing needs it before the program starts, a
 * thread makes it while the supervisor builds the view.
 */
#include <errno.h>
#include <linux/sockios.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "confine/namespaces-private.h"
#include "confine/scheduling.h"

#include "base/banned.h"

/* SIOCGSKNS, not /proc/thread-self/ns/net: the other thread is changing the root directory. */
static int namespaces_make_network(int *ret_loopback)
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

static void *namespaces_net_thread(void *ctx)
{
	struct namespaces *namespaces = ctx;

	namespaces->net_fd = namespaces_make_network(&namespaces->loopback);
	return NULL;
}

void namespaces_begin_network(struct namespaces *namespaces)
{
	if (!namespaces->net_later)
		return;
	namespaces->net_later = pthread_create(&namespaces->net_thread, NULL, namespaces_net_thread, namespaces) == 0;
	if (namespaces->net_later)
		scheduling_move_thread_away(namespaces->net_thread);
	else
		layers_set(namespaces->layers, LAYER_NETNS, false, "no thread can be made for it");
}

/* The thread has its own copy of the capabilities, so it is joined before namespaces_enter() drops ours. */
void namespaces_enter_network(struct namespaces *namespaces)
{
	_cleanup_close_ int fd = -1;
	int error;

	if (!namespaces->net_later)
		return;
	namespaces->net_later = false;
	scheduling_restore_thread(namespaces->net_thread); /* the other CPU may be busy, and this one becomes idle */
	error = -pthread_join(namespaces->net_thread, NULL);
	if (error == 0)
		error = fd = namespaces->net_fd;
	if (error >= 0 && setns(fd, CLONE_NEWNET) < 0)
		error = -errno;
	if (error >= 0)
		namespaces_set_network(namespaces, namespaces->loopback);
	else
		layers_set(namespaces->layers, LAYER_NETNS, false, "refused by the system: %s", strerror(-error));
}
