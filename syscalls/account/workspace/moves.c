#include "syscalls/account/workspace/moves.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/disk.h"
#include "syscalls/account/workspace/layer-file.h"
#include "view/copy/moves.h"

#define MOVES_BYTES_MAX ((size_t)VIEW_MOVES_NAMES_MAX * PATH_MAX) /* most of the file */

/* A name in a pair. Those of one file lead to the same last one. */
struct moves_name {
	struct moves_name *next; /* NULL: it is the last one */
	char path[];
};

/* The names of one layer. */
struct moves {
	struct moves *next; /* of another layer; owned */
	struct view_layer *layer;
	void *tree; /* of struct moves_name, owned */
	size_t count;
	int fd;       /* the file; -1: not open */
	bool is_full; /* nothing more is noted */
};

/* ---- names ---- */

static int moves_compare(const void *left, const void *right)
{
	return strcmp(((const struct moves_name *)left)->path, ((const struct moves_name *)right)->path);
}

/* Makes a name, by which one can be searched as well. NULL: no memory. */
static struct moves_name *moves_make_name(const char *path)
{
	const size_t len = strlen(path);
	struct moves_name *name = malloc(sizeof(*name) + len + 1);

	if (name) {
		name->next = NULL;
		memcpy(name->path, path, len + 1);
	}
	return name;
}

/* Finds a name, or adds it. NULL: no memory. */
static struct moves_name *moves_add_name(struct moves *moves, const char *path)
{
	struct moves_name *name = moves_make_name(path), **found;

	found = name ? (struct moves_name **)tsearch(name, &moves->tree, moves_compare) : NULL;
	if (!found || *found != name)
		free(name);
	else
		moves->count++;
	return found ? *found : NULL;
}

static bool moves_has_name(const struct moves *moves, const char *path)
{
	struct moves_name *name = moves->count > 0 ? moves_make_name(path) : NULL;
	const bool found = name && tfind(name, &moves->tree, moves_compare);

	free(name);
	return found;
}

/* The last name of those of one file. Shortens the way there. */
static struct moves_name *moves_find_last(struct moves_name *name)
{
	while (name->next) {
		if (name->next->next)
			name->next = name->next->next;
		name = name->next;
	}
	return name;
}

/* Notes that two names may be of one file. 1; 0: that was known; -ENOMEM. */
static int moves_unite(struct moves *moves, const char *from, const char *to)
{
	struct moves_name *a = moves_add_name(moves, from), *b = a ? moves_add_name(moves, to) : NULL;

	if (!b)
		return -ENOMEM;
	a = moves_find_last(a);
	b = moves_find_last(b);
	if (a == b)
		return 0;
	a->next = b;
	return 1;
}

/* ---- the file ---- */

/* Says in the file that it has not all pairs. Without the file, nothing is known either. */
static void moves_mark_incomplete(const struct view_layer *layer)
{
	if (fchmodat(layer->dir_fd, VIEW_MOVES_NAME, 0600 | S_ISVTX, 0) < 0)
		(void)unlinkat(layer->dir_fd, VIEW_MOVES_NAME, 0);
}

static void moves_set_full(struct moves *moves)
{
	moves->is_full = true;
	moves_mark_incomplete(moves->layer);
}

/* Reads what the setup of the run has noted. */
static void moves_load(struct moves *moves)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0, at;

	if (io_read_file(moves->layer->dir_fd, VIEW_MOVES_NAME, MOVES_BYTES_MAX, &text, &len) < 0) {
		moves_set_full(moves);
		return;
	}
	at = len > 0 ? strlen(text) + 1 : 0;
	while (at < len && !moves->is_full) {
		const char *from = text + at, *to = from + strlen(from) + 1;

		if (to >= text + len || moves_unite(moves, from, to) < 0)
			moves_set_full(moves);
		at = (size_t)(to - text) + strlen(to) + 1;
	}
}

/* Finds the names of a layer, or begins them. NULL: no memory. */
static struct moves *moves_get(struct call *call, struct view_layer *layer)
{
	struct moves *moves = call->sandbox->moves;

	while (moves && moves->layer != layer)
		moves = moves->next;
	if (moves)
		return moves;
	moves = calloc(1, sizeof(*moves));
	if (!moves)
		return NULL;
	moves->next = call->sandbox->moves;
	call->sandbox->moves = moves;
	moves->layer = layer;
	moves_load(moves);
	moves->fd = layer_open_records(layer, VIEW_MOVES_NAME);
	if (moves->fd < 0)
		moves_set_full(moves);
	return moves;
}

