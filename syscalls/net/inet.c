#include "syscalls/net/inet.h"

#include <errno.h>

#include "syscalls/call/descriptor.h"
#include "syscalls/net/inet-private.h"

int inet_create(const struct inet_options *options, struct inet **ret_inet)
{
	struct inet *inet = calloc(1, sizeof(*inet));

	if (!inet)
		return -ENOMEM;
	inet->options = *options;
	inet->loopback_of_v6_sockets.s_addr = htonl(ntohl(options->loopback.s_addr) + 1);
	inet->names = inet_names_create();
	inet->listeners = inet_listeners_create();
	if (!inet->names || !inet->listeners) {
		inet_free(inet);
		return -ENOMEM;
	}
	if (inet->options.has_own_netns && !descriptor_pidfd_getfd_works())
		inet_make_endpoints_in_advance(inet);
	*ret_inet = inet;
	return 0;
}

void inet_free(struct inet *inet)
{
	if (!inet)
		return;
	for (size_t i = 0; i < inet->endpoint_count; i++)
		inet_endpoint_release(&inet->endpoint[i]);
	free(inet->names);
	inet_listeners_free(inet->listeners);
	free(inet);
}

bool inet_close_ended_connects(struct inet *inet, uint64_t now_ns)
{
	return inet && inet_listeners_close_ended_connects(inet->listeners, now_ns);
}

bool inet_has_own_netns(const struct inet *inet)
{
	return inet && inet->options.has_own_netns;
}
