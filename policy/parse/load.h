/*
 * Loads policies: composes files, profiles and the options of the command line, and compiles them. Called by the verbs
 * of cli/, and by the keeper's process before a run. What loading asks of the host comes through struct policy_host.
 */
#ifndef CALLGATE_POLICY_PARSE_LOAD_H
#define CALLGATE_POLICY_PARSE_LOAD_H

#include <stdbool.h>
#include <stddef.h>

#include "policy/parse/errors.h"
#include "policy/paths/libraries.h"
#include "policy/policy.h"

/* What the host supplies while a policy is loaded. Loading does no other I/O. */
struct policy_host {
	void *ctx;
	/*
	 * Reads a file into memory. `name` is one of:
	 *   a file, when it has a "/" or ends in ".json": relative to the directory of the file `from`, or to the
	 *     current directory when `from` is NULL; a policy, or the PATH of provide's "file:PATH"
	 *   "account:passwd", "account:group": generated, with entries for root, nobody and the calling user
	 *   "machine:hostname", "machine:hosts": generated, with the name that uname(2) tells
	 *   any other: a profile
	 * Returns 0 with the text and, for messages, the path, both owned by the caller. Errors: -EILSEQ: the text has
	 * a NUL byte; -EFBIG: it is larger than a policy may be; else -errno.
	 */
	int (*load)(void *ctx, const char *name, const char *from, char **ret_text, char **ret_path);
	/* realpath(3), owned by the caller. NULL: no such file. Grants of that path are dropped, denies are kept. */
	char *(*realpath)(void *ctx, const char *path);
	/* True: grants of this path, as the rule writes it, are dropped (paths/host-paths.h). NULL: none is. */
	bool (*refused)(void *ctx, const char *path);
	/* What @interpreter expands to: the directories where the interpreter is installed. NULL-ended, borrowed. */
	const char *const *(*interpreter)(void *ctx);
	/*
	 * Finds which installed packages of a language do not belong to `names` (NULL-ended) and what these need. 0 or
	 * -errno. NULL: "libraries" hides nothing.
	 */
	int (*libraries)(void *ctx, enum policy_language language, const char *const *names,
			 struct policy_library_answer *ret_answer);
	/* getenv(3) in the environment of the user who started callgate, for ${NAME}. */
	const char *(*env)(void *ctx, const char *name);
	const char *home;    /* what "~" expands to */
	const char *workdir; /* canonical host path of the working directory */
	/* the working directory's path in the view; NULL: that of the policy's "workdir", else workdir_virt_default */
	const char *workdir_virt;
	const char *workdir_virt_default;
	const char *scratch_path; /* canonical host path that "@scratch" expands to */
};

/*
 * --mode observe has two policies. The program runs under an *observing* policy: it grants everything that the user may
 * do, except secrets and `hidden_paths`. The *judged* policy, that of the user, judges each access for the record.
 */
struct policy_observe {
	/* the policy of the user; owned by the observing policy once that policy is loaded */
	struct policy *judged_policy;
	const char *const *hidden_paths; /* canonical host paths that are denied, such as the log; NULL-ended */
	bool may_read_secrets;           /* secrets may be read */
	bool reaches_public_endpoints;   /* every public endpoint may be reached */
};

/* The policy options of the command line. They act like a last file that extends the others. Lists are NULL-ended. */
struct policy_cli {
	const char *const *read;              /* the paths of option -r */
	const char *const *write;             /* the paths of option -W */
	const char *const *exec;              /* the paths of option -x */
	const char *const *env;               /* the arguments of option -e: NAME or NAME=VALUE */
	struct policy_limits limits;          /* values of the options -t, -m, --cpu, --pids, … */
	unsigned given_limits_mask;           /* POLICY_LIMIT_BITs of the limits that were given */
	const char *const *workspace_dirs;    /* the directories of --cow-dir */
	enum policy_workspace workspace;      /* --cow; POLICY_WORKSPACE_UNSET: not given */
	const char *user;                     /* value of --user; NULL: not given */
	enum policy_judge judge;              /* --judge */
	unsigned required_layers;             /* --require: LAYER_BITs of policy/parse/layer-names.h */
	const char *const *allow_host;        /* --allow-host HOST[:PORT] */
	const char *const *allow_private;     /* --allow-private HOST[:PORT] */
	const char *const *listen;            /* --listen PORT|FIRST-LAST|* */
	const char *const *allow_request;     /* --allow 'METHOD,... HOST[:PORT]/PATH' */
	const char *const *secret;            /* --secret NAME@HOST[,HOST] */
	bool denies_network;                  /* --no-net */
	enum policy_phase phase;              /* the phase that the policy is compiled for */
	const struct policy_observe *observe; /* NULL: the policy is enforced */
	/* from policy_find_user() for the same names and host; policy_load() empties it. NULL: none */
	struct policy_draft *draft;
};

/*
 * Loads `names` (profiles and files, NULL-ended, in order), composes them with `cli` (may be NULL) and compiles them.
 * Returns 0 with a policy for policy_free, -EINVAL with at least one message in errors, or -ENOMEM.
 */
int policy_load(const char *const *names, const struct policy_cli *cli, const struct policy_host *host,
		struct policy **ret_policy, struct policy_errors *errors);

/*
 * Only parses the files, to find "user" before anything that depends on the user is known. *ret_user is owned by the
 * caller, or NULL: "user" is not set, out of memory, or an error that policy_load will report. Returns the parsed files
 * for policy_cli.draft, which spares policy_load the parsing, or NULL. policy_draft_free frees them, used or not.
 */
struct policy_draft *policy_find_user(const char *const *names, const struct policy_host *host, char **ret_user);
void policy_draft_free(struct policy_draft *draft);

/* Checks the syntax of "USER[:GROUP]", looks up no names. Returns the end of a message, static, or NULL: correct. */
const char *policy_find_user_error(const char *text);

#endif
