/* From a decoded path to a judged, pinned object. The order of errors is the kernel's: dirfd, walk, policy. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/fdinfo.h"
#include "base/path.h"
#include "syscalls/file/private.h"
#include "view/private.h"

#include "base/banned.h"

bool file_try_again(int error)
{
	return error == -ELOOP || error == -EXDEV || error == -EAGAIN;
}

int file_start_of(struct call *call, const struct call_path *path, char base[PATH_MAX])
{
	bool held;
	int r;

	if (path->error || path->text[0] == '\0') {
		call_fail(call, path->error ? path->error : -ENOENT);
		return -1;
	}
	if (path->text[0] == '/') {
		base[0] = '/';
		base[1] = '\0';
		return 0;
	}
	r = view_base(call->sandbox->view, call->task, path->dirfd, base, PATH_MAX, &held);
	if (!held && !call_valid(call)) {
		/* tid may be somebody else's by now: nothing learned from /proc/tid counts. */
		call->outcome.kind = OUTCOME_GONE;
		return -1;
	}
	if (r < 0) {
		call_fail(call, r);
		return -1;
	}
	return 0;
}

/*
 * Of what is denied only the refusal is to be learned, and to be recorded: not what it is (`error` comes from there being
 * no way on), nor whether there is such a name below it. True when the refusal is the answer.
 */
static bool fail_denied(struct call *call, const struct place *place, int error)
{
	const struct view *view = call->sandbox->view;
	struct policy_decision decision;

	if (!place->mount || place->magic || place->mount->flags & (MOUNT_PROC | MOUNT_SKELETON))
		return false;
	if (error == -ENOENT)
		decision = policy_decide(view->policy, place->virt, (size_t)(strrchr(place->virt, '/') - place->virt), POLICY_READ);
	else
		decision = view_judge(view, call->task, place, POLICY_READ);
	if (decision.verdict != VERDICT_DENY || (error == -ENOENT && decision.error != EACCES))
		return false;
	call->decision = decision;
	call_fail(call, -decision.error);
	return true;
}

/*
 * A path that ends outside every grant failed because the policy does not mention it: that is a denial, unless the host
 * has nothing there either (the loader asks for /etc/ld.so.preload in every process): then natively it fails alike.
 */
void file_fail_walk(struct call *call, const struct place *place, int error)
{
	if (fail_denied(call, place, error))
		return;
	if (error != -ENOENT || !place->mount || !(place->mount->flags & MOUNT_SKELETON)) {
		call_fail(call, error);
		return;
	}
	if (view_host_lacks(call->sandbox->view, place->virt, place->virt_len)) {
		call->decision = (struct policy_decision){.verdict = VERDICT_ALLOW, .reason = "absent"};
		call_fail(call, error);
		return;
	}
	call_refuse(call, error, NULL, "not_granted");
}

bool file_judge(struct call *call, const struct place *place, unsigned want)
{
	call->decision = view_judge(call->sandbox->view, call->task, place, want);
	return call->decision.verdict != VERDICT_DENY;
}

void file_refuse(struct call *call)
{
	call_fail(call, -call->decision.error);
}

/* The access its holder has: may the object be opened with these flags? -EAGAIN: it is another one by now. */
static int check_held(const struct place *place, int pin, int open_flags)
{
	const char *thread = strstr(place->rest, "/task/"), *number = strstr(place->rest, "/fd/");
	pid_t holder = (pid_t)strtol(thread ? thread + strlen("/task/") : place->rest, NULL, 10);
	struct fdinfo held, own;

	if (!number) /* exe, cwd: nobody opened it with any access */
		return -EACCES;
	if (fdinfo_read(holder, (int)strtol(number + strlen("/fd/"), NULL, 10), &held) < 0 || fdinfo_read(0, pin, &own) < 0)
		return -EACCES;
	/* Numbers change their meaning (dup2): the flags count only for the very object that is pinned. */
	if (!fdinfo_same(&held, &own))
		return -EAGAIN;
	if ((held.flags & O_ACCMODE) == O_RDWR || (held.flags & O_ACCMODE) == ((unsigned)open_flags & O_ACCMODE))
		return open_flags & O_TRUNC && (held.flags & O_ACCMODE) == O_RDONLY ? -EACCES : 0;
	return -EACCES;
}

/*
 * An unnamed object may be opened again with the access its holder has already; a pipe's other end natively too. It is
 * pinned first: another thread can put any other descriptor in its place at any moment.
 */
