/* Declarations shared by the source files of `callgate run`. */
#ifndef CALLGATE_CLI_RUN_PRIVATE_H
#define CALLGATE_CLI_RUN_PRIVATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/host/host.h"
#include "cli/run/options.h"
#include "confine/layers.h"
#include "confine/privs.h"
#include "keeper/custodian.h"
#include "keeper/scratch.h"
#include "supervisor/gateway/start.h"
#include "syscalls/account/result/sink.h"
#include "view/prepare.h"

/* What each phase of a run, the setup and the program, has for itself. */
struct run_phase {
	struct policy *policy;
	/* what was read from the host for the network; in a run with --setup, before the setup began */
	struct egress_data_from_host egress_data_from_host;
	char *log_path;               /* path of the log, its directory canonical; NULL: no log */
	int audit_fd;            /* the log if it has been created already, else -1 */
};
/* a phase that has no log yet */
#define RUN_PHASE_INIT         \
	(struct run_phase)     \
	{                      \
		.audit_fd = -1 \
	}

void run_phase_release(struct run_phase *part);

/* A file that callgate writes when the run has ended. */
struct run_end_file {
	int dir_fd;     /* directory in which the file is written */
	int content_fd; /* a memfd for the content of the file */
	char *base_name; /* name of the file in that directory; NULL: there is no such file */
};
/* a file to be written at the run's end, of which nothing is open */
#define RUN_END_FILE_INIT (struct run_end_file){.dir_fd = -1, .content_fd = -1}

struct keeper_outcome;
struct process_session;

/* Everything that a run owns, in one structure, so that it is released wherever the run fails. */
struct run {
	struct run_options options;
	struct privs_user user;
	struct cli_host host;
	struct scratch scratch;
	bool scratch_dirs_are_not_made_yet; /* the keeper is to create the scratch directory's contents */
	struct policy_draft *policy_draft; /* what was read of the policy to find the run's user; NULL: nothing */
	struct run_phase program_phase;
	struct run_phase setup_phase; /* the phase of --setup; its secrets are in program_phase */
	bool is_setup_process; /* this is the setup's process, where program_phase is the setup's: setup.c */
	int result_fd;               /* where the setup's process writes its result; -1 in other processes */
	struct {
		struct policy *policy; /* the observing policy; owns program_phase.policy; NULL: nothing is asked */
		char *dir;             /* canonical path */
		int dir_fd;            /* the directory of --ask, which is locked; -1: no --ask */
		int approver_fd;       /* the channel to the approver; -1: no --approve */
		bool can_be_remembered; /* the approver can remember answers */
		char *approvals_path;   /* canonical path of the file of --approvals; NULL: none */
		char *socket_path;      /* canonical path of the socket of --approve; NULL: none */
	} ask;
	json_t *setup_result;        /* the setup's result; NULL: none */
	json_t *mistakes;            /* mistakes of the policy as JSON, for the result; NULL: none */
	char *workdir; /* host path of the workdir */
	int inspect_error;              /* -errno: why a file could not be looked for (inspect.c); 0: none */
	struct inspect_program *inspection; /* what was looked at; borrowed; NULL: nothing yet */
	struct cli_list workspace_dirs; /* directories that stay as they are */
	uint64_t foreign_workspace_dirs; /* as in struct view_options */
	char *workspace_path; /* --cow: canonical host path of the workspace; owned; NULL: none was made */
	int workspace_fd;     /* holds the lock of the workspace; -1: none */
	int workdir_fd; /* descriptor of the workdir, closed when the run has been prepared; else -1 */
	int output_fd;  /* the directory of --output; -1: none */
	struct run_end_file metrics_file;     /* of --metrics */
	struct run_end_file attestation_file; /* of --attest */
	struct input_file *input_file;        /* of --input, until they are copied; owned */
	json_t *inputs;              /* with --attest: names and digests of the inputs; owned */
	enum sink_kind sink_kind;    /* of --audit-sink */
	int sign_key_fd;                 /* descriptor of the file of --sign-key; -1: none */
	int anchor_fd;               /* descriptor of the place of --anchor; -1: none */
	char *anchor_path; /* canonical path of the file of --anchor; owned; NULL: --anchor names no file */
	char *sign_key_path;             /* canonical path of the file of --sign-key; owned */
	int system_log_fd;               /* socket to the log of --audit-sink; -1: none */
	struct custodian custodian;
	struct layers *layers;
	bool is_session; /* callgate session create; before it starts, too */
	/* the session that this run serves; borrowed; NULL: a run of one program */
	const struct process_session *session;
	char *path_variable_at_start; /* PATH at the start, because the run wipes its environment; NULL: not set */
	pid_t parent; /* pid of callgate's parent; with --die-with-parent the run ends when that process ends */
};

