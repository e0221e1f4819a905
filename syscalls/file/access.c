/* access(2): the kernel's answer on the pinned object, narrowed by what the policy grants. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

struct access_question {
	int mode;
	unsigned flags; /* AT_EACCESS */
	int answer;     /* 0 or -errno */
	mode_t type;    /* of the object, where the policy has a say in the answer */
};

/* What is there is found out first: an answer of the kernel's is none of the way to it. */
static int ask_access(void *ctx, int dirfd, const char *path, int at_flags)
{
	struct access_question *question = ctx;
	struct stat status;

	if (question->mode & (W_OK | X_OK)) {
		if (fstatat(dirfd, path, &status, at_flags) < 0)
			return -errno;
		question->type = status.st_mode & S_IFMT;
	}
	if (syscall(SYS_faccessat2, dirfd, path, question->mode, at_flags | (int)question->flags) == 0)
		return 0;
	if (errno == ELOOP || errno == ENOENT)
		return -errno;
	question->answer = -errno;
	return 0;
}

/*
 * What the policy takes away: writing as on a read-only mount (EROFS; pipes, sockets and devices are not the mount's
 * affair), running as on a noexec one (EACCES, regular files only).
 */
static int access_granted(const struct call *call, const struct access_question *question)
{
	const struct place *place = &call->place[0];
	struct policy_decision decision;

	if (!place->mount || place->magic || !(question->mode & (W_OK | X_OK)))
		return 0;
	if (question->mode & X_OK && S_ISREG(question->type)) {
		decision = view_judge(call->sandbox->view, call->task, place, POLICY_EXEC);
		if (decision.verdict == VERDICT_DENY)
			return -EACCES;
	}
	if (question->mode & W_OK && (S_ISREG(question->type) || S_ISDIR(question->type) || S_ISLNK(question->type))) {
		decision = view_judge(call->sandbox->view, call->task, place, POLICY_WRITE);
		if (decision.verdict == VERDICT_DENY)
			return decision.error == EACCES ? -EACCES : -EROFS;
	}
	return 0;
}

static void access_path(struct call *call, int mode, unsigned flags)
{
	struct access_question access = {.mode = mode, .flags = flags & AT_EACCESS};
	const struct file_question question = {.ask = ask_access, .ctx = &access};
	int r;

	if (mode & ~(R_OK | W_OK | X_OK) || flags & ~(unsigned)(AT_EACCESS | AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
		return;
	}
	if (file_ask(call, 0, POLICY_READ, flags, &question) < 0)
		return;
	r = access.answer < 0 ? access.answer : access_granted(call, &access);
	if (r < 0)
		call_fail(call, r);
	else
		call_return(call, 0);
}

void sys_access(struct call *call)
{
	access_path(call, call_int(call, 1), 0);
}

void sys_faccessat(struct call *call)
{
	access_path(call, call_int(call, 2), 0);
}

void sys_faccessat2(struct call *call)
{
	access_path(call, call_int(call, 2), call_uint(call, 3));
}
