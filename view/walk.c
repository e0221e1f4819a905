/* Resolves a path step by step. Files may change meanwhile, so view_open_place then opens following no link. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/private.h"

/* The resolution of a path in the view, component by component. */
struct path_walk {
	const struct view *view;
	const struct task *task;
	unsigned flags;      /* VIEW_FOLLOW_LAST_LINK, VIEW_LAST_MAY_BE_ABSENT */
	int links_followed;  /* so far; at most VIEW_LINKS_FOLLOWED_MAX */
	struct place *place; /* its virt is the canonical path so far */
	const char *remaining_path;    /* the part of the path that is not resolved yet */
	char text[PATH_MAX * 2];
};

int view_read_next_component(const char **todo, char name[NAME_MAX + 1], bool *ret_last)
{
	const char *end;
	size_t len;

	while (**todo == '/')
		++*todo;
	if (**todo == '\0')
		return 0;
	end = strchrnul(*todo, '/');
	len = (size_t)(end - *todo);
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *todo, len);
	name[len] = '\0';
	*todo = end;
	*ret_last = end[strspn(end, "/")] == '\0';
	return 1;
}

/* Appends a name to the place's path. 0 or -ENAMETOOLONG. */
static int walk_add_component(struct place *place, const char *name)
{
	size_t len = strlen(name);
	size_t at = place->virt_len;

	if (at + 1 + len >= sizeof(place->virt))
		return -ENAMETOOLONG;
	if (at > 1)
		place->virt[at++] = '/';
	memcpy(place->virt + at, name, len + 1);
	place->virt_len = at + len;
	return 0;
}

/* Puts the target of a link in front of the rest of the path. An absolute target starts at "/" of the view. */
static int walk_enter_link(struct path_walk *walk, const char *target)
{
	char text[sizeof(walk->text)];

	if (++walk->links_followed > VIEW_LINKS_FOLLOWED_MAX)
		return -ELOOP;
	if (*target == '\0')
		return -ENOENT;
	if ((size_t)snprintf(text, sizeof(text), "%s%s", target, walk->remaining_path) >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(walk->text, text, strlen(text) + 1);
	walk->remaining_path = walk->text;
	view_drop_last_component(walk->place); /* goes from the link to its directory */
	if (*target == '/') {
		walk->place->virt[1] = '\0';
		walk->place->virt_len = 1;
	}
	return 0;
}

/* Goes from /proc/PID/{cwd,exe,root,fd/N} to the virtual path of its object. 1: there is none, and the walk ends. */
static int walk_enter_magic_link(struct path_walk *walk, bool last)
{
	struct place *place = walk->place;
	char host[PATH_MAX], virt[PATH_MAX];
	struct stat object;
	ssize_t len = readlinkat(place->mount->fd, place->path_below_mount_fd, host, sizeof(host) - 1);
	int r;

	if (len < 0)
		return -errno;
	host[len] = '\0';
	if (strcmp(strrchr(place->path_below_mount_fd, '/') + 1, "root") == 0)
		return walk_enter_link(walk, "/");
	if (fstatat(place->mount->fd, place->path_below_mount_fd, &object, 0) < 0)
		return -errno;
	r = host[0] == '/' ? view_find_virtual_path(walk->view, host, (size_t)len, virt, sizeof(virt)) : -ENOENT;
	if (r > 0 && view_path_leads_to_object(walk->view, virt, &object)) {
		if (++walk->links_followed > VIEW_LINKS_FOLLOWED_MAX)
			return -ELOOP;
		memcpy(place->virt, virt, (size_t)r + 1);
		place->virt_len = (size_t)r;
		return 0;
	}
	if (!last)
		return S_ISDIR(object.st_mode) ? -ENOENT : -ENOTDIR;
	return 1;
}

/* Whether the task may read at the place so far: 0 or -errno. */
static int walk_judge_read_of_place(const struct path_walk *walk)
{
	struct policy_decision decision = view_judge_place(walk->view, walk->task, walk->place, POLICY_READ);

	return decision.verdict == VERDICT_DENY ? -decision.error : 0;
}

/* Follows a symbolic link of the host, (fd, path), at the current place. */
static int walk_follow_link(struct path_walk *walk, int fd, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, path, target, sizeof(target) - 1);
	int r;

	if (len < 0)
		return -errno;
	target[len] = '\0';
	/* Following a link reveals its target, so reading must be granted. */
	r = walk_judge_read_of_place(walk);
	return r < 0 ? r : walk_enter_link(walk, target);
}

