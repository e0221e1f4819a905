/* Determines the outcome of a run, from the supervisor's report or from how the supervisor died. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/audit.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "keeper/evidence.h"
#include "keeper/private.h"
#include "supervisor/gateway/starter.h"
#include "supervisor/report.h"

#define SUPERVISOR_REPORT_MAX_BYTES (512u << 20) /* more than the caps in changes.h and denials.h allow */

json_t *keeper_read_report(const struct keeper *keeper)
{
	_cleanup_free_ char *text = NULL;
	json_t *report;
	size_t len;

	if (lseek(keeper->report_fd, 0, SEEK_SET) < 0 ||
	    io_read_fd(keeper->report_fd, SUPERVISOR_REPORT_MAX_BYTES, &text, &len) < 0)
		return NULL;
	report = json_loadb(text, len, 0, NULL);
	if (!json_is_object(report)) {
		json_decref(report);
		return NULL;
	}
	return report;
}

/* Completes the log that a dead supervisor has left. */
static int keeper_recover_log(const struct keeper *keeper)
{
	const char *status = run_status_get_name(keeper->outcome->ending.status);
	_cleanup_free_ char *path = NULL;

	if (keeper->options->audit_fd >= 0)
		return audit_recover_fd(keeper->options->audit_fd, status);
	path = evidence_make_log_path(keeper);
	return path ? audit_recover_log(path, status) : -ENOMEM;
}

/* Sets the outcome after the supervisor's death: why the keeper has killed it, or else an error. */
static void keeper_determine_outcome_without_supervisor(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	int status = keeper->supervisor_wait_status, recovered = 0;

	outcome->ending = run_ending_make(keeper->end_reason, RUN_END_NOT_ORDERED, LIMIT_MAX, SIGKILL, false);
	outcome->end_reason = keeper->end_reason;
	if (keeper->end_reason == RUN_END_NOT_ORDERED) {
		outcome->ending = (struct run_ending){.status = RUN_ERROR, .exit_code = RUN_EXIT_ERROR};
		outcome->error_code = "supervisor_died";
	}
	if (keeper->options->audit_path)
		recovered = keeper_recover_log(keeper);
	if (outcome->error_code)
		(void)snprintf(outcome->error_message, sizeof(outcome->error_message),
			       "the supervisor died (%s %d%s); the program and everything it started were killed%s%s",
			       WIFSIGNALED(status) ? "signal" : "exit status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
			       WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS
				       ? ": it made a call that self_filter kills for, as a hole in it would let the "
					 "program do"
				       : "",
			       recovered < 0 ? "; the log could not be completed: " : "",
			       recovered < 0 ? strerror(-recovered) : "");
}

/* Finds the limit that ended the run; LIMIT_MAX: none did. */
static enum limit_kind keeper_find_limit(const json_t *report)
{
	const char *name = json_string_value(json_object_get(report, "ended_by"));
	enum limit_kind kind = 0;

	while (kind < LIMIT_MAX && (!name || strcmp(name, limit_get_name(kind)) != 0))
		kind++;
	return kind;
}

/* Whether the supervisor ended the run for this reason, REPORT_ENDED_BY_*. */
static bool keeper_was_ended_by(const json_t *report, const char *reason)
{
	const char *name = json_string_value(json_object_get(report, "ended_by"));

	return name && strcmp(name, reason) == 0;
}