/* Adds a pair. */
static void moves_add(struct call *call, struct moves *moves, const char *from, const char *to)
{
	const size_t from_size = strlen(from) + 1, to_size = strlen(to) + 1;
	const int r = moves->count < VIEW_MOVES_NAMES_MAX ? moves_unite(moves, from, to) : -ENOMEM;

	if (r == 0)
		return;
	if (r < 0 || !disk_take_bytes(call, from_size + to_size) || io_write_all(moves->fd, from, from_size) < 0 ||
	    io_write_all(moves->fd, to, to_size) < 0)
		moves_set_full(moves);
}

/* ---- renames ---- */

/* Notes which file of the directory has a name, if that has others (hard links) as well. */
static void moves_note_inode(struct call *call, struct moves *moves, const char *path, const struct stat *st)
{
	char inode[24];

	(void)snprintf(inode, sizeof(inode), "%c%llu", VIEW_MOVES_INODE, (unsigned long long)st->st_ino);
	if (st->st_nlink > 1)
		moves_add(call, moves, path, inode);
}

/*
 * Whether a path may have a file of the directory: it had, or got one by a rename. One in a directory that the program
 * has opened for itself (chmod) is in the overlay, and cannot be looked for in the directory.
 */
static bool moves_may_be_of_dir(struct call *call, struct moves *moves, const char *path)
{
	struct stat st;

	if (fstatat(moves->layer->lower_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return (errno != ENOENT && errno != ENOTDIR) || moves_has_name(moves, path);
	if (S_ISDIR(st.st_mode))
		return moves_has_name(moves, path);
	moves_note_inode(call, moves, path, &st);
	return true;
}

/* The names in a directory that gets another name. */
struct moves_below {
	const char *dir;
	size_t len;        /* of dir */
	const char **path; /* owned */
	size_t count, room;
	bool failed;
};

/* Adds a name that is in the directory. Of twalk_r(3). */
static void moves_visit_name(const void *node, VISIT visit, void *ctx)
{
	struct moves_below *below = ctx;
	const char *path = (*(const struct moves_name *const *)node)->path;

	if ((visit != postorder && visit != leaf) || strncmp(path, below->dir, below->len) != 0 ||
	    path[below->len] != '/')
		return;
	if (array_reserve(&below->path, below->count, &below->room))
		below->path[below->count++] = path;
	else
		below->failed = true;
}

static struct moves_below moves_find_below(const struct moves *moves, const char *dir)
{
	struct moves_below below = {.dir = dir, .len = strlen(dir)};

	twalk_r(moves->tree, moves_visit_name, &below);
	return below;
}

/* Adds the pairs of the names in a directory with what they are called now. Releases them. */
static void moves_add_below(struct call *call, struct moves *moves, struct moves_below *below, const char *to)
{
	char path[PATH_MAX];

	if (below->failed)
		moves_set_full(moves);
	for (size_t i = 0; i < below->count && !moves->is_full; i++)
		if ((size_t)snprintf(path, sizeof(path), "%s%s", to, below->path[i] + below->len) < sizeof(path))
			moves_add(call, moves, below->path[i], path);
		else
			moves_set_full(moves);
	free((void *)below->path);
}

/* Notes the names of a layer for moves_note(). */
static void moves_note_in(struct call *call, struct moves *moves, bool is_exchange, bool from_dir, bool to_dir)
{
	const char *from = call->resolved_place[0].path_below_mount_fd;
	const char *to = call->resolved_place[1].path_below_mount_fd;
	struct moves_below there = {.dir = from}, back = {.dir = to};

	if (from_dir)
		there = moves_find_below(moves, from);
	if (to_dir)
		back = moves_find_below(moves, to);
	const bool may_be_of_dir = moves_may_be_of_dir(call, moves, from),
		   may_come_back = is_exchange && moves_may_be_of_dir(call, moves, to);

	if (may_be_of_dir || may_come_back)
		moves_add(call, moves, from, to);
	moves_add_below(call, moves, &there, to);
	moves_add_below(call, moves, &back, from);
}

void moves_note(struct call *call, bool is_exchange, bool from_dir, bool to_dir)
{
	const struct place *from = &call->resolved_place[0], *to = &call->resolved_place[1];
	struct view_layer *layer = from->mount && !from->is_magic_link ? from->mount->layer : NULL;
	struct moves *moves;

	if (!layer || layer->lower_fd < 0 || !to->mount || to->mount->layer != layer)
		return;
	moves = moves_get(call, layer);
	if (!moves)
		moves_mark_incomplete(layer);
	else if (!moves->is_full)
		moves_note_in(call, moves, is_exchange, from_dir, to_dir);
}

void moves_free(struct moves *moves)
{
	while (moves) {
		struct moves *next = moves->next;

		tdestroy(moves->tree, free);
		cleanup_close(&moves->fd);
		free(moves);
		moves = next;
	}
}
