/*
 * A made-up run (members[]) and the ways a handler ends, so that a handler can be tested without a supervisor. Included
 * once, by a test's .c file.
 */
#ifndef CALLGATE_TESTS_STUB_CALL_H
#define CALLGATE_TESTS_STUB_CALL_H

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "syscalls/call/call.h"

static pid_t members[8];
static size_t member_count;
static int commit_error;
static unsigned commits;
static long tracer_of_all; /* of every thread; 0: none */

bool task_table_pid_is_in_run(struct task_table *tree, pid_t pid)
{
	(void)tree;
	for (size_t i = 0; i < member_count; i++)
		if (members[i] == pid)
			return true;
	return false;
}

size_t task_table_list_processes(struct task_table *tree, pid_t *out, size_t cap)
{
	(void)tree;
	for (size_t i = 0; i < member_count && i < cap; i++)
		out[i] = members[i];
	return member_count;
}

long task_table_read_status_number(pid_t tid, const char *field, int base)
{
	(void)base;
	if (strcmp(field, "TracerPid") == 0)
		return tracer_of_all;
	return strcmp(field, "Tgid") == 0 && kill(tid, 0) == 0 ? tid : -ESRCH;
}

unsigned task_table_begin_rlimit_nofile_change(struct task_table *tree, struct task *task)
{
	(void)tree;
	(void)task;
	return 0;
}

unsigned task_table_get_nofile_limit_version(const struct task_table *tree, const struct task *task)
{
	(void)tree;
	(void)task;
	return 0;
}

void call_return(struct call *call, int64_t value)
{
	call->outcome.kind = OUTCOME_VALUE;
	call->outcome.value = value;
}

int call_fail(struct call *call, int error)
{
	call->outcome.kind = OUTCOME_ERROR;
	call->outcome.value = error;
	return -1;
}

void call_return_fd(struct call *call, int fd, bool cloexec)
{
	if (fd < 0) {
		call_fail(call, fd);
		return;
	}
	call->outcome.kind = OUTCOME_FD;
	call->outcome.fd = fd;
	call->outcome.fd_is_cloexec = cloexec;
}

void call_continue(struct call *call)
{
	call->outcome.kind = OUTCOME_CONTINUE;
}

int call_refuse(struct call *call, int error, const char *rule, const char *reason)
{
	call->decision = (struct policy_decision){
		.verdict = VERDICT_DENY, .error = abs(error), .rule = rule, .reason = reason};
	return call_fail(call, -abs(error));
}

int call_commit_record(struct call *call)
{
	commits++;
	if (commit_error)
		call_fail(call, commit_error);
	return commit_error;
}

bool call_thread_still_waits(const struct call *call)
{
	(void)call;
	return true;
}

static struct sandbox sandbox;
static struct task task;
static struct call call;

static pid_t caller;            /* the process on record as the caller; 0: this one */
static uint64_t fifth_argument; /* of the next calls */

/* The caller is this process; its memory is read for real. */
static void run(syscall_fn *handler, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t arg[6] = {a, b, c, d, fifth_argument};

	memset(&call.outcome, 0, sizeof(call.outcome));
	sandbox.target_memory = &memory_of_process;
	task.tid = getpid();
	task.tgid = caller ? caller : getpid();
	call.sandbox = &sandbox;
	call.path_count = 0;
	call.task = &task;
	call.tid = getpid();
	call.decision.verdict = VERDICT_DENY;
	memcpy(call.arg, arg, sizeof(arg));
	handler(&call);
}

static void expect(enum outcome_kind kind, int64_t value, enum verdict verdict)
{
	ck_assert_int_eq(call.outcome.kind, kind);
	ck_assert_int_eq(call.outcome.value, value);
	ck_assert_int_eq(call.decision.verdict, verdict);
}

#define UNSIGNED(pid) ((uint64_t)(int64_t)(pid))

#endif
