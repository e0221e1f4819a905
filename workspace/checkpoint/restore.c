/*
 * Makes a workspace's directory what it was at a checkpoint. Three trees are compared: the directory itself (base), the
 * upper layer of now, and that of the checkpoint. Only what is in one of the two layers can differ, and what they hide.
 * What differs is changed through the mount of the overlay. A workspace by copying has no layer of now: it has the
 * copy, and the records tell what differs from the directory. See checkpoint.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/leftover.h"
#include "workspace/place.h"
#include "workspace/checkpoint/private.h"

/* ---- changing ---- */

/* PLACE_* of what is put into the directory as the programs see it. */
static unsigned restore_get_flags(const struct restore *restore)
{
	return restore->layer->is_live_copy ? PLACE_AS_OWN : PLACE_IN_OVERLAY;
}

/* Notes that the checkpoint has a copy of the file at a path; restore_note_status() adds the rest. 0 or -ENOMEM. */
static int restore_note_file(struct restore *restore, const struct restore_entry *entry)
{
	if (entry->is_of_base || !S_ISREG(entry->source.st_mode))
		return 0;
	return known_files_add(&restore->after, entry->path, &entry->source);
}

/* Notes where the temporary name is, for when this process is killed: without it, ws diff would tell that entry. */
static void restore_note_temporary(const struct restore *restore, const struct restore_dirs *dirs)
{
	char path[PATH_MAX];

	if (path_append_name(dirs->path, restore->temporary, path) == 0)
		(void)leftover_note(restore->layer->dir_fd, path);
}

/* Makes what is to be there, under a temporary name. 0 or -errno. */
static int restore_make_temporary(struct restore *restore, const struct restore_dirs *dirs,
				  const struct restore_entry *entry)
{
	const bool may_have_names = entry->source.st_nlink > 1 && (!entry->is_of_base || restore->layer->is_live_copy);
	struct copies *copies = entry->is_of_base ? &restore->base_copies : &restore->copies;
	const char *other = may_have_names ? copies_find(copies, entry->source.st_ino) : NULL;
	int r;

	if (other)
		return copies_make(restore->view_fd, other, dirs->view_fd, restore->temporary);
	r = place_make_copy(restore->layer, dirs->view_fd, restore->temporary, entry->source_fd, entry->source.st_mode,
			    restore_get_flags(restore));
	if (r < 0)
		return r;
	if (S_ISREG(entry->source.st_mode)) {
		restore->work->copied_files++;
		restore->work->copied_bytes += (uint64_t)entry->source.st_size;
	}
	return may_have_names ? copies_add(copies, entry->source.st_ino, entry->path) : 0;
}

/*
 * Takes an error of an entry for 0, and notes it, if the mount of the overlay has refused the entry's ACL
 * (posix_acl_valid() in fs/posix_acl.c): doing it again would not help, and the other entries can be restored.
 */
static int restore_pass_over_acl(struct restore *restore, int source_fd, int error)
{
	const struct io_proc_fd_path source = io_proc_fd_path(source_fd);
	struct checkpoint_work *work = restore->work;

	if (error != -EINVAL || restore->layer->is_live_copy ||
	    (getxattr(source.path, "system.posix_acl_access", NULL, 0) < 0 &&
	     getxattr(source.path, "system.posix_acl_default", NULL, 0) < 0))
		return error;
	if (work->acl_failures++ == 0) {
		work->acl_at = work->failed_at;
		memcpy(work->acl_path, work->failed_path, sizeof(work->acl_path));
	}
	return 0;
}

/* Puts something other than a directory at a name. 0 or -errno. */
static int restore_put(struct restore *restore, const struct restore_dirs *dirs, const struct restore_entry *entry)
{
	int r = entry->is_shown && S_ISDIR(entry->shown.st_mode) ? io_remove_tree(dirs->view_fd, entry->name) : 0;

	if (r == 0) {
		restore_note_temporary(restore, dirs);
		r = restore_make_temporary(restore, dirs, entry);
	}
	if (r == 0 && renameat(dirs->view_fd, restore->temporary, dirs->view_fd, entry->name) < 0)
		r = -errno;
	if (r < 0)
		(void)unlinkat(dirs->view_fd, restore->temporary, 0); /* as far as it was made */
	/* Of two names of one file, rename(2) does nothing, and leaves the temporary one. */
	else if (unlinkat(dirs->view_fd, restore->temporary, 0) < 0 && errno != ENOENT)
		r = -errno;
	return r < 0 ? r : restore_note_file(restore, entry);
}

