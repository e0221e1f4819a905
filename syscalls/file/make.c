/* Making names: mkdir(2), mknod(2), symlink(2). The parent is pinned, parent + name judged, the umask the caller's. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "syscalls/account/disk.h"
#include "syscalls/file/act.h"
#include "syscalls/file/resolve.h"
#include "syscalls/table/handlers.h"

#include "base/banned.h"

static void make_dir(struct call *call, mode_t mode)
{
	_cleanup_close_ int parent = -1;
	const char *name;

	if (file_refuse_setid(call, mode))
		return;
	parent = file_pin_new(call, 0, &name);
	if (parent < 0 || disk_admit(call, DISK_NAME_BYTES + DISK_DIRECTORY_BYTES) < 0 || file_use_umask(call) < 0 ||
	    file_begin(call, 0) < 0)
		return;
	file_end(call, mkdirat(parent, name, mode));
	disk_made(call, S_IFDIR);
}

void sys_mkdir(struct call *call)
{
	make_dir(call, call_uint(call, 1));
}

void sys_mkdirat(struct call *call)
{
	make_dir(call, call_uint(call, 2));
}

/* Devices are what a sandbox must not make, whatever the kernel says of its creator; the rest is may_mknod(). */
static int check_node(mode_t mode)
{
	switch (mode & S_IFMT) {
	case 0:
	case S_IFREG:
	case S_IFIFO:
	case S_IFSOCK:
	case S_IFCHR:
	case S_IFBLK:
		return 0;
	case S_IFDIR:
		return -EPERM;
	default:
		return -EINVAL;
	}
}

static void make_node(struct call *call, mode_t mode, dev_t device)
{
	_cleanup_close_ int parent = -1;
	const char *name;
	int r;

	mode = (uint16_t)mode; /* umode_t: the kernel takes a short */
	r = check_node(mode);
	if (r < 0) {
		call_fail(call, r);
		return;
	}
	if (file_refuse_setid(call, mode))
		return;
	parent = file_pin_new(call, 0, &name);
	if (parent < 0)
		return;
	if (S_ISCHR(mode) || S_ISBLK(mode)) {
		call_refuse(call, -EPERM, NULL, "device_node");
		return;
	}
	if (disk_admit(call, DISK_NAME_BYTES) < 0 || file_use_umask(call) < 0 || file_begin(call, 0) < 0)
		return;
	file_end(call, mknodat(parent, name, mode, device));
	disk_made(call, mode);
}

void sys_mknod(struct call *call)
{
	make_node(call, call_uint(call, 1), call_uint(call, 2));
}

void sys_mknodat(struct call *call)
{
	make_node(call, call_uint(call, 2), call_uint(call, 3));
}

/*
 * The text of a link grants nothing here: it is resolved in the view when it is followed. Programs outside follow it
 * elsewhere, so it may not stand on the way to a denied name.
 */
static void make_symlink(struct call *call)
{
	_cleanup_close_ int parent = -1;
	const char *name;

	if (call->text_error || call->text_len == 0) {
		call_fail(call, call->text_error ? call->text_error : -ENOENT);
		return;
	}
	parent = file_pin_new(call, 0, &name);
	if (parent < 0 || file_check_link_text(call, &call->place[0], call->text) < 0 ||
	    disk_admit(call, DISK_NAME_BYTES + call->text_len) < 0 || file_begin(call, 0) < 0)
		return;
	file_end(call, symlinkat(call->text, parent, name));
	disk_made(call, S_IFLNK);
}

void sys_symlink(struct call *call)
{
	make_symlink(call);
}

void sys_symlinkat(struct call *call)
{
	make_symlink(call);
}
