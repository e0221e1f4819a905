/* The outside world for the policy compiler (struct policy_host): files, links, environment, installed interpreters. */
#ifndef CALLGATE_CLI_HOST_HOST_H
#define CALLGATE_CLI_HOST_HOST_H

#include <sys/types.h>

#include "cli/host/places.h"
#include "cli/host/real.h"
#include "policy/policy.h"

struct cli_interpreter;
struct cli_file;

struct cli_host {
	struct policy_host policy; /* what policy_load wants */
	struct cli_interpreter *interpreter; /* found at first use; owned */
	struct cli_file *files;              /* what was read already: each file is read once in a run; owned */
	struct cli_real real;      /* for one policy: cli_host_place forgets it */
	char *login;               /* the name of uid's account, once asked for */
	uid_t uid;                 /* "the caller" of account:passwd and account:group: ours, until set otherwise */
	gid_t gid;
	char *program;             /* argv[0] of what is to run; NULL: none */
	char *found;               /* where it is, once looked for */
	char *home;
	char *workdir;
	char *scratch;
	struct cli_refused *refused; /* grants that are void; owned */
	bool noted;                  /* what is to be said of @interpreter is said */
	struct policy *other; /* the last policy's other phase, where some file speaks of phases; NULL: none; owned */
};

/*
 * `program` is what the user named on the command line (a name to be searched in PATH, or a path), or NULL. 0 or
 * -ENOMEM.
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
 * From now on a rule's grant of this path is void; `why` follows the path in cli_host_tell(). 1, 0: it was so already,
 * -ENOMEM.
 */
int cli_host_refuse(struct cli_host *host, const char *path, const char *why);

/* Says on stderr what @interpreter and profiles do without; each once. */
void cli_host_tell(struct cli_host *host);

/* Judges the files read for policies (places.h). A message in `errors` for each that is refused. 0 or -EPERM. */
int cli_host_judge_files(const struct cli_host *host, const struct places *places, struct policy_errors *errors);

/*
 * The program's real path: PATH searched, version-manager shims (pyenv, rbenv, nodenv, asdf) resolved to what they
 * would start. "python3" may give "/root/.pyenv/versions/3.11.7/bin/python3". NULL when it is not found on the host.
 * Borrows from host. No symbolic link is followed: a venv's bin/python3 stays what it is.
 */
const char *cli_host_program(struct cli_host *host);

#endif
