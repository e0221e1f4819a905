/* openat2(2)'s RESOLVE_* flags, relative to the view: walks a path, and checks at each step what may be crossed. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "syscalls/file/resolve.h"
#include "view/private.h"

/* RESOLVE_* flags by which a path may fail that is open without them */
#define OPENAT2_RESTRICTION_FLAGS \
	(RESOLVE_BENEATH | RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV)

/* The resolution of an openat2 path under its RESOLVE_* restrictions. */
struct openat2_path_walk {
	const struct call *call;
	uint64_t resolve;       /* RESOLVE_* flags of the call */
	bool follows_last_link; /* the path's last name may be a link to follow */
	bool may_create;     /* the last name need not exist: O_CREAT */
	char root[PATH_MAX]; /* canonical path of the start directory */
	char *at;            /* canonical path so far; borrowed room of PATH_MAX bytes */
	int link_count;      /* links followed so far */
	bool path_is_relative; /* path[0] is relative */
	bool has_last_device;  /* last_device is set */
	dev_t last_device; /* device of the last object outside the skeleton, for RESOLVE_NO_XDEV */
	const char *rest_of_path; /* what is not resolved yet; in text */
	char text[PATH_MAX * 2];
};

/* Makes `path` the present directory of the walk. It is absolute and canonical, or a name in the present directory. */
static int openat2_walk_enter_dir(struct openat2_path_walk *walk, const char *path)
{
	char joined[PATH_MAX];
	bool lexical;
	int len = path_join(walk->at, path, joined, sizeof(joined), &lexical);

	if (len < 0)
		return len;
	memcpy(walk->at, joined, (size_t)len + 1);
	return 0;
}

/* Follows "..", within the limits of RESOLVE_BENEATH and RESOLVE_IN_ROOT. 0 or -errno. */
static int openat2_walk_enter_parent(struct openat2_path_walk *walk)
{
	if (walk->resolve & (RESOLVE_BENEATH | RESOLVE_IN_ROOT) && strcmp(walk->at, walk->root) == 0)
		return walk->resolve & RESOLVE_BENEATH ? -EXDEV : 0;
	return openat2_walk_enter_dir(walk, "..");
}

