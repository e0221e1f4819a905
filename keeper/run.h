/*
 * The keeper: the process that the user started, parent and subreaper of all others. It holds the program's output, the
 * time limit and the signals, and kills every process of the run when the run or the supervisor ends.
 */
#ifndef CALLGATE_KEEPER_RUN_H
#define CALLGATE_KEEPER_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "confine/layers.h"
#include "confine/privs.h"
#include "keeper/capture.h"
#include "keeper/custodian.h"
#include "keeper/scratch.h"
#include "policy/policy.h"
#include "supervisor/status.h"

struct egress_read;

struct keeper_options {
	struct policy *policy; /* the policy's digest (policy_compute_sha256) is computed while the supervisor starts */
	struct scratch *scratch;
	bool scratch_dirs_pending;        /* scratch_make_dirs() is still to be called */
	char *const *argv;        /* of the program, NULL-ended */
	const char *preferred;    /* see struct process_options */
	const char *workdir_host; /* canonical */
	const char *audit_path;   /* NULL: no log */
	int audit_fd;             /* see struct process_options */
	const char *audit_earlier; /* see struct process_options */
	const char *part;         /* "setup", for the names of the spill files; NULL: the program's own phase */
	struct layers *layers;    /* shared page */
	struct egress_read *read; /* see struct egress_start_options */
	struct privs_user user;   /* --user */
	const struct custodian *custodian; /* custodian->pid is 0 without --user */
	bool show;                /* forward the output as it comes; otherwise keep it */
	bool interactive;         /* relay stdin to the program */
	bool output;              /* the workdir is read after the run */
	bool tty;                 /* give the program a terminal */
	pid_t parent;             /* --die-with-parent: getppid() at the start; 0: not asked for */
	bool status_line;         /* on stderr: a terminal that is not the program's stdout */
	uint64_t wall_ns;         /* 0: no limit */
	uint64_t grace_ns;        /* from SIGTERM at the time limit to the end of the run; 0: it ends at once */
	uint64_t kill_after_ns;   /* the same for a signal to callgate */
	uint64_t stdout_bytes;    /* or CAPTURE_NO_LIMIT */
	uint64_t stderr_bytes;
};

struct keeper_outcome {
	struct run_ending ending;
	unsigned asked;         /* see struct supervise_report */
	unsigned end;           /* why callgate killed the program: RUN_END_* or a signal number */
	uint64_t duration_ns;
	struct capture out, err;
	char out_name[SCRATCH_ID_SIZE + 16], err_name[SCRATCH_ID_SIZE + 16]; /* of the spill files */
	json_t *report;         /* report.h; NULL when the supervisor left none */
	const char *error_code; /* NULL: none; borrowed from the report or static */
	char message[1280];
};

/*
 * Runs the program from fork to end. 0 with an outcome (release with keeper_outcome_release), also when it could not
 * start or the supervisor died; -errno when nothing was started, with ret_outcome->message. Changes the calling process
 * for good: no capabilities, not dumpable, a subreaper, signals blocked.
 */
int keeper_run_program(const struct keeper_options *options, struct keeper_outcome *ret_outcome);
void keeper_outcome_release(struct keeper_outcome *outcome);

#endif
