/* Opening in the view: judge, pin, reopen the pinned object; or create it below its pinned parent. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "syscalls/account/disk.h"
#include "syscalls/account/memfds.h"
#include "syscalls/account/meminfo.h"
#include "syscalls/file/act.h"
#include "syscalls/file/open.h"
#include "syscalls/file/resolve.h"
#include "syscalls/file/room.h"

#include "base/banned.h"

#define OPEN_TRIES 16 /* a name that comes and goes faster than it can be opened or made */
#define TMPFILE_BIT ((unsigned)O_TMPFILE & ~(unsigned)O_DIRECTORY)

/* What the reopening of an object by its descriptor must not ask again. */
#define OPEN_ONCE ((unsigned)(O_NOFOLLOW | O_CREAT | O_EXCL))

static unsigned wanted_rights(unsigned flags)
{
	static const unsigned rights[] = {
		[O_RDONLY] = POLICY_READ,
		[O_WRONLY] = POLICY_WRITE,
		[O_RDWR] = POLICY_READ | POLICY_WRITE,
		[O_ACCMODE] = POLICY_READ | POLICY_WRITE, /* for ioctl only, but checked as both: open(2) */
	};

	if (flags & O_PATH)
		return POLICY_READ;
	return rights[flags & O_ACCMODE] | (flags & (O_TRUNC | TMPFILE_BIT) ? POLICY_WRITE : 0);
}

static unsigned follow_of(unsigned flags)
{
	return flags & O_NOFOLLOW || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ? 0 : VIEW_FOLLOW;
}

static int own_flags(unsigned flags)
{
	return (int)((flags & ~OPEN_ONCE) | O_CLOEXEC | O_NOCTTY);
}

static void end_open(struct call *call, int fd, unsigned flags)
{
	if (fd < 0)
		call_fail(call, fd);
	else
		call_give_fd(call, fd, flags & O_CLOEXEC);
}

/* The same for a new file. */
static void end_made(struct call *call, int fd, unsigned flags)
{
	_cleanup_close_ int made = fd;

	if (fd >= 0 && disk_watch(call, fd, true) < 0)
		return;
	end_open(call, made < 0 ? made : steal_fd(&made), flags);
}

/* An unnamed temporary file, which linkat(2) may name later: the directory is what is written to. */
static void open_tmpfile(struct call *call, const struct open_request *request)
{
	_cleanup_close_ int dir = -1;
	struct open_scope scope;
	int fd;

	if (file_refuse_setid(call, request->mode) || file_scope(call, request, &scope) < 0)
		return;
	dir = file_pin(call, 0, POLICY_WRITE, follow_of(request->flags), O_PATH | O_DIRECTORY | O_CLOEXEC);
	dir = file_unscope(call, &scope, dir);
	if (dir < 0 || disk_admit(call, DISK_NAME_BYTES) < 0 || file_use_umask(call) < 0 || call_commit(call) < 0)
		return;
	fd = openat(dir, ".", own_flags(request->flags) | (int)(request->flags & O_EXCL), request->mode);
	end_made(call, fd < 0 ? -errno : fd, request->flags);
}

/* Pins the directory the file is to be made in. The name is copied: it may borrow from the scope's text. */
static int pin_target(struct call *call, const struct open_request *request, char ret_name[NAME_MAX + 1])
{
	struct open_scope scope;
	const char *name = "";
	int parent;

	if (file_scope(call, request, &scope) < 0)
		return -1;
	if (request->flags & O_EXCL)
		parent = file_pin_new(call, 0, &name);
	else
		parent = file_pin_target(call, 0, follow_of(request->flags), &name);
	parent = file_unscope(call, &scope, parent);
	if (parent >= 0 && snprintf(ret_name, NAME_MAX + 1, "%s", name) > NAME_MAX) {
		cleanup_close(&parent);
		parent = -1;
		call_fail(call, -ENAMETOOLONG);
	}
	return parent;
}

/* Makes the file. True when the call has ended; false when the name is there by now and may be opened. */
static bool create(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	char name[NAME_MAX + 1];
	_cleanup_close_ int parent = pin_target(call, request, name);
	int fd;

	if (parent < 0)
		return true;
	if (file_refuse_setid(call, request->mode) || disk_admit(call, DISK_NAME_BYTES) < 0 ||
	    file_use_umask(call) < 0 || file_begin(call, 0) < 0)
		return true;
	fd = openat(parent, name, own_flags(flags) | O_CREAT | O_EXCL | (int)(flags & O_NOFOLLOW), request->mode);
	if (fd < 0 && errno == EEXIST && !(flags & O_EXCL))
		return false;
	end_made(call, fd < 0 ? -errno : fd, flags);
	disk_made(call, S_IFREG);
	return true;
}

/*
 * "name/" with O_CREAT is EISDIR whatever is there, once the way to it is clean: open_last_lookups() in fs/namei.c.
 * Only the way is walked: the text is cut behind it.
 */
