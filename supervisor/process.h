/*
 * The main function of the supervisor process. It gives up privileges, builds the program's view and filter, supervises
 * the run and reports to the keeper. Called by keeper/fork.c in the forked process.
 */
#ifndef CALLGATE_SUPERVISOR_PROCESS_H
#define CALLGATE_SUPERVISOR_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "audit/audit.h"
#include "base/sha256.h"
#include "base/signing.h"
#include "confine/layers.h"
#include "confine/namespaces.h"
#include "confine/privs.h"
#include "policy/policy.h"
#include "supervisor/gateway/start.h"
#include "syscalls/account/result/sink.h"
#include "view/view.h"

/* The run's scratch directory (keeper/scratch.h). Borrowed. */
struct process_scratch {
	const char *run_id; /* for the log */
	const char *base_path;   /* canonical host path of the directory of all runs */
	const char *path;        /* canonical host path of the run's directory */
	int fd;
};

#define RUN_LAST_STOPPED_PROCESSES_KEPT 16u /* the last processes stopped by "on_deny", for the keeper to report */

/* What the process writes to control_fd. */
#define RUN_BYTE_REPORT_COMPLETE '\0' /* the report is complete */
#define RUN_BYTE_PROCESS_STOPPED 's'   /* run_shared_page.stops has changed */
#define RUN_BYTE_ANSWER_UNREADABLE 'a'  /* run_shared_page.unreadable_answer is set */

/* A page that keeper and supervisor share: the policy's digest, counters for the status line, bytes on disk. */
struct run_shared_page {
	/* written by the keeper, for the log, before the keeper sets keeper_fields_are_written */
	char policy_sha256[SHA256_HEX_SIZE];
	/* public key of the log, written before keeper_fields_are_written is set; "": none */
	char audit_public_key_text[SIGNING_KEY_BASE64_SIZE];
	struct audit_progress progress;   /* progress of the log, for the keeper's checkpoints */
	volatile unsigned audit_file; /* number of the log's file that is written; written by the supervisor */
	bool keeper_fields_are_written; /* set by the keeper, last */
	volatile uint64_t judged, denied;
	volatile uint64_t open_connections; /* connections through egress that are open now */
	volatile uint64_t network_denied; /* refusals by egress */
	volatile uint64_t disk_bytes;    /* disk use of the run, if it is limited; written by the supervisor */
	volatile uint64_t spilled_bytes; /* bytes of output beyond the limit of output; written by the keeper */
	volatile uint64_t unreadable_answer; /* number of a question whose answer the run's user may not read, or 0 */
	volatile uint64_t stopped_process_count; /* processes that "on_deny" has stopped; the last ones are in `stop` */
	struct run_stop {
		volatile pid_t host_pid;
		volatile uint64_t seq;   /* number of the denial's record */
	} stop[RUN_LAST_STOPPED_PROCESSES_KEPT];
};

/* The settings of a session (session/session.h). */
struct process_session {
	int listen_fd;    /* the listening socket for clients, borrowed */
	int holding_client_fd;    /* a client that is connected already, O_NONBLOCK; owned by the process; -1: none */
	uint64_t idle_limit_ns; /* the session ends after this time without programs; 0: never */
};

/* What the keeper gives the supervisor process. */
struct process_options {
	const struct policy *policy;
	struct process_scratch scratch;
	/* the keeper writes an int to it (0 or -errno) when the directories are made, and when the digest is written */
	int keeper_ready_fd;
	char *const *argv;        /* the program's arguments, NULL-terminated */
	/* the program that a version manager's shim of that name would start, or NULL */
	const char *version_manager_program;
	const char *workdir_host; /* canonical host path of the workdir */
	const char *audit_path;   /* path of the audit log; NULL: no log is kept */
	/* from audit_make_log_file(), borrowed; then audit_path is canonical. -1: the log is not made yet */
	int audit_fd;
	/* the log of the run's setup, which no grant may cover; NULL: there is no such log */
	const char *setup_audit_path;
	uint64_t rotate_bytes;     /* --audit-rotate: size at which a new log file is begun; 0: never */
	const char *anchor_path;   /* the file for checkpoints, which no grant may cover; NULL: none */
	const char *sign_key_path;     /* the file of the log's private key, which no grant may cover; NULL: none */
	struct {
		const struct policy *policy; /* borrowed; observes: ask/ask.h */
		int dir_fd;                  /* the directory of --ask, borrowed; -1: none */
		int approver_fd;             /* the channel to the approver of --approve, borrowed; -1: none */
		bool can_be_remembered;      /* the approver can remember answers */
		uint64_t timeout_ns;
	} ask;                                 /* policy NULL: no denial is asked about */
	const struct process_session *session; /* NULL: a run of one program */
	struct layers *layers;    /* on a page shared with the keeper */
	struct namespaces *namespaces; /* namespaces in which the process was forked; released by the process */
	struct privs_user user;
	int stdio_fd[3];          /* the program's; owned by the process */
	bool stdio_is_terminal;   /* stdio_fd are a terminal that callgate made for the run */
	enum view_overlay overlay; /* which grants have overlays: their writes go to the scratch directory */
	const char *workspace_host; /* as in struct view_options */
	bool copies_workspace;      /* as in struct view_options */
	const char *const *workspace_dirs; /* as in struct view_options */
	uint64_t foreign_workspace_dirs;   /* as in struct view_options */
	/*
	 * The keeper's orders, one byte each. SIGTSTP stops the program's process group, by SIGSTOP because SIGTSTP
	 * does not stop an orphaned group. SIGCONT continues it. RUN_BYTE_ASK_TO_END plus a signal's number sends that
	 * signal to the group, so that the program can end by itself. Any other byte ends the run (run_ending), and so
	 * does the hang-up when the keeper dies. The process writes RUN_BYTE_*.
	 */
	int control_fd;
	int acls_fd;              /* for ACLs of copies: view/copy/acls.h; owned by the process; -1: none */
	int report_fd;            /* a memfd shared with the keeper */
	enum sink_kind sink_kind; /* --audit-sink */
	int sink_fd;              /* the sink's socket, borrowed; -1: SINK_NONE */
	struct run_shared_page *shared_page;
	struct cgroup *cgroup;    /* borrowed; NULL: no control group */
	struct egress_process *egress; /* released by the process */
};

/*
 * Returns the exit status: 0 if the whole result (report.h) was written to report_fd, else 1. A failure before the
 * program ran is a result too: {"error": {"code", "message"}, "exit_code"}.
 */
int process_main(const struct process_options *options);

#endif
