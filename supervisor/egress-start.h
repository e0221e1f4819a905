/*
 * Before anything else of a run whose policy has a network: the CA, the secrets, the resolver and the egress process, forked
 * from the keeper while it still has them, which then forgets them.
 */
#ifndef CALLGATE_SUPERVISOR_EGRESS_START_H
#define CALLGATE_SUPERVISOR_EGRESS_START_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "policy/net.h"
#include "supervisor/layers.h"
#include "supervisor/privs.h"
#include "syscalls/view.h"

/* What the program gets because of the network: names in the environment with their values, files in its view. */
struct egress_variable {
	char *name, *value; /* owned */
};

struct egress_start_options {
	const struct policy *policy;
	struct layers *layers;
	const char *run_id;
	struct privs_user user; /* who egress and resolver become, as the supervisor */
};

/* In the keeper, later inherited by the supervisor. Zeroed: no network. */
struct egress_side {
	bool active;
	pid_t pid, resolver_pid;
	int pidfd;
	int control_fd;            /* the supervisor's end */
	int dns_fd[2];             /* UDP and TCP at own:53, bound while that was possible; -1: not. For runs without netns */
	struct in_addr own;        /* loopback address of a run without a network namespace: 127.x.y.z */
	struct view_provide *provide; /* owned array: resolv.conf, hosts, nsswitch.conf, CA bundle, Java's store … */
	size_t provides;
	struct egress_variable *variable; /* owned array: placeholders, SSL_CERT_FILE … */
	size_t variables;
};

/* 0, also without a network (ret_side->active false); -errno with a message. egress_side_done releases. */
int egress_start(const struct egress_start_options *options, struct egress_side *ret_side, struct policy_error *ret_error);
/* Releases; in the keeper it also kills what still runs and waits for it. */
void egress_side_done(struct egress_side *side, bool keeper);

/*
 * In the supervisor, in its namespaces and before it gives up its capabilities: local routes for the pool when it has a
 * network namespace of its own, then the sockets of the guest's side, handed to egress (CONTROL_GUEST).
 */
struct egress_guest {
	bool own_netns;
	struct in_addr loopback; /* 127.0.0.1 in an own network namespace, else side->own */
	uint16_t listener_port;  /* egress' TCP listener at loopback */
	uint16_t dns_port;       /* at loopback: 53, or where that was refused another */
	uint16_t sink_port;      /* UDP at loopback: sending there gives ECONNREFUSED */
	int sink_fd;             /* keeps it so; -1 */
};
int egress_guest_create(struct egress_side *side, const struct policy *policy, bool own_netns,
			struct egress_guest *ret_guest, const char **ret_step);

#endif
