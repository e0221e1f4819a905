/*
 * Prepares egress for a run whose policy has a network. Before anything else the keeper reads certificates and secrets,
 * forks the process that becomes egress (starter.h), and forgets the secrets. That process makes the run's certificate
 * authority, of which only the certificate is returned.
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
#include "view/prepare.h"
#include "view/view.h"

/* A variable of the program's environment. */
struct egress_variable {
	char *name, *value; /* owned */
	bool overrides_policy; /* overrides the policy's value, as for a secret's placeholder */
};

/* What is read from the host for a run with a network, before the run starts. */
struct egress_data_from_host {
	struct secrets *secrets; /* owned; NULL: no secrets */
	char *upstream_ca;       /* text of the file, owned; NULL: no such file */
};

/*
 * Reads files and secrets from the host; nothing for a policy without a network. secrets false: the run's other phase
 * has read them. 0, or -errno with a message. egress_data_from_host_release() releases.
 */
int egress_read_host_data(const struct policy *policy, bool secrets, struct egress_data_from_host *ret_read,
			  struct policy_error *ret_error);
void egress_data_from_host_release(struct egress_data_from_host *read);

/* What egress is started with. */
struct egress_start_options {
	const struct policy *policy;
	struct layers *layers; /* decides by which layers egress restricts itself */
	const char *run_id;
	/* egress_start() takes what is in it; NULL: egress_start() calls egress_read_host_data() */
	struct egress_data_from_host *host_data;
	struct privs_user user; /* the user that egress and resolver become */
};

/* Descriptors, addresses and files of egress that keeper and supervisor have. EGRESS_PROCESS_NONE: no network. */
struct egress_process {
	bool has_network;          /* the policy has a network; false: no other member is set */
	pid_t pid;                 /* egress, or the process that becomes egress */
	int pidfd;                 /* of the process `pid` */
	int start_error_fd; /* a memfd of the keeper: why egress did not start (starter_read_start_error) */
	int control_fd;            /* the supervisor's end */
	/* UDP and TCP sockets at port 53 of own_address, for runs without a network namespace; -1: not bound */
	int dns_fd[2];
	/* without a network namespace: the address 127.x.y.z that no other run has */
	struct in_addr own_address;
	int address_reserving_fd;           /* the keeper's socket that reserves own_address */
	/* owned array of resolv.conf, hosts, nsswitch.conf, CA bundle, …; the contents are in owned_text */
	struct view_provided_file *provided_file;
	size_t provided_file_count; /* entries of provided_file[] */
	char **owned_text;          /* owned array of the owned contents of provided_file[], some of which share one */
	size_t owned_text_count;              /* used entries of the list of texts to be freed */
	struct egress_variable *env_variable; /* owned array: placeholders, SSL_CERT_FILE … */
	size_t env_variable_count;            /* entries of env_variable[] */
};
/* No network: no descriptor is open. */
#define EGRESS_PROCESS_NONE                                                                                            \
	{                                                                                                           \
		.pidfd = -1, .start_error_fd = -1, .control_fd = -1, .dns_fd = {-1, -1}, .address_reserving_fd = -1 \
	}

/*
 * Starts egress. 0, even without a network (ret_egress->has_network is false), or -errno with a message. In both cases
 * egress_process_release() releases.
 */
int egress_start(const struct egress_start_options *options, struct egress_process *ret_egress,
		 struct policy_error *ret_error);
/* Called in the keeper after the fork of the supervisor: closes the descriptors that only the supervisor may hold. */
void egress_process_close_fds_of_supervisor(struct egress_process *egress);
/*
 * Called in the keeper after the supervisor's end, before it waits for arbitrary children: waits for egress, and kills
 * it after a second. False: egress had failed before; *ret_status is its wait status.
 */
bool egress_process_end(struct egress_process *egress, int *ret_status);
/* Closes the descriptors and frees the memory that the calling process holds in `egress`. */
void egress_process_release(struct egress_process *egress);

/*
 * The sockets that the run's processes connect to. Made in the supervisor, in its namespaces and with its capabilities.
 * The supervisor keeps them open: without a network namespace, another process of the host could bind their ports after
 * egress has died.
 */
struct egress_program_sockets {
	bool has_own_netns;      /* the run has a network namespace of its own */
	struct in_addr loopback; /* 127.0.0.1 in the run's own network namespace, else egress_process.own_address */
	uint16_t listener_port;  /* egress' TCP listener at loopback */
	uint16_t dns_port; /* the port of the DNS sockets at `loopback`: 53, or another port if 53 could not be bound */
	uint16_t sink_port;      /* UDP at loopback, where datagrams get ECONNREFUSED */
	int listener_fd, dns_fd[2], udp_sink_fd;
	int guard_fd; /* protects an unprivileged dns_port: see inet_filter_reserve_port() */
};
/* No socket is open. */
#define EGRESS_PROGRAM_SOCKETS_INIT {.listener_fd = -1, .dns_fd = {-1, -1}, .udp_sink_fd = -1, .guard_fd = -1}
/*
 * Adds local routes for the pool if own_netns, and makes the sockets. 0, or -errno with *ret_step (static), the step
 * that failed. In both cases egress_program_sockets_release() releases.
 */
int egress_open_program_sockets(struct egress_process *egress, const struct policy *policy, bool own_netns,
			      struct egress_program_sockets *ret_sockets, const char **ret_step);
/* Sets the addresses of DNS that egress_open_program_sockets() will have in a network namespace yet to be made. */
void egress_predict_program_sockets(struct egress_program_sockets *ret_sockets);
/*
 * Provides resolv.conf(5). The server is sockets->loopback if its port is 53, because musl compares the address of
 * replies; else 127.0.0.1, whose queries are led to dns_port. datagrams: false if the program has no UDP. 0 or -ENOMEM.
 */
int egress_provide_resolv_conf(struct egress_process *egress, const struct egress_program_sockets *sockets,
			       bool datagrams);
/* Sends duplicates of the sockets to egress (CONTROL_PROGRAM_SOCKETS). 0 or -errno. */
int egress_send_program_sockets(const struct egress_process *egress, const struct egress_program_sockets *sockets);
void egress_program_sockets_release(struct egress_program_sockets *sockets);

#endif
