/*
 * Before anything else of a run whose policy has a network: callgate-egress (base/helper.h) is started and given the
 * policy's network, the certificates and the secrets, which the keeper then forgets. It forks the resolver and makes
 * the run's authority; only the authority's certificate comes back.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_START_H
#define CALLGATE_SUPERVISOR_GATEWAY_START_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "confine/layers.h"
#include "confine/privs.h"
#include "egress/secrets/secret.h"
#include "policy/network/net.h"
#include "view/view.h"

/* What the program gets because of the network: names in the environment with their values, files in its view. */
struct egress_variable {
	char *name, *value; /* owned */
	bool wins;          /* over what the policy says of that name: a secret's placeholder */
};

/* What is read from the host for a run with a network: once, before anything of the run starts. */
struct egress_read {
	struct secrets *secrets; /* owned; NULL: none */
	char *upstream_ca;       /* the file's text, owned; NULL: none */
};

/*
 * Reads it for a policy that has a network; for another one there is nothing to read. secrets: false where the run has
 * them from its other phase. 0, or -errno with a message. egress_read_done releases.
 */
int egress_read(const struct policy *policy, bool secrets, struct egress_read *ret_read,
		struct policy_error *ret_error);
void egress_read_done(struct egress_read *read);

struct egress_start_options {
	const struct policy *policy;
	struct layers *layers;
	const char *run_id;
	struct egress_read *read; /* read already; taken from there and forgotten. NULL: it is read now */
	struct privs_user user; /* who egress and resolver become, as the supervisor */
};

/* In the keeper, later inherited by the supervisor. EGRESS_SIDE_NONE: no network. */
struct egress_side {
	bool active;
	pid_t pid;
	int pidfd;
	int control_fd;            /* the supervisor's end */
	/* UDP and TCP at own:53, bound while that was possible; -1: not. For runs without netns */
	int dns_fd[2];
	/* loopback address of a run without a network namespace: 127.x.y.z, even; the next is its too */
	struct in_addr own;
	int own_fd;                /* the keeper's: says that the pair is taken */
	struct view_provide *provide; /* owned array: resolv.conf, hosts, nsswitch.conf, CA bundle, Java's store … */
	size_t provides;
	struct egress_variable *variable; /* owned array: placeholders, SSL_CERT_FILE … */
	size_t variables;
};
#define EGRESS_SIDE_NONE {.pidfd = -1, .control_fd = -1, .dns_fd = {-1, -1}, .own_fd = -1}

/* 0, also without a network (ret_side->active false); -errno with a message. egress_side_done releases. */
int egress_start(const struct egress_start_options *options, struct egress_side *ret_side,
		 struct policy_error *ret_error);
/* In the keeper, once the supervisor is forked: closes what is the supervisor's, so that egress sees it end. */
void egress_side_handed(struct egress_side *side);
/*
 * In the keeper, when the supervisor is gone and before it waits for just any child: egress ends by itself in a moment,
 * or is killed. True unless it had failed before, which *ret_status (waitpid) tells more about.
 */
bool egress_side_end(struct egress_side *side, int *ret_status);
/* Releases what this process has of it. */
void egress_side_done(struct egress_side *side);

/*
 * In the supervisor, in its namespaces and before it gives up its capabilities: local routes for the pool when it has a
 * network namespace of its own, then the sockets of the guest's side. They stay open here too: without a network
 * namespace nobody else of the host's may get at their ports, also when egress is dead.
 */
struct egress_guest {
	bool own_netns;
	struct in_addr loopback; /* 127.0.0.1 in an own network namespace, else side->own */
	uint16_t listener_port;  /* egress' TCP listener at loopback */
	uint16_t dns_port;       /* at loopback: 53, or where that was refused another */
	uint16_t sink_port;      /* UDP at loopback: sending there gives ECONNREFUSED */
	int listener_fd, dns_fd[2], sink_fd;
	int guard_fd; /* of the DNS, at a port that is not a privileged one: inet_fence_guard */
};
#define EGRESS_GUEST_NONE {.listener_fd = -1, .dns_fd = {-1, -1}, .sink_fd = -1, .guard_fd = -1}
/* 0 or -errno with *ret_step (static). egress_guest_done releases in both cases. */
int egress_guest_create(struct egress_side *side, const struct policy *policy, bool own_netns,
			struct egress_guest *ret_guest, const char **ret_step);
/*
 * Provides resolv.conf(5). Its server is the address that replies come from where that is so at the usual port (musl
 * compares), else one that is led to it. datagrams: false where the program has no UDP. 0 or -ENOMEM.
 */
int egress_guest_names(struct egress_side *side, const struct egress_guest *guest, bool datagrams);
/* Duplicates of them to egress (CONTROL_GUEST), when the supervisor is there to stay. 0 or -errno. */
int egress_guest_hand(const struct egress_side *side, const struct egress_guest *guest);
void egress_guest_done(struct egress_guest *guest);

#endif
