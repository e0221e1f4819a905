/* What the run moved with its directories, listed once it has ended: each name there went away, or appeared. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/changes-private.h"

#include "base/banned.h"

/* Breadth first: one descriptor at a time, however deep the tree is. */
struct walk {
	struct changes *changes;
	const struct move *move;
	char **queue; /* directories: tails of move->to; owned */
	size_t queued, done, cap, entries;
	uint64_t end_ns;
	struct place place; /* where the walk is; big, so not on the stack of every step */
};

static int enqueue(struct walk *walk, const char *tail)
{
	if (walk->queued == walk->cap) {
		size_t cap = walk->cap ? walk->cap * 2 : 64;
		char **queue = realloc(walk->queue, cap * sizeof(*queue));

		if (!queue)
			return -ENOMEM;
		walk->queue = queue;
		walk->cap = cap;
	}
	walk->queue[walk->queued] = strdup(tail);
	return walk->queue[walk->queued] && ++walk->queued ? 0 : -ENOMEM;
}

static bool is_dir(int dirfd, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(dirfd, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
}

/*
 * One name of a directory: as it was named first and as it is named now. A directory that came by itself is not gone
 * into.
 */
static int walk_name(struct walk *walk, int dirfd, const char *dir, const struct dirent *entry)
{
	_cleanup_free_ char *tail = NULL;
	int r;

	if (asprintf(&tail, "%s/%s", dir, entry->d_name) < 0) {
		tail = NULL;
		return -ENOMEM;
	}
	if (!changes_spot_place(walk->move->to, tail, &walk->place)) {
		walk->changes->unlisted++;
		return 0;
	}
	r = changes_touch_moved(walk->changes, &walk->place);
	if (r < 0 || !is_dir(dirfd, entry) || changes_find_move(walk->changes, walk->place.virt, true) != walk->move)
		return r;
	return enqueue(walk, tail);
}

static int walk_dir(struct walk *walk, const char *tail)
{
	_cleanup_closedir_ DIR *stream = NULL;
	const struct dirent *name;
	int fd = -1, r = 0;

	if (changes_spot_place(walk->move->to, tail, &walk->place))
		fd = view_open(&walk->place, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0; /* removed since then, name by name */
	stream = fd < 0 ? NULL : fdopendir(fd);
	if (!stream) {
		if (fd >= 0)
			(void)close(fd);
		walk->changes->unlisted++; /* it may be moved without being readable: what is inside stays unknown */
		return 0;
	}
	while (r == 0 && (name = readdir(stream))) {
		if (strcmp(name->d_name, ".") == 0 || strcmp(name->d_name, "..") == 0)
			continue;
		if (++walk->entries > CHANGES_TREE_MAX || io_now_ns() > walk->end_ns) {
			walk->changes->unlisted++;
			return 0;
		}
		r = walk_name(walk, fd, tail, name);
	}
	return r;
}

static int walk_move(struct walk *walk)
{
	int r = enqueue(walk, "");

	for (; walk->done < walk->queued; walk->done++) {
		if (r == 0)
			r = walk_dir(walk, walk->queue[walk->done]);
		free(walk->queue[walk->done]);
	}
	walk->queued = walk->done = 0;
	return r;
}

int changes_list_moved(struct changes *changes)
{
	uint64_t begin_ns = io_now_ns();
	struct walk walk = {.changes = changes, .end_ns = begin_ns + CHANGES_TREE_NS - changes->listing_ns};
	int r = 0;

	for (size_t i = 0; r == 0 && i < changes->moves; i++) {
		walk.move = &changes->move[i];
		if (walk.move->to && changes_find_move(changes, walk.move->to->path, true) == walk.move)
			r = walk_move(&walk);
	}
	free(walk.queue);
	changes_forget_moves(changes);
	changes->listing_ns += io_now_ns() - begin_ns;
	if (changes->listing_ns > CHANGES_TREE_NS)
		changes->listing_ns = CHANGES_TREE_NS;
	return r;
}
