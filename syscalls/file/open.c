/*
 * open(2), creat(2), openat(2), openat2(2). Judges and pins an object, and opens the pinned object with the access that
 * the program asks for; or creates a file in its pinned parent directory.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/account/limits/memfds.h"
#include "syscalls/account/limits/meminfo.h"
#include "syscalls/account/workspace/reads.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"
#include "syscalls/file/terminal.h"
#include "syscalls/table/handlers.h"

#define OPEN_ATTEMPTS_MAX 16 /* attempts; EEXIST if a name appears and vanishes faster than it can be opened or made */
/* O_TMPFILE without the bit of O_DIRECTORY that it includes */
#define TMPFILE_FLAG ((unsigned)O_TMPFILE & ~(unsigned)O_DIRECTORY)

/* flags that the supervisor's open of a pinned object must not have */
#define OPEN_FLAGS_NOT_FOR_REOPEN ((unsigned)(O_NOFOLLOW | O_CREAT | O_EXCL))
/* O_LARGEFILE, which is 0 in glibc: the first value on x86-64, the second on aarch64. The other value is O_NOFOLLOW. */
#define LARGEFILE_FLAGS (0100000u | 0400000u)
#define OPEN_HOW_BYTES_MIN 24 /* OPEN_HOW_SIZE_VER0 */
#define OPEN_FLAGS_KNOWN                                                                                           \
	((unsigned)(O_ACCMODE | O_CREAT | O_EXCL | O_NOCTTY | O_TRUNC | O_APPEND | O_NONBLOCK | O_SYNC | O_DSYNC | \
		    O_ASYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC | O_PATH | O_TMPFILE) |  \
	 LARGEFILE_FLAGS)
/* other flags have no effect beside O_PATH */
#define FLAGS_VALID_WITH_O_PATH ((unsigned)(O_DIRECTORY | O_NOFOLLOW | O_PATH | O_CLOEXEC))
#define OPEN_MODE_BITS 07777u /* permission bits that the kernel takes from open's mode */
#define RESOLVE_FLAGS_KNOWN                                                                                        \
	(RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH | RESOLVE_IN_ROOT | \
	 RESOLVE_CACHED)

/* POLICY_READ, POLICY_WRITE: what the open's flags ask for. */
static unsigned open_get_wanted_rights(unsigned flags)
{
	static const unsigned rights[] = {
		[O_RDONLY] = POLICY_READ,
		[O_WRONLY] = POLICY_WRITE,
		[O_RDWR] = POLICY_READ | POLICY_WRITE,
		/*
		 * a descriptor of access mode 3 (O_ACCMODE) is for ioctl(2) only, but both rights are checked: open(2)
		 */
		[O_ACCMODE] = POLICY_READ | POLICY_WRITE,
	};

	if (flags & O_PATH)
		return POLICY_READ;
	return rights[flags & O_ACCMODE] | (flags & (O_TRUNC | TMPFILE_FLAG) ? POLICY_WRITE : 0);
}

/* VIEW_FOLLOW_LAST_LINK, unless the open's flags forbid it. */
static unsigned open_get_follow_flag(unsigned flags)
{
	return flags & O_NOFOLLOW || (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) ? 0 : VIEW_FOLLOW_LAST_LINK;
}

/* Returns the flags with which the supervisor opens the pinned object for the target. */
static int open_get_supervisor_open_flags(unsigned flags)
{
	return (int)((flags & ~OPEN_FLAGS_NOT_FOR_REOPEN) | O_CLOEXEC | O_NOCTTY);
}

/* Ends the call with a descriptor of an existing object, or with -errno. */
static void open_end_call(struct call *call, int fd, unsigned flags)
{
	if (fd >= 0 && (flags & O_ACCMODE) != O_WRONLY)
		reads_note(call, 0);
	call_return_fd(call, fd, flags & O_CLOEXEC);
	if (fd >= 0 && call->resolved_place[0].mount->flags & MOUNT_DEV_PTS &&
	    terminal_becomes_controlling(call, flags)) {
		call->outcome.kind = OUTCOME_OPATH_FD;
		call->outcome.becomes_controlling_terminal = true;
	}
}

/* Ends the call with the descriptor of a new file, or with -errno. */
static void open_end_new_file(struct call *call, int fd, unsigned flags)
{
	_cleanup_close_ int made = fd;

	if (fd >= 0 && disk_watch_file(call, fd, true) < 0)
		return;
	call_return_fd(call, made < 0 ? made : steal_fd(&made), flags & O_CLOEXEC);
}