/* Looks at the object at the current place. 0: go on; 1: it has no virtual path, and the walk ends; or -errno. */
static int walk_visit_current_object(struct path_walk *walk, bool last)
{
	struct place *place = walk->place;
	bool follow = !last || walk->flags & VIEW_FOLLOW_LAST_LINK || *walk->remaining_path == '/';
	_cleanup_close_ int fd = -1;
	const char *path;
	struct stat object;
	int dirfd, r = view_set_mount_of_place(walk->view, place);

	if (r < 0)
		return r;
	if (place->mount->flags & MOUNT_PROC) {
		enum proc_kind kind = proc_classify_path(walk->view, walk->task, view_get_path_below_proc(place));

		if (kind == PROC_ABSENT)
			return last ? 0 : -ENOENT; /* the caller will judge the last component, for the record */
		if (kind == PROC_MAGIC_LINK && follow)
			return walk_enter_magic_link(walk, last);
	}
	r = view_stat_place(place, &object, &dirfd, &path, &fd);
	if (r < 0)
		return last && r == -ENOENT && walk->flags & VIEW_LAST_MAY_BE_ABSENT ? 0 : r;
	if (S_ISLNK(object.st_mode) && follow) {
		r = walk_follow_link(walk, dirfd, path);
		/* EINVAL: the link was replaced meanwhile. A program that goes on doing that gets ELOOP. */
		return r == -EINVAL && ++walk->links_followed <= VIEW_LINKS_FOLLOWED_MAX
			       ? walk_visit_current_object(walk, last)
			       : r;
	}
	if (!S_ISLNK(object.st_mode) && !S_ISDIR(object.st_mode) && (!last || *walk->remaining_path == '/'))
		return -ENOTDIR;
	return 0;
}

/* Resolves one more component. 0: go on; 1: the object has no virtual path, and the walk ends; or -errno. */
static int walk_enter_component(struct path_walk *walk, const char *name, bool last)
{
	struct place *place = walk->place;
	const struct view_node *node;
	const char *target;
	char buffer[64];
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		r = view_set_mount_of_place(walk->view, place);
		/* "denied/name/.." would reveal whether `name` exists, so ".." needs a directory that may be read. */
		if (r == 0 && !(place->mount->flags & MOUNT_PROC))
			r = walk_judge_read_of_place(walk);
		if (r == 0)
			view_drop_last_component(place);
		return r;
	}
	r = walk_add_component(place, name);
	if (r < 0)
		return r;
	node = view_find_node(walk->view, place->virt, place->virt_len, view_hash_path(place->virt, place->virt_len));
	target = view_get_link_target(walk->task, node, place->virt, buffer);
	if (target && (!last || walk->flags & VIEW_FOLLOW_LAST_LINK || *walk->remaining_path == '/'))
		return walk_enter_link(walk, target);
	return walk_visit_current_object(walk, last);
}

int view_walk_path(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place)
{
	struct path_walk walk = {.view = view, .task = task, .flags = flags, .place = ret_place};
	const char *start = *path == '/' ? "/" : base;
	char name[NAME_MAX + 1];
	bool last = false;
	int r = 0, next = 0;

	(void)snprintf(ret_place->virt, sizeof(ret_place->virt), "%s", start);
	ret_place->virt_len = strlen(ret_place->virt);
	ret_place->mount = NULL;
	if ((size_t)snprintf(walk.text, sizeof(walk.text), "%s", path) >= sizeof(walk.text))
		return -ENAMETOOLONG;
	walk.remaining_path = walk.text;
	while (r == 0 && (next = view_read_next_component(&walk.remaining_path, name, &last)) > 0)
		r = walk_enter_component(&walk, name, last);
	if (r < 0 || next < 0)
		return r < 0 ? r : next;
	if (r == 1) {
		ret_place->is_magic_link = true;
		return 0;
	}
	return view_set_mount_of_place(view, ret_place);
}
