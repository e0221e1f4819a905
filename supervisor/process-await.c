/* What the keeper does while the supervisor starts, and says when it is done. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/process-private.h"
#include "supervisor/status.h"
#include "supervisor/supervise.h"

#include "base/banned.h"

/* 0 or -errno of what was done; of the attempt before this one, too, if that did not listen. */
static int hear(const struct process *process)
{
	int error = 0;
	ssize_t got;

	do
		got = read(process->options->furnished_fd, &error, sizeof(error));
	while (got < 0 && errno == EINTR);
	return got == (ssize_t)sizeof(error) ? error : -ECANCELED; /* it is dead */
}

int process_await_scratch(struct process *process)
{
	int error = hear(process);

	if (error < 0)
		return process_fail(
			process, RUN_EXIT_ERROR, "scratch_failed",
			"cannot make a scratch directory in %s: %s; free some room or set TMPDIR to another directory",
			process->options->scratch.base, strerror(-error));
	return 0;
}

int process_await_digest(struct process *process)
{
	int error = 0;

	while (error == 0 && !__atomic_load_n(&process->options->counters->sealed, __ATOMIC_ACQUIRE))
		error = hear(process);
	(void)close(process->options->furnished_fd);
	if (error < 0)
		return process_fail(process, RUN_EXIT_ERROR, "out_of_memory", "no memory for the policy's digest");
	return 0;
}
