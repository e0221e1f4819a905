/*
 * The process that becomes egress at the first use of the network. Most runs with a network end without it, and egress
 * with its libraries, handshakes and resolver would cost three times as much as the rest of the start.
 *
 * The keeper forks it (starter_fork) when policy, certificates and secrets are read. It makes the run's certificate
 * authority, gives up its privileges and waits, until the supervisor announces the first connection or the run's DNS
 * sockets have a query; then it executes callgate-egress. A fork sends egress what it needs (handover.h), and ends.
 * Whatever fails then ends egress, so that every connect is refused.
 */
#ifndef CALLGATE_SUPERVISOR_GATEWAY_STARTER_H
#define CALLGATE_SUPERVISOR_GATEWAY_STARTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/helper.h"
#include "confine/layers.h"
#include "confine/privs.h"
#include "egress/secrets/secret.h"
#include "egress/tls/authority.h"

/* What the starter process is given. */
struct starter_options {
	const struct policy *policy;
	const struct layers *layers;
	struct privs_user user; /* the user that the process becomes */
	const char *run_id;
	struct secrets *secrets;        /* the caller forgets its copy of the values; NULL: none */
	const char *root_certificates_pem;              /* PEM certificates to verify servers; NULL: none */
	struct helper_program *program; /* callgate-egress */
	bool makes_ca;                  /* TLS is intercepted: the starter makes a certificate authority */
};

/* What the starter tells the keeper when it is ready. */
struct starter_reply {
	int32_t error; /* 0 or the -errno of the failed step */
	char failed_step[64];         /* what failed, for the message */
	char pem[AUTHORITY_PEM_SIZE]; /* the certificate of the run's authority; "": there is none */
};

/*
 * Forks the starter. *ret_control_fd: the supervisor's end of the control socket. *ret_why_fd: for
 * starter_read_start_error(). 0 or -errno.
 */
int starter_fork(const struct starter_options *options, pid_t *ret_pid, int *ret_control_fd, int *ret_why_fd);
/* Waits for the one reply, which comes before any message of control.h. 0 or -errno. */
int starter_receive_reply(int control_fd, struct starter_reply *ret_reply);
/* Reads why egress did not start. To be called when its process has ended. "": egress started, or was never needed. */
void starter_read_start_error(int why_fd, char *ret_text, size_t size);

#endif
