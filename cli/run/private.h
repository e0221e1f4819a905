/* What the files of `callgate run` share. */
#ifndef CALLGATE_CLI_RUN_PRIVATE_H
#define CALLGATE_CLI_RUN_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/host/host.h"
#include "cli/run/options.h"
#include "confine/layers.h"
#include "confine/privs.h"
#include "keeper/custodian.h"
#include "keeper/scratch.h"
#include "supervisor/gateway/start.h"

/* What --setup and the program have each of their own. */
struct run_part {
	struct policy *policy;
	struct egress_read read; /* with --setup: what was read for the network before the setup began */
	char *log;               /* --audit, by its directory's canonical path; NULL: none is kept */
	int audit_fd;            /* the log, when it is open already */
};
#define RUN_PART_NONE (struct run_part){.audit_fd = -1}

void run_part_release(struct run_part *part);

/* Everything that one run owns, so that it is released wherever the run fails. */
struct run {
	struct run_options options;
	struct privs_user user;
	struct cli_host host;
	struct scratch scratch;
	bool scratch_dirs_pending; /* see struct keeper_options */
	struct policy_draft *draft; /* what was read of the policy to find its user; NULL: nothing */
	struct run_part program;
	struct run_part setup;       /* of --setup; its secrets are in the program's part */
	bool in_setup;               /* this process is the setup's, whose part has become `program`: run/setup.c */
	int result_fd;               /* where the setup's process writes its result; -1: in any other process */
	json_t *setup_result;        /* that result */
	json_t *mistakes;            /* of the policy, for the result; NULL: none */
	char *workdir; /* host path */
	int workdir_fd; /* while the run is prepared */
	int output_fd;
	struct custodian custodian;
	struct layers *layers;
	char *user_path; /* PATH when callgate was started: the run wipes its environment; NULL: not set */
	pid_t parent; /* when callgate was started */
};

/* Reports that the run cannot begin, on stderr, as a result and to --status-fd. Returns the exit status. */
__attribute__((format(printf, 3, 4))) int run_report_refusal(struct run *run, const char *code, const char *format,
							     ...);
int run_refuse_no_memory(struct run *run);

/*
 * Looks up "UID[:GID]", each a number or a name. Without a GID it is the account's group, or the UID where there is no
 * account. *ret_user is not `set` when it is callgate's own user. 0, or -errno with a message that begins with
 * `option`.
 */
int run_find_user(const char *option, const char *text, struct privs_user *ret_user, struct policy_error *ret_error);

/* Everything before the run. The caller releases it, also on failure. 0, or an exit status after run_report_refusal. */
int run_prepare(struct run *run);

/* Loads the policy of a phase, again after a setup, which may change files. 0, or an exit status with a report. */
int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy);

/* Starts the custodian, for the files of a run as another user. 0, or an exit status after run_report_refusal. */
int run_start_custodian(struct run *run);

/* Runs the program from start to end, with all reports. Returns the exit status. */
int run_program_to_end(struct run *run);

/* --setup. True: it succeeded and the program is next. False: *ret_exit is the exit status, after all reports. */
bool run_perform_setup(struct run *run, int *ret_exit);

/* Prints a result, or leaves it to the process that started the setup. CLI_OK or CLI_ERROR. */
int run_print_result(const struct run *run, json_t *result);

/* Writes the first line to --status-fd, if it was given. 0, or an exit status after run_report_refusal. */
int run_write_start_status(struct run *run);
/* Writes the last line to --status-fd. Prints a failure. */
void run_write_end_status(const struct run *run, json_t *result);

#endif
