/*
 * The mounts and nodes of a view, and the resolution of paths by text alone: which mount has a canonical virtual path,
 * and where the links of the view lead. Nothing here makes system calls, except openat2_retry() and closing
 * descriptors.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/path.h"
#include "policy/paths/libraries.h"
#include "view/copy/fill.h"
#include "view/private.h"
#include "view/tree.h"

/* ---- mounts ---- */

struct held_dir *view_find_held_dir(const struct view *view, const char *name)
{
	for (size_t i = 0; i < view->held_dir_count; i++)
		if (view->held[i]->fd >= 0 && strcmp(view->held[i]->name, name) == 0)
			return view->held[i];
	return NULL;
}

struct held_dir *view_add_held_dir(struct view *view, const char *name, int fd)
{
	_cleanup_close_ int owned = fd;
	struct held_dir **list = reallocarray(view->held, view->held_dir_count + 1, sizeof(struct held_dir *));
	struct held_dir *held = calloc(1, sizeof(*held) + strlen(name) + 1);

	if (list)
		view->held = list;
	if (!list || !held) {
		free(held);
		return NULL;
	}
	memcpy(held->name, name, strlen(name) + 1);
	held->fd = steal_fd(&owned);
	view->held[view->held_dir_count++] = held;
	return held;
}

void view_replace_mount_fd(struct mount *mount, int fd, struct held_dir *held)
{
	if (held)
		held->use_count++;
	if (!mount->held_dir)
		cleanup_close(&mount->fd);
	else if (--mount->held_dir->use_count == 0)
		close_fd(&mount->held_dir->fd);
	mount->held_dir = held;
	mount->fd = held ? held->fd : fd;
}

static void mount_free(struct mount *mount)
{
	if (mount->layer && !mount->borrows_layer) {
		cleanup_close(&mount->layer->dir_fd);
		cleanup_close(&mount->layer->lower_fd);
		cleanup_close(&mount->layer->bases_fd);
		cleanup_close(&mount->layer->reads_fd);
		fills_free(mount->layer->fills);
		free(mount->layer);
	}
	if (!mount->held_dir)
		cleanup_close(&mount->fd);
	cleanup_close(&mount->copy_fd);
	cleanup_close(&mount->uncovered_fd);
	free(mount->virt);
	free(mount->host_path);
	free(mount->recorded_host_path);
	free(mount->path_below_fd);
	free(mount);
}

void view_free_mounts(struct view *view)
{
	for (size_t i = 0; i < view->mount_count; i++)
		mount_free(view->mount[i]);
	free(view->mount);
	for (size_t i = 0; i < view->held_dir_count; i++) {
		cleanup_close(&view->held[i]->fd);
		free(view->held[i]);
	}
	free(view->held);
}

int view_add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		   const char *rule)
{
	_cleanup_close_ int owned = fd;
	struct mount **list = reallocarray(view->mount, view->mount_count + 1, sizeof(*list)), *mount;
	int r = 0;

	if (!list)
		return -ENOMEM;
	view->mount = list;
	mount = calloc(1, sizeof(*mount));
	if (!mount)
		return -ENOMEM;
	*mount = (struct mount){.view = view,
				.virt = strdup(virt),
				.host_path = strdup(host),
				.path_below_fd = strdup(base),
				.fd = steal_fd(&owned),
				.copy_fd = -1,
				.uncovered_fd = -1,
				.recorded_host_path = strdup(host),
				.flags = flags,
				.rule = rule,
				.virt_len = strlen(virt),
				.host_path_len = strlen(host)};
	view->mount[view->mount_count++] = mount;
	if (!mount->virt || !mount->host_path || !mount->path_below_fd || !mount->recorded_host_path)
		return -ENOMEM;
	if (strcmp(virt, "/") == 0)
		view->top = mount;
	else
		r = view_add_node(view, virt, mount, NULL);
	return r == -EEXIST ? 0 : r;
}

