#include "base/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/mount.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"

#ifndef MOUNT_ATTR_NOSYMFOLLOW /* Linux 5.14 */
#define MOUNT_ATTR_NOSYMFOLLOW 0x00200000
#endif

#ifndef SYS_open_tree_attr /* Linux 6.15; one number for every architecture */
#define SYS_open_tree_attr 467
#endif

/* statmount(2) and listmount(2), Linux 6.8: one number for every architecture. Older system headers lack both. */
#define STATMOUNT_SYSCALL 457
#define LISTMOUNT_SYSCALL 458
#define LISTED_MOUNTS_MAX 512 /* mounts that are searched for a procfs; if there are more, one is assumed */

/* of open_tree(2): a detached copy of a mount with those below it */
#define OPEN_TREE_CLONE_FLAGS (OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW)

int mounts_clone_tree(int fd, const char *path)
{
	int mount_fd = (int)syscall(SYS_open_tree, fd, path, OPEN_TREE_CLONE_FLAGS);

	return mount_fd < 0 ? -errno : mount_fd;
}

static struct mount_attr mounts_make_attributes(unsigned flags)
{
	return (struct mount_attr){.attr_set = (flags & MOUNTS_READ_ONLY ? MOUNT_ATTR_RDONLY : 0u) |
					       (flags & MOUNTS_NO_DEVICES ? MOUNT_ATTR_NODEV : 0u) |
					       (flags & MOUNTS_NO_SETID ? MOUNT_ATTR_NOSUID : 0u) |
					       (flags & MOUNTS_NO_SYMLINKS ? MOUNT_ATTR_NOSYMFOLLOW : 0u)};
}

int mounts_clone_restricted(int fd, const char *path, unsigned flags)
{
	struct mount_attr attr = mounts_make_attributes(flags);
	_cleanup_close_ int mount_fd =
		(int)syscall(SYS_open_tree_attr, fd, path, OPEN_TREE_CLONE_FLAGS, &attr, sizeof(attr));
	int r;

	if (mount_fd >= 0 || errno == ENOENT)
		return mount_fd < 0 ? -ENOENT : steal_fd(&mount_fd);
	/* Linux before 6.15, or refused by a container. Other errors of open_tree_attr(2) occur again here. */
	mount_fd = mounts_clone_tree(fd, path);
	r = mount_fd < 0 ? mount_fd : mounts_restrict_copy(mount_fd, flags);
	return r < 0 ? r : steal_fd(&mount_fd);
}

int mounts_create_fs(const char *type, const char *const *options, size_t count)
{
	const unsigned devices = strcmp(type, "devpts") == 0 ? 0 : MOUNT_ATTR_NODEV;
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC);
	int mount_fd;

	if (fs < 0)
		return -errno;
	for (size_t i = 0; i + 1 < count; i += 2)
		if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i], options[i + 1], 0) < 0)
			return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount_fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | devices | MOUNT_ATTR_NOEXEC);
	return mount_fd < 0 ? -errno : mount_fd;
}

/* Sets one layer of an overlay, by the path of its descriptor in /proc, which needs no escapes. */
static int mounts_set_overlay_layer(int fs, const char *key, int dir_fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(dir_fd);

	return syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, key, link.path, 0) < 0 ? -errno : 0;
}

/*
 * Makes the mount of an overlay whose layers are set. redirects: "on" or "nofollow", the kernel's redirect_dir; NULL:
 * its default.
 */
static int mounts_mount_overlay(int fs, bool user_xattr, const char *redirects)
{
	int mount_fd;

	if (user_xattr && syscall(SYS_fsconfig, fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0)
		return -errno;
	/* Unless redirect_dir is "on", renaming a directory of the lower layer fails with EXDEV. */
	if (!user_xattr && redirects &&
	    (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "redirect_dir", redirects, 0) < 0 ||
	     syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "metacopy", "off", 0) < 0))
		return -errno;
	if (syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mount_fd = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID);
	return mount_fd < 0 ? -errno : mount_fd;
}

/* Makes an overlay. user_xattr: keeps its own attributes as user.*, as a user namespace must (Linux 5.11). */
static int mounts_open_overlay(int lower_fd, int upper_fd, int work_fd, bool user_xattr, bool plain_layer)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	int r = fs < 0 ? -errno : mounts_set_overlay_layer(fs, "lowerdir", lower_fd);

	if (r == 0)
		r = mounts_set_overlay_layer(fs, "upperdir", upper_fd);
	if (r == 0)
		r = mounts_set_overlay_layer(fs, "workdir", work_fd);
	return r < 0 ? r : mounts_mount_overlay(fs, user_xattr, plain_layer ? "nofollow" : "on");
}

/*
 * True when this process can set attributes of this kind ("user." or "trusted.") on a layer. Otherwise the kernel would
 * mount an overlay in which no directory of the lower layer can be removed (EIO).
 */
static bool mounts_can_set_attributes(int upper_fd, const char *kind)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "%scallgate", kind);
	if (fsetxattr(upper_fd, name, "", 0, 0) < 0)
		return false;
	return fremovexattr(upper_fd, name) == 0;
}

