/* A renamed directory moves everything below it: each name there goes away, each name below the new one appears. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "syscalls/changes-private.h"

#include "base/banned.h"

/* Breadth first over entries of the set, whose addresses stay: one descriptor at a time, however deep the tree is. */
struct walk {
	struct changes *changes;
	const struct place *to;
	size_t from_len;
	bool to_absent;
	struct touched **queue; /* directories of the old tree; borrows */
	size_t queued, cap, entries;
	struct place place; /* where the walk is; big, so not on the stack of every step */
};

/* Makes place base's path + `tail`, on the same mount. False when it would be too long. */
static bool set_path(struct place *place, const struct place *base, const char *tail, size_t tail_len)
{
	size_t rest = base->rest >= base->virt && base->rest <= base->virt + base->virt_len ?
			      (size_t)(base->rest - base->virt) : SIZE_MAX;

	if (base->virt_len + tail_len >= sizeof(place->virt))
		return false;
	place->mount = base->mount;
	place->magic = false;
	memcpy(place->virt, base->virt, base->virt_len);
	memcpy(place->virt + base->virt_len, tail, tail_len);
	place->virt_len = base->virt_len + tail_len;
	place->virt[place->virt_len] = '\0';
	/* The base itself is no mount's root (those cannot be renamed), so its rest lies in its text. */
	place->rest = rest == SIZE_MAX ? base->rest : place->virt + rest;
	return true;
}

static int enqueue(struct walk *walk, struct touched *entry)
{
	if (walk->queued == walk->cap) {
		size_t cap = walk->cap ? walk->cap * 2 : 64;
		struct touched **queue = realloc(walk->queue, cap * sizeof(struct touched *));

		if (!queue)
			return -ENOMEM;
		walk->queue = queue;
		walk->cap = cap;
	}
	walk->queue[walk->queued++] = entry;
	return 0;
}

/* One name of directory `dir`: its old path, its new one, and into the queue when it is a directory. */
static int walk_name(struct walk *walk, const struct place *dir, const char *name, unsigned char type)
{
	char tail[NAME_MAX + 2];
	size_t len = strlen(name), below;
	struct touched *entry, *other;
	int r;

	tail[0] = '/';
	memcpy(tail + 1, name, len + 1);
	if (!set_path(&walk->place, dir, tail, len + 1)) {
		walk->changes->unlisted++;
		return 0;
	}
	r = changes_entry(walk->changes, &walk->place, false, &entry);
	if (r < 0 || !entry)
		return r;
	if (type == DT_DIR || (type == DT_UNKNOWN && (entry->state != TOUCHED_PRESENT || S_ISDIR(entry->mode))))
		r = enqueue(walk, entry);
	if (r < 0)
		return r;
	below = walk->from_len;
	if (!set_path(&walk->place, walk->to, entry->path + below, entry->path_len - below)) {
		walk->changes->unlisted++;
		return 0;
	}
	return changes_entry(walk->changes, &walk->place, walk->to_absent, &other);
}

static int walk_dir(struct walk *walk, const struct place *dir)
{
	int fd = view_open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	_cleanup_closedir_ DIR *stream = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *name;
	int r;

	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		walk->changes->unlisted++; /* it may be moved without being readable: what is inside stays unknown */
		return 0;
	}
	while ((name = readdir(stream))) {
		if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0)
			continue;
		if (++walk->entries > CHANGES_TREE_MAX) {
			walk->changes->unlisted++;
			return 0;
		}
		r = walk_name(walk, dir, name->d_name, name->d_type);
		if (r < 0)
			return r;
	}
	return 0;
}

int changes_touch_tree(struct changes *changes, const struct place *from, const struct place *to)
{
	struct walk walk = {.changes = changes, .to = to, .from_len = from->virt_len};
	struct touched *entry = NULL;
	struct place dir;
	int r = changes_touch(changes, to);

	if (r == 0)
		r = changes_touch(changes, from);
	if (r == 0 && (changes_reported(from->mount) || changes_reported(to->mount))) {
		int fd = view_open(to, O_PATH | O_NOFOLLOW, 0);

		walk.to_absent = fd == -ENOENT;
		if (fd >= 0)
			(void)close(fd);
		r = walk_dir(&walk, from);
	}
	for (size_t i = 0; r == 0 && i < walk.queued; i++) {
		entry = walk.queue[i];
		changes_place(entry, &dir);
		r = walk_dir(&walk, &dir);
	}
	free(walk.queue);
	return r;
}