#define RUN_INIT                                                                                               \
	{                                                                                                      \
		.parent = getppid(), .workdir_fd = -1, .workspace_fd = -1, .output_fd = -1, .result_fd = -1,   \
		.metrics_file = RUN_END_FILE_INIT, .attestation_file = RUN_END_FILE_INIT, .system_log_fd = -1, \
		.sign_key_fd = -1, .anchor_fd = -1, .ask.dir_fd = -1, .ask.approver_fd = -1,                   \
		.program_phase = RUN_PHASE_INIT, .setup_phase = RUN_PHASE_INIT                                 \
	}

/*
 * Prepares the run, whose options have been parsed, and closes descriptors that the run does not need. Returns what
 * run_prepare() returns.
 */
int run_prepare_process(struct run *run);
void run_release(struct run *run);

/*
 * --input: copies the inputs into the workdir. With --cow, and "workspace" of the policy, they are only judged here. 0,
 * or an exit status after run_report_refusal.
 */
int run_copy_inputs(struct run *run);
/* Copies inputs that were only judged into the workspace, which the view puts into its layer. Returns the same. */
int run_copy_inputs_to_workspace(struct run *run);
void run_release_inputs(struct run *run);
/* --attest: hashes the copies of the inputs in a directory, before the program runs. */
void run_hash_inputs(struct run *run, int dir_fd);

/* Does what "workspace" of the policy asks for, besides what --cow asks for. 0, or the exit status after a report. */
int run_heed_workspace_of_policy(struct run *run);
/* With --cow: makes the workspace, with the ids of the run's user. 0, or the exit status after a report. */
int run_make_workspace(struct run *run);
/* Refuses a policy of this run that leaves other directories as they are. 0, or the exit status after a report. */
int run_check_workspace_again(struct run *run, const struct policy *policy);
/*
 * With --cow: tells of the workspace, and adds it to the result; not in the setup's process. One of a run that has
 * failed and changed nothing is left to run_release(), which removes it.
 */
void run_report_workspace(struct run *run, bool has_failed, json_t *result);
/* --attest: writes the attestation. A failure becomes the result's error. */
void run_write_attestation(struct run *run, const struct keeper_outcome *outcome, json_t *result);

/* Whether --anchor names a file, and not a descriptor or a command. */
bool run_anchor_is_file(const char *named);
/*
 * Opens the place of --anchor. To be called with anchor_path set, if that is a file. 0, or an exit status after
 * run_report_refusal.
 */
int run_open_anchor(struct run *run);

/* Reports that the run cannot begin, on stderr, as a result and to --status-fd. Returns the exit status. */
__attribute__((format(printf, 3, 4))) int run_report_refusal(struct run *run, const char *code, const char *format,
							     ...);
int run_refuse_no_memory(struct run *run);
/* The same for a program that was looked at: the status is "refused". why: the finding. Returns the exit status. */
int run_report_inspection(struct run *run, const char *why);