/* Makes a name a directory, which is compared later. 0 or -errno. */
static int restore_put_dir(struct restore *restore, const struct restore_dirs *dirs, const struct restore_entry *entry)
{
	const bool is_dir = entry->is_shown && S_ISDIR(entry->shown.st_mode);

	if (entry->is_shown && !is_dir && unlinkat(dirs->view_fd, entry->name, 0) < 0)
		return -errno;
	if (!is_dir && mkdirat(dirs->view_fd, entry->name, 0700) < 0)
		return -errno;
	/* A new directory hides that of the base: restore_compare_dir() finds that out. */
	return dir_list_add(&restore->dirs, entry->path, dirs->shows_base_now, dirs->shows_base_then);
}

/* Makes one name what it is to be. 0 or -errno. */
static int restore_name(struct restore *restore, const struct restore_dirs *dirs, const char *name)
{
	struct restore_entry entry = {.name = name, .path = restore->work->failed_path, .source_fd = -1};
	int r = path_append_name(dirs->path, name, restore->work->failed_path);

	if (r == 0)
		r = restore_find(restore, dirs, &entry);
	if (r < 0 || entry.is_kept)
		return r;
	if (entry.source_fd < 0)
		r = entry.is_shown ? io_remove_tree(dirs->view_fd, name) : 0;
	else if (S_ISDIR(entry.source.st_mode))
		r = restore_put_dir(restore, dirs, &entry);
	else if (!restore_is_same(restore, dirs, &entry))
		r = restore_pass_over_acl(restore, entry.source_fd, restore_put(restore, dirs, &entry));
	else if ((r = restore_note_file(restore, &entry)) == 0 && entry.is_now && !entry.is_of_base &&
		 S_ISREG(entry.source.st_mode))
		restore->work->kept_files++;
	close_fd(&entry.source_fd);
	return r;
}

/* ---- directories ---- */

/* Whether a name is in a directory, which may be missing. 1, 0, or -errno. */
static int restore_has_name(int dir_fd, const char *name)
{
	struct stat st;

	if (dir_fd < 0)
		return 0;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 1;
	return errno == ENOENT ? 0 : -errno;
}

/* Visits the names of one tree's directory, unless `first_fd` or `second_fd` has them. 0 or -errno. */
static int restore_visit_names(struct restore *restore, const struct restore_dirs *dirs, int dir_fd, int first_fd,
			       int second_fd)
{
	_cleanup_name_list_ struct name_list names = {0};
	int r = dir_fd < 0 ? 0 : name_list_read(&names, dir_fd); /* before anything in it is changed */

	for (size_t i = 0; r == 0 && i < names.count; i++) {
		int has = restore_has_name(first_fd, names.name[i]);

		if (has == 0)
			has = restore_has_name(second_fd, names.name[i]);
		r = has == 0 ? restore_name(restore, dirs, names.name[i]) : has < 0 ? has : 0;
	}
	return r;
}

/* Visits all names that may differ. Names that are to be removed make room for what is made. 0 or -errno. */
static int restore_visit_dir(struct restore *restore, const struct restore_dirs *dirs)
{
	int r = restore_visit_names(restore, dirs, dirs->now_fd, -1, -1);

	if (r == 0) /* names that were just removed are in the layer, as marks, and are not visited again */
		r = restore_visit_names(restore, dirs, dirs->then_fd, dirs->now_fd, -1);
	if (r == 0 && (restore->layer->is_live_copy || dirs->shows_base_now != dirs->shows_base_then))
		r = restore_visit_names(restore, dirs, dirs->base_fd, dirs->now_fd, dirs->then_fd);
	return r;
}

/* Opens a directory of the programs' view for reading, and makes it writable for its owner. A descriptor or -errno. */
static int restore_open_view(const struct restore *restore, const char *path)
{
	_cleanup_close_ int entry = workspace_open_entry(restore->view_fd, path);
	struct stat st;

	if (entry < 0)
		return entry;
	if (fstat(entry, &st) < 0)
		return -errno;
	if ((st.st_mode & 0700) != 0700 && chmod(io_proc_fd_path(entry).path, (st.st_mode & 07777) | 0700) < 0)
		return -errno;
	return workspace_open_content(entry);
}

/* Opens a directory that may be missing; then *ret_fd is -1. 0 or -errno. */
static int restore_open_optional(int root_fd, const char *path, int *ret_fd)
{
	const int fd = root_fd < 0 ? -ENOENT : dirs_open(root_fd, path);

	*ret_fd = fd < 0 ? -1 : fd;
	return fd >= 0 || fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
}

