/* The options of `callgate run`. */
#ifndef CALLGATE_CLI_RUN_OPTIONS_H
#define CALLGATE_CLI_RUN_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "keeper/summary.h"

/* Values of the options. run_parse_options initialises, run_options_release releases. Texts are in main's argv. */
struct run_options {
	struct cli_policy_options policy;
	struct cli_list input_paths;    /* --input: files and directories to be copied into the workdir */
	struct cli_list artifact_globs; /* --artifact: patterns of files to be kept */
	const char *output_dir; /* --output: directory for the files that are kept; NULL: nothing is kept */
	const char *audit_path; /* value of --audit; NULL: the file that the policy names, if any */
	uint64_t rotate_bytes; /* --audit-rotate; 0: never */
	const char *sign_key_path; /* --sign-key; NULL: a key is made for the run */
	const char *attest_path;   /* --attest; NULL: none */
	const char *anchor_place;  /* --anchor; NULL: none */
	/* value of --anchor-every if it is a number of lines; 0: it is a time, in anchor_every_ns */
	uint64_t anchor_every_lines;
	uint64_t anchor_every_ns;  /* --anchor-every: time between checkpoints */
	const char *setup_command; /* --setup: a shell command; NULL: none */
	const char *approve;       /* --approve: socket:PATH, command:COMMAND, fd:N or tty; NULL: no approver */
	const char *approvals_file; /* --approvals: the file of remembered answers; NULL: none are kept */
	const char *ask_dir;       /* --ask: the directory for questions; NULL: none */
	uint64_t ask_timeout_ns;   /* how long a question waits for its answer */
	bool observes;    /* --mode observe */
	bool allow_risky; /* with --mode observe: secrets may be read */
	/* with --mode observe: writes outside the workdir are not kept in the scratch directory */
	bool writes_outside_workdir;
	bool is_dry_run;     /* --dry-run */
	bool uses_workspace; /* --cow, or "workspace" of the policy once that is loaded */
	bool copies_workspace; /* --cow=copy; sets uses_workspace, too */
	struct cli_list workspace_dirs; /* --cow-dir: canonical */
	bool inspects;       /* --inspect */
	bool json;
	bool reads_stdin;     /* the program gets callgate's stdin */
	bool tty;             /* --tty; sets reads_stdin, too */
	bool dies_with_parent;  /* --die-with-parent */
	bool is_quiet;          /* --quiet */
	bool is_verbose;        /* --verbose */
	bool events_were_given; /* `events` is the value of --events */
	enum summary_events events;
	const char *metrics_path; /* --metrics; NULL: none */
	const char *sink_name;    /* --audit-sink; NULL: none */
	bool shows_status_line;   /* --status */
	int status_fd; /* descriptor of --status-fd; -1: none */
	uint64_t status_every_ns; /* time between two updates of the status line */
	/* time until the run is killed: --kill-after: after a signal to callgate; --grace: after the time limit */
	uint64_t kill_after_ns, grace_ns;
	uint64_t session_idle_ns; /* --idle: time without programs after which a session ends; 0: no limit */
	int session_holder_fd; /* --hold-fd: connection of a client that holds the session open; O_NONBLOCK; -1: none */
	char **argv;   /* the program and its arguments, NULL-ended */
	bool names_program; /* of session create: argv was given, not the default */
};

/* Returns CLI_OPTIONS_PARSED, or the exit status after --help, --version or a message. */
int run_parse_options(int argc, char **argv, struct run_options *ret_options);
/* As run_parse_options(), for `callgate session create`. Options that this verb does not have stay unset. */
int run_parse_session_options(int argc, char **argv, struct run_options *ret_options);
/* Returns why --cow does not go with the other options, static, or NULL. has_dirs: it is for further directories. */
const char *run_find_conflict_with_workspace(const struct run_options *options, bool has_dirs);
void run_options_release(struct run_options *options);

#endif
