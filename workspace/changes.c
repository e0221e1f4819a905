#include "workspace/changes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"
#include "workspace/closed.h"
#include "workspace/names/renames.h"

/* A directory that is yet to be compared. */
struct pending_dir {
	char *path; /* owned */
	bool in_base, in_upper;
	bool is_opaque; /* it is in one that is: overlayfs marks only the highest */
	bool gives_group; /* what is new in it gets `group`, as its set-group-ID bit says */
	gid_t group;
};

/* The search for changes. It does not recurse: a hostile program can nest directories thousands deep. */
struct search {
	const struct workspace_layer *layer;
	struct workspace_changes *changes;
	struct pending_dir *pending;
	size_t pending_count, pending_room;
};

/* The entries that a name has in both directories, open with O_PATH; -1: there is none. */
struct entry_pair {
	int base_fd, upper_fd;
	struct stat base, upper;
};

/* ---- results ---- */

/* Notes that an entry could not be read: what was found is incomplete then. */
static void search_tell_unread(const struct search *search, const char *path, int error)
{
	search->changes->is_incomplete = true;
	if (search->changes->on_unread)
		search->changes->on_unread(path, error);
}

static struct workspace_entry search_make_entry(const struct stat *st)
{
	return (struct workspace_entry){.exists = true,
					.mode = st->st_mode,
					.uid = st->st_uid,
					.gid = st->st_gid,
					.size = (uint64_t)st->st_size,
					.rdev = st->st_rdev,
					.ino = st->st_ino,
					.nlink = st->st_nlink,
					.mtime = st->st_mtim,
					.ctime = st->st_ctim};
}

/* Adds a change. 0 or -errno. */
static int search_add_change(const struct search *search, const char *path, const struct entry_pair *pair,
			     enum workspace_change_kind kind, unsigned differences)
{
	struct workspace_changes *changes = search->changes;
	struct workspace_change change = {.kind = kind, .differences = differences};

	changes->path_bytes += strlen(path) + 1;
	if (changes->count == WORKSPACE_CHANGES_MAX || changes->path_bytes > WORKSPACE_CHANGES_PATH_BYTES_MAX)
		return -E2BIG;
	if (pair->base_fd >= 0)
		change.base = search_make_entry(&pair->base);
	if (pair->upper_fd >= 0)
		change.upper = search_make_entry(&pair->upper);
	change.path = strdup(path);
	if (!change.path || !array_reserve(&changes->item, changes->count, &changes->room)) {
		free(change.path);
		return -ENOMEM;
	}
	changes->item[changes->count++] = change;
	return 0;
}

/*
 * Adds a directory to those that are yet to be compared. pair: its entries, as far as there are. 0 or -errno.
 */
static int search_add_pending(struct search *search, const char *path, const struct entry_pair *pair, bool is_opaque)
{
	struct pending_dir dir = {.path = strdup(path),
				  .in_base = pair->base_fd >= 0 && S_ISDIR(pair->base.st_mode),
				  .in_upper = pair->upper_fd >= 0 && S_ISDIR(pair->upper.st_mode),
				  .is_opaque = is_opaque};

	dir.gives_group = dir.in_upper && pair->upper.st_mode & S_ISGID &&
			  workspace_keeps_group(search->layer, pair->upper.st_gid);
	dir.group = pair->upper.st_gid;

	if (!dir.path || !array_reserve(&search->pending, search->pending_count, &search->pending_room)) {
		free(dir.path);
		return -ENOMEM;
	}
	search->pending[search->pending_count++] = dir;
	return search->pending_count > WORKSPACE_CHANGES_MAX ? -E2BIG : 0;
}

/* ---- comparing two entries ---- */

/* Whether two links have other targets. 1, 0, or -errno. */
static int search_compare_links(const struct entry_pair *pair)
{
	char base[PATH_MAX], upper[PATH_MAX];
	const ssize_t base_len = readlinkat(pair->base_fd, "", base, sizeof(base));
	const ssize_t upper_len = base_len < 0 ? -1 : readlinkat(pair->upper_fd, "", upper, sizeof(upper));

	if (upper_len < 0)
		return -errno;
	return base_len != upper_len || memcmp(base, upper, (size_t)base_len) != 0;
}

