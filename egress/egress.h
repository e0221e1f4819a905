/*
 * The egress process: names, connections, TLS, HTTP, secrets. It sees neither the seccomp listener nor the program's
 * memory, and after set-up opens no file, starts nothing and can make no call that others' work needs (selffilter.h,
 * SELF_EGRESS).
 */
#ifndef CALLGATE_EGRESS_EGRESS_H
#define CALLGATE_EGRESS_EGRESS_H

#include "egress/secrets/secret.h"
#include "egress/tls/ca.h"
#include "policy/network/net.h"

struct egress_options {
	const struct policy *policy;
	int control_fd;            /* to the supervisor; taken */
	int resolver_fd;           /* to the resolver process; taken */
	struct ca *ca;             /* of the run; NULL: nothing is opened. Taken */
	struct secrets *secrets;   /* Taken; NULL: none */
	char *upstream_roots;      /* PEM text to verify servers with (system's and policy's); taken; NULL: none */
	size_t upstream_roots_len;
	/* called once everything is open: seccomp and Landlock (lockdown_enter_sandbox). 0 or -errno */
	int (*lock_down)(void *ctx);
	void *lock_ctx;
};

/* Runs until CONTROL_END or the control socket closes. Returns the exit status. */
int egress_main(const struct egress_options *options);

#endif
