/* Canonicalisation by O_PATH steps. Its result is only a name: view_open opens it without following anything. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"
#include "view/tree.h"

#include "base/banned.h"

struct walk {
	const struct view *view;
	const struct task *task;
	unsigned flags;
	int links;
	struct place *place;       /* virt is where the walk stands */
	const char *todo;          /* what is left, in text */
	char text[PATH_MAX * 2];
};

/* Takes the next component off todo; false at the end. *ret_last: nothing but slashes comes after it. */
static bool next_component(struct walk *walk, char name[NAME_MAX + 1], bool *ret_last, int *ret_error)
{
	const char *end;
	size_t len;

	while (*walk->todo == '/')
		walk->todo++;
	if (*walk->todo == '\0')
		return false;
	end = strchrnul(walk->todo, '/');
	len = (size_t)(end - walk->todo);
	*ret_error = len > NAME_MAX ? -ENAMETOOLONG : 0;
	if (*ret_error)
		return true;
	memcpy(name, walk->todo, len);
	name[len] = '\0';
	walk->todo = end;
	*ret_last = end[strspn(end, "/")] == '\0';
	return true;
}

static void step_up(struct place *place)
{
	while (place->virt_len > 1 && place->virt[place->virt_len - 1] != '/')
		place->virt_len--;
	if (place->virt_len > 1)
		place->virt_len--;
	place->virt[place->virt_len] = '\0';
}

static int step_down(struct place *place, const char *name)
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

/* Puts a link's target in front of what is left; an absolute one starts at the view's root. */
static int enter_link(struct walk *walk, const char *target)
{
	char text[sizeof(walk->text)];

	if (++walk->links > VIEW_LINKS_MAX)
		return -ELOOP;
	if (*target == '\0')
		return -ENOENT;
	if ((size_t)snprintf(text, sizeof(text), "%s%s", target, walk->todo) >= sizeof(text))
		return -ENAMETOOLONG;
	memcpy(walk->text, text, strlen(text) + 1);
	walk->todo = walk->text;
	step_up(walk->place); /* the link itself is not part of the way */
	if (*target == '/') {
		walk->place->virt[1] = '\0';
		walk->place->virt_len = 1;
	}
	return 0;
}

/* /proc/PID/{cwd,exe,root,fd/N}: goes to the virtual name of the object; 1 when it has none and the walk ends here. */
static int enter_magic(struct walk *walk, bool last)
{
	struct place *place = walk->place;
	char host[PATH_MAX], virt[PATH_MAX];
	struct stat object;
	ssize_t len = readlinkat(place->mount->fd, place->rest, host, sizeof(host) - 1);
	int r;

	if (len < 0)
		return -errno;
	host[len] = '\0';
	if (strcmp(strrchr(place->rest, '/') + 1, "root") == 0)
		return enter_link(walk, "/");
	if (fstatat(place->mount->fd, place->rest, &object, 0) < 0)
		return -errno;
	r = host[0] == '/' ? view_name(walk->view, host, (size_t)len, virt, sizeof(virt)) : -ENOENT;
	if (r > 0 && view_confirm(walk->view, virt, &object)) {
		if (++walk->links > VIEW_LINKS_MAX)
			return -ELOOP;
		memcpy(place->virt, virt, (size_t)r + 1);
		place->virt_len = (size_t)r;
		return 0;
	}
	if (!last)
		return S_ISDIR(object.st_mode) ? -ENOENT : -ENOTDIR;
	return 1;
}

static int judge_step(const struct walk *walk)
{
	struct policy_decision decision = view_judge(walk->view, walk->task, walk->place, POLICY_READ);

	return decision.verdict == VERDICT_DENY ? -decision.error : 0;
}

/* A real symbolic link stands at the place, (fd, path). */
static int follow_link(struct walk *walk, int fd, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlinkat(fd, path, target, sizeof(target) - 1);
	int r;

	if (len < 0)
		return -errno;
	target[len] = '\0';
	/* What a link says may only be learned where reading is granted. */
	r = judge_step(walk);
	return r < 0 ? r : enter_link(walk, target);
}