/* Makes a temporary file without a name. linkat(2) may name it later, so writing of the directory is judged. */
static void open_tmpfile(struct call *call, const struct open_request *request)
{
	_cleanup_close_ int dir = -1;
	struct openat2_resolved_path resolved;
	int fd;

	if (file_refuse_setid(call, request->mode) || file_resolve_openat2_path(call, request, &resolved) < 0)
		return;
	dir = file_pin_path(call, 0, POLICY_WRITE, open_get_follow_flag(request->flags),
			    O_PATH | O_DIRECTORY | O_CLOEXEC);
	dir = file_restore_path_after_openat2(call, &resolved, dir);
	if (dir < 0 || disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME) < 0 || file_set_umask_of_target(call) < 0 ||
	    call_commit_record(call) < 0)
		return;
	fd = openat(dir, ".", open_get_supervisor_open_flags(request->flags) | (int)(request->flags & O_EXCL),
		    request->mode);
	open_end_new_file(call, fd < 0 ? -errno : fd, request->flags);
}

/* Pins the directory for a new file. Copies the name, which may be a part of the resolved path's text. */
static int open_pin_parent_of_new_file(struct call *call, const struct open_request *request,
				       char ret_name[NAME_MAX + 1])
{
	struct openat2_resolved_path resolved;
	const char *name = "";
	int parent;

	if (file_resolve_openat2_path(call, request, &resolved) < 0)
		return -1;
	if (request->flags & O_EXCL)
		parent = file_pin_parent_of_new_name(call, 0, &name);
	else
		parent = file_pin_parent_for_open_create(call, 0, open_get_follow_flag(request->flags), &name);
	parent = file_restore_path_after_openat2(call, &resolved, parent);
	if (parent >= 0 && snprintf(ret_name, NAME_MAX + 1, "%s", name) > NAME_MAX) {
		close_fd(&parent);
		call_fail(call, -ENAMETOOLONG);
	}
	return parent;
}

/* Makes the file. True: the call has ended. False: the name exists by now, and may be opened. */
static bool open_create_file(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	char name[NAME_MAX + 1];
	_cleanup_close_ int parent = open_pin_parent_of_new_file(call, request, name);
	int fd;

	if (parent < 0)
		return true;
	if (file_refuse_setid(call, request->mode) || disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME) < 0 ||
	    file_set_umask_of_target(call) < 0 || file_record_before_change(call, 0) < 0)
		return true;
	fd = openat(parent, name, open_get_supervisor_open_flags(flags) | O_CREAT | O_EXCL | (int)(flags & O_NOFOLLOW),
		    request->mode);
	if (fd < 0 && errno == EEXIST && !(flags & O_EXCL))
		return false;
	open_end_new_file(call, fd < 0 ? -errno : fd, flags);
	disk_count_new_name(call, S_IFREG);
	return true;
}

/*
 * "name/" with O_CREAT is EISDIR, whether the name exists or not, unless its directory fails first (open_last_lookups()
 * in fs/namei.c). So only the directory is resolved.
 */
static void open_refuse_trailing_slash(struct call *call, const struct open_request *request)
{
	struct call_path *path = &call->path[0], saved = *path;
	_cleanup_close_ int fd = -1;
	struct openat2_resolved_path resolved;

	while (path->len > 1 && path->text[path->len - 1] == '/')
		path->len--;
	while (path->len > 0 && path->text[path->len - 1] != '/')
		path->len--;
	if (path->len == 0)
		path->text[path->len++] = '.';
	path->text[path->len] = '\0';
	if (file_resolve_openat2_path(call, request, &resolved) == 0)
		fd = file_restore_path_after_openat2(call, &resolved,
						     file_pin_path(call, 0, POLICY_READ, VIEW_FOLLOW_LAST_LINK,
								   O_PATH | O_CLOEXEC));
	*path = saved;
	if (fd >= 0)
		call_fail(call, -EISDIR);
}

/*
 * Whether opening the object may block, because it is a FIFO or a terminal. True: a worker thread opens it, which can
 * be cancelled, so that the supervisor thread never blocks.
 */
static bool open_may_block(const struct call *call, const struct stat *status, unsigned flags)
{
	const struct mount *mount = call->resolved_place[0].mount;

	if (flags & O_NONBLOCK)
		return false;
	if (S_ISFIFO(status->st_mode))
		return (flags & O_ACCMODE) != O_RDWR;
	/* A terminal without a name needs no worker, because file_pin_path() has opened it already. */
	return S_ISCHR(status->st_mode) && !call->resolved_place[0].is_magic_link &&
	       !(mount && mount->flags & MOUNT_DEVICE);
}

