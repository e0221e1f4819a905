#include "view/copy/copy.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "policy/policy.h"
#include "view/copy/private.h"

/* A file with several names, as it was first found. */
struct copy_link {
	dev_t dev;
	ino_t ino;
	char path[];
};

/* ---- the size ---- */

uint64_t copy_size_get_bytes(const struct copy_size *size)
{
	return size->content_bytes + size->names * POLICY_DISK_BYTES_PER_NAME +
	       size->directories * POLICY_DISK_BYTES_PER_DIRECTORY;
}

/* -EDQUOT when what was found takes more than the limit. */
static int copy_compare_with_limit(const struct copy *copy)
{
	const uint64_t bytes = copy_size_get_bytes(&copy->size);

	if (copy->limit_bytes == 0 || bytes <= copy->limit_bytes)
		return 0;
	copy->failure->needed_bytes = bytes;
	return copy_fail(copy, -EDQUOT, "", "is too large");
}

/* ---- hard links ---- */

static int copy_compare_links(const void *left, const void *right)
{
	const struct copy_link *a = left, *b = right;

	return a->ino != b->ino ? (a->ino > b->ino) - (a->ino < b->ino) : (a->dev > b->dev) - (a->dev < b->dev);
}

/* Makes a file another name of one that was copied already. 1; 0: it is to be copied; or -errno. */
static int copy_link_name(struct copy *copy, const struct stat *st, const char *path)
{
	struct copy_link *link;
	void *found;

	if (S_ISDIR(st->st_mode) || st->st_nlink < 2)
		return 0;
	link = malloc(sizeof(*link) + strlen(path) + 1);
	if (!link)
		return -ENOMEM;
	link->dev = st->st_dev;
	link->ino = st->st_ino;
	memcpy(link->path, path, strlen(path) + 1);
	found = tsearch(link, &copy->links, copy_compare_links);
	if (!found || *(struct copy_link **)found == link) {
		if (!found)
			free(link);
		return found ? 0 : -ENOMEM;
	}
	free(link);
	link = *(struct copy_link **)found;
	/* Too many links, or the first one was not there any more: a file of its own. */
	return linkat(copy->to_fd, link->path, copy->to_fd, path, 0) == 0;
}

/* ---- the number of entries ---- */

static int copy_fail_too_many(const struct copy *copy, int error, const char *what)
{
	copy->failure->advice = "name a smaller directory, or have it by an overlay: the line cow of callgate doctor "
				"says what that takes";
	return copy_fail(copy, error, "", what);
}

/*
 * Counts an entry that was found. 0; -ECANCELED: the run is to end; -E2BIG or -EFBIG: there are too many, or their
 * paths are too long.
 */
static int copy_count_entry(struct copy *copy, const char *path)
{
	if (copy_check_go_on(copy) < 0)
		return -ECANCELED;
	if (++copy->entries > COPY_ENTRIES_MAX)
		return copy_fail_too_many(copy, -E2BIG,
					  "has more than 1,000,000 entries, which is the most that is copied");
	copy->record_bytes += sizeof(struct copy_record) + strlen(path) + 1;
	/* The last record is that of the directory itself. */
	if (copy->record_bytes + sizeof(struct copy_record) + 1 > COPY_RECORDS_BYTES_MAX)
		return copy_fail_too_many(copy, -EFBIG,
					  "has more than 1 GiB of paths, which is the most that is recorded");
	return 0;
}

/* ---- copying ---- */

static int copy_add_dir(struct copy *copy, const char *path, bool may_be_searched_later)
{
	if (!array_reserve(&copy->dir, copy->dirs, &copy->dir_room))
		return -ENOMEM;
	copy->dir[copy->dirs] = (struct copy_dir){strdup(path), may_be_searched_later};
	return copy->dir[copy->dirs++].path ? 0 : -ENOMEM;
}

/* Keeps a placeholder that was made. 0 or -ENOMEM. */
static int copy_add_placeholder(struct copy *copy, const struct copy_placeholder *placeholder)
{
	if (!array_reserve(&copy->placeholder, copy->placeholders, &copy->placeholder_room))
		return -ENOMEM;
	copy->placeholder[copy->placeholders++] = *placeholder;
	return 0;
}