/* Whether two regular files have other contents. 1, 0, or -errno. */
static int search_compare_files(const struct entry_pair *pair)
{
	_cleanup_close_ int base = -1, upper = -1;
	int r;

	if (pair->base.st_size != pair->upper.st_size)
		return 1;
	base = workspace_open_content(pair->base_fd);
	if (base == -EACCES) /* closed to its own user, perhaps by an earlier apply: it has its time then */
		return times_compare(&pair->base.st_mtim, &pair->upper.st_mtim) != 0;
	upper = base < 0 ? base : workspace_open_content(pair->upper_fd);
	if (upper < 0)
		return upper;
	r = content_is_equal(base, upper, (uint64_t)pair->upper.st_size);
	return r < 0 ? r : !r;
}

/* Whether two entries of one type have other contents. 1, 0, or -errno. */
static int search_compare_contents(const struct entry_pair *pair)
{
	switch (pair->upper.st_mode & S_IFMT) {
	case S_IFREG:
		return search_compare_files(pair);
	case S_IFLNK:
		return search_compare_links(pair);
	case S_IFCHR:
	case S_IFBLK:
		return pair->base.st_rdev != pair->upper.st_rdev;
	default: /* directories, FIFOs and sockets have none */
		return 0;
	}
}

/* What differs between two entries of one type. Bits of enum workspace_difference, or -errno. */
static int search_compare_entries(const struct workspace_layer *layer, const struct entry_pair *pair)
{
	const struct workspace_entry base = search_make_entry(&pair->base), upper = search_make_entry(&pair->upper);
	int content = search_compare_contents(pair), attributes;

	if (content < 0)
		return content;
	attributes = workspace_compare_attributes(layer, pair->base_fd, pair->upper_fd);
	if (attributes < 0)
		return attributes;
	return (int)workspace_compare_entries(&base, &upper) | (content ? WORKSPACE_CONTENT_DIFFERS : 0) |
	       (attributes ? WORKSPACE_ATTRIBUTES_DIFFER : 0);
}

/* ---- one name ---- */

/* Opens one entry of a directory. -1: there is none, or it cannot be opened: then *ret_error is set. */
static int search_open_entry(int dir_fd, const char *name, struct stat *ret_st, int *ret_error)
{
	_cleanup_close_ int fd = dir_fd < 0 ? -ENOENT : workspace_open_entry(dir_fd, name);

	if (fd >= 0 && fstat(fd, ret_st) < 0)
		*ret_error = -errno;
	else if (fd < 0 && fd != -ENOENT)
		*ret_error = fd;
	return fd < 0 || *ret_error < 0 ? -1 : steal_fd(&fd);
}

/* Finds the kind of change. WORKSPACE_CHANGE_KIND_MAX: none. -errno: it could not be read. */
static int search_judge_pair(const struct workspace_layer *layer, const struct entry_pair *pair,
			     unsigned *ret_differences)
{
	int differences;

	*ret_differences = 0;
	if (pair->upper_fd < 0) /* without both, it was since removed from the directory as well */
		return pair->base_fd < 0 ? WORKSPACE_CHANGE_KIND_MAX : WORKSPACE_DELETED;
	if (pair->base_fd < 0 || ((pair->base.st_mode ^ pair->upper.st_mode) & S_IFMT) != 0) {
		differences = workspace_compare_attributes(layer, -1, pair->upper_fd);
		if (differences < 0)
			return differences;
		return pair->base_fd < 0 ? WORKSPACE_ADDED : WORKSPACE_REPLACED;
	}
	differences = search_compare_entries(layer, pair);
	if (differences < 0)
		return differences;
	*ret_differences = (unsigned)differences;
	return differences ? WORKSPACE_MODIFIED : WORKSPACE_CHANGE_KIND_MAX;
}

/* Has a directory opened that its owner may not read or search. The pair keeps the mode that it had. */
static void search_open_closed_dir(const struct search *search, const char *path, const struct entry_pair *pair)
{
	const mode_t needs = S_IRUSR | S_IXUSR;

	if (pair->base_fd >= 0 && S_ISDIR(pair->base.st_mode) && (pair->base.st_mode & needs) != needs &&
	    search->changes->on_closed_dir)
		search->changes->on_closed_dir(search->changes->on_closed_dir_ctx, path);
}

