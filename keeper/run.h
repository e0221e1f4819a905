/*
 * The keeper: the process that the user started, parent and subreaper of all others. It has the program's output, the
 * time limit and the signals, and kills every process of the run when the run or the supervisor ends.
 */
#ifndef CALLGATE_KEEPER_RUN_H
#define CALLGATE_KEEPER_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "audit/sign.h"
#include "confine/layers.h"
#include "confine/privs.h"
#include "keeper/capture.h"
#include "keeper/custodian.h"
#include "keeper/scratch.h"
#include "policy/policy.h"
#include "supervisor/status.h"
#include "syscalls/account/result/sink.h"
#include "view/view.h"

struct egress_data_from_host;
struct process_session;

/* What callgate run has decided from options and policy: the settings of one run. */
struct keeper_options {
	struct policy *policy; /* its digest (policy_compute_sha256) is computed while the supervisor starts */
	struct scratch *scratch;
	bool scratch_dirs_are_not_made_yet; /* the keeper has yet to call scratch_make_dirs() */
	char *const *argv;        /* the program and its arguments, NULL-ended */
	const char *version_manager_program; /* the program that a version manager's shim would start; NULL: no shim */
	const char *workdir_host; /* canonical host path of the workdir */
	const char *audit_path;   /* path of the audit log; NULL: no log */
	int audit_fd;             /* the audit log, if it was created before the run; borrowed; -1: it was not */
	const char *setup_audit_path; /* the log of the run's setup, which no grant may cover; NULL: no such log */
	uint64_t rotate_bytes;        /* --audit-rotate: the size at which a new log file is begun; 0: never */
	int anchor_fd;             /* file or pipe to which checkpoints of the log are written; -1: none */
	/* path of anchor_fd if it is a file, which no grant may cover; NULL: it is no file */
	const char *anchor_path;
	/* a checkpoint is due after this number of lines or after this time; one of the two is 0 */
	uint64_t anchor_every_lines, anchor_every_ns;
	int sign_key_fd; /* file with the private key that signs the log; -1: the keeper makes a key */
	/* canonical path of sign_key_fd's file, which no grant may cover; NULL: none */
	const char *sign_key_path;
	enum sink_kind sink_kind; /* --audit-sink: the kind of system log that is told of denials */
	int sink_fd;              /* the socket of that log, borrowed; -1: SINK_NONE */
	struct {
		const struct policy *policy;
		int dir_fd;             /* directory of --ask; -1: none */
		int approver_fd;        /* channel to the approver of --approve, borrowed; -1: none */
		bool can_be_remembered; /* the approver can remember answers */
		uint64_t timeout_ns;
	} ask; /* settings of --ask and --approve for the supervisor */
	/* "setup", for the names of the setup's spill files; NULL: this is the program's phase */
	const char *setup_phase_name;
	struct layers *layers;    /* on a page shared with the supervisor */
	/* data of the host that was read for egress; NULL: egress_start() reads it */
	struct egress_data_from_host *egress_data_from_host;
	struct privs_user user;            /* the user of --user, as whom the run is made; not set: callgate's own */
	const struct custodian *custodian; /* custodian->pid is 0 without --user */
	const struct process_session *session; /* settings of a session; NULL: a run of one program */
	bool forwards_output;                /* forward the program's output as it comes; false: keep it */
	bool relays_stdin;                   /* relay stdin to the program */
	bool keeps_output_files;              /* --output: the workdir is read after the run */
	bool uses_terminal;                   /* give the program a terminal */
	enum view_overlay overlay; /* which grants have overlays: their writes go to the scratch directory */
	const char *workspace_host; /* as in struct view_options */
	bool copies_workspace;      /* as in struct view_options */
	const char *const *workspace_dirs; /* as in struct view_options */
	uint64_t foreign_workspace_dirs;   /* as in struct view_options */
	pid_t parent_pid;          /* --die-with-parent: getppid() at the start; 0: without that option */
	bool shows_status_line;    /* show a status line on stderr, which is a terminal */
	/* stdout is a terminal, like stderr: the status line must not break into a line of the program's output */
	bool stdout_is_terminal_too;
	int status_fd;            /* gets a line of JSON every status_every_ns, unless that is 0; -1: none; borrowed */
	uint64_t status_every_ns; /* --status-fd: interval of its lines of JSON */
	uint64_t time_limit_ns;   /* wall-clock limit of the run; 0: none */
	uint64_t grace_ns;        /* from SIGTERM at the time limit to the end of the run; 0: the run ends at once */
	uint64_t kill_after_ns;   /* from a signal to callgate to the end of the run; 0: the run ends at once */
	uint64_t stdout_limit_bytes; /* limits of the output, or CAPTURE_NO_LIMIT */
	uint64_t stderr_limit_bytes;
};

/* How a run ended, for the result and the exit status. */
struct keeper_outcome {
	struct run_ending ending;
	unsigned asked_to_end_reason;         /* why the program was asked to end, as in struct supervise_report */
	unsigned end_reason;              /* why callgate killed the program: RUN_END_* or a signal number */
	uint64_t duration_ns;             /* from the run's start to its end */
	struct capture out, err;
	char out_name[SCRATCH_ID_SIZE + 16], err_name[SCRATCH_ID_SIZE + 16]; /* names of the spill files */
	json_t *report;         /* owned: the supervisor's report (report.h); NULL: it left none */
	struct signed_log_end log_end; /* the end of the log; lines is 0: no log, or it was not signed */
	/* checkpoints that were written, the lines in the last one, and checkpoints that could not be written */
	uint64_t anchored, anchored_lines, anchors_skipped;
	/* -errno of a checkpoint that could not be written although the anchor's descriptor was writable; 0: none */
	int anchor_error;
	/* the key that has signed the log, until keeper_outcome_release() wipes it; owned; NULL: no signed log */
	struct signing_key *key;
	char log_public_key_text[SIGNING_KEY_BASE64_SIZE]; /* the key that verifies the log's signature, in base64 */
	bool program_was_not_started;          /* the run was ended while directories of --cow were copied */
	bool was_killed_by_answer;             /* callgate killed the program because an answer was "stop" */
	bool was_killed_for_decoy;             /* callgate killed the program because a decoy was read */
	const char *error_code; /* a word that names the error; NULL: none; borrowed from the report or static */
	char error_message[1280]; /* for the user; "": no error */
};

/*
 * Runs the program from fork to end. 0 with an outcome, also when the program could not start or the supervisor died;
 * -errno with ret_outcome->error_message when nothing was started. keeper_outcome_release releases the outcome. Changes
 * the calling process for good: no capabilities, not dumpable, a subreaper, signals blocked.
 */
int keeper_run_program(const struct keeper_options *options, struct keeper_outcome *ret_outcome);
void keeper_outcome_release(struct keeper_outcome *outcome);

#endif
