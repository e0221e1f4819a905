/* callgate run from within: run.c and run-prepare.c. */
#ifndef CALLGATE_CLI_RUN_PRIVATE_H
#define CALLGATE_CLI_RUN_PRIVATE_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/host.h"
#include "cli/inherited.h"
#include "cli/run-options.h"
#include "supervisor/custodian.h"
#include "supervisor/layers.h"
#include "supervisor/privs.h"
#include "supervisor/scratch.h"

/* One run's things, so that each is released whatever failed. */
struct run {
	struct cli_inherited inherited;
	struct run_options options;
	struct privs_user user;
	struct cli_host host;
	bool host_ready;
	struct scratch scratch;
	bool scratch_ready;
	struct policy *policy;
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

/* Where the log goes, as it was named; NULL: none is kept. Borrowed. */
const char *run_log_path(const struct run *run);

#endif