int view_add_file(struct view *view, const char *virt, const char *host, struct held_dir *held, unsigned flags,
		  const char *rule)
{
	size_t before = view->mount_count;
	int r = view_add_mount(view, virt, host, -1, strrchr(host, '/') + 1, flags | MOUNT_OF_SINGLE_FILE, rule);

	if (view->mount_count > before)
		view_replace_mount_fd(view->mount[before], -1, held);
	return r;
}

/* ---- nodes and places ---- */

struct view_node *view_find_node(const struct view *view, const char *virt, size_t len, uint32_t hash)
{
	for (struct view_node *node = view->node_bucket[hash % VIEW_NODE_BUCKETS]; node; node = node->next)
		if (node->hash == hash && node->virt_len == len && memcmp(node->virt, virt, len) == 0)
			return node;
	return NULL;
}

int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link)
{
	size_t len = strlen(virt);
	uint32_t hash = view_hash_path(virt, len);
	struct view_node *node;

	if (view_find_node(view, virt, len, hash))
		return -EEXIST;
	node = calloc(1, sizeof(*node) + len + 1);
	if (!node)
		return -ENOMEM;
	memcpy(node->virt, virt, len);
	node->virt_len = (uint32_t)len;
	node->hash = hash;
	node->link_target = link ? strdup(link) : NULL;
	if (link && !node->link_target) {
		free(node);
		return -ENOMEM;
	}
	node->mount = mount;
	node->next = view->node_bucket[hash % VIEW_NODE_BUCKETS];
	view->node_bucket[hash % VIEW_NODE_BUCKETS] = node;
	return 0;
}

const char *view_get_link_target(const struct task *task, const struct view_node *node, const char *virt,
				 char buffer[64])
{
	if (node && node->link_target)
		return node->link_target;
	if (!task || strncmp(virt, "/proc/", 6) != 0)
		return NULL;
	if (strcmp(virt + 6, "self") == 0)
		(void)snprintf(buffer, 64, "%d", task->tgid);
	else if (strcmp(virt + 6, "thread-self") == 0)
		(void)snprintf(buffer, 64, "%d/task/%d", task->tgid, task->tid);
	else if (strcmp(virt + 6, "mounts") == 0 || strcmp(virt + 6, "net") == 0)
		(void)snprintf(buffer, 64, "%d/%s", task->tgid, virt + 6);
	else
		return NULL;
	return buffer;
}

/* Finds the deepest node at the path of the place or at one of its ancestors. NULL: there is none. */
static const struct view_node *locate_find_deepest_node(const struct view *view, const struct place *place)
{
	struct view_prefix prefix = view_begin_prefixes(place->virt, place->virt_len);
	const struct view_node *best = NULL;

	while (view_extend_prefix(&prefix)) {
		const struct view_node *node = view_find_node(view, place->virt, prefix.len,
							      view_get_prefix_hash(&prefix));

		best = node ? node : best;
	}
	return best;
}

bool view_is_covered(const struct place *place)
{
	const struct view_node *node = locate_find_deepest_node(place->mount->view, place);

	return node && node_is_covered(node);
}

bool view_has_node_below(const struct view *view, const char *virt)
{
	for (unsigned i = 0; i < VIEW_NODE_BUCKETS; i++)
		for (const struct view_node *node = view->node_bucket[i]; node; node = node->next)
			if (path_is_below(node->virt, virt))
				return true;
	return false;
}

/* Moves the place of a file of /proc that callgate generates into the mount of such files. False: no such file. */
static bool locate_find_fact_file(const struct view *view, struct place *place)
{
	const char *leaf = proc_get_path_below_pid(place->path_below_mount_fd);
	bool of_process = leaf != NULL;

	if (!of_process)
		leaf = place->path_below_mount_fd;
	if (!facts_makes_proc_file(view->facts, leaf, of_process))
		return false;
	place->mount = facts_get_mount(view->facts);
	place->path_below_mount_fd = leaf;
	return true;
}

/*
 * Sets mount and path_below_mount_fd of a place by its virt. node: the deepest node on its path. 0; -ENOTDIR below a
 * file.
 */
