/* The supervisor process from its fork to its exit: gives up what it must not have, builds, supervises, reports. */
#ifndef CALLGATE_SUPERVISOR_PROCESS_H
#define CALLGATE_SUPERVISOR_PROCESS_H

#include "confine/layers.h"
#include "confine/namespaces.h"
#include "confine/privs.h"
#include "policy/policy.h"
#include "supervisor/gateway/start.h"
#include "supervisor/supervise.h"

/* The run's own directory, which the keeper made (keeper/scratch.h): borrowed. */
struct process_scratch {
	const char *run_id; /* of the result and the log */
	const char *base;   /* canonical host path of the directory of all runs */
	const char *path;   /* canonical host path */
	int fd;
};

struct process_options {
	const struct policy *policy;
	struct process_scratch scratch;
	/* tells when its directories are there, then when the policy is sealed: an int, 0 or -errno */
	int furnished_fd;
	char *const *argv;        /* of the program, NULL-ended */
	const char *preferred;    /* see struct lookup_options */
	const char *workdir_host; /* canonical */
	const char *audit_path;   /* NULL: not kept */
	int audit_fd;             /* of audit_make, borrowed; audit_path is canonical then. -1: made here */
	const char *audit_beside; /* another log, of an earlier part of the run, that must be as safe; NULL: none */
	struct layers *layers;    /* shared page */
	struct namespaces *namespaces; /* it was forked into; released with its descriptors by the process */
	struct privs_user user;
	int stdio_fd[3];          /* the program's; owned by the process */
	bool tty;                 /* they are a terminal, the run's own */
	int control_fd;           /* to the keeper: see supervise_options; a byte says that the report is written */
	int report_fd;            /* a memfd shared with the keeper */
	struct run_counters *counters;
	struct cgroup *cgroup;    /* the run's, borrowed; NULL: none */
	struct egress_side *egress; /* released by the process */
};

/*
 * Runs in a fork of the keeper and returns its exit status: 0 when the report (report.h) is written whole. What failed
 * before the program ran is in the report as well: {"error": {"code", "message"}, "exit_code"}. Otherwise 1.
 */
int process_main(const struct process_options *options);

#endif
