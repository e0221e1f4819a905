/*
 * A server that speaks the protocol of E2B (https://github.com/e2b-dev/E2B, spec/): management of sandboxes, envd
 * (programs and files of a sandbox) and the code interpreter, all at one address. A request names its sandbox and port
 * in the headers E2b-Sandbox-Id and E2b-Sandbox-Port, or in its host name: PORT-ID.DOMAIN.
 */
#ifndef CALLGATE_AGENTS_E2B_E2B_H
#define CALLGATE_AGENTS_E2B_E2B_H

#include <jansson.h>

#include "agents/loop.h"

struct e2b;

/* What `callgate serve` gives to its server. */
struct e2b_options {
	int listen_fd;                     /* listening socket; taken */
	const char *callgate_path;         /* path of the executable callgate */
	const char *builtin_templates_dir; /* directory of the built-in templates */
	const char *user_templates_dir;    /* the user's templates, which hide built-in ones; NULL: none */
	const char *audit_log_dir;         /* gets an audit log of each sandbox; NULL: no logs are kept */
	json_t *approval; /* options of `callgate session create` that say who is asked about denied calls; or NULL */
	/*
	 * The API keys and their quotas: {"sandboxes": N, "keys": [{"name": text, "key": text, "sandboxes": N,
	 * "memory": bytes, "disk": bytes, "cpu": seconds, "operator": bool}]}. See KEYS in callgate-serve(1).
	 */
	const json_t *limits;
};

/* Starts the server. 0 or -errno; *ret_why, owned by the caller, says what is wrong with the options, or is NULL. */
int e2b_create(struct loop *loop, const struct e2b_options *options, struct e2b **ret_e2b, char **ret_why);
/* Ends all sandboxes, and frees the server. NULL is fine. */
void e2b_free(struct e2b *e2b);

/* Descriptors with which `callgate serve` executes callgate-agents: a file with its options, the listening socket. */
#define E2B_OPTIONS_FD 3
#define E2B_LISTEN_FD 4
/* The main function of the role "serve": runs the server until a signal comes. Returns the exit status. */
int e2b_main(int argc, char **argv, const char *callgate);

#endif
