/* Shared by the supervisor process's own files only. */
#ifndef CALLGATE_SUPERVISOR_PROCESS_PRIVATE_H
#define CALLGATE_SUPERVISOR_PROCESS_PRIVATE_H

#include <limits.h>
#include <linux/filter.h>
#include <sys/resource.h>

#include "supervisor/lookup.h"
#include "supervisor/process.h"

/* Everything the process builds, in one place so that one function releases it. */
struct process {
	const struct process_options *options;
	struct rlimit open_files; /* the caller's, for the program */
	char **envp;
	char **argv; /* the list only; its texts are borrowed */
	char program[PATH_MAX];
	enum lookup_result found;
	struct sock_fprog filter;
	struct view *view;
	struct egress_guest guest;
	int landlock_fd; /* -1: none */
	bool fstat_native; /* is not judged and not on record */
	int audit_dirfd;  /* what audit_name goes through; -1: none */
	char *audit_name; /* NULL: no log is kept, or it is open */
	struct audit *audit;
	struct supervise_report report;
	json_t *result; /* the report or the error */
};

/* Puts an error into the result. Returns -1. */
__attribute__((format(printf, 4, 5))) int process_fail(struct process *process, int exit_code, const char *code,
						       const char *format, ...);

/* Puts an error into the result; what is in it already stays. */
void process_set_error(struct process *process, int exit_code, const char *code, const char *message);

/* Each of these returns 0, or -1 with the error in the result. */
int process_build_view(struct process *process);
/* From the view as it is now: rules are of inodes, whatever names they get later. */
int process_build_landlock(struct process *process);
/* A bare name that is nowhere is an error; a refused path is tried, so that the refusal is judged and on record. */
int process_find_program(struct process *process);
/* While we have what it takes; whether that was for nothing is found out when the mounts are made. */
int process_build_guest(struct process *process);
int process_hand_guest(struct process *process);
int process_watch(struct process *process);

/*
 * Whether the policy permits that fstat is left to the kernel, should the rest be as it takes: see process_open_audit.
 */
bool process_may_leave_fstat(const struct process_options *options);

/* That the keeper has made the directories that the view shows. 0 or -1 with the error in the result. */
int process_await_scratch(struct process *process);
/* That the page of counters has the policy's digest. Likewise. */
int process_await_digest(struct process *process);

/* Remembers where the log is to be, while that place has a name. 0 or -1 with the error in the result. */
int process_find_audit(struct process *process);
/* Makes it, with its header: everything that says must be known. 0 or -1 likewise. */
int process_open_audit(struct process *process);
/* Writes the trailer; a log that could not be written is the result's error. */
void process_close_audit(struct process *process);

#endif
