/* The outside world for the policy compiler (struct policy_host): files, links, environment, installed interpreters. */
#ifndef CALLGATE_CLI_HOST_H
#define CALLGATE_CLI_HOST_H

#include <sys/types.h>

#include "cli/real.h"
#include "policy/policy.h"

struct cli_interpreter;
struct cli_file;

struct cli_host {
	struct policy_host policy; /* what policy_load wants */
	struct cli_interpreter *interpreter; /* found at first use; owned */
	struct cli_file *files;    /* what was read already: a pipe can be read but once, and a file may change; owned */
	struct cli_real real;      /* for one policy: cli_host_place forgets it */
	char *login;               /* the name of uid's account, once asked for */
	uid_t uid;                 /* "the caller" of account:passwd and account:group: ours, until set otherwise */
	gid_t gid;
	char *program;             /* argv[0] of what is to run; NULL: none */
	char *found;               /* where it is, once looked for */
	char *home;
	char *workdir;
	char *scratch;
};

/*
 * `program` is what the user named on the command line (a name to be searched in PATH, or a path), or NULL. 0 or -ENOMEM.
 */
int cli_host_init(struct cli_host *host, const char *program);
void cli_host_done(struct cli_host *host);
#define _cleanup_host_ __attribute__((cleanup(cli_host_done)))

/*
 * Says where workdir (canonical host directory) and scratch are. With scratch NULL a name that does not exist stands in
 * for it, with workdir NULL scratch/work does. Before each policy. 0 or -ENOMEM.
 */
int cli_host_place(struct cli_host *host, const char *workdir, const char *scratch);

/*
 * The program's real path: PATH searched, version-manager shims (pyenv, rbenv, nodenv, asdf) resolved to what they would
 * start. "python3" may give "/root/.pyenv/versions/3.11.7/bin/python3". NULL when it is not found on the host. Borrows
 * from host. No symbolic link is followed: a venv's bin/python3 stays what it is.
 */
const char *cli_host_program(struct cli_host *host);

#endif
