/* From a path to the directory that holds its last name, for calls that make, remove or change names. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "syscalls/file/private.h"
#include "view/private.h"

#include "base/banned.h"

/* Cuts "a/b/c//" into "a/b" (or ".", or "/") and "c//". */
static int split_last(const char *text, char parent[PATH_MAX], const char **ret_last)
{
	size_t end = strlen(text);
	size_t start;

	while (end > 1 && text[end - 1] == '/')
		end--;
	start = end;
	while (start > 0 && text[start - 1] != '/')
		start--;
	*ret_last = text + start;
	if (start == end) { /* nothing but slashes: the root has no name, "." is refused by every call likewise */
		*ret_last = ".";
		start = 1;
	}
	(void)snprintf(parent, PATH_MAX, "%.*s", start ? (int)start : 1, start ? text : ".");
	return 0;
}

/* "." and "..", and what is too long to be a name: the kernel refuses them in its own order; judged as the parent. */
static bool kernel_refuses(const char *last)
{
	size_t len = strcspn(last, "/");

	return len > NAME_MAX || (len == 1 && last[0] == '.') || (len == 2 && last[0] == '.' && last[1] == '.');
}

/* The place of the last component below its canonical parent; judged later. */
static int child_place(struct place *place, const char *last)
{
	size_t len = strcspn(last, "/");
	size_t at = place->virt_len;

	if (kernel_refuses(last))
		return view_place(place->mount->view, place);
	if (at + 1 + len >= sizeof(place->virt))
		return -ENAMETOOLONG;
	if (at > 1)
		place->virt[at++] = '/';
	memcpy(place->virt + at, last, len);
	place->virt[at + len] = '\0';
	place->virt_len = at + len;
	return view_place(place->mount->view, place);
}

/* A directory to act in: the host's own, where a stand-in only lists what may be seen of it. */
static int open_dir(const struct place *place)
{
	const int flags = O_PATH | O_DIRECTORY;

	if (place->magic || place->mount->flags & MOUNT_PROC || !view_own_listing(place))
		return view_open(place, flags, 0);
	return openat2_call(place->mount->fd, place->rest, flags, 0,
			    RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
}

/* The canonical parent as a descriptor; its place in *place. */
static int open_parent_dir(struct call *call, const char *base, const char *parent, struct place *place)
{
	const struct view *view = call->sandbox->view;
	int r = view_locate(view, call->task, base, parent, VIEW_FOLLOW, place);
	int fd = r < 0 ? r : open_dir(place);

	/* ENOTDIR: a link in the last place, which O_DIRECTORY does not follow here */
	if (fd >= 0 || (!file_try_again(fd) && fd != -ENOTDIR))
		return fd;
	fd = -ELOOP;
	for (int tries = 0; tries < FILE_TRIES && file_try_again(fd); tries++) {
		r = view_walk(view, call->task, base, parent, VIEW_FOLLOW, place);
		fd = r < 0 ? r : open_dir(place);
		if (r < 0)
			return r;
	}
	return fd;
}

static int pin_name(struct call *call, unsigned i, const char **ret_name, bool make)
{
	struct place *place = &call->place[i];
	char base[PATH_MAX], parent[PATH_MAX];
	_cleanup_close_ int fd = -1;
	struct stat there;
	bool allowed;
	int r;

	if (file_start_of(call, &call->path[i], base) < 0)
		return -1;
	r = split_last(call->path[i].text, parent, ret_name);
	if (r == 0)
		r = fd = open_parent_dir(call, base, parent, place);
	if (r >= 0)
		r = child_place(place, *ret_name);
	if (r < 0) {
		file_fail_walk(call, place, r);
		return -1;
	}
	allowed = file_judge(call, place, POLICY_WRITE);
	if (make && fstatat(fd, *ret_name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    (allowed || file_judge(call, place, POLICY_READ))) {
		call_fail(call, -EEXIST);
		return -1;
	}
	if (!allowed) {
		file_refuse(call);
		return -1;
	}
	if (place->virt_len == place->mount->virt_len && !kernel_refuses(*ret_name)) {
		call_fail(call, -EBUSY);
		return -1;
	}
	return steal_fd(&fd);
}

int file_pin_parent(struct call *call, unsigned i, const char **ret_name)
{
	return pin_name(call, i, ret_name, false);
}

int file_pin_new(struct call *call, unsigned i, const char **ret_name)
{
	return pin_name(call, i, ret_name, true);
}

/*
 * Where no link is on the way and nothing is there, which is so of almost every file that is made: the parent by one strict
 * open, and a look at the name. -1: a walk has to tell, and why.
 */
static int pin_absent(struct call *call, unsigned i, const char *base, unsigned follow, const char **ret_name)
{
	struct place *place = &call->place[i];
	_cleanup_close_ int fd = -1;
	struct stat there;

	if (path_wants_dir(call->path[i].text) ||
	    view_locate(call->sandbox->view, call->task, base, call->path[i].text, follow, place) < 0 ||
	    place->mount->flags & (MOUNT_PROC | MOUNT_SKELETON) || !file_judge(call, place, POLICY_WRITE))
		return -1;
	fd = view_open_parent(place, ret_name);
	if (fd < 0 || fstatat(fd, *ret_name, &there, AT_SYMLINK_NOFOLLOW) == 0 || errno != ENOENT)
		return -1;
	return steal_fd(&fd);
}

int file_pin_target(struct call *call, unsigned i, unsigned follow, const char **ret_name)
{
	struct place *place = &call->place[i];
	const struct policy_decision before = call->decision;
	char base[PATH_MAX];
	int fd;

	if (file_start_of(call, &call->path[i], base) < 0)
		return -1;
	fd = pin_absent(call, i, base, follow, ret_name);
	if (fd >= 0)
		return fd;
	call->decision = before; /* about a name that may not be the one */
	if (file_walk(call, i, base, follow | VIEW_ABSENT, POLICY_WRITE) < 0)
		return -1;
	fd = view_open_parent(place, ret_name);
	if (fd < 0) {
		call_fail(call, fd);
		return -1;
	}
	return fd;
}