/* Whether a layer's directory shows names of the base, if the one above does. 1, 0, or -errno. */
static int restore_shows_base(const struct restore *restore, int dir_fd, bool above)
{
	const bool can_hide = dir_fd >= 0 && above && !restore->layer->is_live_copy;
	const int opaque = can_hide ? workspace_is_opaque(restore->layer, dir_fd) : 0;

	return opaque < 0 ? opaque : above && !opaque;
}

/* Opens the directory in all trees. 0 or -errno; the caller closes in any case. */
static int restore_open_dirs(const struct restore *restore, const struct dir_item *item, struct restore_dirs *dirs)
{
	int r, now, then;

	dirs->view_fd = restore_open_view(restore, dirs->path);
	if (dirs->view_fd < 0)
		return dirs->view_fd;
	r = restore_open_optional(restore->layer->upper_fd, dirs->path, &dirs->now_fd);
	if (r == 0)
		r = restore_open_optional(restore->then_fd, dirs->path, &dirs->then_fd);
	if (r == 0)
		r = restore_open_optional(restore->layer->base_fd, dirs->path, &dirs->base_fd);
	if (r == 0)
		r = restore_open_optional(restore->known_fd, dirs->path, &dirs->known_fd);
	if (r < 0)
		return r;
	now = restore_shows_base(restore, dirs->now_fd, item->shows_base_now && dirs->base_fd >= 0);
	then = restore_shows_base(restore, dirs->then_fd, item->shows_base_then && dirs->base_fd >= 0);
	dirs->shows_base_now = now > 0;
	dirs->shows_base_then = then > 0;
	return now < 0 ? now : then < 0 ? then : 0;
}

static int restore_compare_dir(struct restore *restore, const struct dir_item *item)
{
	struct restore_dirs dirs = {item->path, -1, -1, -1, -1, -1, false, false};
	int r;

	(void)snprintf(restore->work->failed_path, PATH_MAX, "%s", *item->path ? item->path : ".");
	r = restore_open_dirs(restore, item, &dirs);
	if (r == 0)
		r = restore_visit_dir(restore, &dirs);
	cleanup_close(&dirs.base_fd);
	cleanup_close(&dirs.now_fd);
	cleanup_close(&dirs.then_fd);
	cleanup_close(&dirs.view_fd);
	cleanup_close(&dirs.known_fd);
	return r;
}

/* Whether a directory of a copy, open with O_PATH, is still as it was copied. */
static bool restore_has_recorded_dir(const struct restore *restore, const char *path, int fd)
{
	const struct workspace_record *record =
		restore->layer->is_live_copy ? workspace_records_find(restore->layer->records, path) : NULL;
	struct stat st;

	return record && fstat(fd, &st) == 0 && workspace_record_is_kept(record, &st);
}

/* Gives a directory the attributes that it had. 0 or -errno. */
static int restore_finish_dir(struct restore *restore, const char *path)
{
	_cleanup_close_ int from = workspace_open_entry(restore->then_fd, path);
	_cleanup_close_ int to = workspace_open_entry(restore->view_fd, path);

	(void)snprintf(restore->work->failed_path, PATH_MAX, "%s", *path ? path : ".");
	if (to < 0)
		return to;
	if (from == -ENOENT || from == -ENOTDIR || from == -ELOOP) {
		if (restore_has_recorded_dir(restore, path, to))
			return 0;
		from = workspace_open_entry(restore->layer->base_fd, path);
	}
	if (from < 0 && restore->layer->is_live_copy)
		return from == -ENOENT || from == -ENOTDIR || from == -ELOOP ? 0 : from; /* removed there since */
	if (from < 0)
		return from;
	return restore_pass_over_acl(restore, from,
				     place_copy_metadata(restore->layer, from, to, -1, restore_get_flags(restore)));
}

static int restore_all(struct restore *restore)
{
	int r = dir_list_add(&restore->dirs, "", true, true);

	for (size_t i = 0; r == 0 && i < restore->dirs.count; i++) {
		struct dir_item item = restore->dirs.item[i]; /* the list may move, and the paths stay */

		r = restore_compare_dir(restore, &item);
	}
	/* Afterwards, and the lower directories first: times and modes stay what they are set to. */
	for (size_t i = restore->dirs.count; r == 0 && i-- > 0;)
		r = restore_finish_dir(restore, restore->dirs.item[i].path);
	if (r == 0)
		restore->work->failed_path[0] = '\0';
	return r;
}

/* ---- the whole ---- */