/*
 * Looks at the program, if --inspect or the policy says so. To be called after the setup, which may have changed it. 0,
 * or an exit status after a report. The caller releases the inspection, by inspect_program_release().
 */
struct inspect_program;
int run_inspect_program(struct run *run, struct inspect_program *ret_inspection);
/* Adds "inspect" to a result: what was found, and what was changed since. */
void run_add_findings(const struct run *run, json_t *result);

/*
 * Looks up "UID[:GID]", each a number or a name. Without a GID, the group is the account's, or the UID if there is no
 * account. *ret_user is not `set` if it is callgate's own user. 0, or -errno with a message that begins with `option`.
 */
int run_find_user(const char *option, const char *text, struct privs_user *ret_user, struct policy_error *ret_error);

/*
 * Opens the directory of a file that is to be written when the run has ended. path: canonical except for its last
 * component. 0 or -errno.
 */
int run_end_file_open(const char *path, struct run_end_file *ret_file);
/*
 * Writes the file, and replaces one of the same name. dir: tells the custodian of a run with --user in which directory.
 * 0 or -errno.
 */
int run_store_end_file(const struct run *run, enum custodian_dir dir, const struct run_end_file *file,
		       const char *text);
void run_end_file_release(struct run_end_file *file);

/* Prepares a run. The caller releases `run`, also on failure. 0, or an exit status after run_report_refusal. */
int run_prepare(struct run *run);

/*
 * Loads a phase's policy. Called again after a setup, which may change files. 0, or an exit status after
 * run_report_refusal.
 */
int run_load_policy(struct run *run, enum policy_phase phase, struct policy **ret_policy);

/* Loads the policy of the program and, with --setup, that of the setup. Returns the same. */
int run_load_policies(struct run *run);
/* Calls `prepare` with the effective ids of the run's user, who shall own new files and whose rights are checked. */
int run_call_with_user_ids(struct run *run, int (*prepare)(struct run *run));

/* The places where the run's program or setup may write, so that what is there is not trusted. */
struct writable_places run_collect_writable_places(struct run *run);

/*
 * With --ask: judges, makes, opens and locks the directory, with the ids of the run's user. Sets ask.dir_fd. 0, or an
 * exit status after run_report_refusal.
 */
int run_open_ask_directory(struct run *run);
/*
 * Resolves the path that an option names, which callgate trusts: no other user may write there, and the program must
 * not reach it or anything below. kind: what the option takes, for the refusal. Owned by the caller; NULL: a refusal
 * was reported.
 */
char *run_find_unreachable_path(struct run *run, const char *option, const char *named, const char *kind);
/*
 * With --approve: connects to the socket, opens the terminal or judges the command, and starts the approver. Sets
 * ask.approver_fd. 0, or an exit status after run_report_refusal.
 */
int run_start_approver(struct run *run);
/*
 * Loads the policy under which approved calls are performed. To be called after all other uses of the policy's paths.
 * 0, or an exit status after run_report_refusal.
 */
int run_load_ask_policy(struct run *run);
void run_release_ask(struct run *run);

/* Starts the custodian, which keeps the files of a run with --user. 0, or an exit status after run_report_refusal. */
int run_start_custodian(struct run *run);

/* Runs the program from start to end, with all reports. Returns the exit status. */
int run_program_to_end(struct run *run);

/*
 * Runs the setup. True: it succeeded and the program is next. False: *ret_exit is the exit status, and the result was
 * reported.
 */
bool run_perform_setup(struct run *run, int *ret_exit);

/* Prints a result or, in the setup's process, writes it to result_fd for the parent. CLI_EXIT_OK or CLI_EXIT_ERROR. */
int run_print_result(const struct run *run, json_t *result);

/* Writes the first line to --status-fd, if it was given. 0, or an exit status after run_report_refusal. */
int run_write_start_status(struct run *run);
/* Writes the last line to --status-fd, if it was given. A failure is only reported. */
void run_write_end_status(const struct run *run, json_t *result);

#endif