/* Copies an entry, which is no directory, or makes a placeholder. Returns as copy_entry(). */
static int copy_entry_or_later(struct copy *copy, const struct copy_dir *dir, int from_dir_fd, int to_dir_fd,
			       const char *name, const struct stat *st, const char **ret_what)
{
	const bool later = copy->makes_placeholders && dir->may_be_searched_later;
	struct copy_placeholder placeholder = {.inode = 0};
	int r = copy_entry(from_dir_fd, name, st, to_dir_fd, &copy->context, later ? &placeholder : NULL, ret_what);

	if (r < 0)
		return r;
	if (placeholder.inode != 0)
		return copy_add_placeholder(copy, &placeholder);
	if (copy->makes_placeholders) /* copy_name() has not counted it */
		copy_size_add_content(&copy->size, st);
	return copy_compare_with_limit(copy);
}

/* Copies what a name in `dir` leads to; of a directory, it is made and noted. 0 or -errno. */
static int copy_name(struct copy *copy, const struct copy_dir *dir, int from_dir_fd, int to_dir_fd, const char *name,
		     const char *path)
{
	const char *what = "cannot be written to the copy in TMPDIR";
	struct stat st;
	int r = copy_count_entry(copy, path);

	if (r < 0)
		return r;
	if (fstatat(from_dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : copy_fail(copy, -errno, path, "cannot be read");
	copy_size_add_name(&copy->size, &st);
	if (!copy->makes_placeholders)
		copy_size_add_content(&copy->size, &st);
	r = copy_compare_with_limit(copy);
	if (r < 0)
		return r;
	r = copy_link_name(copy, &st, path);
	if (r == 0 && S_ISDIR(st.st_mode))
		r = mkdirat(to_dir_fd, name, 0700) < 0
			    ? -errno
			    : copy_add_dir(copy, path, dir->may_be_searched_later && copy_may_read_later(&st));
	else if (r == 0)
		r = copy_entry_or_later(copy, dir, from_dir_fd, to_dir_fd, name, &st, &what);
	return r < 0 && copy->failure->needed_bytes == 0 ? copy_fail(copy, r, path, what) : r < 0 ? r : 0;
}

/* Copies the entries of one directory. 0 or -errno. */
static int copy_dir(struct copy *copy, size_t at)
{
	const struct copy_dir self = copy->dir[at]; /* the array may move */
	const char *path = self.path;
	const int fd = copy_open_dir(copy->from_fd, path);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	_cleanup_close_ int to = copy_open_dir(copy->to_fd, path);
	const struct dirent *entry;
	char name[PATH_MAX];
	int r = 0, unread = 0;

	if (fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP)
		return 0; /* removed or replaced meanwhile */
	if (!dir || to < 0)
		return copy_fail(copy,
				 fd < 0   ? fd
				 : to < 0 ? to
					  : -ENOMEM,
				 path, fd == -EXDEV ? "is a mount of its own" : "cannot be read");
	while (r == 0 && (entry = io_read_entry(dir, &unread))) {
		r = path_append_name(path, entry->d_name, name);
		r = r < 0 ? copy_fail(copy, r, path, "has a path that is too long")
			  : copy_name(copy, &self, fd, to, entry->d_name, name);
	}
	return r == 0 && unread < 0 ? copy_fail(copy, unread, path, "cannot be read") : r;
}

/* Counts an entry in an open directory of this path, and with a limit its size. 0 or -errno. */
static int copy_measure_entry(struct copy *copy, int fd, const char *path, const struct dirent *entry)
{
	bool is_dir = entry->d_type == DT_DIR;
	char name[PATH_MAX];
	struct stat st;
	int r;

	if (path_append_name(path, entry->d_name, name) < 0)
		return 0;
	r = copy_count_entry(copy, name);
	if (r < 0)
		return r;
	if (copy->limit_bytes > 0 || entry->d_type == DT_UNKNOWN) {
		if (fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			return 0;
		is_dir = S_ISDIR(st.st_mode);
		copy_size_add_name(&copy->size, &st);
		if (!copy->makes_placeholders)
			copy_size_add_content(&copy->size, &st);
	}
	return is_dir ? copy_add_dir(copy, name, false) : 0;
}

/* Counts the entries of a directory. What cannot be read is told when it is copied. 0 or -errno. */
static int copy_measure_dir(struct copy *copy, const char *path)
{
	const int fd = copy_open_dir(copy->from_fd, path);
	_cleanup_closedir_ DIR *dir = io_take_dir_stream(fd);
	const struct dirent *entry;
	int r = 0, unread = 0;

	while (r == 0 && dir && (entry = io_read_entry(dir, &unread)))
		r = copy_measure_entry(copy, fd, path, entry);
	return r;
}

/* Compares number and size of the entries with what is permitted, before anything is copied. 0 or -errno. */
static int copy_check_size(struct copy *copy)
{
	int r = copy_add_dir(copy, "", false);

	for (size_t i = 0; r == 0 && i < copy->dirs; i++)
		r = copy_measure_dir(copy, copy->dir[i].path);
	if (r == 0)
		r = copy_compare_with_limit(copy);
	while (copy->dirs > 0)
		free(copy->dir[--copy->dirs].path);
	copy->size = copy->before;
	copy->entries = 0;
	copy->record_bytes = 0;
	return r;
}

/* Gives the directories their attributes, the deepest first: what is copied into one sets its times. 0 or -errno. */
static int copy_dir_attributes(struct copy *copy)
{
	const char *what = "cannot be read";
	int r = 0;

	for (size_t i = copy->dirs; r == 0 && i-- > 0;) {
		_cleanup_close_ int from = copy_open_dir(copy->from_fd, copy->dir[i].path);
		_cleanup_close_ int to = copy_open_dir(copy->to_fd, copy->dir[i].path);

		r = to < 0 ? to : from < 0 ? 0 : copy_attributes(from, to, copy->context.acls_fd, &what);
		if (r == 0)
			r = copy_check_go_on(copy);
		if (r < 0)
			return copy_fail(copy, r, copy->dir[i].path, what);
	}
	return r;
}

/* ---- the whole tree ---- */

/* Makes the marker, whose time is that of the beginning, and the directory for the copy. A descriptor or -errno. */
static int copy_begin(int dir_fd)
{
	_cleanup_close_ int marker =
		openat(dir_fd, COPY_MARKER_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (marker < 0 || mkdirat(dir_fd, COPY_DIR_NAME, 0700) < 0)
		return -errno;
	return io_open_dir(dir_fd, COPY_DIR_NAME);
}

/* Notes whether the copy itself has all attributes of the directory. 0 or -errno. */
static int copy_make_root_mark(const struct copy *copy, int dir_fd)
{
	_cleanup_close_ int from = copy_open_dir(copy->from_fd, "");

	return from < 0 ? from : copy_root_attributes(from, copy->to_fd, dir_fd, copy->context.acls_fd);
}

static void copy_release(struct copy *copy)
{
	for (size_t i = 0; i < copy->dirs; i++)
		free(copy->dir[i].path);
	free(copy->dir);
	free(copy->placeholder);
	tdestroy(copy->links, free);
	cleanup_close(&copy->to_fd);
}

/* Whether a file system tells when a file was made, by which a placeholder is known from a newer file. */
static bool copy_tells_birth(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BTIME, &stx) == 0 && stx.stx_mask & STATX_BTIME;
}

int copy_tree(int from_fd, int dir_fd, const struct copy_options *options, struct copy_size *size,
	      struct copy_failure *ret_failure)
{
	struct stat st;
	struct copy copy = {.from_fd = from_fd,
			    .to_fd = copy_begin(dir_fd),
			    .failure = ret_failure,
			    .context = {.go_on = options->go_on, .acls_fd = options->acls_fd},
			    .limit_bytes = options->limit_bytes,
			    .before = *size,
			    .size = *size};
	int r = copy.to_fd < 0            ? copy_fail(&copy, copy.to_fd, "", "cannot be written to the copy in TMPDIR")
		: fstat(from_fd, &st) < 0 ? copy_fail(&copy, -errno, "", "cannot be read")
					  : 0;

	copy.makes_placeholders = r == 0 && options->makes_placeholders && copy_tells_birth(copy.to_fd);
	if (r == 0)
		r = copy_check_size(&copy);
	if (r == 0)
		r = copy_add_dir(&copy, "", copy_may_read_later(&st));
	/* Directories are added while they are copied. No recursion: a program may have nested them thousands deep. */
	for (size_t i = 0; r == 0 && i < copy.dirs; i++)
		r = copy_dir(&copy, i);
	if (r == 0)
		r = copy_dir_attributes(&copy);
	if (r == 0) /* where it is not made, only the mode is compared */
		(void)copy_make_root_mark(&copy, dir_fd);
	if (r == 0)
		r = copy_make_records(&copy, dir_fd);
	if (r == 0)
		*size = copy.size;
	copy_release(&copy);
	return r;
}