/* Puts a link's target in front of the rest of the path. */
static int openat2_walk_push_link_target(struct openat2_path_walk *walk, const char *target)
{
	char text[sizeof(walk->text)];

	if (++walk->link_count > VIEW_LINKS_FOLLOWED_MAX)
		return -ELOOP;
	if ((size_t)snprintf(text, sizeof(text), "%s%s", target, walk->rest_of_path) >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(walk->text, text, strlen(text) + 1);
	walk->rest_of_path = walk->text;
	if (*target != '/')
		return 0;
	if (walk->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	if (walk->resolve & RESOLVE_IN_ROOT)
		return openat2_walk_enter_dir(walk, walk->root);
	if (walk->resolve & RESOLVE_NO_XDEV && walk->path_is_relative)
		/*
		 * an absolute link may cross mounts, so RESOLVE_NO_XDEV forbids it, as nd_jump_root() in fs/namei.c
		 * does
		 */
		return -EXDEV;
	return openat2_walk_enter_dir(walk, "/");
}

/* Follows the symbolic link at `place`, which is open as fd. 0 or -errno. */
static int openat2_walk_enter_link(struct openat2_path_walk *walk, const struct place *place, int fd)
{
	const char *rest = view_get_path_below_proc(place);
	char target[PATH_MAX];
	ssize_t len;

	if (walk->resolve & RESOLVE_NO_SYMLINKS)
		return -ELOOP;
	if (place->mount->flags & MOUNT_PROC &&
	    proc_classify_path(walk->call->sandbox->view, walk->call->task, rest) == PROC_MAGIC_LINK) {
		if (walk->resolve & RESOLVE_NO_MAGICLINKS)
			return -ELOOP;
		return -EXDEV; /* all other RESOLVE_* flags forbid leaving the tree */
	}
	len = file_read_link_text(walk->call, place, fd, target);
	if (len < 0)
		return (int)len;
	target[len] = '\0';
	return openat2_walk_push_link_target(walk, target);
}

/* Checks RESOLVE_NO_XDEV. Directories of the skeleton stand for the host's, so their device is ignored. */
static int openat2_walk_refuse_other_device(struct openat2_path_walk *walk, const struct place *place,
					    const struct stat *object)
{
	/* mounts of devices and /proc are separate file systems on any host */
	bool own = place->mount->flags & (MOUNT_DEVICE | MOUNT_PROC);
	bool crossed = own || (walk->has_last_device && walk->last_device != object->st_dev);

	if (place->mount->flags & MOUNT_SKELETON)
		return 0;
	walk->has_last_device = true;
	walk->last_device = object->st_dev;
	return crossed && walk->resolve & RESOLVE_NO_XDEV ? -EXDEV : 0;
}

/* Walks one component that is not "." or "..". */
static int openat2_walk_component(struct openat2_path_walk *walk, const char *name, bool last, bool slash)
{
	const struct sandbox *sandbox = walk->call->sandbox;
	_cleanup_close_ int fd = -1;
	struct policy_decision decision;
	struct place place;
	struct stat object;
	int r = view_locate_path(sandbox->view, walk->call->task, walk->at, name, 0, &place);

	if (r < 0)
		return r;
	decision = view_judge_place(sandbox->view, walk->call->task, &place, POLICY_READ);
	if (decision.verdict == VERDICT_DENY)
		/* A denied last name is no error here: it is denied and recorded when the caller pins the path. */
		return last ? openat2_walk_enter_dir(walk, name) : -decision.error;
	fd = view_open_place(&place, O_PATH | O_NOFOLLOW, 0);
	if (fd == -ENOENT && last && walk->may_create)
		return openat2_walk_enter_dir(walk, name);
	if (fd < 0)
		return fd;
	if (fstat(fd, &object) < 0)
		return -errno;
	if (S_ISLNK(object.st_mode) && (!last || slash || walk->follows_last_link))
		return openat2_walk_enter_link(walk, &place, fd);
	if (!last && !S_ISDIR(object.st_mode))
		return -ENOTDIR;
	r = openat2_walk_refuse_other_device(walk, &place, &object);
	return r < 0 ? r : openat2_walk_enter_dir(walk, name);
}

/* Resolves the path to its end. *ret_slash: it ends with a slash. */
static int openat2_walk_whole_path(struct openat2_path_walk *walk, bool *ret_slash)
{
	char name[NAME_MAX + 1];
	bool last;
	int r = 0, next;

	*ret_slash = false;
	while (r == 0 && (next = view_read_next_component(&walk->rest_of_path, name, &last)) != 0) {
		if (next < 0)
			return next;
		*ret_slash = *walk->rest_of_path == '/';
		if (strcmp(name, "..") == 0)
			r = openat2_walk_enter_parent(walk);
		else if (strcmp(name, ".") != 0)
			r = openat2_walk_component(walk, name, last, *ret_slash);
	}
	return r;
}

/* Finds the directory in which the walk starts. 0 or -errno. */
static int openat2_walk_start(struct openat2_path_walk *walk, const struct call_path *path)
{
	bool absolute = path->text[0] == '/';
	struct place place;
	struct stat object;
	bool held;
	int r;

	walk->path_is_relative = !absolute;
	if (absolute && walk->resolve & RESOLVE_BENEATH)
		return -EXDEV;
	(void)snprintf(walk->at, PATH_MAX, "/");
	if (absolute && !(walk->resolve & RESOLVE_IN_ROOT))
		return 0;
	r = view_get_start_dir(walk->call->sandbox->view, walk->call->task, path->dirfd, walk->root, sizeof(walk->root),
			   &held);
	if (r < 0)
		return r;
	memcpy(walk->at, walk->root, (size_t)r + 1);
	if (walk->resolve & RESOLVE_NO_XDEV &&
	    view_locate_path(walk->call->sandbox->view, NULL, "/", walk->at, 0, &place) == 0) {
		_cleanup_close_ int fd = view_open_place(&place, O_PATH | O_NOFOLLOW, 0);

		if (fd >= 0 && fstat(fd, &object) == 0)
			return openat2_walk_refuse_other_device(walk, &place, &object);
	}
	return 0;
}

int file_resolve_openat2_path(struct call *call, const struct open_request *request,
			      struct openat2_resolved_path *ret_resolved)
{
	struct call_path *path = &call->path[0];
	struct openat2_path_walk walk = {
		.call = call,
		.resolve = request->resolve,
		.follows_last_link =
			!(request->flags & O_NOFOLLOW || (request->flags & O_CREAT && request->flags & O_EXCL)),
		.may_create = request->flags & O_CREAT,
		.at = ret_resolved->canonical_path,
	};
	bool slash = false;
	int r;

	ret_resolved->path_was_replaced = false;
	if (!(request->resolve & OPENAT2_RESTRICTION_FLAGS) || path->len == 0)
		return 0;
	memcpy(walk.text, path->text, path->len + 1);
	walk.rest_of_path = walk.text;
	r = openat2_walk_start(&walk, path);
	if (r == 0)
		r = openat2_walk_whole_path(&walk, &slash);
	if (!call_thread_still_waits(call))
		return call_end_without_response(call);
	if (r < 0)
		return call_fail(call, r);
	ret_resolved->path_was_replaced = true;
	ret_resolved->saved_path = *path;
	ret_resolved->canonical_len = strlen(ret_resolved->canonical_path);
	path->dirfd = AT_FDCWD;
	path->len = (size_t)snprintf(path->text, sizeof(path->text), "%s%s", ret_resolved->canonical_path,
				     slash && ret_resolved->canonical_len > 1 ? "/" : "");
	if (path->len < sizeof(path->text))
		return 0;
	*path = ret_resolved->saved_path;
	return call_fail(call, -ENAMETOOLONG);
}

/* Puts the program's path back in place of the resolved one. Returns fd, or fails if the open led elsewhere. */
int file_restore_path_after_openat2(struct call *call, const struct openat2_resolved_path *resolved, int fd)
{
	const struct place *place = &call->resolved_place[0];

	if (!resolved->path_was_replaced)
		return fd;
	call->path[0] = resolved->saved_path;
	if (fd < 0 || (place->virt_len == resolved->canonical_len &&
		       memcmp(place->virt, resolved->canonical_path, place->virt_len) == 0))
		return fd;
	(void)close(fd);
	return call_fail(call, -EAGAIN);
}