static void refuse_slash(struct call *call, const struct open_request *request)
{
	struct call_path *path = &call->path[0], saved = *path;
	_cleanup_close_ int fd = -1;
	struct open_scope scope;

	while (path->len > 1 && path->text[path->len - 1] == '/')
		path->len--;
	while (path->len > 0 && path->text[path->len - 1] != '/')
		path->len--;
	if (path->len == 0)
		path->text[path->len++] = '.';
	path->text[path->len] = '\0';
	if (file_scope(call, request, &scope) == 0)
		fd = file_unscope(call, &scope, file_pin(call, 0, POLICY_READ, VIEW_FOLLOW, O_PATH | O_CLOEXEC));
	*path = saved;
	if (fd >= 0)
		call_fail(call, -EISDIR);
}

/* Opening may wait for the other end of a pipe, or for a line: a worker does it, and can be cancelled. */
static bool may_block(const struct call *call, const struct stat *status, unsigned flags)
{
	const struct mount *mount = call->place[0].mount;

	if (flags & O_NONBLOCK)
		return false;
	if (S_ISFIFO(status->st_mode))
		return (flags & O_ACCMODE) != O_RDWR;
	/* One without a name has its own rule in file_pin, about the access its holder has: it goes that way. */
	return S_ISCHR(status->st_mode) && !call->place[0].magic && !(mount && mount->flags & MOUNT_DEVICE);
}

static void end_blocking(struct call *call, int *pin, unsigned flags)
{
	call->outcome.kind = OUTCOME_BLOCKING;
	call->outcome.fd = steal_fd(pin);
	call->outcome.open_flags = own_flags(flags);
	call->outcome.fd_cloexec = flags & O_CLOEXEC;
}

/* /dev/tty in a session that is not the program's first: that one alone has the run's terminal (launch.h). */
static bool lacks_terminal(const struct call *call)
{
	const struct mount *mount = call->place[0].mount;

	return mount && mount->flags & MOUNT_TTY && !call->place[0].magic &&
	       getsid(call->tid) != call->sandbox->program;
}

/*
 * The pinned object again, with the access the program asked for. Stand-in directories are brought up to date on the
 * way; and O_NOFOLLOW stays visible in F_GETFL, so it is opened by its canonical name then (a name that ends in no
 * link).
 */
static int reopen(const struct call *call, int pin, const struct stat *status, unsigned flags)
{
	const struct place *place = &call->place[0];
	int fd;

	if (place->mount->flags & MOUNT_TTY)
		return lacks_terminal(call) ? -ENXIO : view_open(place, own_flags(flags), 0);
	if (S_ISDIR(status->st_mode) && view_own_listing(place))
		return view_open(place, own_flags(flags & ~(unsigned)O_TRUNC), 0);
	if (flags & O_NOFOLLOW)
		return view_open(place, own_flags(flags) | O_NOFOLLOW, 0);
	fd = open(file_link(pin).path, own_flags(flags));
	return fd < 0 ? -errno : fd;
}

/*
 * An object without a name has its own rule in file_pin, about the access asked for: it is opened by the path once
 * more.
 */
static void open_magic(struct call *call, unsigned want, unsigned flags)
{
	_cleanup_close_ int fd = file_pin(call, 0, want, VIEW_FOLLOW, own_flags(flags & ~(unsigned)O_TRUNC));
	struct stat status;

	if (fd < 0)
		return;
	if (flags & O_TRUNC && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0)
		call_refuse(call, -EACCES, NULL, "not_granted"); /* O_RDONLY|O_TRUNC of what is held for reading */
	else
		call_give_fd(call, steal_fd(&fd), flags & O_CLOEXEC);
}

/*
 * A descriptor opened with O_PATH cannot be injected: SECCOMP_IOCTL_NOTIF_ADDFD takes it by fget(), which knows none
 * (EBADF). One opened for reading would not do: links and sockets have none, opening a FIFO wakes its writers.
 */
static void end_path(struct call *call, int *pin, unsigned flags)
{
	const int kept = (int)(flags & (O_DIRECTORY | O_NOFOLLOW)); /* as O_PATH does; and openat2 takes no others */
	int fd;

	if (disk_pin(call, *pin) < 0)
		return;
	/* Not the pin: F_GETFL shows the flags, and stand-in directories are brought up to date. */
	if (call->place[0].magic)
		fd = steal_fd(pin);
	else
		fd = view_open(&call->place[0], O_PATH | O_CLOEXEC | kept, 0);
	if (fd < 0) {
		call_fail(call, fd);
		return;
	}
	call->outcome.kind = OUTCOME_PATHFD;
	call->outcome.fd = fd;
	call->outcome.fd_cloexec = flags & O_CLOEXEC;
}

