/*
 * What the policy's compiler sees of the host (struct policy_host): files, links, environment, installed interpreters.
 */
#ifndef CALLGATE_CLI_HOST_HOST_H
#define CALLGATE_CLI_HOST_HOST_H

#include <sys/types.h>

#include "cli/host/places.h"
#include "cli/host/real.h"
#include "policy/arena.h"
#include "policy/policy.h"

struct cli_interpreter;
struct cli_host_note;

/* Zero-initialise. */
struct cli_host {
	struct arena arena;        /* holds all texts, notes and the interpreter */
	struct policy_host policy; /* for policy_load */
	struct cli_interpreter *interpreter; /* found at first use */
	struct cli_host_note *files;   /* the files that were read: path and text, each read once in a run */
	struct cli_host_note *accounts; /* account:passwd and account:group as they were made */
	struct cli_host_note *refused; /* grants that are void: path and reason */
	struct cli_real real;          /* for one policy; cli_host_set_places clears it */
	uid_t uid;                     /* of account:passwd and account:group: callgate's own, until the run sets it */
	gid_t gid;
	const char *login;    /* the account name of uid; NULL: not looked up yet */
	const char *program;  /* argv[0] of what is to run, in main's argv; NULL: none */
	const char *found;    /* path of that program; NULL: not looked for yet, or not found */
	const char *workdir;
	bool told;            /* the note on @interpreter was printed */
	struct policy *other; /* the other phase of the policy loaded last; NULL: the policy has no phases; owned */
};

/* `program` is the program of the command line (a name to be searched in PATH, or a path), or NULL. 0 or -ENOMEM. */
int cli_host_init(struct cli_host *host, const char *program);
void cli_host_release(struct cli_host *host);
#define _cleanup_host_ __attribute__((cleanup(cli_host_release)))

/*
 * Sets workdir (canonical host directory) and scratch. To be called before each policy_load. With scratch NULL a name
 * that does not exist stands in for it; with workdir NULL it is scratch/work. 0 or -ENOMEM.
 */
int cli_host_set_places(struct cli_host *host, const char *workdir, const char *scratch);

/*
 * Makes the grant of this path void in later loads. `why` follows the path in cli_host_report_void_grants(). 1; 0: it
 * was void already; -ENOMEM.
 */
int cli_host_make_grant_void(struct cli_host *host, const char *path, const char *why);

/* Reports on stderr which grants of @interpreter and of profiles are void, each once. */
void cli_host_report_void_grants(struct cli_host *host);

/* Judges the files read for policies (places.h). Adds a message for each refused file. 0 or -EPERM. */
int cli_host_judge_files(const struct cli_host *host, const struct places *places, struct policy_errors *errors);

/*
 * The program's path: PATH is searched, and a version manager's shim (pyenv, rbenv, nodenv, asdf) resolved to the
 * program that it would start. "python3" may give "/root/.pyenv/versions/3.11.7/bin/python3". Symbolic links are not
 * resolved: a virtual environment's bin/python3 stays what it is. Borrows from host; NULL: not found.
 */
const char *cli_host_find_program(struct cli_host *host);

/* With --user: "~" is the home directory of the account, "/" without one. 0 or -ENOMEM. */
int cli_host_set_home(struct cli_host *host, const char *home);

#endif
