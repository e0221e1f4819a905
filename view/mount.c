/* What a view is made of: mounts, and nodes that say at which names they, links and holes stand. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "view/private.h"

#include "base/banned.h"

int view_add_node(struct view *view, const char *virt, struct mount *mount, const char *link)
{
	size_t len = strlen(virt);
	uint32_t hash = view_hash(virt, len);
	struct node *node;

	if (view_node(view, virt, len, hash))
		return -EEXIST;
	node = calloc(1, sizeof(*node) + len + 1);
	if (!node)
		return -ENOMEM;
	memcpy(node->virt, virt, len);
	node->virt_len = (uint32_t)len;
	node->hash = hash;
	node->link = link ? strdup(link) : NULL;
	if (link && !node->link) {
		free(node);
		return -ENOMEM;
	}
	node->mount = mount;
	node->next = view->bucket[hash % VIEW_BUCKETS];
	view->bucket[hash % VIEW_BUCKETS] = node;
	return 0;
}

struct held *view_held(const struct view *view, const char *name)
{
	for (size_t i = 0; i < view->helds; i++)
		if (view->held[i]->fd >= 0 && strcmp(view->held[i]->name, name) == 0)
			return view->held[i];
	return NULL;
}

struct held *view_hold(struct view *view, const char *name, int fd)
{
	struct held **list = reallocarray(view->held, view->helds + 1, sizeof(struct held *));
	struct held *held = calloc(1, sizeof(*held));
	char *copy = strdup(name);

	if (list)
		view->held = list;
	if (!list || !held || !copy) {
		free(held);
		free(copy);
		(void)close(fd);
		return NULL;
	}
	*held = (struct held){.name = copy, .fd = fd};
	view->held[view->helds++] = held;
	return held;
}

void view_hold_by(struct mount *mount, int fd, struct held *held)
{
	if (held)
		held->users++;
	if (!mount->held) {
		cleanup_close(&mount->fd);
	} else if (--mount->held->users == 0) {
		cleanup_close(&mount->held->fd);
		mount->held->fd = -1;
	}
	mount->held = held;
	mount->fd = held ? held->fd : fd;
}

static void mount_free(struct mount *mount)
{
	if (!mount)
		return;
	if (mount->fd >= 0 && !mount->held)
		(void)close(mount->fd);
	cleanup_close(&mount->copy_fd);
	free(mount->virt);
	free(mount->host);
	free(mount->origin);
	free(mount->base);
	free(mount);
}

void view_free(struct view *view)
{
	if (!view)
		return;
	for (unsigned i = 0; i < VIEW_BUCKETS; i++) {
		while (view->bucket[i]) {
			struct node *node = view->bucket[i];

			view->bucket[i] = node->next;
			free(node->link);
			free(node);
		}
	}
	for (size_t i = 0; i < view->mounts; i++)
		mount_free(view->mount[i]);
	free(view->mount);
	for (size_t i = 0; i < view->helds; i++) {
		cleanup_close(&view->held[i]->fd);
		free(view->held[i]->name);
		free(view->held[i]);
	}
	free(view->held);
	view_shown_free(view->shown);
	view_bases_free(view->bases);
	free(view->skeleton_host);
	free(view->standin_host);
	if (view->standin_fd >= 0)
		(void)close(view->standin_fd);
	if (view->host_root_fd >= 0)
		(void)close(view->host_root_fd);
	if (view->proc_fd >= 0)
		(void)close(view->proc_fd);
	if (view->still_fd >= 0)
		(void)close(view->still_fd);
	free(view);
}

int view_add_mount(struct view *view, const char *virt, const char *host, int fd, const char *base, unsigned flags,
		   const char *rule)
{
	struct mount **list = reallocarray(view->mount, view->mounts + 1, sizeof(*list));
	struct mount *mount = calloc(1, sizeof(*mount));
	int r = 0;

	if (list)
		view->mount = list;
	if (!list || !mount) {
		free(mount);
		cleanup_close(&fd);
		return -ENOMEM;
	}
	*mount = (struct mount){.view = view, .virt = strdup(virt), .host = strdup(host), .base = strdup(base), .fd = fd,
				.copy_fd = -1,
				.origin = strdup(host), .flags = flags, .rule = rule, .virt_len = strlen(virt),
				.host_len = strlen(host)};
	view->mount[view->mounts++] = mount;
	if (!mount->virt || !mount->host || !mount->base || !mount->origin)
		return -ENOMEM;
	if (strcmp(virt, "/") == 0)
		view->top = mount;
	else
		r = view_add_node(view, virt, mount, NULL);
	return r == -EEXIST ? 0 : r;
}

int view_add_file(struct view *view, const char *virt, const char *host, struct held *held, unsigned flags, const char *rule)
{
	size_t before = view->mounts;
	int r = view_add_mount(view, virt, host, -1, strrchr(host, '/') + 1, flags | MOUNT_FILE, rule);

	if (view->mounts > before)
		view_hold_by(view->mount[before], -1, held);
	return r;
}

bool view_covered(const struct view *view, const char *virt)
{
	struct place place;

	return view_locate(view, NULL, "/", virt, 0, &place) < 0 || !(place.mount->flags & MOUNT_SKELETON);
}

void view_set_tree(struct view *view, struct tree *tree)
{
	view->tree = tree;
	if (tree && !view->bases)
		view->bases = view_bases_create(); /* without memory for it every name is asked for */
}