/*
 * Opens the pinned object with the access that the program asked for. view_open_place() updates stand-in directories.
 * O_NOFOLLOW must show in F_GETFL, but a link in /proc cannot be opened with it, so the name is opened.
 */
static int open_reopen_pinned(const struct call *call, int pin, const struct stat *status, unsigned flags)
{
	const struct place *place = &call->resolved_place[0];
	int fd;

	if (place->mount->flags & MOUNT_TTY)
		return terminal_open_controlling(call, open_get_supervisor_open_flags(flags));
	/* opening /dev/ptmx a second time would make another pair of terminals, which is not registered */
	if (place->mount->flags & MOUNT_DEV_PTS)
		return view_open_place(place, open_get_supervisor_open_flags(flags), 0);
	if (S_ISDIR(status->st_mode) && view_has_standin(place))
		return view_open_place(place, open_get_supervisor_open_flags(flags & ~(unsigned)O_TRUNC), 0);
	if (flags & O_NOFOLLOW)
		return view_open_place(place, open_get_supervisor_open_flags(flags) | O_NOFOLLOW, 0);
	fd = open(io_proc_fd_path(pin).path, open_get_supervisor_open_flags(flags));
	return fd < 0 ? -errno : fd;
}

/* Opens an object without a name. file_pin_path() checks the access. */
static void open_nameless_object(struct call *call, unsigned want, unsigned flags)
{
	_cleanup_close_ int fd = file_pin_path(call, 0, want, VIEW_FOLLOW_LAST_LINK,
					       open_get_supervisor_open_flags(flags & ~(unsigned)O_TRUNC));
	struct stat status;

	if (fd < 0)
		return;
	if (filling_complete_file(call, fd, want & POLICY_WRITE) < 0)
		return;
	if (flags & O_TRUNC && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && ftruncate(fd, 0) < 0)
		call_refuse(call, -EACCES, NULL, "not_granted"); /* O_RDONLY|O_TRUNC by a program that may only read */
	else
		call_return_fd(call, steal_fd(&fd), flags & O_CLOEXEC);
}

/*
 * Ends the call with an O_PATH descriptor. ADDFD cannot inject it, because its fget() fails with EBADF. A descriptor
 * for reading cannot replace it: links and sockets cannot be opened, and opening a FIFO wakes its writers.
 */
static void open_end_with_opath_fd(struct call *call, int *pin, unsigned flags)
{
	const int kept = (int)(flags & (O_DIRECTORY | O_NOFOLLOW)); /* allowed with O_PATH */
	int fd;

	/* The program may pass the descriptor to a process outside, which could open the file by it. */
	if (filling_complete_file(call, *pin, false) < 0 || disk_pin_file_of_opath_fd(call, *pin) < 0)
		return;
	/* Opens again, because F_GETFL must show the flags, and stand-in directories must be updated. */
	fd = call->resolved_place[0].is_magic_link ? steal_fd(pin)
					  : view_open_place(&call->resolved_place[0], O_PATH | O_CLOEXEC | kept, 0);
	call_return_fd(call, fd, flags & O_CLOEXEC);
	if (fd >= 0)
		call->outcome.kind = OUTCOME_OPATH_FD;
}

/* Opens an existing object. Errors come in the order of do_open() in fs/namei.c. */
static void open_pinned_object(struct call *call, int *pin, unsigned want, unsigned flags)
{
	struct filling_emptied emptied = {NULL, NULL};
	const bool empties = flags & O_TRUNC && !call->resolved_place[0].is_magic_link;
	struct stat status;
	int fd;

	if (fstat(*pin, &status) < 0) {
		call_fail(call, -errno);
	} else if (flags & O_CREAT && S_ISDIR(status.st_mode)) {
		call_fail(call, -EISDIR);
	} else if (flags & O_DIRECTORY && !S_ISDIR(status.st_mode)) {
		call_fail(call, -ENOTDIR);
	} else if (flags & O_PATH) {
		open_end_with_opath_fd(call, pin, flags);
	} else if (S_ISLNK(status.st_mode)) {
		call_fail(call, -ELOOP);
	} else if (terminal_is_not_of_run(call, &status)) {
		call_refuse(call, -EACCES, NULL, "foreign_terminal");
	} else if (file_refuse_unless_public(call, &status, S_IROTH) < 0) {
		return;
	} else if (memfds_opens_zero_device(call, &status, (int)flags)) {
		call_refuse(call, -EACCES, NULL, "memory_limit");
	} else if (!(empties && filling_find_emptied(call, *pin, &emptied)) &&
		   filling_complete_file(call, *pin, want & POLICY_WRITE) < 0) {
		return;
	} else if (want & POLICY_WRITE &&
		   (disk_admit_bytes(call, 0) < 0 ||
		    disk_count_copy(call, 0, *pin, empties ? DISK_EMPTIES : DISK_OPENS) < 0 ||
		    disk_watch_file(call, *pin, false) < 0 || file_record_before_change(call, 0) < 0)) {
		return;
	} else if (open_may_block(call, &status, flags)) {
		call_return_fd(call, steal_fd(pin), flags & O_CLOEXEC);
		call->outcome.kind = OUTCOME_BLOCKING_OPEN;
		call->outcome.open_flags = open_get_supervisor_open_flags(flags);
	} else if (call->resolved_place[0].is_magic_link) {
		open_nameless_object(call, want, flags);
	} else {
		fd = open_reopen_pinned(call, *pin, &status, flags);
		if (fd >= 0)
			filling_end_emptied(&emptied, fd);
		open_end_call(call, meminfo_replace_with_limited_file(call, fd), flags);
	}
}

