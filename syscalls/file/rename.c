/*
 * rename(2) and renameat2(2). Both names are judged. A directory moves with everything below it, whose rights must not
 * change by that. Rules decide this (policy/paths/move.h); the directory is listed only where they cannot.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/paths/below.h"
#include "policy/paths/move.h"
#include "syscalls/account/workspace/bases.h"
#include "syscalls/account/result/changes.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/filling.h"
#include "syscalls/account/workspace/moves.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#define RENAME_TREE_DEPTH_MAX 128 /* most directories that are open while a tree is listed */

/* One of the two names of a rename. */
struct rename_operand {
	int parent_fd; /* O_PATH descriptor of the name's directory */
	const char *name; /* last name of the path, with trailing slashes */
	/* the name without trailing slashes, so that fstatat follows no link */
	char name_without_slashes[NAME_MAX + 1];
	bool exists;        /* `status` is set */
	struct stat status; /* zeros if the name does not exist */
};

/* The paths of an object before and after a rename. */
struct rename_tree_walk {
	const struct policy *policy;
	char from[PATH_MAX], to[PATH_MAX];
	size_t from_len, to_len;
	/* the rule because of which the rights at both places differ; NULL: no such rule, or unknown */
	const char *rule;
};

static bool rename_append_name(char *path, size_t *len, const char *name, size_t name_len)
{
	int added = snprintf(path + *len, PATH_MAX - *len, "/%.*s", (int)name_len, name);

	if (added < 0 || *len + (size_t)added >= PATH_MAX)
		return false;
	*len += (size_t)added;
	return true;
}

/* Whether an object may move: a denied object must stay denied, and the program must be able to make the new name. */
static bool rename_rights_permit_move(struct rename_tree_walk *pair)
{
	if (!policy_rights_differ(pair->policy, pair->from, pair->to))
		return true;
	pair->rule = policy_decide_access(pair->policy, pair->from, pair->from_len, POLICY_READ).rule;
	if (policy_get_rights(pair->policy, pair->from, pair->from_len))
		pair->rule = policy_decide_access(pair->policy, pair->to, pair->to_len, POLICY_WRITE).rule;
	return false;
}

/* Whether a symbolic link may have its new path, by where it would lead from there. */
static bool rename_link_may_move(struct rename_tree_walk *pair, int dirfd, const char *name)
{
	char text[PATH_MAX];
	ssize_t len = readlinkat(dirfd, name, text, sizeof(text) - 1);

	if (len < 0)
		return false;
	text[len] = '\0';
	return policy_link_is_allowed(pair->policy, pair->to, text, &pair->rule);
}

static bool rename_tree_may_move(struct rename_tree_walk *pair, int dirfd, const char *name, unsigned depth);