/* What kind of thing stands at the place: by name, or by *ret_fd. */
static int look_at(const struct place *place, int *ret_dirfd, const char **ret_path, int *ret_fd, mode_t *ret_mode)
{
	struct stat object;
	int r = 0;

	if (view_ask(place, ret_dirfd, ret_path)) {
		r = fstatat(*ret_dirfd, *ret_path, &object, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT);
	} else {
		*ret_fd = view_open(place, O_PATH | O_NOFOLLOW, 0);
		if (*ret_fd < 0)
			return *ret_fd;
		*ret_dirfd = *ret_fd;
		*ret_path = "";
		r = fstat(*ret_fd, &object);
	}
	if (r < 0)
		return -errno;
	*ret_mode = object.st_mode;
	return 0;
}

/* The name was put on place; looks at what is there. 0: go on; 1: the walk ends here (magic object). */
static int look(struct walk *walk, bool last)
{
	struct place *place = walk->place;
	bool follow = !last || walk->flags & VIEW_FOLLOW || *walk->todo == '/';
	_cleanup_close_ int fd = -1;
	const char *path;
	mode_t mode = 0;
	int dirfd, r = view_place(walk->view, place);

	if (r < 0)
		return r;
	if (place->mount->flags & MOUNT_PROC) {
		enum proc_kind kind = proc_classify(walk->view, walk->task, place->virt_len > 6 ? place->rest : "");

		if (kind == PROC_ABSENT)
			return last ? 0 : -ENOENT; /* the last step's refusal is for view_judge, which records it */
		if (kind == PROC_MAGIC && follow)
			return enter_magic(walk, last);
	}
	r = look_at(place, &dirfd, &path, &fd, &mode);
	if (r < 0)
		return last && r == -ENOENT && walk->flags & VIEW_ABSENT ? 0 : r;
	if (S_ISLNK(mode) && follow) {
		r = follow_link(walk, dirfd, path);
		/* It was replaced between two questions about its name; whoever goes on doing that gets ELOOP. */
		return r == -EINVAL && ++walk->links <= VIEW_LINKS_MAX ? look(walk, last) : r;
	}
	if (!S_ISLNK(mode) && !S_ISDIR(mode) && (!last || *walk->todo == '/'))
		return -ENOTDIR;
	return 0;
}

/* "denied/name/.." would tell whether there is a name: nobody gets out of what could not be read. */
static int leave(const struct walk *walk)
{
	int r = view_place(walk->view, walk->place);

	return r < 0 || walk->place->mount->flags & MOUNT_PROC ? r : judge_step(walk);
}

/* One component. 0: go on; 1: ends here; -errno. */
static int step(struct walk *walk, const char *name, bool last)
{
	struct place *place = walk->place;
	const struct node *node;
	const char *target;
	char buffer[64];
	int r;

	if (strcmp(name, ".") == 0)
		return 0;
	if (strcmp(name, "..") == 0) {
		r = leave(walk);
		if (r == 0)
			step_up(place);
		return r;
	}
	r = step_down(place, name);
	if (r < 0)
		return r;
	node = view_node(walk->view, place->virt, place->virt_len, view_hash(place->virt, place->virt_len));
	target = view_link(walk->task, node, place->virt, buffer);
	if (target && (!last || walk->flags & VIEW_FOLLOW || *walk->todo == '/'))
		return enter_link(walk, target);
	return look(walk, last);
}

int view_walk(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place)
{
	struct walk walk = {.view = view, .task = task, .flags = flags, .place = ret_place};
	const char *start = *path == '/' ? "/" : base;
	char name[NAME_MAX + 1];
	bool last = false;
	int r = 0, error = 0;

	(void)snprintf(ret_place->virt, sizeof(ret_place->virt), "%s", start);
	ret_place->virt_len = strlen(ret_place->virt);
	ret_place->mount = NULL;
	if ((size_t)snprintf(walk.text, sizeof(walk.text), "%s", path) >= sizeof(walk.text))
		return -ENAMETOOLONG;
	walk.todo = walk.text;
	while (r == 0 && next_component(&walk, name, &last, &error))
		r = error ? error : step(&walk, name, last);
	if (r < 0)
		return r;
	if (r == 1) {
		ret_place->magic = true;
		return 0;
	}
	return view_place(view, ret_place);
}
