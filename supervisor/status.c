#include "supervisor/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "syscalls/account/denials.h"

#include "base/banned.h"

const char *run_status_name(enum run_status status)
{
	static const char *const names[] = {
		[RUN_OK] = "ok",           [RUN_FAILED] = "failed", [RUN_DENIED] = "denied",
		[RUN_TIMEOUT] = "timeout", [RUN_KILLED] = "killed", [RUN_ERROR] = "error",
		[RUN_LIMIT] = "limit",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == RUN_STATUS_MAX, "a name for each status");

	return names[status];
}

struct run_ending run_ending(unsigned end, unsigned asked, enum limit_kind limit, int wait_status, bool denials)
{
	struct run_ending ending = {.status = RUN_OK};

	if (WIFSIGNALED(wait_status))
		ending.signal = WTERMSIG(wait_status);
	/* A program that ended by itself at the moment of the timeout was not killed. */
	if (ending.signal != SIGKILL)
		end = RUN_END_NONE;
	/* Asked to end, it ended: by the time limit in any case, by callgate's signal when it did not handle that. */
	if (end == RUN_END_NONE && (asked == RUN_END_TIMEOUT || (int)asked == ending.signal))
		end = asked;
	ending.exit_code = ending.signal ? 128 + ending.signal : WEXITSTATUS(wait_status);
	if (limit != LIMIT_MAX) {
		/* cpu time exits with 124 like a timeout, other limits with what a shell shows after an OOM kill. */
		ending.status = RUN_LIMIT;
		if (limit != LIMIT_FILE_SIZE) /* the program ended by SIGXFSZ */
			ending.exit_code = limit == LIMIT_CPU ? RUN_EXIT_TIMEOUT : RUN_EXIT_LIMIT;
	} else if (end == RUN_END_TIMEOUT) {
		ending.status = RUN_TIMEOUT;
		ending.exit_code = RUN_EXIT_TIMEOUT;
	} else if (end == RUN_END_OUTPUT) {
		ending.status = RUN_LIMIT;
		ending.exit_code = RUN_EXIT_LIMIT;
	} else if (end != RUN_END_NONE) {
		ending.status = RUN_KILLED;
		ending.signal = (int)end;
		ending.exit_code = 128 + (int)end;
	} else if (ending.exit_code != 0) {
		ending.status = denials ? RUN_DENIED : RUN_FAILED;
	}
	return ending;
}

/* The denial of the program's first exec. It is the first denial, because nothing runs before. */
static const struct denial *status_exec_denial(const struct supervise_report *report)
{
	const struct denial *denial;
	uint64_t unlisted;
	size_t count;

	if (!report->denials)
		return NULL;
	denial = denials_list(report->denials, &count, &unlisted);
	return count > 0 && strcmp(denial->op, "exec") == 0 ? denial : NULL;
}

static void status_explain_exec(const struct supervise_report *report, const char *program, struct run_refusal *refusal)
{
	const struct denial *denial = status_exec_denial(report);
	int error = report->start_error;

	refusal->exit_code = RUN_EXIT_REFUSED;
	refusal->code = "refused";
	if (denial) {
		(void)snprintf(refusal->message, sizeof(refusal->message), "%s: the policy refuses to run it (%s)%s%s",
			       program,
			       denial->rule     ? denial->rule
			       : denial->reason ? denial->reason
						: "not granted",
			       denial->suggest ? "; to allow it: " : "", denial->suggest ? denial->suggest : "");
	} else if (error == ENOEXEC) {
		refusal->code = "not_executable";
		(void)snprintf(refusal->message, sizeof(refusal->message),
			       "%s: not a program of this machine: neither ELF nor a script with #!", program);
	} else if (error == ENOENT) {
		refusal->code = "not_executable";
		(void)snprintf(refusal->message, sizeof(refusal->message),
			       "%s: it, or its interpreter (the #! line or the ELF loader), does not exist in the view",
			       program);
	} else {
		refusal->code = "not_executable";
		(void)snprintf(refusal->message, sizeof(refusal->message), "%s: %s", program, strerror(error));
	}
}

void run_refusal(const struct supervise_report *report, const char *program, struct run_refusal *ret_refusal)
{
	struct run_refusal *refusal = ret_refusal;

	if (report->start_step == LAUNCH_EXEC) {
		status_explain_exec(report, program, refusal);
		return;
	}
	refusal->exit_code = RUN_EXIT_ERROR;
	refusal->code = "launch_failed";
	if (report->start_step == LAUNCH_FILTER && report->start_error == EBUSY) {
		refusal->code = "listener_present";
		(void)snprintf(
			refusal->message, sizeof(refusal->message),
			"a seccomp listener watches this process already (callgate inside callgate, or a container "
			"agent); the kernel allows one: run callgate outside of it, see callgate doctor");
	} else if (report->start_step == LAUNCH_LANDLOCK) {
		(void)snprintf(
			refusal->message, sizeof(refusal->message),
			"the kernel refuses the program's Landlock domain: %s; --without landlock runs without it",
			report->start_error == E2BIG ? "too many domains are around it already"
						     : strerror(report->start_error));
	} else if (report->start_step == LAUNCH_FILTER) {
		(void)snprintf(
			refusal->message, sizeof(refusal->message),
			"the kernel or a container's seccomp profile refuses the seccomp filter with a listener: %s; "
			"callgate doctor tells how to get it",
			strerror(report->start_error));
	} else {
		(void)snprintf(refusal->message, sizeof(refusal->message), "cannot start %s: %s", program,
			       strerror(report->start_error));
	}
}
