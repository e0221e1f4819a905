/* mkdir(2), mknod(2), symlink(2), link(2), unlink(2), rmdir(2): pin the parent, judge writing of the name. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "policy/paths/after.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/moves.h"
#include "syscalls/file/raise.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

static void names_make_dir(struct call *call, mode_t mode)
{
	_cleanup_close_ int parent = -1;
	const char *name;

	parent = file_pin_parent_of_new_name(call, 0, &name);
	if (parent < 0 || disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME + POLICY_DISK_BYTES_PER_DIRECTORY) < 0 ||
	    file_set_umask_of_target(call) < 0 || file_record_before_change(call, 0) < 0)
		return;
	/*
	 * Only these bits of the mode count, as in vfs_mkdir() in fs/namei.c. The directory may still inherit a
	 * set-group-ID bit of its parent.
	 */
	file_end_call(call, mkdirat(parent, name, mode & (S_IRWXU | S_IRWXG | S_IRWXO | S_ISVTX)));
	disk_count_new_name(call, S_IFDIR);
}

HANDLER(sys_mkdir, names_make_dir(call, call_get_uint(call, 1)))
HANDLER(sys_mkdirat, names_make_dir(call, call_get_uint(call, 2)))

/* Pins the directory for a new node. -1: the outcome is set. */
static int names_pin_parent_for_mknod(struct call *call, mode_t mode, const char **ret_name)
{
	/* Checks the type of the node as may_mknod() in fs/namei.c does; devices are not refused here, but later. */
	bool device = S_ISCHR(mode) || S_ISBLK(mode);
	bool known = device || S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || (mode & S_IFMT) == 0;
	_cleanup_close_ int parent = -1;

	if (!known)
		return call_fail(call, S_ISDIR(mode) ? -EPERM : -EINVAL);
	if (file_refuse_setid(call, mode))
		return -1;
	parent = file_pin_parent_of_new_name(call, 0, ret_name);
	if (parent >= 0 && device)
		return call_refuse(call, -EPERM, NULL, "device_node");
	return steal_fd(&parent);
}

static void names_make_node(struct call *call, unsigned given_mode, dev_t device)
{
	const char *name = "";
	mode_t mode = (uint16_t)given_mode; /* umode_t: the kernel reads a 16-bit value */
	_cleanup_close_ int parent = names_pin_parent_for_mknod(call, mode, &name);

	if (parent < 0 || disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME) < 0 ||
	    file_set_umask_of_target(call) < 0 || file_record_before_change(call, 0) < 0)
		return;
	file_end_call(call, mknodat(parent, name, mode, device));
	disk_count_new_name(call, mode);
}

HANDLER(sys_mknod, names_make_node(call, call_get_uint(call, 1), call_get_uint(call, 2)))
HANDLER(sys_mknodat, names_make_node(call, call_get_uint(call, 2), call_get_uint(call, 3)))

/* A link grants the program nothing: links are resolved in the view. But programs outside the run may follow it. */
void sys_symlink(struct call *call)
{
	_cleanup_close_ int parent = -1;
	const char *name = NULL;

	if (call->text_arg_error || call->text_arg_len == 0)
		call_fail(call, call->text_arg_error ? call->text_arg_error : -ENOENT);
	else
		parent = file_pin_parent_of_new_name(call, 0, &name);
	if (parent < 0 ||
	    (!file_name_is_refused(name) &&
	     file_refuse_link_to_denied_name(call, &call->resolved_place[0], call->text_arg) < 0) ||
	    disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME + call->text_arg_len) < 0 ||
	    file_record_before_change(call, 0) < 0)
		return;
	file_end_call(call, symlinkat(call->text_arg, parent, name));
	disk_count_new_name(call, S_IFLNK);
}

HANDLER(sys_symlinkat, sys_symlink(call))

/*
 * Judges the source of link(2). The new name may have more rights, so the old name must be writable as well. Between
 * two mounts of the view a refusal is EXDEV, the kernel's errno, after which cp -l copies. An object without a virtual
 * name may get one only if it has no name on the host either (O_TMPFILE). 0, or -1 with the outcome set.
 */
static int names_check_link_source(struct call *call, int object)
{
	const struct place *from = &call->resolved_place[0], *to = &call->resolved_place[1];
	struct policy_decision decision;
	struct stat status;

	if (fstat(object, &status) < 0)
		return call_fail(call, -errno);
	if (!from->mount || from->is_magic_link)
		return status.st_nlink == 0 ? 0 : call_refuse(call, -EXDEV, NULL, "not_granted");
	decision = view_judge_place(call->sandbox->view, call->task, from, POLICY_WRITE);
	if (decision.verdict == VERDICT_DENY) {
		(void)call_refuse(call, from->mount == to->mount ? -decision.error : -EXDEV, decision.rule,
				  decision.reason);
		call->decision.wanted_rights = decision.wanted_rights;
		return -1;
	}
	/*
	 * Both names must have the same entries of after_read. Otherwise, once an entry has closed one name for
	 * writing, the file could still be written by the other name.
	 */
	if (policy_find_entries_that_can_close_writing(call->sandbox->policy, from->virt, from->virt_len) !=
	    policy_find_entries_that_can_close_writing(call->sandbox->policy, to->virt, to->virt_len))
		return call_refuse(call, -EXDEV, NULL, "after_read");
	/*
	 * A link to a device or a file of /proc fails with EXDEV natively, too, because these are on mounts of their
	 * own. So would an overlay be, whose place the copy of a workspace takes.
	 */
	if (from->mount->flags & (MOUNT_DEVICE | MOUNT_PROC) || view_is_between_workspaces(from->mount, to->mount))
		return call_fail(call, -EXDEV);
	return S_ISLNK(status.st_mode) ? file_refuse_moved_link_to_denied(call, to, object, "") : 0;
}

