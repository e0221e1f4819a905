/* Finds what is to be at each name when a checkpoint is restored, and whether it is there already. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/content.h"
#include "base/io.h"
#include "base/path.h"
#include "base/times.h"
#include "view/copy/fill.h"
#include "workspace/place.h"
#include "workspace/checkpoint/private.h"

/* ---- what is to be there ---- */

/*
 * Opens what is at a name, with O_PATH. -ENOENT: nothing, or a mark that the name was removed (*ret_marked). A
 * descriptor or -errno.
 */
static int restore_open(const struct restore *restore, int dir_fd, const char *name, struct stat *ret_st,
			bool *ret_marked)
{
	_cleanup_close_ int fd = dir_fd < 0 ? -ENOENT : workspace_open_entry(dir_fd, name);

	*ret_marked = false;
	if (fd == -ENOENT)
		return -ENOENT;
	if (fd < 0)
		return fd;
	if (fstat(fd, ret_st) < 0)
		return -errno;
	*ret_marked = workspace_is_removed(restore->layer, ret_st);
	return *ret_marked ? -ENOENT : steal_fd(&fd);
}

/*
 * Opens what a workspace by copying had at a name that was not changed then. What has changed since is taken from the
 * directory as it is now; but directories that are there only get their attributes from it. A descriptor or -errno.
 */
static int restore_open_recorded(const struct restore *restore, const struct restore_dirs *dirs,
				 struct restore_entry *entry)
{
	const bool is_dir = entry->is_shown && S_ISDIR(entry->shown.st_mode);
	const bool is_kept = entry->is_shown && entry->record && workspace_record_is_kept(entry->record, &entry->shown);
	const bool must_compare = restore->layer->records->must_compare_contents && S_ISREG(entry->shown.st_mode);
	int fd = -ENOENT;
	bool marked;

	if (!entry->record)
		return -ENOENT;
	if (is_dir && S_ISDIR(entry->record->kept.mode))
		return restore_open(restore, dirs->view_fd, entry->name, &entry->source, &marked);
	if (!is_kept || must_compare)
		fd = restore_open(restore, dirs->base_fd, entry->name, &entry->source, &marked);
	entry->is_kept = is_kept && fd == -ENOENT;
	return fd;
}

/* Finds what is there at a name, by what the programs see and what is in the layer. 0 or -errno. */
static int restore_find_present(const struct restore *restore, const struct restore_dirs *dirs,
				struct restore_entry *entry)
{
	const int dir_fd = restore->layer->is_live_copy ? dirs->view_fd : dirs->now_fd;

	entry->is_shown = fstatat(dirs->view_fd, entry->name, &entry->shown, AT_SYMLINK_NOFOLLOW) == 0;
	if (!entry->is_shown && errno != ENOENT)
		return -errno;
	entry->is_now = dir_fd >= 0 && fstatat(dir_fd, entry->name, &entry->now, AT_SYMLINK_NOFOLLOW) == 0;
	if (dir_fd >= 0 && !entry->is_now && errno != ENOENT)
		return -errno;
	if (restore->layer->is_live_copy)
		entry->record = workspace_records_find(restore->layer->records, entry->path);
	return 0;
}

int restore_find(const struct restore *restore, const struct restore_dirs *dirs, struct restore_entry *entry)
{
	bool marked;
	int r = restore_find_present(restore, dirs, entry), fd;

	if (r < 0)
		return r;
	fd = restore_open(restore, dirs->then_fd, entry->name, &entry->source, &marked);
	if (fd == -ENOENT && !marked && restore->layer->is_live_copy) {
		fd = restore_open_recorded(restore, dirs, entry);
		entry->is_of_base = fd >= 0;
	} else if (fd == -ENOENT && !marked && dirs->shows_base_then) {
		fd = restore_open(restore, dirs->base_fd, entry->name, &entry->source, &marked);
		entry->is_of_base = fd >= 0;
	}
	if (fd < 0 && fd != -ENOENT)
		return fd;
	entry->source_fd = fd < 0 ? -1 : fd;
	return 0;
}

/* ---- what need not be changed ---- */

static bool restore_has_same_content(const struct restore_dirs *dirs, const struct restore_entry *entry)
{
	_cleanup_close_ int now = workspace_open_entry(dirs->now_fd, entry->name), left = -1, right = -1;

	left = now < 0 ? now : workspace_open_content(now);
	right = left < 0 ? left : workspace_open_content(entry->source_fd);
	return right >= 0 && content_is_equal(left, right, (uint64_t)entry->source.st_size) == 1;
}

/* Whether a regular file of the layer is still the one of which the checkpoint has a copy. */
static bool restore_is_same_file(const struct restore *restore, const struct restore_dirs *dirs,
				 const struct restore_entry *entry)
{
	struct stat known;

	if (!S_ISREG(entry->now.st_mode) || dirs->known_fd < 0 ||
	    !known_files_has(&restore->known, entry->path, &entry->now) ||
	    fstatat(dirs->known_fd, entry->name, &known, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	/* The latest checkpoint and this one have one copy. */
	if (known.st_ino != entry->source.st_ino || known.st_dev != entry->source.st_dev)
		return false;
	return !restore->known.compares_contents || restore_has_same_content(dirs, entry);
}

/* Whether what is neither a directory nor a regular file is the same. */
static bool restore_is_same_other(const struct restore_dirs *dirs, const struct restore_entry *entry)
{
	char left[PATH_MAX], right[PATH_MAX];
	ssize_t left_len, right_len;

	/* One of several names is made anew, so that it is a name of the same as the others. */
	if (entry->now.st_nlink > 1 || entry->source.st_nlink > 1 || entry->now.st_mode != entry->source.st_mode ||
	    entry->now.st_uid != entry->source.st_uid || entry->now.st_gid != entry->source.st_gid ||
	    times_compare(&entry->now.st_mtim, &entry->source.st_mtim) != 0)
		return false;
	if (!S_ISLNK(entry->source.st_mode))
		return true;
	left_len = readlinkat(dirs->now_fd, entry->name, left, sizeof(left));
	right_len = readlinkat(entry->source_fd, "", right, sizeof(right));
	return left_len == right_len && left_len >= 0 && memcmp(left, right, (size_t)left_len) == 0;
}

/* Whether an entry of a copy, where times do not tell it, has the content of the directory. */
static bool restore_is_same_as_recorded(const struct restore *restore, const struct restore_dirs *dirs,
					const struct restore_entry *entry)
{
	if (!entry->is_shown || !S_ISREG(entry->source.st_mode) || entry->shown.st_size != entry->source.st_size ||
	    !workspace_record_is_kept(entry->record, &entry->shown))
		return false;
	/* A placeholder gets the content of the directory when it is opened. */
	if (restore->layer->fills && fills_find(restore->layer->fills, dirs->view_fd, entry->name, &entry->shown))
		return true;
	return restore_has_same_content(dirs, entry);
}

bool restore_is_same(const struct restore *restore, const struct restore_dirs *dirs, const struct restore_entry *entry)
{
	if (entry->is_of_base && !restore->layer->is_live_copy)
		return !entry->is_now && dirs->shows_base_now;
	if (entry->is_of_base && entry->record)
		return restore_is_same_as_recorded(restore, dirs, entry);
	if (!entry->is_now || !entry->is_shown)
		return false;
	return S_ISREG(entry->source.st_mode) ? restore_is_same_file(restore, dirs, entry)
					      : restore_is_same_other(dirs, entry);
}
