#include "confine/selffilter.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confine/bpf.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BUILT_WITH_SANITIZER true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
#define BUILT_WITH_SANITIZER true
#endif
#endif
#ifndef BUILT_WITH_SANITIZER
#define BUILT_WITH_SANITIZER false
#endif

#ifndef SECCOMP_FILTER_FLAG_TSYNC_ESRCH
#define SECCOMP_FILTER_FLAG_TSYNC_ESRCH (1UL << 4) /* flag of Linux 5.7, which older headers lack */
#endif

/* Decision for a number in the filter of one of callgate's own processes. */
static struct bpf_call_decision selffilter_make_call_decision(const void *ctx, int nr)
{
	const unsigned *roles = ctx;
	const struct syscall_row *row = table_find_row(nr);
	const struct row_term *terms = NULL;

	if (!row)
		return (struct bpf_call_decision){.action = SECCOMP_RET_ERRNO | ENOSYS};
	if (row->self_roles == SELF_ROLE_OF_NO_PROCESS)
		return (struct bpf_call_decision){.action = SECCOMP_RET_KILL_PROCESS};
	if (row->self_roles & *roles)
		return (struct bpf_call_decision){.action = SECCOMP_RET_ALLOW};
	for (const struct self_terms *self = row->self_terms; self && self->roles; self++)
		if (self->roles & *roles)
			terms = self->terms;
	if (!terms)
		return (struct bpf_call_decision){.action = SECCOMP_RET_ERRNO | ENOSYS};
	return (struct bpf_call_decision){.terms = {terms}, .term_list_count = 1, .action = SECCOMP_RET_ERRNO | EPERM};
}

int selffilter_build(unsigned roles, struct sock_fprog *ret_program)
{
	const struct bpf_decisions tree = {
		.ctx = &roles, .leaf = selffilter_make_call_decision, .foreign_arch_action = SECCOMP_RET_KILL_PROCESS};

	return bpf_build_program(&tree, ret_program);
}

int selffilter_install(unsigned roles)
{
	/* SPEC_ALLOW: without speculation mitigations, which cost time; no untrusted code runs in these processes. */
	const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_SPEC_ALLOW;
	struct sock_fprog program;
	int error = selffilter_build(roles, &program);
	long ret;

	if (error < 0)
		return error;
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
	/* With TSYNC a positive result is the tid of a thread that could not be synchronised. */
	error = ret < 0 ? -errno : ret > 0 ? -ESRCH : 0;
	free(program.filter);
	return error;
}

bool selffilter_works_in_this_build(const char **ret_why)
{
	*ret_why = "this build has a sanitizer, which makes calls of its own";
	return !BUILT_WITH_SANITIZER;
}