/* Reports that egress died if the program failed, because the missing network may be the reason. */
static void keeper_report_egress_death(const struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	int status = keeper->egress_wait_status;
	char why[sizeof(outcome->error_message) / 2];

	if (!keeper->egress_failed || outcome->error_code || outcome->ending.status == RUN_OK)
		return;
	outcome->error_code = "egress_failed";
	starter_read_start_error(keeper->egress.start_error_fd, why, sizeof(why));
	if (why[0])
		(void)snprintf(outcome->error_message, sizeof(outcome->error_message),
			       "%s: every connection was refused", why);
	else
		(void)snprintf(outcome->error_message, sizeof(outcome->error_message),
			       "the egress process died (%s %d): from then on every connection was refused",
			       WIFSIGNALED(status) ? "signal" : "exit status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* Takes the supervisor's report, which counts only if the supervisor then exited with status 0. NULL: none. */
static json_t *keeper_get_valid_report(struct keeper *keeper)
{
	json_t *early = steal_pointer(&keeper->report_before_exit);

	if (WIFEXITED(keeper->supervisor_wait_status) && WEXITSTATUS(keeper->supervisor_wait_status) == 0)
		return early ? early : keeper_read_report(keeper);
	json_decref(early);
	return NULL;
}

void keeper_determine_outcome(struct keeper *keeper)
{
	struct keeper_outcome *outcome = keeper->outcome;
	json_t *error, *calls;
	int wait_status;

	outcome->report = keeper_get_valid_report(keeper);
	if (!outcome->report) {
		keeper_determine_outcome_without_supervisor(keeper);
		return;
	}
	error = json_object_get(outcome->report, "error");
	calls = json_object_get(outcome->report, "calls");
	wait_status = (int)json_integer_value(json_object_get(outcome->report, "wait_status"));
	outcome->asked_to_end_reason = (unsigned)json_integer_value(json_object_get(outcome->report, "asked"));
	outcome->program_was_not_started = json_is_true(json_object_get(outcome->report, REPORT_NOT_STARTED));
	outcome->was_killed_for_decoy = keeper_was_ended_by(outcome->report, REPORT_ENDED_BY_DECOY);
	outcome->was_killed_by_answer = keeper_was_ended_by(outcome->report, REPORT_ENDED_BY_ANSWER);
	if ((outcome->was_killed_for_decoy || outcome->was_killed_by_answer) &&
	    keeper->end_reason == RUN_END_NOT_ORDERED)
		keeper->end_reason = SIGKILL;
	outcome->end_reason =
		WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGKILL ? keeper->end_reason : RUN_END_NOT_ORDERED;
	outcome->ending =
		run_ending_make(keeper->end_reason, outcome->asked_to_end_reason, keeper_find_limit(outcome->report),
				wait_status,
				json_integer_value(json_object_get(calls, "denied")) >
					   json_integer_value(json_object_get(calls, "expected")) ||
				   json_integer_value(json_object_get(outcome->report, "network_denied")) > 0);
	if (error) {
		outcome->error_code = json_string_value(json_object_get(error, "code"));
		(void)snprintf(outcome->error_message, sizeof(outcome->error_message), "%s",
			       json_string_value(json_object_get(error, "message")));
		outcome->ending = (struct run_ending){
			.exit_code = (int)json_integer_value(json_object_get(outcome->report, "exit_code"))};
		outcome->ending.status = outcome->ending.exit_code == RUN_EXIT_REFUSED ? RUN_DENIED : RUN_ERROR;
	}
	keeper_report_egress_death(keeper);
}

/*
 * Whether this process has a seccomp filter, of a container or of another callgate, which may deny calls that a run
 * needs.
 */
static bool keeper_is_under_seccomp_filter(void)
{
	_cleanup_free_ char *status = NULL;
	size_t len;

	return io_read_file(AT_FDCWD, "/proc/self/status", 65536, &status, &len) == 0 &&
	       strstr(status, "\nSeccomp:\t2") != NULL;
}

void keeper_explain_failure(struct keeper_outcome *outcome, const char *step, int error)
{
	bool filtered = (error == -EPERM || error == -ENOSYS || error == -EACCES) && keeper_is_under_seccomp_filter();

	if (error == -EOWNERDEAD) {
		(void)snprintf(outcome->error_message, sizeof(outcome->error_message),
			       "the parent process ended before the run began (--die-with-parent)");
		return;
	}
	(void)snprintf(outcome->error_message, sizeof(outcome->error_message), "cannot %s: %s%s", step,
		       strerror(-error),
		       filtered ? "; a seccomp filter is on this process already, of another callgate or a container: "
				  "callgate doctor tells what it refuses"
				: "");
}

void keeper_outcome_release(struct keeper_outcome *outcome)
{
	capture_release(&outcome->out);
	capture_release(&outcome->err);
	json_decref(outcome->report);
	outcome->report = NULL;
	evidence_release_signing_key(steal_pointer(&outcome->key));
}