/* Whether an entry of dirfd may move, with everything below it. The entry need not exist. */
static bool rename_entry_and_tree_may_move(struct rename_tree_walk *pair, int dirfd, const char *name, unsigned depth)
{
	struct stat status;

	if (fstatat(dirfd, name, &status, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT;
	if (!rename_rights_permit_move(pair))
		return false;
	if (S_ISLNK(status.st_mode))
		return rename_link_may_move(pair, dirfd, name);
	return !S_ISDIR(status.st_mode) ||
	       (depth < RENAME_TREE_DEPTH_MAX && rename_tree_may_move(pair, dirfd, name, depth + 1));
}

/* Whether an entry of the renamed directory, and all below it, may have its new path. */
static bool rename_entry_by_name_may_move(struct rename_tree_walk *pair, int dirfd, const char *name, size_t len,
					  unsigned depth)
{
	const size_t from_len = pair->from_len, to_len = pair->to_len;
	bool may = rename_append_name(pair->from, &pair->from_len, name, len) &&
		   rename_append_name(pair->to, &pair->to_len, name, len) &&
		   rename_entry_and_tree_may_move(pair, dirfd, pair->from + from_len + 1, depth);

	pair->from[pair->from_len = from_len] = '\0';
	pair->to[pair->to_len = to_len] = '\0';
	return may;
}

/* Whether all entries of a directory may move. False if it cannot be read. */
static bool rename_all_entries_may_move(struct rename_tree_walk *pair, int dirfd, const char *name, unsigned depth)
{
	const int fd = io_open_dir(dirfd, name);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	const struct dirent *entry;
	int error = 0;
	bool may = dir;

	while (may && (entry = io_read_entry(dir, &error)))
		may = rename_entry_by_name_may_move(pair, fd, entry->d_name, strlen(entry->d_name), depth);
	return may && error == 0;
}

/* Whether everything below directory `name` of dirfd may move. Checks only names that the rules treat differently. */
static bool rename_tree_may_move(struct rename_tree_walk *pair, int dirfd, const char *name, unsigned depth)
{
	_cleanup_close_ int fd = -1;
	struct policy_move below;
	bool may = true;

	policy_compare_rights(pair->policy, pair->from, pair->to, &below);
	if (below.kind == POLICY_MOVE_RIGHTS_SAME)
		return true;
	if (below.kind == POLICY_MOVE_DIFFERS_ANYWHERE)
		return rename_all_entries_may_move(pair, dirfd, name, depth);
	fd = openat(dirfd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	for (size_t i = 0; may && i < below.differing_name_count; i++)
		may = fd >= 0 && rename_entry_by_name_may_move(pair, fd, below.name[i].name, below.name[i].len, depth);
	return may;
}

/* Checks a directory. 0, or -1: EBUSY above a mount; EXDEV, after which mv copies, if rights below would change. */
static int rename_refuse_unmovable_dir(struct call *call, const struct rename_operand *end, const struct place *from,
				       const struct place *to)
{
	struct rename_tree_walk pair = {
		.policy = call->sandbox->policy, .from_len = from->virt_len, .to_len = to->virt_len};

	if (file_place_has_mount_below(call, from) || file_place_has_mount_below(call, to))
		return call_refuse(call, -EBUSY, NULL, "holds_mount");
	/* The scratch space is removed after the run: nothing that a rule denies may be moved there. */
	if (to->mount->flags & MOUNT_PRIVATE && !(from->mount->flags & MOUNT_PRIVATE) &&
	    !policy_grants_only_whole_trees(pair.policy))
		return call_refuse(call, -EXDEV, NULL, "ends_with_run");
	memcpy(pair.from, from->virt, from->virt_len + 1);
	memcpy(pair.to, to->virt, to->virt_len + 1);
	if (rename_tree_may_move(&pair, end->parent_fd, end->name_without_slashes, 0))
		return 0;
	return call_refuse(call, -EXDEV, pair.rule, "rights_differ_below");
}

/* Checks whether the object of a name may move. 0, or -1 with the outcome set. */
static int rename_refuse_unmovable_object(struct call *call, const struct rename_operand *end, unsigned from,
					  unsigned to)
{
	if (S_ISDIR(end->status.st_mode))
		return rename_refuse_unmovable_dir(call, end, &call->resolved_place[from], &call->resolved_place[to]);
	return S_ISLNK(end->status.st_mode)
		       ? file_refuse_moved_link_to_denied(call, &call->resolved_place[to], end->parent_fd,
							  end->name_without_slashes)
		       : 0;
}

/* Finds out whether the name of a rename exists, and what it is. */
static void rename_stat_object(struct rename_operand *end)
{
	size_t len = strcspn(end->name, "/");

	if (len > NAME_MAX)
		return; /* the name does not exist; the supervisor's renameat2 will fail with ENAMETOOLONG */
	memcpy(end->name_without_slashes, end->name, len);
	end->name_without_slashes[len] = '\0';
	if (path_is_dot_name(end->name_without_slashes))
		return; /* "." or "..": the supervisor's renameat2 will fail with EBUSY */
	end->exists = fstatat(end->parent_fd, end->name_without_slashes, &end->status, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Whether the directory's mode lets this process take the name away; else rename(2) fails, and nothing is copied. */
static bool rename_mode_permits(const struct rename_operand *end)
{
	struct stat dir;

	return syscall(SYS_faccessat2, end->parent_fd, "", W_OK | X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0 &&
	       fstat(end->parent_fd, &dir) == 0 &&
	       (!(dir.st_mode & S_ISVTX) || dir.st_uid == geteuid() || end->status.st_uid == geteuid());
}

/* Counts what an overlay copies when the file gets another name; a copy fills it. 0, or -1 with the outcome set. */
static int rename_count_copy(struct call *call, const struct rename_operand *end, unsigned i)
{
	_cleanup_close_ int fd = -1;

	if (!S_ISREG(end->status.st_mode) ||
	    (!call->sandbox->disk && !filling_is_possible(call) && end->status.st_size < COPYING_QUICK_BYTES))
		return 0;
	fd = openat(end->parent_fd, end->name_without_slashes, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return 0; /* a name that has vanished is not copied */
	if (filling_complete_file(call, fd, false) < 0)
		return -1;
	return disk_count_copy(call, i, fd, rename_mode_permits(end) ? DISK_MOVES : DISK_COPIES);
}

/* Judges both names, notes the change for `changes`, and commits the record. 0, or -1 with the outcome set. */
static int rename_judge_and_record(struct call *call, struct rename_operand end[2], unsigned flags)
{
	bool exchange = flags & RENAME_EXCHANGE;
	int r;

	view_note_name_change(call->sandbox->view);
	rename_stat_object(&end[0]);
	rename_stat_object(&end[1]);
	if (!end[0].exists || (exchange && !end[1].exists) || file_name_is_refused(end[1].name))
		/* the call cannot succeed; the supervisor's renameat2 will fail with the kernel's errno */
		return call_commit_record(call);
	/* as from an overlay, whose place the copy of a workspace takes */
	if (view_is_between_workspaces(call->resolved_place[0].mount, call->resolved_place[1].mount))
		return call_fail(call, -EXDEV);
	if (rename_refuse_unmovable_object(call, &end[0], 0, 1) < 0 ||
	    (exchange && rename_refuse_unmovable_object(call, &end[1], 1, 0) < 0))
		return -1;
	if (rename_count_copy(call, &end[0], 0) < 0 ||
	    (exchange ? rename_count_copy(call, &end[1], 1) : copying_await(call, end[1].parent_fd, end[1].name)) < 0)
		return -1;
	for (unsigned i = 0; i < 2; i++) {
		if (i == 1 && end[1].exists)
			filling_await_change(call, i); /* a new file may get its inode number at once */
		bases_keep(call, i);
		r = changes_add_touched_place(call->sandbox->changes, &call->resolved_place[i]);
		if (r < 0)
			return call_fail(call, r);
	}
	moves_note(call, exchange, S_ISDIR(end[0].status.st_mode), exchange && S_ISDIR(end[1].status.st_mode));
	return call_commit_record(call);
}

/* Renames between two mounts of the view that are on one mount of the host. */
static long rename_between_mounts(const struct call *call, const struct rename_operand end[2], unsigned flags)
{
	_cleanup_close_ int from = view_open_host_object(&call->resolved_place[0], end[0].parent_fd, true);
	_cleanup_close_ int to = view_open_host_object(&call->resolved_place[1], end[1].parent_fd, true);

	errno = EXDEV;
	return from < 0 || to < 0 ? -1 : syscall(SYS_renameat2, from, end[0].name, to, end[1].name, flags);
}

/* Refuses "." and "..". Called before the mounts and the names below them are checked. */
static int rename_refuse_dot_names(struct call *call, const struct rename_operand end[2], unsigned flags)
{
	for (unsigned i = 0; i < 2; i++)
		if (file_name_is_refused(end[i].name) && strcspn(end[i].name, "/") <= 2)
			return call_fail(call, i == 1 && flags & RENAME_NOREPLACE ? -EEXIST : -EBUSY);
	return 0;
}

/* Checks renameat2's flags. 0, or -1 with the outcome set. */
static int rename_check_flags(struct call *call, unsigned flags)
{
	if (flags & ~(unsigned)(RENAME_NOREPLACE | RENAME_EXCHANGE | RENAME_WHITEOUT) ||
	    (flags & RENAME_EXCHANGE && flags & (RENAME_NOREPLACE | RENAME_WHITEOUT)))
		return call_fail(call, -EINVAL);
	return flags & RENAME_WHITEOUT ? call_refuse(call, -EPERM, NULL, "device_node") : 0;
}

static void rename_path(struct call *call, unsigned flags)
{
	struct rename_operand end[2] = {{.parent_fd = -1}, {.parent_fd = -1}};
	struct disk_removal replaced = {.fd = -1};
	_cleanup_close_ int from = -1, to = -1;
	bool same;
	long r;

	if (rename_check_flags(call, flags) < 0)
		return;
	end[0].parent_fd = from = file_pin_parent(call, 0, &end[0].name);
	if (from < 0)
		return;
	end[1].parent_fd = to = file_pin_parent(call, 1, &end[1].name);
	if (to < 0 || rename_refuse_dot_names(call, end, flags) < 0 || rename_judge_and_record(call, end, flags) < 0)
		return;
	if (!(flags & RENAME_EXCHANGE) && end[1].exists)
		replaced = disk_begin_removal(call, 1, to, end[1].name_without_slashes);
	r = syscall(SYS_renameat2, from, end[0].name, to, end[1].name, flags);
	if (r < 0 && errno == EXDEV)
		r = rename_between_mounts(call, end, flags);
	/* If both names are of one file, the kernel returns 0 and does nothing. */
	same = end[0].exists && end[1].exists && end[0].status.st_dev == end[1].status.st_dev &&
	       end[0].status.st_ino == end[1].status.st_ino;
	if (r == 0 && !same)
		changes_note_rename(call->sandbox->changes, &call->resolved_place[0], &call->resolved_place[1],
				    S_ISDIR(end[0].status.st_mode),
				    flags & RENAME_EXCHANGE && S_ISDIR(end[1].status.st_mode));
	file_end_call(call, r);
	disk_end_removal(call, &replaced);
}

HANDLER(sys_rename, rename_path(call, 0))
HANDLER(sys_renameat, rename_path(call, 0))
HANDLER(sys_renameat2, rename_path(call, call_get_uint(call, 4)))
