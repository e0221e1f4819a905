/* Functions that several handlers of file calls use, besides those that resolve. resolve.h declares both. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/proc/fdinfo.h"
#include "base/path.h"
#include "policy/paths/move.h"
#include "syscalls/account/workspace/bases.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/call/decode.h"
#include "syscalls/file/resolve.h"

int file_pin_path_at(struct call *call, unsigned i, unsigned want, unsigned at_flags)
{
	const struct call_path *path = &call->path[i];

	if (at_flags & AT_EMPTY_PATH && path->len == 0 && !path->error)
		return file_pin_fd(call, path->dirfd, want);
	if (path->is_null_pointer)
		return call_fail(call, -EFAULT);
	return file_pin_path(call, i, want, at_flags & AT_SYMLINK_NOFOLLOW ? 0 : VIEW_FOLLOW_LAST_LINK,
			     O_PATH | O_CLOEXEC);
}

/*
 * Refuses an operation on a device, because devices are shared with the host. A device without a virtual name is the
 * terminal of the user who started callgate. A slave that the program has made is not refused: it belongs to the run
 * alone.
 */
int file_refuse_foreign_object(struct call *call, int fd)
{
	_cleanup_close_ int object = fd;
	struct stat status;
	bool shared;

	if (object < 0)
		return -1;
	if (fstat(object, &status) < 0)
		return call_fail(call, -errno);
	if ((S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode)) &&
	    !view_terminal_is_from_program(&call->resolved_place[0], &shared))
		return call_refuse(call, -EPERM, NULL, "device_metadata");
	if (call->resolved_place[0].is_magic_link && status.st_nlink > 0 &&
	    (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)))
		return call_refuse(call, -EACCES, NULL, "not_granted");
	return steal_fd(&object);
}

/*
 * Counts what an overlay copies when the object is changed; a copy fills it. Takes fd, and returns it; -1: the outcome
 * is set.
 */
static int file_count_copy(struct call *call, int fd)
{
	_cleanup_close_ int object = fd;

	return object < 0 || filling_complete_file(call, object, true) < 0 ||
			       disk_count_copy(call, 0, object, DISK_COPIES) < 0
		       ? -1
		       : steal_fd(&object);
}

int file_pin_for_metadata_change(struct call *call, unsigned at_flags)
{
	return file_count_copy(call,
			       file_refuse_foreign_object(call, file_pin_path_at(call, 0, POLICY_WRITE, at_flags)));
}

bool file_fd_is_opath(const struct call *call, int fd)
{
	struct fdinfo info;

	return fdinfo_read(call->tid, fd, &info) < 0 || info.open_flags & O_PATH;
}

int file_pin_fd_for_metadata_change(struct call *call, int fd)
{
	/* AT_FDCWD (negative) is not a descriptor for a call without a path. */
	if (fd < 0 || file_fd_is_opath(call, fd))
		return call_fail(call, -EBADF);
	return file_count_copy(call, file_refuse_foreign_object(call, file_pin_fd(call, fd, POLICY_WRITE)));
}

/* Whether a mount of the view shows the object, or an object below it, at another path, as a redirect does. */
static bool place_is_shown_elsewhere(const struct place *place, const struct policy_mount *mount, size_t count)
{
	char origin[PATH_MAX];

	if (!place->mount || place->is_magic_link ||
	    place->mount->flags & (MOUNT_SKELETON | MOUNT_PROVIDED | MOUNT_DEVICE | MOUNT_PROC))
		return false;
	if (view_get_host_path(place, origin) < 0)
		return true;
	for (size_t i = 0; i < count; i++)
		if (mount[i].host_path && path_is_below(mount[i].host_path, origin))
			return true;
	return false;
}

bool file_place_has_mount_below(const struct call *call, const struct place *place)
{
	size_t count;
	const struct policy_mount *mount = policy_get_mounts(call->sandbox->policy, &count);

	for (size_t i = 0; i < count; i++)
		if (path_is_below(mount[i].virt, place->virt))
			return true;
	return view_has_node_below(call->sandbox->view, place->virt) || place_is_shown_elsewhere(place, mount, count);
}

int file_refuse_link_to_denied_name(struct call *call, const struct place *place, const char *text)
{
	const char *rule;

	if (file_place_has_mount_below(call, place))
		return call_refuse(call, -EBUSY, NULL, "holds_mount");
	if (policy_link_is_allowed(call->sandbox->policy, place->virt, text, &rule))
		return 0;
	return call_refuse(call, -EACCES, rule, "leads_to_denied");
}

/* Refuses to rename a symbolic link whose target, seen from the new name, would be denied. */
int file_refuse_moved_link_to_denied(struct call *call, const struct place *place, int dirfd, const char *name)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(dirfd, name, text, sizeof(text) - 1);

	if (len < 0)
		return call_fail(call, -errno);
	text[len] = '\0';
	return file_refuse_link_to_denied_name(call, place, text);
}

int file_record_before_change(struct call *call, unsigned i)
{
	const struct place *place = &call->resolved_place[i];
	int r = 0;

	view_note_name_change(call->sandbox->view);
	filling_await_change(call, i);
	bases_keep(call, i);
	if (place->mount && !place->is_magic_link && !(place->mount->flags & (MOUNT_DEVICE | MOUNT_PROC)))
		r = changes_add_touched_place(call->sandbox->changes, place);
	if (r < 0)
		return call_fail(call, r);
	return call_commit_record(call) < 0 ? -1 : 0;
}

void file_end_call(struct call *call, long result)
{
	call_return_result(call, result < 0 ? -errno : result);
}

void file_end_call_with_output(struct call *call, uint64_t addr, const void *from, size_t len, int64_t value)
{
	int r = value < 0 ? -errno : decode_write_output(call, addr, from, len);

	call_return_result(call, r < 0 ? r : value);
}

int file_set_umask_of_target(struct call *call)
{
	long mask = task_table_read_status_number(call->tid, "Umask", 8);

	if (mask < 0 || !call_thread_still_waits(call))
		return call_end_without_response(call);
	(void)umask((mode_t)mask);
	return 0;
}

bool file_refuse_setid(struct call *call, mode_t mode)
{
	if (!(mode & (S_ISUID | S_ISGID)))
		return false;
	call_refuse(call, -EPERM, NULL, "set_id_bits");
	return true;
}
