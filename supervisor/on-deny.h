/*
 * What a denial does to the process that made the call, besides the errno: "on_deny" of the policy. Called by
 * dispatch.c and by egress' client after the record of the denial is written, in the supervisor thread.
 */
#ifndef CALLGATE_SUPERVISOR_ON_DENY_H
#define CALLGATE_SUPERVISOR_ON_DENY_H

#include <stdint.h>

#include "supervisor/process.h"
#include "view/tree.h"

/*
 * Where the supervisor tells the keeper of stopped processes, and of answers that it may not read. The keeper tells the
 * user. Both members are borrowed.
 */
struct stop_notices {
	struct run_shared_page *shared_page;
	int control_fd; /* gets a byte for each stopped process */
};

/*
 * Sends one of RUN_BYTE_*, and never waits. If the keeper's socket is full, the keeper finds what the byte is about
 * when it reads the next one.
 */
void on_deny_send_byte_to_keeper(const struct stop_notices *stops, char byte);

/*
 * Kills or stops the process of a task whose notification has no response yet. seq: number of the denial's record.
 * stops NULL: the keeper is not told.
 */
void on_deny_kill_or_stop_process(const struct stop_notices *stops, enum policy_on_deny mode, const struct task *task,
				  uint64_t seq);

/* Like on_deny_kill_or_stop_process(), for the process of a pidfd (borrowed), whose pid outside the run is host_pid. */
void on_deny_apply_to_pidfd(const struct stop_notices *stops, enum policy_on_deny mode, int pidfd, pid_t host_pid,
			    uint64_t seq);

/* Sends SIGKILL or SIGSTOP to the process of a task whose notification has no response yet. */
void on_deny_signal_process(const struct task *task, int number);

#endif