/* Adds what an entry pair tells: a change, a directory that is to be compared. 0 or -errno. */
static int search_add_pair(struct search *search, const char *path, const struct entry_pair *pair, bool is_opaque)
{
	const bool base_dir = pair->base_fd >= 0 && S_ISDIR(pair->base.st_mode);
	const bool upper_dir = pair->upper_fd >= 0 && S_ISDIR(pair->upper.st_mode);
	unsigned differences;
	int kind, r = 0;

	search_open_closed_dir(search, path, pair);
	kind = search_judge_pair(search->layer, pair, &differences);
	if (kind < 0)
		search_tell_unread(search, path, kind);
	else if (kind != WORKSPACE_CHANGE_KIND_MAX)
		r = search_add_change(search, path, pair, (enum workspace_change_kind)kind, differences);
	else if (search->changes->on_unchanged)
		search->changes->on_unchanged(search->changes->on_unchanged_ctx, path);
	if (r == 0 && pair->upper_fd >= 0 && S_ISREG(pair->upper.st_mode) && pair->upper.st_nlink > 1)
		r = workspace_links_add(&search->changes->links, pair->upper.st_ino, path);
	if (r == 0 && (base_dir || upper_dir))
		r = search_add_pending(search, path, pair, is_opaque);
	return r;
}

/* Sets the group that the entry of the layer would have if the copy could have had it. dir: that it is in, or NULL. */
static void search_set_group(const struct search *search, const struct pending_dir *dir, struct entry_pair *pair)
{
	if (pair->upper_fd < 0)
		return;
	if (pair->base_fd >= 0 && workspace_keeps_group(search->layer, pair->base.st_gid))
		pair->upper.st_gid = pair->base.st_gid;
	else if (pair->base_fd < 0 && dir && dir->gives_group)
		pair->upper.st_gid = dir->group;
}

/* Compares what a name has in both directories. is_opaque: that of the layer hides the other. 0 or -errno. */
static int search_compare_name(struct search *search, const struct pending_dir *in, const char *name, int base_dir_fd,
			       int upper_dir_fd, bool is_opaque)
{
	_cleanup_close_ int base = -1, upper = -1;
	char path[PATH_MAX];
	struct entry_pair pair;
	int error = 0;

	if (path_append_name(in->path, name, path) < 0) {
		search_tell_unread(search, in->path, -ENAMETOOLONG);
		return 0;
	}
	upper = search_open_entry(upper_dir_fd, name, &pair.upper, &error);
	if (upper >= 0 && workspace_is_removed(search->layer, &pair.upper))
		close_fd(&upper);
	if (upper >= 0)
		error = closed_open(search->layer->closed, path, upper, &pair.upper);
	base = error < 0 ? -1 : search_open_entry(base_dir_fd, name, &pair.base, &error);
	pair.base_fd = base;
	pair.upper_fd = upper;
	search_set_group(search, in, &pair);
	if (error == 0)
		return search_add_pair(search, path, &pair, is_opaque);
	search_tell_unread(search, path, error);
	return 0;
}

/* ---- directories ---- */

/* Opens a directory below a root for reading. -1: it cannot be opened, which is told. */
static int search_open_dir(const struct search *search, int root_fd, const char *path)
{
	_cleanup_close_ int entry = workspace_open_entry(root_fd, path);
	const int fd = entry < 0 ? entry : workspace_open_content(entry);

	if (fd >= 0)
		return fd;
	search_tell_unread(search, path, fd);
	return -1;
}

/* A stream of a directory's entries. The descriptor stays the caller's. NULL: no memory, no descriptor. */
static DIR *search_open_stream(int dir_fd)
{
	return io_take_dir_stream(fcntl(dir_fd, F_DUPFD_CLOEXEC, 0));
}

/* Compares each name of a directory of the upper layer. 0 or -errno. */
static int search_compare_upper_names(struct search *search, const struct pending_dir *in, int base_fd, int upper_fd,
				      bool is_opaque)
{
	_cleanup_closedir_ DIR *dir = search_open_stream(upper_fd);
	const struct dirent *entry;
	int r = 0;

	while (dir && r == 0 && (entry = io_read_entry(dir, &r)))
		r = search_compare_name(search, in, entry->d_name, base_fd, upper_fd, is_opaque);
	return dir ? r : -ENOMEM;
}