/* Opening a directory for writing fails with EISDIR, before EROFS. */
static void open_check_write_to_directory(struct call *call, unsigned flags)
{
	struct outcome refused = call->outcome;
	struct policy_decision decision = call->decision;
	_cleanup_close_ int fd = -1;

	file_reset_outcome(call);
	fd = file_pin_path(call, 0, POLICY_READ, open_get_follow_flag(flags), O_PATH | O_DIRECTORY | O_CLOEXEC);
	file_reset_outcome(call);
	if (fd >= 0) {
		call->decision.verdict = VERDICT_ALLOW;
		call_fail(call, -EISDIR);
		return;
	}
	call->outcome = refused;
	call->decision = decision;
}

/*
 * Handles the usual case: opens an existing file for reading by a single openat2(2). False: nothing was done, because
 * the open may block, or the flags ask for more than reading.
 */
static bool open_try_simple_read(struct call *call, const struct open_request *request)
{
	const unsigned special = O_CREAT | O_TRUNC | O_PATH | TMPFILE_FLAG;
	int fd;

	if (request->flags & special || (request->flags & O_ACCMODE) != O_RDONLY || request->resolve ||
	    /* not here: such a path has to be opened with O_DIRECTORY, which the program would see in F_GETFL */
	    path_requires_directory(call->path[0].text))
		return false;
	fd = file_pin_path(call, 0, POLICY_READ, open_get_follow_flag(request->flags),
			   open_get_supervisor_open_flags(request->flags));
	if (fd >= 0 && terminal_refuse_if_not_of_run(call, fd)) {
		cleanup_close(&fd);
		return true;
	}
	if (fd >= 0 && filling_complete_file(call, fd, false) < 0) {
		cleanup_close(&fd);
		return true;
	}
	if (fd >= 0) {
		open_end_call(call, meminfo_replace_with_limited_file(call, fd), request->flags);
		return true;
	}
	if (file_get_outcome_error(call) != -EINTR)
		return true;
	file_reset_outcome(call);
	return false;
}

/* Opens an existing object. True: the call has ended. False: nothing exists there. */
static bool open_existing_file(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	unsigned want = open_get_wanted_rights(flags);
	_cleanup_close_ int pin = -1;
	struct openat2_resolved_path resolved;

	if (file_resolve_openat2_path(call, request, &resolved) < 0)
		return true;
	pin = file_pin_path(call, 0, want, open_get_follow_flag(flags),
			    O_PATH | O_CLOEXEC | (int)(flags & (unsigned)O_DIRECTORY));
	pin = file_restore_path_after_openat2(call, &resolved, pin);
	if (pin >= 0) {
		open_pinned_object(call, &pin, want, flags);
		return true;
	}
	if (file_get_outcome_error(call) == -EROFS && !(flags & O_CREAT))
		open_check_write_to_directory(call, flags);
	return file_get_outcome_error(call) != -ENOENT || !(flags & O_CREAT);
}

