/*
 * Where relative paths start. The kernel is asked each time which directory it is, by one call and by number: the program
 * changes its descriptors and its working directory natively. What its name is was found out before, mostly.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "view/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define NAMES 64u
#define TRUSTED_NS 10000000u /* for so long after it was confirmed a name is not confirmed again */

/* One directory by the mount it is seen through: it has one name at a time. */
struct base_name {
	uint64_t mount, ino;
	uint32_t major, minor;
	uint64_t confirmed_ns;
	unsigned changes;
	size_t len;
	char *virt; /* NULL: unused */
};

struct base_names {
	unsigned changes; /* how many names of the view's were given or taken by now */
	bool refused;     /* pidfd_getfd: containers do */
	struct base_name name[NAMES];
};

struct base_names *view_bases_create(void)
{
	return calloc(1, sizeof(struct base_names));
}

void view_bases_free(struct base_names *bases)
{
	for (unsigned i = 0; bases && i < NAMES; i++)
		free(bases->name[i].virt);
	free(bases);
}

void view_changed(const struct view *view)
{
	if (view->bases)
		view->bases->changes++;
}

static int ask(int dirfd, const char *path, int flags, struct statx *ret_object)
{
	const unsigned mask = STATX_TYPE | STATX_INO | STATX_MNT_ID;

	if (statx(dirfd, path, flags | AT_NO_AUTOMOUNT, mask, ret_object) < 0)
		return -errno;
	return 0;
}

/* "PID" and a leaf, without printf: each relative name comes by here. */
static void put_link(char link[64], pid_t pid, const char *leaf)
{
	char digits[16];
	size_t at = sizeof(digits), len = strlen(leaf) + 1;

	do
		digits[--at] = (char)('0' + pid % 10);
	while ((pid /= 10) > 0);
	memcpy(link, digits + at, sizeof(digits) - at);
	memcpy(link + sizeof(digits) - at, leaf, len);
}

/*
 * The directory. Its link below the view's /proc is in `link`, or empty: then it is that of the copy. *ret_copy: a
 * duplicate of the program's descriptor, owned by the caller, or -1. A pidfd that gives one is of a task that lives, so
 * nobody else has its number.
 */
static int identify(const struct view *view, const struct task *task, int fd, struct statx *ret_object, char link[64],
		    int *ret_copy)
{
	struct base_names *bases = view->bases;
	int r;

	if (fd == AT_FDCWD) {
		put_link(link, task->tid, "/cwd");
		return ask(view->proc_fd, link, 0, ret_object);
	}
	if (fd < 0)
		return -EBADF;
	if (task->pidfd >= 0 && bases && !bases->refused) {
		*ret_copy = (int)syscall(SYS_pidfd_getfd, task->pidfd, fd, 0);
		link[0] = '\0';
		if (*ret_copy >= 0)
			return ask(*ret_copy, "", AT_EMPTY_PATH, ret_object);
		if (errno == EBADF)
			return -EBADF;
		bases->refused = errno == EPERM || errno == ENOSYS;
	}
	(void)snprintf(link, 64, "%d/fd/%d", task->tid, fd);
	r = ask(view->proc_fd, link, 0, ret_object);
	return r < 0 ? -EBADF : r;
}

static struct base_name *slot_of(const struct view *view, const struct statx *object)
{
	uint64_t mixed = (object->stx_ino ^ object->stx_mnt_id << 32) * UINT64_C(0x9e3779b97f4a7c15);

	return view->bases && object->stx_mask & STATX_MNT_ID ? &view->bases->name[mixed >> 58] : NULL;
}
_Static_assert(NAMES == 1u << (64 - 58), "the slot is the hash's highest bits");

static bool is_same(const struct base_name *name, const struct statx *object)
{
	return name->virt && name->ino == object->stx_ino && name->mount == object->stx_mnt_id &&
	       name->major == object->stx_dev_major && name->minor == object->stx_dev_minor;
}

static bool confirm(const struct view *view, const char *virt, const struct statx *object)
{
	struct stat expected = {.st_dev = makedev(object->stx_dev_major, object->stx_dev_minor), .st_ino = object->stx_ino};

	return view_confirm(view, virt, &expected);
}

/*
 * The name it had when it was last asked for. That is nothing to be judged by: what is opened is what its text leads to
 * then. It is only to be the right one, and it was if no call of the run's has changed names since, at that time; somebody
 * outside, who moves a directory away under the run, is noticed some milliseconds later.
 */
static int known_name(const struct view *view, struct base_name *name, const struct statx *object, char *out, size_t cap)
{
	uint64_t now = io_now_ns();

	if (!is_same(name, object) || name->len >= cap)
		return -ENOENT;
	if (name->changes != view->bases->changes || now - name->confirmed_ns > TRUSTED_NS) {
		if (!confirm(view, name->virt, object))
			return -ENOENT;
		name->changes = view->bases->changes;
		name->confirmed_ns = now;
	}
	memcpy(out, name->virt, name->len + 1);
	return (int)name->len;
}

static void keep(const struct view *view, struct base_name *name, const struct statx *object, const char *virt, size_t len)
{
	char *copy = strdup(virt);

	if (!copy)
		return;
	free(name->virt);
	*name = (struct base_name){.mount = object->stx_mnt_id, .ino = object->stx_ino, .major = object->stx_dev_major,
				   .minor = object->stx_dev_minor, .confirmed_ns = io_now_ns(), .changes = view->bases->changes,
				   .len = len, .virt = copy};
}

int view_base(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held)
{
	_cleanup_close_ int copy = -1;
	char link[64], host[PATH_MAX];
	struct base_name *name;
	struct statx object;
	ssize_t len;
	int r = identify(view, task, fd, &object, link, &copy);

	*ret_held = copy >= 0;
	if (r < 0)
		return r;
	if (!S_ISDIR(object.stx_mode))
		return -ENOTDIR;
	name = slot_of(view, &object);
	r = name ? known_name(view, name, &object, out, cap) : -ENOENT;
	if (r >= 0)
		return r;
	if (!link[0])
		(void)snprintf(link, sizeof(link), "self/fd/%d", copy);
	len = readlinkat(view->proc_fd, link, host, sizeof(host) - 1);
	if (len < 0)
		return fd == AT_FDCWD ? -errno : -EBADF;
	host[len] = '\0';
	r = view_name(view, host, (size_t)len, out, cap);
	if (r < 0)
		return r;
	/* A name can be spoofed ("x (deleted)", a rename under way): the object decides. */
	if (!confirm(view, out, &object))
		return -ENOENT;
	if (name)
		keep(view, name, &object, out, (size_t)r);
	return r;
}
