/* callgate run from within: run.c and run-prepare.c. */
#ifndef CALLGATE_CLI_RUN_PRIVATE_H
#define CALLGATE_CLI_RUN_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cli/host.h"
#include "cli/inherited.h"
#include "cli/run-options.h"
#include "confine/layers.h"
#include "confine/privs.h"
#include "keeper/custodian.h"
#include "keeper/scratch.h"
#include "supervisor/gateway/start.h"

/* One run's things, so that each is released whatever failed. */
struct run {
	struct cli_inherited inherited;
	struct run_options options;
	struct privs_user user;
	struct cli_host host;
	bool host_ready;
	struct scratch scratch;
	bool scratch_bare; /* see struct keeper_options */
	bool scratch_ready;
	struct policy_draft *draft; /* of the policy, where it had to be looked into first */
	struct policy *policy;
	struct policy *setup_policy;
	struct egress_read read,
		setup_read;   /* with --setup: what both need, read before the setup. The secrets are in the first */
	bool in_setup;        /* this process is the setup's; see run-setup.c */
	int result_fd;        /* where it leaves its result, whether that is to be shown or not; -1: it is not */
	json_t *setup_result; /* what it left */
	char *log;            /* by its directory's canonical path; NULL: none is kept */
	char *setup_log;      /* likewise */
	int setup_audit_fd;
	char *setup_audit; /* its path, when it is open */
	char *workdir; /* host path */
	int output_fd;
	struct custodian custodian;
	int audit_fd;
	char *audit; /* its path, when it is open */
	struct layers *layers;
	pid_t parent; /* when we were started */
};

/* The end of a run that never began: one message, or one result. Returns the exit status. */
__attribute__((format(printf, 3, 4))) int run_refuse(struct run *run, const char *code, const char *format, ...);

/* Everything before the run; the caller releases it, also on failure. 0, or an exit status with the end told. */
int run_prepare(struct run *run);

/* The policy as it is now: again, when a setup has changed what there is. 0, or an exit status with the end told. */
int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy);

/* For the files of a run that is done as another user. 0, or an exit status with the end told. */
int run_start_custodian(struct run *run);

/* Runs the program from start to end, with all there is to tell. Returns the exit status. */
int run_watch(struct run *run);

/*
 * --setup. True: it went well, and the program's turn has come. False: *ret_exit is the exit status, the end is told.
 */
bool run_setup(struct run *run, int *ret_exit);

/* Prints a result, or leaves it to whoever started the setup. CLI_OK or CLI_ERROR. */
int run_put_result(const struct run *run, const json_t *result);

#endif