int mounts_create_overlay(int lower_fd, int upper_fd, int work_fd, unsigned flags, bool plain_layer,
			  bool *ret_user_xattr)
{
	_cleanup_close_ int mount_fd = mounts_can_set_attributes(upper_fd, "trusted.")
					       ? mounts_open_overlay(lower_fd, upper_fd, work_fd, false, plain_layer)
					       : -EPERM;
	const bool user_xattr = mount_fd < 0;
	int r;

	if (user_xattr && plain_layer && !mounts_can_set_attributes(upper_fd, "user."))
		return -EOPNOTSUPP;
	if (user_xattr)
		mount_fd = mounts_open_overlay(lower_fd, upper_fd, work_fd, true, plain_layer);
	r = mount_fd < 0 ? mount_fd : mounts_restrict_copy(mount_fd, flags);
	if (r < 0)
		return r;
	*ret_user_xattr = user_xattr;
	return steal_fd(&mount_fd);
}

/* Makes a detached read-only overlay of two directories. */
static int mounts_open_union(int first_fd, int second_fd, bool user_xattr)
{
	_cleanup_close_ int fs = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	char layers[64];

	if (fs < 0)
		return -errno;
	(void)snprintf(layers, sizeof(layers), "/proc/self/fd/%d:/proc/self/fd/%d", first_fd, second_fd);
	if (syscall(SYS_fsconfig, fs, FSCONFIG_SET_STRING, "lowerdir", layers, 0) < 0)
		return -errno;
	return mounts_mount_overlay(fs, user_xattr, NULL);
}

int mounts_create_union(int first_fd, int second_fd, unsigned flags)
{
	_cleanup_close_ int mount_fd = mounts_open_union(first_fd, second_fd, false);
	int r;

	if (mount_fd < 0)
		mount_fd = mounts_open_union(first_fd, second_fd, true);
	r = mount_fd < 0 ? mount_fd : mounts_restrict_copy(mount_fd, flags | MOUNTS_READ_ONLY);
	return r < 0 ? r : steal_fd(&mount_fd);
}

int mounts_restrict_copy(int mount_fd, unsigned flags)
{
	struct mount_attr attr = mounts_make_attributes(flags);

	if (syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return -errno;
	return 0;
}

int mounts_make_read_only(int mount_fd)
{
	struct mount_attr attr = mounts_make_attributes(MOUNTS_READ_ONLY);

	return syscall(SYS_mount_setattr, mount_fd, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

int mounts_attach_copy(int mount_fd, int dirfd, const char *path)
{
	unsigned flags = MOVE_MOUNT_F_EMPTY_PATH | (*path ? 0u : MOVE_MOUNT_T_EMPTY_PATH);

	if (syscall(SYS_move_mount, mount_fd, "", dirfd, path, flags) < 0)
		return -errno;
	return 0;
}

/* Decodes a path of mountinfo in place: blanks, newlines and backslashes are written as \ and three octal digits. */
static void mounts_unescape_text(char *text)
{
	char *out = text;

	for (const char *at = text; *at; at++) {
		if (at[0] == '\\' && at[1] >= '0' && at[1] <= '3' && at[2] >= '0' && at[2] <= '7' && at[3] >= '0' &&
		    at[3] <= '7') {
			*out++ = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 | (at[3] - '0'));
			at += 3;
		} else {
			*out++ = *at;
		}
	}
	*out = '\0';
}

bool mounts_parse_mountinfo_line(char *line, struct mountinfo_line *ret_line)
{
	char *field[5], *rest = strstr(line, " - ");

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	for (size_t i = 0; i < 5; i++) {
		field[i] = strsep(&line, " ");
		if (!field[i])
			return false;
	}
	*ret_line = (struct mountinfo_line){.root = field[3], .mount_point = field[4], .type = strsep(&rest, " ")};
	(void)strsep(&rest, " "); /* skips the mount source, which may be empty */
	ret_line->options = rest ? rest : "";
	mounts_unescape_text(ret_line->root);
	mounts_unescape_text(ret_line->mount_point);
	return true;
}

/* The kernel's struct mnt_id_req in its first version: the argument of statmount(2) and listmount(2). */
struct statmount_request {
	uint32_t size, spare;
	uint64_t mount_id, param;
};

/* The kernel's struct statmount, as far as it is read here: what statmount(2) returns. */
struct statmount_result {
	uint32_t size, options;
	uint64_t returned_fields; /* STATMOUNT_*: which fields the kernel has set */
	uint32_t dev_major, dev_minor;
	uint64_t sb_magic;          /* type of the filesystem, as f_type of statfs(2) */
	uint64_t unread_fields[64]; /* room for what newer kernels write */
};

#define STATMOUNT_SB_BASIC_FIELDS 1u       /* STATMOUNT_SB_BASIC */
#define LISTMOUNT_FROM_ROOT (~UINT64_C(0)) /* LSMT_ROOT */

bool mounts_have_procfs_only_at_proc(void)
{
	struct statmount_request request = {.size = sizeof(request), .mount_id = LISTMOUNT_FROM_ROOT};
	uint64_t id[LISTED_MOUNTS_MAX];
	long count = syscall(LISTMOUNT_SYSCALL, &request, id, (size_t)LISTED_MOUNTS_MAX, 0);
	struct statfs proc;
	int found = 0;

	if (count <= 0 || count >= LISTED_MOUNTS_MAX || statfs("/proc", &proc) < 0 || proc.f_type != PROC_SUPER_MAGIC)
		return false;
	request.param = STATMOUNT_SB_BASIC_FIELDS;
	for (long i = 0; i < count; i++) {
		struct statmount_result status;

		request.mount_id = id[i];
		status.returned_fields = 0;
		if (syscall(STATMOUNT_SYSCALL, &request, &status, sizeof(status), 0) < 0 ||
		    !(status.returned_fields & STATMOUNT_SB_BASIC_FIELDS))
			return false;
		found += status.sb_magic == PROC_SUPER_MAGIC;
	}
	return found == 1;
}