static int locate_set_mount_of_place(const struct view *view, struct place *place, const struct view_node *node)
{
	const struct mount *mount = node && node->mount ? node->mount : (node ? view->skeleton_mount : view->top);
	size_t skip = mount->virt_len;

	place->is_magic_link = false;
	place->mount = mount;
	if (mount->flags & MOUNT_OF_SINGLE_FILE) {
		place->path_below_mount_fd = mount->path_below_fd;
		return place->virt_len == skip ? 0 : -ENOTDIR;
	}
	if (place->virt_len == skip)
		place->path_below_mount_fd = ".";
	else
		place->path_below_mount_fd = place->virt + skip + (skip > 1);
	if (view->kernel_judges_reads) /* no other mount serves files of /proc: the program's own procfs has them all */
		return 0;
	if (mount->flags & MOUNT_PROC && locate_find_fact_file(view, place))
		return 0;
	if (mount->flags & MOUNT_PROC && view->proc_files_of_no_process &&
	    proc_path_is_of_no_process(place->path_below_mount_fd))
		place->mount = view->proc_files_of_no_process;
	return 0;
}

int view_set_mount_of_place(const struct view *view, struct place *place)
{
	return locate_set_mount_of_place(view, place, locate_find_deepest_node(view, place));
}

/* Finds the first link of the view on the path. Returns its length; 0: none, and *ret_node is the deepest node. */
static size_t locate_find_first_link(const struct view *view, const struct task *task, const struct place *place,
				bool follow_last, const char **ret_target, char buffer[64],
				const struct view_node **ret_node)
{
	struct view_prefix prefix = view_begin_prefixes(place->virt, place->virt_len);
	bool proc = task && strncmp(place->virt, "/proc/", 6) == 0;

	*ret_node = NULL;
	while (view_extend_prefix(&prefix)) {
		const struct view_node *node = view_find_node(view, place->virt, prefix.len,
							      view_get_prefix_hash(&prefix));
		char name[32];

		*ret_node = node ? node : *ret_node;
		if (prefix.len == place->virt_len && !follow_last)
			break;
		if (node && node->link_target) {
			*ret_target = node->link_target;
			return prefix.len;
		}
		if (proc && prefix.len < sizeof(name)) {
			memcpy(name, place->virt, prefix.len);
			name[prefix.len] = '\0';
			*ret_target = view_get_link_target(task, NULL, name, buffer);
			if (*ret_target)
				return prefix.len;
		}
	}
	return 0;
}

/* Replaces the link at virt[0, prefix) by its target. 0, -ENAMETOOLONG, or -EAGAIN: ".." follows a name. */
static int locate_replace_link(struct place *place, size_t prefix, const char *target)
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

int view_locate_path(const struct view *view, const struct task *task, const char *base, const char *path,
		     unsigned flags, struct place *ret_place)
{
	bool follow = flags & VIEW_FOLLOW_LAST_LINK || path_requires_directory(path);
	bool lexical;
	int len = path_join(base, path, ret_place->virt, sizeof(ret_place->virt), &lexical);

	ret_place->mount = NULL;
	if (len < 0)
		return len;
	if (!lexical)
		return -EAGAIN;
	ret_place->virt_len = (size_t)len;
	for (int links = 0; links < VIEW_LINKS_FOLLOWED_MAX; links++) {
		const struct view_node *node;
		const char *target;
		char buffer[64];
		size_t prefix = locate_find_first_link(view, task, ret_place, follow, &target, buffer, &node);
		int r;

		if (prefix == 0)
			return locate_set_mount_of_place(view, ret_place, node);
		r = locate_replace_link(ret_place, prefix, target);
		if (r < 0)
			return r;
	}
	return -ELOOP;
}

