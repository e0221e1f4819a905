#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include "syscalls/account/result/after.h"
#include "syscalls/account/result/denials.h"
#include "syscalls/account/result/probes.h"
#include "syscalls/call/call.h"

void call_return(struct call *call, int64_t value)
{
	call->outcome.kind = OUTCOME_VALUE;
	call->outcome.value = value;
}

int call_fail(struct call *call, int error)
{
	call->outcome.kind = OUTCOME_ERROR;
	/* A handler that fails without an errno has a bug, but its call must not look like a success. */
	call->outcome.value = error < 0 && error >= -4095 ? error : -EIO;
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
	call->decision.verdict = VERDICT_DENY;
	call->decision.error = error < 0 ? -error : error;
	call->decision.rule = rule;
	call->decision.reason = reason;
	call->decision.wanted_rights = 0;
	return call_fail(call, -call->decision.error);
}

int call_commit_record(struct call *call)
{
	struct audit_record record;
	int r;

	if (call->record_was_written)
		return 0;
	if (!call_may_take_effect(call)) {
		call_fail(call, -ECANCELED);
		return -ECANCELED;
	}
	if (call->sandbox->after_entries && !call->after_entries_checked &&
	    (call->after_entries_to_fire || (call->after_entries_to_fire = after_find_entries_to_fire(call)) != 0))
		return call->outcome.kind == OUTCOME_ERROR ? call_fail(call, -EINTR) : -EINTR;
	if (call->decision.verdict == VERDICT_DENY && !probe_is_refused_call(call))
		call->on_deny = policy_find_on_deny(call->sandbox->policy, call->decision.rule);
	if (policy_on_deny_asks(call->on_deny) && !call->answer)
		call->on_deny = ON_DENY_ERRNO; /* there was no question: calls of this kind are not asked about */
	call_fill_record(call, &record);
	r = audit_begin_record(call->sandbox->audit, &record, &call->outcome_location);
	if (r < 0) {
		/* A call that cannot be recorded is not performed. */
		call->decision.verdict = VERDICT_DENY;
		call->on_deny = ON_DENY_UNSET;
		call_fail(call, r);
		return r;
	}
	call->record_was_written = true;
	if (call->decision.verdict == VERDICT_DENY || call_is_observed(call))
		denials_add(call->sandbox->denials, call);
	return 0;
}

bool call_thread_still_waits(const struct call *call)
{
	return ioctl(call->sandbox->listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &call->id) == 0;
}
