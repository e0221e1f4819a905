/*
 * A server that speaks the protocol of E2B (https://github.com/e2b-dev/E2B, spec/): management of sandboxes, envd
 * (programs, files) and the code interpreter, all at one address. Requests for a sandbox name it in the headers
 * E2b-Sandbox-Id and E2b-Sandbox-Port, or in the host name PORT-ID.….
 */
#ifndef CALLGATE_AGENTS_E2B_E2B_H
#define CALLGATE_AGENTS_E2B_E2B_H

#include <jansson.h>

#include "agents/loop.h"

struct e2b;

struct e2b_options {
	int listen_fd;                     /* taken */
	const char *callgate_path;         /* path of the executable callgate */
	const char *builtin_templates_dir; /* directory of the built-in templates */
	const char *user_templates_dir;    /* a second one, which is looked at first; NULL: none */
	const char *audit_log_dir;         /* where each sandbox's audit log goes; NULL: no log is kept */
	/*
	 * {"sandboxes": N, "keys": [{"name": …, "key": …, "sandboxes": N, "memory": bytes, "disk": bytes,
	 * "cpu": seconds, "operator": bool}]}: see KEYS in callgate-serve(1).
	 */
	const json_t *limits;
};

/* 0 or -errno; *ret_why, owned by the caller, says what is wrong with the options, or is NULL. */
int e2b_create(struct loop *loop, const struct e2b_options *options, struct e2b **ret_e2b, char **ret_why);
/* Ends all sandboxes. NULL is fine. */
void e2b_free(struct e2b *e2b);

/* callgate serve: takes its options and its listening socket from these descriptors. Returns the exit status. */
#define E2B_OPTIONS_FD 3
#define E2B_LISTEN_FD 4
int e2b_main(int argc, char **argv, const char *callgate);

#endif