/* Performs a judged open: of an existing object, or with O_CREAT. */
static void open_or_create(struct call *call, const struct open_request *request)
{
	unsigned flags = request->flags;
	size_t len = call->path[0].len;

	if (flags & TMPFILE_FLAG) {
		open_tmpfile(call, request);
		return;
	}
	if (flags & O_CREAT && len && call->path[0].text[len - 1] == '/') {
		open_refuse_trailing_slash(call, request);
		return;
	}
	for (int tries = 0; tries < OPEN_ATTEMPTS_MAX; tries++) {
		if (!(flags & O_CREAT && flags & O_EXCL) && open_existing_file(call, request))
			return;
		if (call->outcome.kind == OUTCOME_ERROR)
			file_reset_outcome(call);
		if (open_create_file(call, request))
			return;
		if (!call->record_was_written)
			file_reset_outcome(call);
	}
	call_fail(call, -EEXIST);
}

/* Judges and performs open, openat, creat or openat2. */
static void file_open_by_request(struct call *call, const struct open_request *request)
{
	/* The kernel allocates a descriptor first (get_unused_fd_flags()): with a full table no file is changed. */
	if (request->flags & (O_CREAT | O_TRUNC | TMPFILE_FLAG) && fd_table_is_full(call))
		return;
	if (!open_try_simple_read(call, request))
		open_or_create(call, request);
	/* With a full table, EMFILE replaces any other error. Checked last, so that a successful open costs nothing. */
	if (file_get_outcome_error(call) && call->decision.verdict != VERDICT_DENY)
		(void)fd_table_is_full(call);
}

/* ---- the handlers: they check flags and modes before the path ---- */

/* Checks the flags of all calls, as build_open_flags() in fs/open.c does (O_CREAT|O_DIRECTORY since Linux 6.3). */
static int open_check_flags(const struct open_request *request)
{
	unsigned flags = request->flags;

	if ((flags & (O_DIRECTORY | O_CREAT)) == (O_DIRECTORY | O_CREAT))
		return -EINVAL;
	if (flags & TMPFILE_FLAG && (!(flags & O_DIRECTORY) || ((flags & O_ACCMODE) == O_RDONLY && !(flags & O_TRUNC))))
		return -EINVAL;
	return 0;
}

/* For calls other than openat2, which ignore unknown flags: build_open_how() in fs/open.c. */
static void open_by_flags(struct call *call, unsigned flags, unsigned mode)
{
	struct open_request request = {.flags = flags & OPEN_FLAGS_KNOWN};
	int r;

	if (flags & O_PATH)
		request.flags &= FLAGS_VALID_WITH_O_PATH;
	if (request.flags & (O_CREAT | TMPFILE_FLAG))
		request.mode = mode & OPEN_MODE_BITS;
	r = open_check_flags(&request);
	if (r < 0)
		call_fail(call, r);
	else
		file_open_by_request(call, &request);
}

HANDLER(sys_open, open_by_flags(call, call_get_uint(call, 1), call_get_uint(call, 2)))
HANDLER(sys_creat, open_by_flags(call, O_CREAT | O_WRONLY | O_TRUNC, call_get_uint(call, 1)))
HANDLER(sys_openat, open_by_flags(call, call_get_uint(call, 2), call_get_uint(call, 3)))

/* Checks the struct of openat2, which refuses unknown flags. */
static int open_check_how(const struct open_how *how)
{
	bool creates = how->flags & (O_CREAT | TMPFILE_FLAG);

	if (how->flags & ~(uint64_t)OPEN_FLAGS_KNOWN || how->resolve & ~(uint64_t)RESOLVE_FLAGS_KNOWN)
		return -EINVAL;
	if (how->resolve & RESOLVE_BENEATH && how->resolve & RESOLVE_IN_ROOT)
		return -EINVAL;
	if (creates ? how->mode & ~(uint64_t)OPEN_MODE_BITS : how->mode)
		return -EINVAL;
	if (how->flags & O_PATH && how->flags & ~(uint64_t)FLAGS_VALID_WITH_O_PATH)
		return -EINVAL;
	return 0;
}

void sys_openat2(struct call *call)
{
	struct open_request request;
	struct open_how how = {0};
	int r = decode_extensible_struct(call, 2, &how, sizeof(how), call->arg[3], OPEN_HOW_BYTES_MIN);

	if (r == 0)
		r = open_check_how(&how);
	request = (struct open_request){
		.flags = (unsigned)how.flags, .mode = (mode_t)how.mode, .resolve = how.resolve};
	if (r == 0)
		r = open_check_flags(&request);
	/* EAGAIN, "not cached", is always correct: the program tries again without the flag (openat2(2)). */
	call->how.flags = how.flags;
	call->how.mode = how.mode;
	call->how.resolve = how.resolve;
	if (r == 0 && how.resolve & RESOLVE_CACHED)
		r = -EAGAIN;
	if (r < 0)
		call_fail(call, r);
	else
		file_open_by_request(call, &request);
}
