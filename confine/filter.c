#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confine/bpf.h"
#include "confine/filter.h"

/*
 * The filter notifies calls of another architecture or with nr >= BPF_CALL_NUMBERS_END. Then it searches the system
 * call number. The end of the search allows, returns an errno, notifies, or tests the terms of a row and notifies when
 * none is true. Numbers that are always allowed cost nothing: Linux caches them (5.11, seccomp_cache_prepare).
 * doc/architecture.md says why libseccomp is not used; tests/unit/confine/test_filter.c compares the filter with that
 * of libseccomp.
 */

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* flag of Linux 5.19, which older headers lack */
#endif

#define CALL_NUMBER_OF_NO_KERNEL 0xffff /* a system call number that no kernel has */

/*
 * With CALLGATE_OPEN_FILTER (configure --enable-open-filter, tests/cases/callgate-open) the filter allows every call,
 * to test Landlock and the namespaces alone.
 */
#ifdef CALLGATE_OPEN_FILTER
static const bool filter_open = true;
#else
static const bool filter_open = false;
#endif

/* Makes the decision for a row with terms. What is not allowed is notified, even if always denied: for the record. */
static struct bpf_call_decision filter_make_decision_by_terms(unsigned traits, const struct syscall_row *row)
{
	struct bpf_call_decision leaf = {.action = SECCOMP_RET_USER_NOTIF};

	if (row->allowed_if && !(row->judged_with_run_traits & traits))
		leaf.terms[leaf.term_list_count++] = row->allowed_if;
	for (const struct row_more_terms *more = row->more_terms; more && more->terms; more++)
		if ((traits & more->required_run_traits) == more->required_run_traits &&
		    !(traits & more->excluded_run_traits))
			leaf.terms[leaf.term_list_count++] = more->terms;
	/* A call that is allowed with any arguments needs no comparison: so Linux caches it. */
	for (unsigned i = 0; i < leaf.term_list_count; i++)
		if (!leaf.terms[i]->compare[0].mask)
			return (struct bpf_call_decision){.action = SECCOMP_RET_ALLOW};
	return leaf;
}

/* Decision of the program's filter for a number. ctx: the run's traits. */
static struct bpf_call_decision filter_make_call_decision(const void *ctx, int nr)
{
	const unsigned *traits = ctx;
	const struct syscall_row *row = table_find_row(nr);

	if (!row)
		return (struct bpf_call_decision){.action = SECCOMP_RET_USER_NOTIF};
	if (row->class == ROW_NATIVE || (row->class == ROW_NATIVE_IN_OWN_IPC && *traits & RUN_OWN_IPC))
		return (struct bpf_call_decision){.action = SECCOMP_RET_ALLOW};
	if (row->class == ROW_REFUSE_UNRECORDED)
		return (struct bpf_call_decision){.action = SECCOMP_RET_ERRNO |
							    ((uint32_t)row->error & SECCOMP_RET_DATA)};
	return filter_make_decision_by_terms(*traits, row);
}

bool filter_may_notify(unsigned traits, int nr)
{
	if (filter_allows_all_calls())
		return false;
	return nr < 0 || nr >= BPF_CALL_NUMBERS_END ||
	       filter_make_call_decision(&traits, nr).action == SECCOMP_RET_USER_NOTIF;
}

bool filter_notifies_call(unsigned traits, int nr, const uint64_t arg[6])
{
	struct bpf_call_decision verdict;

	if (!filter_may_notify(traits, nr))
		return false;
	if (nr < 0 || nr >= BPF_CALL_NUMBERS_END)
		return true;
	verdict = filter_make_call_decision(&traits, nr);
	for (unsigned i = 0; i < verdict.term_list_count; i++)
		if (table_terms_match(verdict.terms[i], arg))
			return false;
	return true;
}

bool filter_can_wait_killable(void)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;

	/* The kernel first checks the flags (EINVAL), then reads the filter, which is NULL here (EFAULT). */
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) < 0 && errno == EFAULT;
}

int filter_find_listener_errno(void)
{
	struct seccomp_notif_sizes sizes;

	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) < 0 ? errno : 0;
}

bool filter_is_on_this_process(void)
{
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

bool filter_outer_kills_unlisted_calls(void)
{
	int status = 0;
	pid_t pid;

	if (prctl(PR_GET_SECCOMP, 0, 0, 0, 0) <= 0)
		return false;
	pid = fork();
	if (pid == 0) {
		(void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); /* no core file, and no handler of core_pattern (core(5)) */
		(void)syscall(CALL_NUMBER_OF_NO_KERNEL);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		; /* a status of 0, if there was no child, is no signal */
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS;
}

bool filter_allows_all_calls(void)
{
	return filter_open;
}

/* Builds a filter that allows everything. */
static int filter_build_allow_all_program(struct sock_fprog *ret_program)
{
	struct sock_filter *code = calloc(1, sizeof(*code));

	if (!code)
		return -ENOMEM;
	*code = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	*ret_program = (struct sock_fprog){.len = 1, .filter = code};
	return 0;
}

int filter_build_program(unsigned traits, struct sock_fprog *ret_program)
{
	const struct bpf_decisions tree = {
		.ctx = &traits, .leaf = filter_make_call_decision, .foreign_arch_action = SECCOMP_RET_USER_NOTIF};

	return filter_allows_all_calls() ? filter_build_allow_all_program(ret_program)
					 : bpf_build_program(&tree, ret_program);
}

int filter_install(const struct sock_fprog *program)
{
	unsigned long flags = SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, program);

	/* Linux before 5.19: signals can interrupt a call while the supervisor performs it. */
	if (fd < 0 && errno == EINVAL)
		fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, program);
	return fd < 0 ? -errno : (int)fd;
}
