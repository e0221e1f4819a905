/*
 * Nodes of the view that are no mounts: links and covered names. They are made together with the view.
 * Links are the links of the host that lead into a grant, so that other names for the granted files work, too.
 * At a covered name nothing exists, whatever the policy grants. Covered are the scratch directories of all runs, and
 * every procfs except /proc: in the procfs of a chroot or a container, "self" would be the supervisor.
 * view_attach_mounts covers these names for the kernel as well.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/mounts.h"
#include "base/path.h"
#include "view/fixed.h"
#include "view/private.h"

/* Adds a link of the host by its canonical path, unless a mount shows the link already. */
static int links_add_link(struct view *view, const char *path, const char *target)
{
	const struct view_node *known = view_find_node(view, path, strlen(path), view_hash_path(path, strlen(path)));
	struct place place;
	int r;

	if (known && known->link_target && strcmp(known->link_target, target) == 0)
		return 0;
	if (view_is_in_host_tree(view, path)) {
		_cleanup_close_ int fd = -1;

		r = view_locate_path(view, NULL, "/", path, 0, &place);
		fd = r < 0 ? r : view_open_place(&place, O_PATH | O_NOFOLLOW, 0);
		if (fd >= 0)
			return 0;
	}
	r = view_add_listing_entry(view, path, S_IFLNK, target);
	if (r == 0)
		r = view_add_node(view, path, NULL, target);
	return r == -EEXIST ? 0 : r;
}

static int links_compare_paths(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Reads a link of the host. 1 with the target when there is a link at the canonical path `at`, else 0. */
static int links_read_target(struct view *view, const char *at, char target[PATH_MAX])
{
	char *copy;
	ssize_t len;

	if (tfind(at, &view->plain, links_compare_paths))
		return 0;
	len = readlink(at, target, PATH_MAX - 1);
	if (len <= 0) { /* no link: remember that, since most rules begin with the same directories */
		copy = strdup(at);
		if (copy && !tsearch(copy, &view->plain, links_compare_paths))
			free(copy); /* out of memory: the path is looked up again next time */
		return 0;
	}
	target[len] = '\0';
	return 1;
}

/* Resolves as realpath(3), and adds each link on the way: /bin/sh has /bin -> usr/bin and /usr/bin/sh -> dash. */
int view_add_links_of_path(struct view *view, const char *written)
{
	char at[PATH_MAX] = "/", todo[PATH_MAX * 2], rest[PATH_MAX * 2], target[PATH_MAX];
	unsigned links = 0;

	if ((size_t)snprintf(todo, sizeof(todo), "%s", written) >= PATH_MAX)
		return -ENAMETOOLONG;
	while (todo[strspn(todo, "/")] && links < VIEW_LINKS_FOLLOWED_MAX) {
		const char *name = todo + strspn(todo, "/");
		size_t name_len = strcspn(name, "/"), parent_len = strlen(at);
		char parent[PATH_MAX];
		bool lexical;
		int r;

		(void)snprintf(rest, sizeof(rest), "%s", name + name_len);
		(void)snprintf(target, sizeof(target), "%.*s", (int)name_len, name);
		memcpy(parent, at, parent_len + 1);
		r = path_join(parent, target, at, sizeof(at), &lexical);
		if (r < 0)
			return r;
		memcpy(todo, rest, strlen(rest) + 1);
		if (!links_read_target(view, at, target))
			continue;
		links++;
		r = links_add_link(view, at, target);
		if (r < 0)
			return r;
		at[target[0] == '/' || parent_len == 1 ? 1 : parent_len] = '\0';
		if ((size_t)snprintf(todo, sizeof(todo), "%s%s", target, rest) >= sizeof(todo))
			return -ENAMETOOLONG;
	}
	return 0;
}

int view_add_merged_usr(struct view *view)
{
	const char *const *links = view_merged_usr;
	int r = 0;

	for (size_t i = 0; r == 0 && links[i]; i++) {
		const struct view_node *known =
			view_find_node(view, links[i], strlen(links[i]), view_hash_path(links[i], strlen(links[i])));
		_cleanup_free_ char *real = NULL;
		char target;

		/* A rule has added this link, or the host has no link here. */
		if ((known && known->link_target) || readlink(links[i], &target, 1) < 0)
			continue;
		real = realpath(links[i], NULL);
		/* The link matters only if something is granted at its target or below. */
		if (real && strcmp(real, links[i]) != 0 &&
		    (view_is_in_host_tree(view, real) || faccessat(view->skeleton_mount->fd, real + 1, F_OK, 0) == 0))
			r = view_add_links_of_path(view, links[i]);
	}
	return r;
}

bool view_is_procfs(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) < 0 || fs.f_type == PROC_SUPER_MAGIC;
}

/* Covers each virtual path that shows this host directory. */
static int nodes_cover_host_dir(struct view *view, const char *host)
{
	for (size_t i = 0; i < view->mount_count; i++) {
		const struct mount *mount = view->mount[i];
		const char *rest = path_get_rest_below(host, mount->host_path);
		struct place place;
		int r;

		if (!rest || !*rest || mount->flags & (MOUNT_SKELETON | MOUNT_OF_SINGLE_FILE))
			continue;
		r = view_join_path(mount->virt, rest, place.virt, sizeof(place.virt));
		if (r < 0)
			return r;
		place.virt_len = (size_t)r;
		if (view_set_mount_of_place(view, &place) < 0 || place.mount != mount)
			continue; /* another mount is there: a redirected /tmp below a grant of "/" */
		r = view_add_node(view, place.virt, NULL, NULL);
		if (r < 0 && r != -EEXIST)
			return r;
	}
	return 0;
}

int view_add_covered_names(struct view *view, const char *scratch_base)
{
	_cleanup_fclose_ FILE *mounts = NULL;
	_cleanup_free_ char *line = NULL;
	int r = nodes_cover_host_dir(view, scratch_base);
	size_t cap = 0;

	if (r < 0 || mounts_have_procfs_only_at_proc())
		return r;
	mounts = fopen("/proc/self/mountinfo", "re");
	if (!mounts)
		return -errno;
	while (r == 0 && getline(&line, &cap, mounts) > 0) {
		struct mountinfo_line mount;

		if (mounts_parse_mountinfo_line(line, &mount) && strcmp(mount.type, "proc") == 0 &&
		    !path_is_below(mount.mount_point, "/proc"))
			r = nodes_cover_host_dir(view, mount.mount_point);
	}
	return r == 0 && ferror(mounts) ? -EIO : r;
}