/* An existing object was pinned. Errors in the order of do_open() in fs/namei.c. */
static void open_pinned(struct call *call, int *pin, unsigned want, unsigned flags)
{
	struct stat status;

	if (fstat(*pin, &status) < 0) {
		call_fail(call, -errno);
	} else if (flags & O_CREAT && S_ISDIR(status.st_mode)) {
		call_fail(call, -EISDIR);
	} else if (flags & O_DIRECTORY && !S_ISDIR(status.st_mode)) {
		call_fail(call, -ENOTDIR);
	} else if (flags & O_PATH) {
		end_path(call, pin, flags);
	} else if (S_ISLNK(status.st_mode)) {
		call_fail(call, -ELOOP);
	} else if (memfds_evades(call, &status, (int)flags)) {
		call_refuse(call, -EACCES, NULL, "memory_limit");
	} else if (want & POLICY_WRITE &&
		   (disk_admit(call, 0) < 0 || disk_watch(call, *pin, false) < 0 || file_begin(call, 0) < 0)) {
		return;
	} else if (may_block(call, &status, flags)) {
		end_blocking(call, pin, flags);
	} else if (call->place[0].magic) {
		open_magic(call, want, flags);
	} else {
		end_open(call, meminfo_limited(call, reopen(call, *pin, &status, flags)), flags);
	}
}

/* A directory opened for writing is EISDIR before the mount is looked at. */
static void explain_read_only(struct call *call, unsigned flags)
{
	struct outcome refused = call->outcome;
	struct policy_decision decision = call->decision;
	_cleanup_close_ int fd = -1;

	file_forget(call);
	fd = file_pin(call, 0, POLICY_READ, follow_of(flags), O_PATH | O_DIRECTORY | O_CLOEXEC);
	file_forget(call);
	if (fd >= 0) {
		call->decision.verdict = VERDICT_ALLOW;
		call_fail(call, -EISDIR);
		return;
	}
	call->outcome = refused;
	call->decision = decision;
}

/*
 * Reading what is there, in one strict open without a pin: almost every open of a program. False when it might wait, or
 * has rules of its own.
 */
static bool open_direct(struct call *call, const struct open_request *request)
{
	const unsigned special = O_CREAT | O_TRUNC | O_PATH | TMPFILE_BIT;
	int fd;

	if (request->flags & special || (request->flags & O_ACCMODE) != O_RDONLY || request->resolve ||
	    path_wants_dir(call->path[0].text)) /* O_DIRECTORY would show in F_GETFL */
		return false;
	fd = file_pin(call, 0, POLICY_READ, follow_of(request->flags), own_flags(request->flags));
	if (fd >= 0 && lacks_terminal(call)) {
		cleanup_close(&fd);
		call_fail(call, -ENXIO);
		return true;
	}
	if (fd >= 0) {
		end_open(call, meminfo_limited(call, fd), request->flags);
		return true;
	}
	if (file_error(call) != -EINTR)
		return true;
	file_forget(call);
	return false;
}

/* True: ended. False: nothing is there. */
static bool open_existing(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	unsigned want = wanted_rights(flags);
	_cleanup_close_ int pin = -1;
	struct open_scope scope;

	if (file_scope(call, request, &scope) < 0)
		return true;
	pin = file_pin(call, 0, want, follow_of(flags), O_PATH | O_CLOEXEC | (int)(flags & (unsigned)O_DIRECTORY));
	pin = file_unscope(call, &scope, pin);
	if (pin >= 0) {
		open_pinned(call, &pin, want, flags);
		return true;
	}
	if (file_error(call) == -EROFS && !(flags & O_CREAT))
		explain_read_only(call, flags);
	return file_error(call) != -ENOENT || !(flags & O_CREAT);
}

static void open_or_create(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	size_t len = call->path[0].len;

	if (flags & TMPFILE_BIT) {
		open_tmpfile(call, request);
		return;
	}
	if (flags & O_CREAT && len && call->path[0].text[len - 1] == '/') {
		refuse_slash(call, request);
		return;
	}
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		if (!(flags & O_CREAT && flags & O_EXCL) && open_existing(call, request))
			return;
		if (call->outcome.kind == OUTCOME_ERROR)
			file_forget(call);
		if (create(call, request))
			return;
		if (!call->committed)
			file_forget(call);
	}
	call_fail(call, -EEXIST);
}

void file_open(struct call *call, const struct open_request *request)
{
	/* The kernel takes a descriptor before anything else (get_unused_fd_flags()): with a full table nothing is made or cut. */
	if (request->flags & (O_CREAT | O_TRUNC | TMPFILE_BIT) && room_full(call))
		return;
	if (!open_direct(call, request))
		open_or_create(call, request);
	/* What failed otherwise would have failed for want of a descriptor first; asked afterwards, to cost nothing else. */
	if (file_error(call) && call->decision.verdict != VERDICT_DENY)
		(void)room_full(call);
}
