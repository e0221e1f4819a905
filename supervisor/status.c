#include "supervisor/status.h"

#include <signal.h>
#include <sys/wait.h>

const char *run_status_get_name(enum run_status status)
{
	static const char *const names[] = {
		[RUN_OK] = "ok",         [RUN_FAILED] = "failed", [RUN_DENIED] = "denied", [RUN_TIMEOUT] = "timeout",
		[RUN_KILLED] = "killed", [RUN_ERROR] = "error",   [RUN_LIMIT] = "limit",   [RUN_REFUSED] = "refused",
	};
	_Static_assert(sizeof(names) / sizeof(names[0]) == RUN_STATUS_MAX, "a name for each status");

	return names[status];
}

struct run_ending run_ending_make(unsigned end, unsigned asked, enum limit_kind limit, int wait_status, bool denials)
{
	struct run_ending ending = {.status = RUN_OK};

	if (WIFSIGNALED(wait_status))
		ending.signal = WTERMSIG(wait_status);
	/* If the signal was not SIGKILL, the program ended by itself at the moment of the timeout. */
	if (ending.signal != SIGKILL)
		end = RUN_END_NOT_ORDERED;
	/* The program ended after it was asked to: a timeout, or callgate's signal if that signal ended the program. */
	if (end == RUN_END_NOT_ORDERED && (asked == RUN_END_TIMEOUT || (int)asked == ending.signal))
		end = asked;
	ending.exit_code = ending.signal ? 128 + ending.signal : WEXITSTATUS(wait_status);
	if (limit != LIMIT_MAX) {
		/*
		 * A limit of cpu time exits with 124, like a timeout; other limits with a shell's status for an OOM
		 * kill.
		 */
		ending.status = RUN_LIMIT;
		if (limit != LIMIT_FILE_SIZE) /* otherwise the program ended by SIGXFSZ */
			ending.exit_code = limit == LIMIT_CPU ? RUN_EXIT_TIMEOUT : RUN_EXIT_LIMIT;
	} else if (end == RUN_END_TIMEOUT) {
		ending.status = RUN_TIMEOUT;
		ending.exit_code = RUN_EXIT_TIMEOUT;
	} else if (end == RUN_END_OUTPUT_LIMIT) {
		ending.status = RUN_LIMIT;
		ending.exit_code = RUN_EXIT_LIMIT;
	} else if (end != RUN_END_NOT_ORDERED) {
		ending.status = RUN_KILLED;
		ending.signal = (int)end;
		ending.exit_code = 128 + (int)end;
	} else if (ending.exit_code != 0) {
		ending.status = denials ? RUN_DENIED : RUN_FAILED;
	}
	return ending;
}
