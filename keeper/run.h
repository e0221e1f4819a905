/*
 * The keeper: parent and subreaper of everything. It holds the program's output, the wall clock and the signals, and
 * sees to it that nothing of the run survives its end or the supervisor's.
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
	struct policy *policy; /* sealed beside the supervisor's start */
	struct scratch *scratch;
	bool scratch_bare;        /* scratch_make_dirs() is still to be called */
	char *const *argv;        /* of the program, NULL-ended */
	const char *preferred;    /* see struct lookup_options */
	const char *workdir_host; /* canonical */
	const char *audit_path;   /* NULL: none is kept */
	int audit_fd;             /* see struct process_options */
	const char *audit_beside; /* likewise */
	const char *part;         /* of a run that has several, for the names of its files; NULL: it has one */
	struct layers *layers;    /* shared page */
	struct egress_read *read; /* see struct egress_start_options */
	struct privs_user user;   /* whom everything is done as */
	const struct custodian *custodian; /* with another user; its pid is 0 when there is none */
	bool show;                /* the output goes to stdout and stderr as it comes; otherwise it is kept */
	bool interactive;         /* our standard input is the program's */
	bool output;              /* the workdir is looked at afterwards */
	bool tty;                 /* through a terminal of its own, which is all its output as well */
	pid_t parent;             /* whose end is the run's: getppid() when we were started; 0: nobody's */
	bool status_line;         /* on stderr, when it is a terminal that the program's stdout does not share */
	uint64_t wall_ns;         /* 0: none */
	uint64_t stdout_bytes;    /* CAPTURE_NO_LIMIT: none */
	uint64_t stderr_bytes;
};

struct keeper_outcome {
	struct run_ending ending;
	uint64_t duration_ns;
	struct capture out, err;
	char out_name[SCRATCH_ID_SIZE + 16], err_name[SCRATCH_ID_SIZE + 16]; /* of the spill files */
	json_t *report;         /* report.h; NULL when the supervisor left none */
	const char *error_code; /* NULL: none; borrowed from the report or static */
	char message[1280];
};

/*
 * Runs the program from fork to end. 0 with an outcome (keeper_outcome_done releases it), also when it could not
 * start or the supervisor died; -errno when nothing was started, with a message in ret_outcome->message. Changes the
 * calling process for good: no capabilities, not dumpable, a subreaper, signals blocked.
 */
int keeper_run(const struct keeper_options *options, struct keeper_outcome *ret_outcome);
void keeper_outcome_done(struct keeper_outcome *outcome);

#endif
