#include "supervisor/gateway/network.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/cleanup.h"
#include "egress/conn/pool.h"
#include "syscalls/net/inet.h"

#include "base/banned.h"

static int network_create_inet(struct network *network, struct sandbox *sandbox,
			       const struct egress_guest *guest)
{
	const struct inet_options options = {.policy = sandbox->policy,
					     .pool = network->pool,
					     .own_netns = guest->own_netns,
					     .loopback = guest->loopback,
					     .listener_port = guest->listener_port,
					     .dns_port = guest->dns_port,
					     .sink_port = guest->sink_port,
					     .egress = network->client,
					     .catch_up = egress_client_exchange,
					     .udp = egress_client_udp,
					     .alive = egress_client_alive,
					     .refused = egress_client_refused};

	return inet_create(&options, &sandbox->inet);
}

int network_create(struct network *network, struct sandbox *sandbox, struct egress_side *side,
			     const struct egress_guest *guest)
{
	int r = pool_create(sandbox->policy, &network->pool);

	if (r == 0)
		r = egress_client_create(sandbox, network->pool, steal_fd(&side->control_fd), &network->client);
	return r < 0 ? r : network_create_inet(network, sandbox, guest);
}

int network_watch(struct network *network, int epoll_fd, void *mark)
{
	int fd = network->client ? egress_client_fd(network->client) : -1, r;
	struct epoll_event event = {.data.ptr = mark};

	if (fd < 0)
		return 0; /* closed, which has removed it from the epoll */
	event.events = egress_client_interest(network->client);
	if (event.events == network->interest)
		return 0;
	r = epoll_ctl(epoll_fd, network->interest ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &event);
	network->interest = event.events;
	return r < 0 ? -errno : 0;
}

void network_done(struct network *network, struct sandbox *sandbox)
{
	inet_free(sandbox->inet);
	sandbox->inet = NULL;
	egress_client_free(network->client);
	pool_free(network->pool);
	*network = (struct network){0};
}
