#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "view/private.h"
#include "view/tree.h"

#include "base/banned.h"

#define RESOLVE_STRICT (RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS)

int openat2_call(int dirfd, const char *path, int flags, mode_t mode, uint64_t resolve)
{
	/* openat2(2) refuses a mode without O_CREAT or O_TMPFILE. */
	bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
	struct open_how how = {
		.flags = (uint64_t)(unsigned)(flags | O_CLOEXEC), .mode = creates ? mode : 0, .resolve = resolve};
	int fd;

	fd = (int)syscall(SYS_openat2, dirfd, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

struct node *view_node(const struct view *view, const char *virt, size_t len, uint32_t hash)
{
	for (struct node *node = view->bucket[hash % VIEW_BUCKETS]; node; node = node->next)
		if (node->hash == hash && node->virt_len == len && memcmp(node->virt, virt, len) == 0)
			return node;
	return NULL;
}

const char *view_link(const struct task *task, const struct node *node, const char *virt, char buffer[64])
{
	if (node && node->link)
		return node->link;
	if (!task || strncmp(virt, "/proc/", 6) != 0)
		return NULL;
	if (strcmp(virt + 6, "self") == 0)
		(void)snprintf(buffer, 64, "%d", task->tgid);
	else if (strcmp(virt + 6, "thread-self") == 0)
		(void)snprintf(buffer, 64, "%d/task/%d", task->tgid, task->tid);
	else
		return NULL;
	return buffer;
}

/* The deepest node on the way to the path. */
static const struct node *deepest_node(const struct view *view, const struct place *place)
{
	struct view_prefix prefix = view_prefixes(place->virt, place->virt_len);
	const struct node *best = NULL;

	while (view_longer(&prefix)) {
		const struct node *node = view_node(view, place->virt, prefix.len, view_prefix_hash(&prefix));

		best = node ? node : best;
	}
	return best;
}

bool view_in_hole(const struct place *place)
{
	const struct node *node = deepest_node(place->mount->view, place);

	return node && !node->mount && !node->link;
}

bool view_holds_node(const struct view *view, const char *virt)
{
	for (unsigned i = 0; i < VIEW_BUCKETS; i++)
		for (const struct node *node = view->bucket[i]; node; node = node->next)
			if (path_below(node->virt, virt))
				return true;
	return false;
}

/* The deepest node on its way is known. */
static int put_place(const struct view *view, struct place *place, const struct node *node)
{
	const struct mount *mount = node && node->mount ? node->mount : (node ? view->root : view->top);
	size_t skip = mount->virt_len;

	place->magic = false;
	place->mount = mount;
	if (mount->flags & MOUNT_FILE) {
		place->rest = mount->base;
		return place->virt_len == skip ? 0 : -ENOTDIR;
	}
	if (place->virt_len == skip)
		place->rest = ".";
	else
		place->rest = place->virt + skip + (skip > 1);
	if (mount->flags & MOUNT_PROC && view->machine && proc_is_machine(place->rest))
		place->mount = view->machine;
	return 0;
}

int view_place(const struct view *view, struct place *place)
{
	return put_place(view, place, deepest_node(view, place));
}

/*
 * Finds the first of the view's links in the path. Returns the length of the prefix it is, or 0, and then *ret_node,
 * the deepest node.
 */
static size_t find_link(const struct view *view, const struct task *task, const struct place *place, bool follow_last,
			const char **ret_target, char buffer[64], const struct node **ret_node)
{
	struct view_prefix prefix = view_prefixes(place->virt, place->virt_len);
	bool proc = task && strncmp(place->virt, "/proc/", 6) == 0;

	*ret_node = NULL;
	while (view_longer(&prefix)) {
		const struct node *node = view_node(view, place->virt, prefix.len, view_prefix_hash(&prefix));
		char name[32];

		*ret_node = node ? node : *ret_node;
		if (prefix.len == place->virt_len && !follow_last)
			break;
		if (node && node->link) {
			*ret_target = node->link;
			return prefix.len;
		}
		if (proc && prefix.len < sizeof(name)) {
			memcpy(name, place->virt, prefix.len);
			name[prefix.len] = '\0';
			*ret_target = view_link(task, NULL, name, buffer);
			if (*ret_target)
				return prefix.len;
		}
	}
	return 0;
}

/* virt := directory of the link + target + what came after it. */
static int substitute(struct place *place, size_t prefix, const char *target)
{
	char dir[PATH_MAX], path[PATH_MAX * 2];
	size_t slash = prefix;
	bool lexical;
	int len;

	while (slash > 1 && place->virt[slash - 1] != '/')
		slash--;
	memcpy(dir, place->virt, slash);
	dir[slash > 1 ? slash - 1 : slash] = '\0';
	if ((size_t)snprintf(path, sizeof(path), "%s%s", target, place->virt + prefix) >= sizeof(path))
		return -ENAMETOOLONG;
	len = path_join(dir, path, place->virt, sizeof(place->virt), &lexical);
	if (len < 0)
		return len;
	place->virt_len = (size_t)len;
	return lexical ? 0 : -EAGAIN;
}

int view_locate(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
		struct place *ret_place)
{
	bool follow = flags & VIEW_FOLLOW || path_wants_dir(path);
	bool lexical;
	int len = path_join(base, path, ret_place->virt, sizeof(ret_place->virt), &lexical);

	ret_place->mount = NULL;
	if (len < 0)
		return len;
	if (!lexical)
		return -EAGAIN;
	ret_place->virt_len = (size_t)len;
	for (int links = 0; links < VIEW_LINKS_MAX; links++) {
		const struct node *node;
		const char *target;
		char buffer[64];
		size_t prefix = find_link(view, task, ret_place, follow, &target, buffer, &node);
		int r;

		if (prefix == 0)
			return put_place(view, ret_place, node);
		r = substitute(ret_place, prefix, target);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}

void place_rebase(struct place *copy, const struct place *from)
{
	if (from->rest >= from->virt && from->rest < from->virt + sizeof(from->virt))
		copy->rest = copy->virt + (from->rest - from->virt);
}

bool view_own_listing(const struct place *place)
{
	const struct mount *mount = place->mount;

	if (mount->flags & MOUNT_PROC) /* from a directory of the supervisor's own procfs ".." would lead on in it */
		return place->virt_len == mount->virt_len ||
		       (mount == mount->view->machine && proc_is_directory(place->rest));
	return mount->flags & MOUNT_FILTERED && !(mount->flags & MOUNT_FILE) &&
	       policy_rights(mount->view->policy, place->virt, place->virt_len) == 0;
}

/* The stand-in of a directory that has a listing of its own. */
static int open_stand_in(const struct place *place, int flags)
{
	const struct view *view = place->mount->view;
	const char *rest = place->virt_len > 1 ? place->virt + 1 : ".";
	int r;

	if (!(place->mount->flags & MOUNT_PROC)) {
		/* The host decides whether it is there and a directory at all. */
		_cleanup_close_ int host = openat2_call(place->mount->fd, place->rest, O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);

		if (host < 0)
			return host;
	}
	r = flags & O_PATH ? view_skeleton_mkdir(view, place->virt) : view_refresh(place);
	if (r < 0)
		return r;
	return openat2_call(view->standin_fd, rest, flags, 0, RESOLVE_STRICT);
}

/* An object without a name: through the link of the descriptor that holds it. */
static int open_magic(const struct place *place, int flags)
{
	return openat2_call(place->mount->fd, place->rest, flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL), 0, 0);
}

/* Anew by its descriptor: a description of its own, as open(2) makes one. */
static int open_terminal(const struct view *view, int flags)
{
	char path[32];
	int fd;

	if (flags & O_DIRECTORY)
		return -ENOTDIR; /* before the device is asked, as do_open() in fs/namei.c */
	if (view->terminal_fd < 0)
		return -ENXIO;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", view->terminal_fd);
	fd = open(path, (flags & ~(O_NOFOLLOW | O_CREAT | O_EXCL)) | O_NOCTTY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int view_open(const struct place *place, int flags, mode_t mode)
{
	if (place->magic)
		return open_magic(place, flags);
	if (place->mount->flags & MOUNT_TTY && !(flags & O_PATH))
		return open_terminal(place->mount->view, flags);
	/*
	 * Where the kernel knows the name, a directory that is merely passed through or gone to is the kernel's.
	 * Whoever does with an O_PATH descriptor what tells of entries has to ask view_own_listing first (file-watch.c
	 * is the only one).
	 */
	if (place->mount->flags & (MOUNT_PROC | MOUNT_FILTERED) && view_own_listing(place) &&
	    !(flags & O_PATH && place->mount->view->attached && place->mount != place->mount->view->machine)) {
		int fd = open_stand_in(place, flags);

		/* Not a directory: a name that no glob grants, which view_judge has refused already or will. */
		return fd == -ENOTDIR && !(flags & O_DIRECTORY) ? -ENOENT : fd;
	}
	return openat2_call(place->mount->fd, place->rest, flags, mode, RESOLVE_STRICT);
}

bool view_ask(const struct place *place, int *ret_dirfd, const char **ret_path)
{
	if (place->magic || !(place->mount->flags & MOUNT_STILL))
		return false;
	*ret_dirfd = place->mount->view->still_fd;
	*ret_path = place->virt_len > 1 ? place->virt + 1 : ".";
	return true;
}

int view_still_fd(const struct view *view)
{
	return view->still_fd;
}

uint64_t view_mount_number(const struct view *view, uint64_t still)
{
	for (size_t i = 0; i < view->numbers; i++)
		if (view->number[i].still == still)
			return view->number[i].number;
	return 0;
}

void view_note_mount(struct view *view, uint64_t still, uint64_t number)
{
	if (view->numbers < VIEW_NUMBERS_MAX)
		view->number[view->numbers++] = (struct mount_number){.still = still, .number = number};
}

int view_open_parent(const struct place *place, const char **ret_name)
{
	char dir[PATH_MAX];
	const char *slash;

	if (place->virt_len == place->mount->virt_len || place->magic)
		return -EBUSY;
	slash = strrchr(place->rest, '/');
	*ret_name = slash ? slash + 1 : place->rest;
	if (!slash)
		return openat2_call(place->mount->fd, ".", O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
	memcpy(dir, place->rest, (size_t)(slash - place->rest));
	dir[slash - place->rest] = '\0';
	return openat2_call(place->mount->fd, dir, O_PATH | O_DIRECTORY, 0, RESOLVE_STRICT);
}

bool view_is_nameless(const struct place *place)
{
	return !place->magic && place->mount == place->mount->view->machine;
}

int view_host(const struct place *place, char *out, size_t cap)
{
	const struct mount *mount = place->mount;
	bool stand_in = view_own_listing(place) && !mount->view->attached;
	const char *host = stand_in ? mount->view->standin_host : mount->host;
	const char *rest = stand_in || mount->virt_len == 1 ? place->virt : place->virt + mount->virt_len;
	int len;

	if (rest[0] == '/' && rest[1] == '\0')
		rest = "";
	len = snprintf(out, cap, "%s%s", host[1] || !*rest ? host : "", rest);
	return len < 0 || (size_t)len >= cap ? -ENAMETOOLONG : len;
}