/* Adds the names of a directory that is hidden or deleted, unless the upper layer has them. 0 or -errno. */
static int search_add_hidden_names(struct search *search, const struct pending_dir *in, int base_fd, int upper_fd)
{
	_cleanup_closedir_ DIR *dir = search_open_stream(base_fd);
	const struct dirent *entry;
	struct stat st;
	int r = 0;

	while (dir && r == 0 && (entry = io_read_entry(dir, &r))) {
		if (upper_fd >= 0 && fstatat(upper_fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			continue;
		if (upper_fd >= 0 && errno != ENOENT) {
			search_tell_unread(search, in->path, -errno);
			break;
		}
		r = search_compare_name(search, in, entry->d_name, base_fd, -1, true);
	}
	return dir ? r : -ENOMEM;
}

/* Compares two directories of one path. 0 or -errno. */
static int search_compare_dirs(struct search *search, const struct pending_dir *dir)
{
	_cleanup_close_ int base = -1, upper = -1;
	int opaque = 1, r = 0;

	if (dir->in_upper) {
		upper = search_open_dir(search, search->layer->upper_fd, dir->path);
		opaque = upper < 0 ? 0 : dir->is_opaque ? 1 : workspace_is_opaque(search->layer, upper);
		if (opaque < 0)
			search_tell_unread(search, dir->path, opaque);
		if (upper < 0 || opaque < 0)
			return 0;
	}
	if (dir->in_base) {
		base = search_open_dir(search, search->layer->base_fd, dir->path);
		if (base < 0)
			return 0;
	}
	if (upper >= 0)
		r = search_compare_upper_names(search, dir, base, upper, opaque);
	if (r == 0 && base >= 0 && opaque)
		r = search_add_hidden_names(search, dir, base, upper);
	return r;
}

/* Sets the pair of the two directories themselves; the descriptors stay the layer's. 0 or -errno. */
static int search_open_roots(const struct workspace_layer *layer, struct entry_pair *ret_roots)
{
	*ret_roots = (struct entry_pair){.base_fd = layer->base_fd, .upper_fd = layer->upper_fd};
	if (fstat(layer->base_fd, &ret_roots->base) < 0 || fstat(layer->upper_fd, &ret_roots->upper) < 0)
		return -errno;
	return closed_open(layer->closed, "", layer->upper_fd, &ret_roots->upper);
}

/*
 * Compares the two roots: only their modes where --cow could not copy owner and extended attributes to that of the
 * layer. 0 or -errno.
 */
static int search_compare_roots(const struct search *search, const struct entry_pair *roots)
{
	int differences = roots->base.st_mode != roots->upper.st_mode ? WORKSPACE_MODE_DIFFERS : 0;

	if (search->layer->has_root_attributes)
		differences = search_compare_entries(search->layer, roots);
	if (differences < 0)
		search_tell_unread(search, "", differences);
	if (differences == 0 && search->changes->on_unchanged)
		search->changes->on_unchanged(search->changes->on_unchanged_ctx, "");
	return differences <= 0 ? 0 : search_add_change(search, "", roots, WORKSPACE_MODIFIED, (unsigned)differences);
}

/* Tells of lost files, which are left out. What was found of others is complete. */
static void search_tell_lost(const struct search *search)
{
	struct workspace_changes *changes = search->changes;

	for (size_t i = 0; changes->on_unread && i < search->layer->lost_count; i++)
		changes->on_unread(search->layer->lost[i], -ESTALE);
	changes->has_lost = search->layer->lost_count > 0;
}

static int search_compare_paths(const void *left, const void *right)
{
	const struct workspace_change *a = left, *b = right;

	return strcmp(a->path, b->path);
}

int workspace_changes_find(const struct workspace_layer *layer, struct workspace_changes *changes)
{
	struct search search = {.layer = layer, .changes = changes};
	struct entry_pair roots;
	int r = search_open_roots(layer, &roots);

	search_tell_lost(&search);
	if (r == 0)
		search_open_closed_dir(&search, "", &roots);
	if (r == 0)
		r = search_compare_roots(&search, &roots);
	search_set_group(&search, NULL, &roots); /* what is new there gets the group of the directory */
	if (r == 0)
		r = search_add_pending(&search, "", &roots, false);
	while (search.pending_count > 0) {
		struct pending_dir dir = search.pending[--search.pending_count];

		if (r == 0)
			r = search_compare_dirs(&search, &dir);
		free(dir.path);
	}
	free(search.pending);
	if (r == 0)
		r = workspace_renames_find(layer, changes);
	if (r == 0 && changes->count > 0)
		qsort(changes->item, changes->count, sizeof(*changes->item), search_compare_paths);
	workspace_links_sort(&changes->links);
	return r;
}

void workspace_change_release(struct workspace_change *change)
{
	free(change->path);
	free(change->old_path);
	free(change->new_path);
}

void workspace_changes_release(struct workspace_changes *changes)
{
	for (size_t i = 0; i < changes->count; i++)
		workspace_change_release(&changes->item[i]);
	free(changes->item);
	workspace_links_release(&changes->links);
	*changes = (struct workspace_changes){.on_unread = changes->on_unread};
}