/* Links between two mounts of the view that are on one mount of the host. */
static int names_link_between_mounts(const struct call *call, int object, int parent, const char *name)
{
	_cleanup_close_ int from = view_open_host_object(&call->resolved_place[0], object, false);
	_cleanup_close_ int to = view_open_host_object(&call->resolved_place[1], parent, true);

	errno = EXDEV;
	return from < 0 || to < 0 ? -1 : linkat(AT_FDCWD, io_proc_fd_path(from).path, to, name, AT_SYMLINK_FOLLOW);
}

/*
 * Removes a new link in an overlay if its inode number is another one, and fails with EXDEV instead. The overlay of a
 * user namespace cannot find out which file of the lower layer one was copied from: ovl_decode_real_fh() of the kernel
 * wants CAP_DAC_READ_SEARCH. So both names would be inodes of their own: git clone fails then, chmod(2) of one is not
 * seen at the other, and rename(2) says ESTALE. After EXDEV, git and others copy.
 */
static int names_check_linked(const struct call *call, int object, int parent, const char *name)
{
	struct stat from, to;

	if (!(call->resolved_place[1].mount->flags & MOUNT_OVERLAY) || fstat(object, &from) < 0 ||
	    fstatat(parent, name, &to, AT_SYMLINK_NOFOLLOW) < 0 || from.st_ino == to.st_ino)
		return 0;
	(void)unlinkat(parent, name, 0); /* fails only if the target has removed it */
	errno = EXDEV;
	return -1;
}

static void names_link_path(struct call *call, unsigned flags)
{
	_cleanup_close_ int object = -1, parent = -1, raise_dir = -1;
	const char *name;
	int r;

	if (flags & ~(unsigned)(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) {
		call_fail(call, -EINVAL);
		return;
	}
	object = file_pin_path_at(call, 0, POLICY_READ,
			     (flags & AT_EMPTY_PATH) | (flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW));
	if (object < 0)
		return;
	parent = file_pin_parent_of_new_name(call, 1, &name);
	if (parent < 0 || names_check_link_source(call, object) < 0 ||
	    disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME) < 0)
		return;
	raise_dir = raise_open_dir(call, parent, object);
	if ((raise_dir >= 0 ? raise_begin(call, raise_dir, object) : disk_count_copy(call, 0, object, DISK_COPIES)) <
		    0 ||
	    file_record_before_change(call, 1) < 0)
		return;
	moves_note(call, false, false, false);
	if (raise_dir >= 0)
		raise_file(call, raise_dir, &object);
	r = linkat(AT_FDCWD, io_proc_fd_path(object).path, parent, name, AT_SYMLINK_FOLLOW);
	if (r < 0 && errno == EXDEV)
		r = names_link_between_mounts(call, object, parent, name);
	file_end_call(call, r < 0 ? r : names_check_linked(call, object, parent, name));
	if (raise_dir >= 0)
		raise_count_copy(call, object);
	disk_count_new_name(call, S_IFREG);
}

HANDLER(sys_link, names_link_path(call, 0))
HANDLER(sys_linkat, names_link_path(call, call_get_uint(call, 4)))

static void names_remove_name(struct call *call, unsigned flags)
{
	_cleanup_close_ int parent = -1;
	struct disk_removal removal;
	const char *name = NULL;
	bool busy;

	if (flags & ~(unsigned)AT_REMOVEDIR)
		call_fail(call, -EINVAL);
	else
		parent = file_pin_parent(call, 0, &name);
	busy = parent >= 0 && flags & AT_REMOVEDIR && !file_name_is_refused(name) &&
	       file_place_has_mount_below(call, &call->resolved_place[0]);
	if (busy)
		call_fail(call, -EBUSY);
	if (parent < 0 || busy || copying_await(call, parent, name) < 0 || file_record_before_change(call, 0) < 0)
		return;
	removal = disk_begin_removal(call, 0, parent, name);
	if (flags & AT_REMOVEDIR && call->path[0].text[strspn(call->path[0].text, "/")] == '\0')
		call_fail(call, -EBUSY); /* "/", whose name is "." here */
	else
		file_end_call(call, unlinkat(parent, name, (int)flags));
	disk_end_removal(call, &removal);
}

HANDLER(sys_unlink, names_remove_name(call, 0))
HANDLER(sys_rmdir, names_remove_name(call, AT_REMOVEDIR))
HANDLER(sys_unlinkat, names_remove_name(call, call_get_uint(call, 2)))
