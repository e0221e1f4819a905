/* What the policy compiler sees of the host (struct policy_host): files, links, environment, installed interpreters. */
#ifndef CALLGATE_CLI_HOST_HOST_H
#define CALLGATE_CLI_HOST_HOST_H

#include <sys/types.h>

#include "cli/host/places.h"
#include "cli/host/real.h"
#include "policy/arena.h"
#include "policy/parse/load.h"
#include "policy/policy.h"

/* Stands for the scratch directory where no run has made one, as when a policy is only shown. */
#define CLI_HOST_SCRATCH_OF_NO_RUN "/callgate-scratch"

struct cli_interpreter;
struct cli_host_note;
struct cli_host_libraries;
struct library_finding;

/* The host as the policy compiler sees it, for one command line. Zero-initialise. */
struct cli_host {
	struct arena arena;        /* holds all texts, notes and the interpreter */
	struct policy_host policy; /* callbacks and values for policy_load() */
	struct cli_interpreter *interpreter; /* what @interpreter stands for; NULL: not looked for yet */
	struct cli_host_note *read_files;   /* the files that were read: path and text; each is read once in a run */
	/* files that callgate makes for "provide" rules of a policy: name, such as "account:passwd", and text */
	struct cli_host_note *generated_files;
	/* grants without effect, because a program could have made a link in their path: path and reason */
	struct cli_host_note *void_grants;
	/* a cache of symbolic links for one policy; cli_host_set_workdir_and_scratch() clears it */
	struct cli_path_cache path_cache;
	/* ids for which the user's entries in a generated passwd and group file are made: callgate's own or --user's */
	uid_t uid;
	gid_t gid;
	struct cli_host_libraries *libraries; /* answers about "libraries", kept until the workdir is set again */
	const char *login_name;    /* the account name of uid; NULL: not looked up yet */
	const char *program;  /* the program as the command line names it, in main's argv; NULL: none */
	const char *program_path; /* path of `program`; NULL: not looked for yet, or not found */
	const char *workdir;
	bool interpreter_note_was_printed; /* the reason why @interpreter leaves out an interpreter was printed */
	struct policy *
		/*
		 * the policy that was loaded last, compiled for its other phase; owned; NULL: the policy has no phases
		 */
		other_phase_policy;
};

/* `program` is the program of the command line (a name to be searched in PATH, or a path), or NULL. 0 or -ENOMEM. */
int cli_host_init(struct cli_host *host, const char *program);
void cli_host_release(struct cli_host *host);
#define _cleanup_host_ __attribute__((cleanup(cli_host_release)))

/*
 * Sets the workdir (canonical host directory) and the scratch directory. To be called before each policy_load. With
 * `scratch` NULL the name of a directory that does not exist is used; with `workdir` NULL scratch/work. 0 or -ENOMEM.
 */
int cli_host_set_workdir_and_scratch(struct cli_host *host, const char *workdir, const char *scratch);

/*
 * Makes the grant of this path void: later loads of the policy ignore the grant. `why` is the text that
 * cli_host_report_void_grants() prints after the path. Returns 1, 0 if the grant was void already, or -ENOMEM.
 */
int cli_host_make_grant_void(struct cli_host *host, const char *path, const char *why);

/* Reports on stderr, once for each path, which grants of @interpreter and of profiles are void, and why. */
void cli_host_report_void_grants(struct cli_host *host);

/* Judges the policy files that were read (places.h). Adds a message for each refused file. 0 or -EPERM. */
int cli_host_judge_files(const struct cli_host *host, const struct writable_places *places,
			 struct policy_errors *errors);

/*
 * The path of the program to run: PATH is searched, and a version manager's shim (pyenv, rbenv, nodenv, asdf) resolved
 * to the program that it would start, such as "/root/.pyenv/versions/3.11.7/bin/python3". Symbolic links are not
 * resolved: a virtual environment's bin/python3 stays what it is. Borrows from host; NULL: not found.
 */
const char *cli_host_find_program(struct cli_host *host);

/*
 * Finds the installed packages of a language, as "libraries" of a policy does, and those that the names (NULL-ended)
 * mean. names NULL: all sets. The finding borrows from host and names. 0 or -ENOMEM.
 */
int cli_host_find_libraries(struct cli_host *host, enum policy_language language, const char *const *names,
			    struct library_finding *ret_finding);

/* Sets what "~" stands for with --user: the home directory of the account; NULL: "/". 0 or -ENOMEM. */
int cli_host_set_home(struct cli_host *host, const char *home);

#endif