bool view_has_standin(const struct place *place)
{
	const struct mount *mount = place->mount;

	if (!(mount->flags & MOUNT_HAS_STANDINS) ||
	    mount->view->kernel_judges_reads) /* the program can list the directory itself */
		return false;
	if (mount->flags & MOUNT_PROC) /* ".." in the procfs of the supervisor would lead past the allowlist */
		return place->virt_len == mount->virt_len || proc_path_is_directory(view_get_path_below_proc(place)) ||
		       proc_path_is_net(view_get_path_below_proc(place));
	if (mount->flags & MOUNT_DEV_PTS)
		return terminals_place_is_dev_pts(place);
	if (mount->flags & MOUNT_OF_SINGLE_FILE)
		return false;
	return (mount->flags & MOUNT_BY_GLOBS_ONLY &&
		policy_get_rights(mount->view->policy, place->virt, place->virt_len) == 0) ||
	       (mount->flags & MOUNT_MAY_HIDE_NAMES && policy_hides_names_in(mount->view->policy, place->virt));
}

bool view_place_is_public_only(const struct place *place)
{
	unsigned rights;

	if (place->is_magic_link || !(place->mount->flags & MOUNT_HAS_PUBLIC_GRANT))
		return false;
	rights = policy_get_rights(place->mount->view->policy, place->virt, place->virt_len);
	return rights == 0 || rights & POLICY_PUBLIC; /* 0: an ancestor of a grant */
}

bool view_public_place_may_be_read(const struct place *place)
{
	return policy_get_rights(place->mount->view->policy, place->virt, place->virt_len) != 0;
}

bool view_get_nosymfollow_path(const struct place *place, int *ret_dirfd, const char **ret_path)
{
	if (place->is_magic_link || !(place->mount->flags & MOUNT_HAS_NOSYMFOLLOW_COPY) ||
	    view_place_is_public_only(place))
		return false;
	*ret_dirfd = place->mount->view->nosymfollow_root_fd;
	*ret_path = place->virt_len > 1 ? place->virt + 1 : ".";
	return true;
}

bool view_is_in_host_tree(const struct view *view, const char *virt)
{
	struct place place;

	return view_locate_path(view, NULL, "/", virt, 0, &place) < 0 || !(place.mount->flags & MOUNT_SKELETON);
}

bool view_object_has_no_path(const struct place *place)
{
	const struct view *view = place->mount->view;

	return !place->is_magic_link &&
	       (place->mount == view->proc_files_of_no_process || place->mount == facts_get_mount(view->facts));
}

int view_join_path(const char *virt, const char *rest, char *out, size_t cap)
{
	bool root = virt[0] == '/' && virt[1] == '\0';
	int len;

	if (*rest == '\0')
		len = snprintf(out, cap, "%s", virt);
	else
		len = snprintf(out, cap, "%s/%s", root ? "" : virt, rest);
	return len < 0 || (size_t)len >= cap ? -ENAMETOOLONG : len;
}

/* Returns the path of a place below its mount, or with `from_root` below "/"; "" for the mount or "/" itself. */
static const char *locate_get_path_below_mount(const struct place *place, bool from_root)
{
	const char *rest = place->virt + (from_root ? 1 : place->mount->virt_len);

	return *rest == '/' ? rest + 1 : rest;
}

int view_get_supervisor_path(const struct place *place, char *out, size_t cap)
{
	const struct mount *mount = place->mount;
	bool stand_in = view_has_standin(place) && !mount->view->is_attached;

	return view_join_path(stand_in ? mount->view->standin_host : mount->host_path,
			      locate_get_path_below_mount(place, stand_in), out, cap);
}

int view_get_host_path(const struct place *place, char out[PATH_MAX])
{
	int len = view_join_path(place->mount->recorded_host_path, locate_get_path_below_mount(place, false), out,
				 PATH_MAX);

	return len < 0 ? len : 0;
}

void view_drop_last_component(struct place *place)
{
	while (place->virt_len > 1 && place->virt[place->virt_len - 1] != '/')
		place->virt_len--;
	if (place->virt_len > 1)
		place->virt_len--;
	place->virt[place->virt_len] = '\0';
}