/* Chooses a name that the program cannot have foreseen. 0 or -errno. */
static int restore_choose_temporary(struct restore *restore)
{
	unsigned long long number;

	if (getrandom(&number, sizeof(number), 0) != (ssize_t)sizeof(number))
		return -errno;
	(void)snprintf(restore->temporary, sizeof(restore->temporary), LEFTOVER_RESTORE_PREFIX "%0*llx",
		       LEFTOVER_RESTORE_DIGITS, number);
	return 0;
}

/* Notes the status of the files of which the checkpoint has copies, at the end: a second name changes it. 0, -errno. */
static int restore_note_status(struct restore *restore)
{
	for (size_t i = 0; i < restore->after.count; i++) {
		struct known_file *file = &restore->after.item[i];
		_cleanup_close_ int fd = workspace_open_entry(restore->layer->upper_fd, file->path);
		struct stat st;

		if (fd < 0 || fstat(fd, &st) < 0)
			return fd < 0 ? fd : -errno;
		known_file_set_status(file, &st);
	}
	return 0;
}

/* Says in the layer that a checkpoint was restored: a file that is made again has no origin and a new number. */
static int restore_note_restored(const struct workspace_layer *layer)
{
	_cleanup_close_ int fd =
		openat(layer->dir_fd, WORKSPACE_RESTORED_NAME, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	return fd < 0 ? -errno : 0;
}

/* Restores, and notes what is known of the files then. 0 or -errno. */
static int restore_and_note(struct restore *restore, int known_dir_fd, const char *name, bool programs_live)
{
	/* Without the list, the next checkpoint copies all files: what is restored in part is not what it says. */
	int r = known_files_remove(known_dir_fd);

	if (r == 0) /* of one that was killed, which would be a change otherwise */
		r = leftover_remove(restore->layer->dir_fd, restore->view_fd);
	if (r < 0)
		return r; /* its note stays */
	r = restore_note_restored(restore->layer);
	if (r < 0)
		return r;
	r = restore_choose_temporary(restore);
	if (r == 0)
		r = restore_all(restore);
	if (r == 0)
		r = restore_note_status(restore);
	leftover_forget(restore->layer->dir_fd);
	if (r < 0 || restore->work->acl_failures > 0)
		return r;
	(void)snprintf(restore->after.checkpoint, sizeof(restore->after.checkpoint), "%s", name);
	restore->after.compares_contents = checkpoint_must_compare(restore->layer->upper_fd, programs_live);
	(void)known_files_write(&restore->after, known_dir_fd); /* without it, the next checkpoint copies all files */
	checkpoint_await_clock_tick();
	return 0;
}

/* Restores directory `at`. Returns as checkpoint_restore(). */
static int restore_dir(const struct checkpoint_dir *dir, size_t at, int all_fd, const char *name, bool programs_live,
		       struct checkpoint_work *work)
{
	const int known_dir_fd = checkpoint_get_known_fd(dir, at, all_fd);
	struct restore restore = {
		.layer = &dir->layer, .then_fd = -1, .view_fd = dir->view_fd, .known_fd = -1, .work = work};
	int r = -ENOENT;

	if (checkpoint_is_name(name))
		restore.then_fd = checkpoint_open_upper(all_fd, name, at);
	if (restore.then_fd >= 0) {
		known_files_read(&restore.known, known_dir_fd);
		restore.known_fd = checkpoint_open_upper(all_fd, restore.known.checkpoint, at);
		r = restore_and_note(&restore, known_dir_fd, name, programs_live);
	}
	close_fd(&restore.then_fd);
	close_fd(&restore.known_fd);
	known_files_release(&restore.known);
	known_files_release(&restore.after);
	copies_release(&restore.copies);
	copies_release(&restore.base_copies);
	dir_list_release(&restore.dirs);
	return r;
}

int checkpoint_restore(const struct checkpoint_dir *dirs, size_t count, int all_fd, const char *name,
		       bool programs_live, struct checkpoint_work *ret_work)
{
	int r = 0;

	*ret_work = (struct checkpoint_work){.failed_path = ""};
	for (size_t at = 0; r == 0 && at < count; at++) {
		ret_work->failed_at = at;
		r = restore_dir(&dirs[at], at, all_fd, name, programs_live, ret_work);
	}
	if (r < 0 || ret_work->acl_failures == 0)
		return r;
	ret_work->failed_at = ret_work->acl_at;
	memcpy(ret_work->failed_path, ret_work->acl_path, sizeof(ret_work->failed_path));
	return -EINVAL;
}
