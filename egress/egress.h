/*
 * The egress process: names, connections, TLS, HTTP, secrets. It sees neither the seccomp listener nor the program's
 * memory. After set-up it opens no file, starts no process and can make no call that only other processes need
 * (selffilter.h, SELF_EGRESS).
 */
#ifndef CALLGATE_EGRESS_EGRESS_H
#define CALLGATE_EGRESS_EGRESS_H

#include "egress/secrets/secret.h"
#include "egress/tls/ca.h"
#include "policy/network/net.h"

/* What egress gets at its start. */
struct egress_options {
	const struct policy *policy;
	int control_fd;            /* control socket to the supervisor; taken */
	/* the descriptors of CONTROL_PROGRAM_SOCKETS, if another process has received the message; taken; NULL: none */
	int *program_socket_fds;
	int resolver_fd;           /* socket to the resolver process; taken */
	struct ca *ca;             /* the run's certificate authority; NULL: no TLS is intercepted. Taken */
	struct secrets *secrets;   /* the run's secrets; taken; NULL: none */
	char *upstream_roots; /* PEM certificates (system's and policy's) to verify servers; taken; NULL: none */
	size_t upstream_roots_len; /* length of upstream_roots in bytes */
	/* called when all files and sockets are open: seccomp and Landlock (lockdown_enter_sandbox). 0 or -errno */
	int (*lock_down)(void *ctx);
	void *lock_ctx;
};

/* Runs until CONTROL_END or the control socket closes. Returns the exit status. */
int egress_main(const struct egress_options *options);

#endif