static int open_magic(const struct call *call, const struct place *place, int open_flags)
{
	_cleanup_close_ int pin = view_open(place, O_PATH, 0);
	char virt[PATH_MAX];
	struct stat object;
	int fd, r;

	if (pin < 0)
		return pin;
	if (fstat(pin, &object) < 0)
		return -errno;
	if (file_name(call, pin, &object, virt) >= 0)
		return -EAGAIN; /* that name is to be judged, not the descriptor */
	if (open_flags & O_DIRECTORY && !S_ISDIR(object.st_mode))
		return -ENOTDIR;
	if (open_flags & O_PATH)
		return steal_fd(&pin);
	r = S_ISFIFO(object.st_mode) ? 0 : check_held(place, pin, open_flags);
	if (r < 0)
		return r;
	fd = open(file_link(pin).path, (open_flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * Whether opening for data may wait for somebody: FIFOs and terminals. Asked where the program can make them; elsewhere
 * the watchdog's EINTR says so, and costs the hot path (the libraries and modules of a start-up) nothing.
 */
static bool may_wait(const struct call *call, const struct place *place)
{
	const unsigned own = MOUNT_DEVICE | MOUNT_PROC | MOUNT_PROVIDED | MOUNT_SKELETON;
	struct stat there;

	if (place->mount->flags & own ||
	    !(policy_rights(call->sandbox->policy, place->virt, place->virt_len) & POLICY_WRITE))
		return false;
	/* Only its type is looked at: a link on the way can make this untrue, never the open that follows. */
	return fstatat(place->mount->fd, place->rest, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISFIFO(there.st_mode) || S_ISCHR(there.st_mode));
}

static int open_place(const struct call *call, const struct place *place, int open_flags)
{
	if (place->magic)
		return open_magic(call, place, open_flags);
	if (!(open_flags & (O_PATH | O_NONBLOCK | O_DIRECTORY)) && may_wait(call, place))
		return -EINTR;
	return view_open(place, open_flags, 0);
}

/*
 * The last step on a judged place: a descriptor, or 0 when there is a question and it was answered; -errno. A question
 * that wants a directory is asked of its descriptor.
 */
static int settle(const struct call *call, const struct place *place, int open_flags, const struct file_question *question)
{
	_cleanup_close_ int fd = -1;
	const char *path;
	int dirfd;

	if (!place->magic && view_lacks(place))
		return -ENOENT;
	if (!question)
		return open_place(call, place, open_flags);
	if (!(open_flags & O_DIRECTORY) && view_ask(place, &dirfd, &path))
		return question->ask(question->ctx, dirfd, path, open_flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0);
	fd = open_place(call, place, open_flags);
	return fd < 0 ? fd : question->ask(question->ctx, fd, "", AT_EMPTY_PATH);
}

int file_walk(struct call *call, unsigned i, const char *base, unsigned follow, unsigned want)
{
	struct place *place = &call->place[i];
	int r = view_walk(call->sandbox->view, call->task, base, call->path[i].text, follow, place);

	if (r < 0) {
		file_fail_walk(call, place, r);
		return -1;
	}
	if (!file_judge(call, place, want)) {
		file_refuse(call);
		return -1;
	}
	return 0;
}

/* The way of a path with links or "..": canonicalise, judge the canonical name, open exactly that name. */
static int pin_walked(struct call *call, unsigned i, const char *base, unsigned want, unsigned follow, int open_flags,
		      const struct file_question *question)
{
	struct place *place = &call->place[i];
	int fd = -ELOOP;

	for (int tries = 0; tries < FILE_TRIES && file_try_again(fd); tries++) {
		if (file_walk(call, i, base, follow, want) < 0)
			return -1;
		fd = settle(call, place, open_flags, question);
		if (fd == -ELOOP && open_flags & O_NOFOLLOW && !(open_flags & O_PATH))
			break; /* the last name is a link and may not be followed: that is the answer */
	}
	if (fd < 0) {
		file_fail_walk(call, place, fd);
		return -1;
	}
	return fd;
}

static int pin(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags,
	       const struct file_question *question)
{
	struct place *place = &call->place[i];
	char base[PATH_MAX];
	int r, fd;

	if (file_start_of(call, &call->path[i], base) < 0)
		return -1;
	if (path_wants_dir(call->path[i].text)) {
		follow |= VIEW_FOLLOW;
		open_flags |= O_DIRECTORY;
	}
	open_flags = follow & VIEW_FOLLOW ? open_flags & ~O_NOFOLLOW : open_flags | O_NOFOLLOW;
	r = view_locate(call->sandbox->view, call->task, base, call->path[i].text, follow, place);
	if (r == 0 && file_judge(call, place, want)) {
		fd = settle(call, place, open_flags, question);
		if (fd >= 0)
			return fd;
		if (!file_try_again(fd) && !(fd == -ENOTDIR && open_flags & O_NOFOLLOW && open_flags & O_DIRECTORY) &&
		    !(place->mount->flags & MOUNT_PROC)) {
			file_fail_walk(call, place, fd);
			return -1;
		}
	} else if (r < 0 && r != -EAGAIN && r != -ENOTDIR && r != -ENAMETOOLONG) {
		call_fail(call, r);
		return -1;
	}
	return pin_walked(call, i, base, want, follow, open_flags, question);
}

int file_pin(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags)
{
	return pin(call, i, want, follow, open_flags, NULL);
}

int file_ask(struct call *call, unsigned i, unsigned want, unsigned at_flags, const struct file_question *question)
{
	const struct call_path *path = &call->path[i];
	_cleanup_close_ int fd = -1;
	int r;

	if (at_flags & AT_EMPTY_PATH && path->len == 0 && !path->error) {
		fd = file_pin_fd(call, path->dirfd, want);
		r = fd < 0 ? 0 : question->ask(question->ctx, fd, "", AT_EMPTY_PATH);
		if (r < 0)
			call_fail(call, r);
		return fd < 0 || r < 0 ? -1 : 0;
	}
	if (path->null) {
		call_fail(call, -EFAULT);
		return -1;
	}
	return pin(call, i, want, at_flags & AT_SYMLINK_NOFOLLOW ? 0 : VIEW_FOLLOW, O_PATH | O_CLOEXEC, question);
}
