#include "syscalls/net/inet-work.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "syscalls/net/inet-private.h"

#include "base/banned.h"

struct connecting {
	struct inet_work work;
	struct sockaddr_storage address;
	socklen_t len;
	int held_fd; /* owned; -1 */
};

static atomic_uint holding; /* connects whose listener is held */

bool inet_work_holds(void)
{
	return atomic_load(&holding) > 0;
}

void inet_disconnect(int socket_fd)
{
	const struct sockaddr none = {.sa_family = AF_UNSPEC};

	(void)connect(socket_fd, &none, sizeof(none)); /* fails for what is not connecting */
}

static int64_t run_connect(struct inet_work *work, int fd, bool (*go_on)(void *ctx), void *ctx)
{
	const struct connecting *connecting = (const struct connecting *)work;
	int64_t r;

	do
		r = connect(fd, (const struct sockaddr *)&connecting->address, connecting->len) < 0 ? -errno : 0;
	while (r == -EINTR && go_on(ctx));
	/* Not without the listener being held (inet-listeners.h): a call that is made again begins anew. */
	if (r < 0 && connecting->held_fd >= 0 && inet_tcp_state(fd) == TCP_SYN_SENT)
		inet_disconnect(fd);
	return r;
}

static void free_connect(struct inet_work *work)
{
	struct connecting *connecting = (struct connecting *)work;

	if (connecting->held_fd >= 0) {
		(void)close(connecting->held_fd);
		atomic_fetch_sub(&holding, 1);
	}
	free(connecting);
}

struct inet_work *inet_work_connect(const struct sockaddr_storage *address, socklen_t len, int held_fd)
{
	_cleanup_close_ int held = held_fd;
	struct connecting *connecting = calloc(1, sizeof(*connecting));

	if (!connecting)
		return NULL;
	connecting->work = (struct inet_work){.run = run_connect, .free = free_connect};
	connecting->address = *address;
	connecting->len = len;
	connecting->held_fd = steal_fd(&held);
	if (connecting->held_fd >= 0)
		atomic_fetch_add(&holding, 1);
	return &connecting->work;
}
