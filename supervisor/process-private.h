/* Shared by the process-*.c files and process.c only. */
#ifndef CALLGATE_SUPERVISOR_PROCESS_PRIVATE_H
#define CALLGATE_SUPERVISOR_PROCESS_PRIVATE_H

#include <limits.h>

#include "supervisor/lookup.h"
#include "supervisor/process.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"

/* Everything that the process builds. process.c releases it. */
struct process {
	const struct process_options *options;
	struct rlimit own_open_files_rlimit; /* RLIMIT_NOFILE with which callgate was started; the program gets it */
	char **envp;
	char **argv; /* the list is owned, its texts are borrowed */
	struct lookup lookup; /* of the program */
	struct sock_fprog filter; /* the program's seccomp filter */
	struct view *view;
	struct asker_options ask;  /* its view is owned; NULL: no denial is asked about */
	struct egress_program_sockets program_sockets;
	int landlock_fd;   /* -1: no Landlock domain */
	bool fstat_is_native; /* fstat is native: neither judged nor recorded */
	bool kernel_reads; /* calls that only read are native: "judge": "changes" */
	int audit_dirfd;   /* directory of the log; -1: not open */
	char *audit_file_name;  /* the log's path through audit_dirfd; NULL: no log is kept, or it is open */
	struct audit *audit;
	struct supervise_report report;
	json_t *result; /* the report or the error */
};

/* ---- process-result.c ---- */

/* Puts an error into the result, which keeps its other members. Returns -1. */
__attribute__((format(printf, 4, 5))) int process_set_error(struct process *process, enum run_exit exit_code,
							    const char *code, const char *format, ...);
#define process_fail(process, ...) process_set_error(process, RUN_EXIT_ERROR, __VA_ARGS__)
/* Writes the result to report_fd and tells the keeper. Returns the exit status of the process. */
int process_send_result(const struct process *process);

/* ---- process-build.c: each function returns 0, or -1 with the error in the result ---- */

/* Waits until the keeper has made the directories that the view shows. */
int process_await_scratch_dirs(struct process *process);
/* Waits until the keeper has written the policy's digest to the shared page. */
int process_await_policy_digest(struct process *process);
int process_build_view(struct process *process);
/* With --ask: builds the view of calls that an answer allows. Called after the program's view was built. */
int process_build_second_view(struct process *process);
/*
 * Called when the program's view is mounted: lets the second view find the run's processes, and write to the workspace
 * of --cow, as the program's view does.
 */
int process_join_second_view(struct process *process);
/*
 * Builds Landlock's ruleset from the view as it is now. Its rules hold for inodes, whatever names these get later.
 * *ret_retry: set when this supervisor must exit, because another one starts that judges every call.
 */
int process_build_landlock(struct process *process, bool *ret_retry);
/*
 * Opens the sockets by which the program reaches egress, and makes the resolv.conf that names them. While a thread is
 * still making the network namespace, makes only resolv.conf, because the addresses are known before. Afterwards
 * process_open_program_sockets_in_netns() opens the sockets. Both need the capabilities with which the process starts.
 */
int process_open_program_sockets(struct process *process);
int process_open_program_sockets_in_netns(struct process *process);
/* Sends the sockets of the program's network to egress. */
int process_send_program_sockets(struct process *process);

/*
 * Finds the program, and sets `lookup` and `argv`. An absent program is an error. A program that is refused is started
 * all the same, so that its exec is judged and recorded. Does nothing for a session, which has no program at its start.
 */
int process_find_program(struct process *process);

/* ---- process-reads.c: the calls that are native because the kernel decides as the view does ---- */

/*
 * Called at the start. Sets in options->namespaces what has to be prepared for calls that only read to be native, if
 * the policy permits that.
 */
void process_prepare_native_reads(const struct process_options *options);
/*
 * Decides about "judge": "changes", and describes that in "enforcement". Called when the other layers are known, and
 * before process_fail_if_layer_missing().
 */
void process_decide_kernel_reads(struct process *process);
/* Decides whether fstat is native, and describes that in "enforcement". */
void process_decide_native_fstat(struct process *process);

/* ---- process-audit.c: the audit log ---- */

/* Opens the log's directory before the process changes its root. 0, or -1 with the error in the result. */
int process_open_log_dir(struct process *process);
/* Makes the log, with a header that needs everything else to be known. 0, or -1 with the error in the result. */
int process_open_log(struct process *process);
/* Writes the trailer. A log that could not be written becomes the result's error. */
void process_close_log(struct process *process);

/* ---- process-watch.c ---- */

/* Builds the filter, runs the program and makes the report. 0, or -1 with the error in the result. */
int process_run_program(struct process *process);

#endif
