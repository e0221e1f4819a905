/* Puts entries of a copy into the layer that is made of it, and fills those that have not their content. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/path.h"
#include "view/copy/copy.h"
#include "workspace/fold-private.h"
#include "workspace/layer.h"

/* ---- the layer ---- */

int fold_make_dir(struct fold *fold, const char *path)
{
	int r = 0;

	fold->is_changed = true;
	if (fold->new_fd < 0 || strcmp(path, fold->last_made) == 0)
		return 0;
	(void)snprintf(fold->last_made, sizeof(fold->last_made), "%s", path);
	for (char *slash = fold->last_made; r == 0 && slash;) {
		slash = strchr(slash + 1, '/');
		if (slash)
			*slash = '\0';
		if (mkdirat(fold->new_fd, fold->last_made, 0700) == 0)
			r = name_list_add(&fold->made, fold->last_made);
		else if (errno != EEXIST)
			r = -errno;
		if (slash)
			*slash = '/';
	}
	return r;
}

/* Makes the directory of the layer that an entry is in. */
static int fold_make_parent(struct fold *fold, const char *path)
{
	char dir[PATH_MAX];
	const char *name;
	int r = path_split(path, dir, &name);

	fold->is_changed = true;
	return r == 0 && *dir ? fold_make_dir(fold, dir) : r;
}

/* Copies an entry into the layer, where it cannot be linked; further names of it are links. 0 or -errno. */
static int fold_copy(struct fold *fold, int copy_dir_fd, const char *name, const char *path, const struct stat *st)
{
	const char *other = copies_find(&fold->copies, st->st_ino), *new_name, *what;
	struct copy_context context = COPY_CONTEXT_NONE;
	_cleanup_close_ int to = -1;
	int r;

	if (other && linkat(fold->new_fd, other, fold->new_fd, path, 0) == 0)
		return 0;
	to = io_open_parent_below(fold->new_fd, path, O_RDONLY, 0, &new_name);
	r = to < 0 ? to : copy_entry(copy_dir_fd, name, st, to, &context, NULL, &what);
	return r == 0 && st->st_nlink > 1 ? copies_add(&fold->copies, st->st_ino, path) : r;
}

int fold_put(struct fold *fold, int copy_dir_fd, const char *name, const char *path, const struct stat *st)
{
	int r = fold_make_parent(fold, path);

	if (r < 0 || fold->new_fd < 0)
		return r;
	if (fold->target)
		return fold->target->put(fold->target->ctx, copy_dir_fd, name, path, st);
	if (linkat(copy_dir_fd, name, fold->new_fd, path, 0) == 0)
		return 0;
	/* EPERM: no links there, or of others' files; EMLINK: it has too many */
	return errno == EPERM || errno == EMLINK || errno == EOPNOTSUPP || errno == EXDEV
		       ? fold_copy(fold, copy_dir_fd, name, path, st)
		       : -errno;
}

int fold_put_whiteout(struct fold *fold, const char *path)
{
	_cleanup_close_ int fd = -1;
	int r = fold_make_parent(fold, path);

	if (r < 0 || fold->new_fd < 0)
		return r;
	fd = openat(fold->new_fd, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0);
	if (fd < 0 || fchmod(fd, WORKSPACE_WHITEOUT_MODE & 07777) < 0 ||
	    futimens(fd, (const struct timespec[2]){fold->begun, fold->begun}) < 0)
		return -errno;
	return 0;
}

/* ---- files without content ---- */

struct fill_file *fold_find_placeholder(const struct fold *fold, int copy_dir_fd, const char *name,
					const struct stat *st)
{
	return fold->fills ? fills_find(fold->fills, copy_dir_fd, name, st) : NULL;
}

/* Notes that the layer cannot have what the program has made of a file. 0 or -errno. */
static int fold_put_lost(struct fold *fold, const char *path, const struct stat *st)
{
	int r = copies_find(&fold->lost, st->st_ino) ? 0 : copies_add(&fold->lost, st->st_ino, path);

	fold->is_changed = true;
	return r < 0 ? r : name_list_add(&fold->lost_path, path);
}

int fold_fill(struct fold *fold, int copy_dir_fd, const char *name, const char *path, struct stat *st)
{
	struct fill_file *file = fold->new_fd < 0 ? NULL : fold_find_placeholder(fold, copy_dir_fd, name, st);
	_cleanup_close_ int fd = file ? openat(copy_dir_fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
	int r;

	if (!file)
		return 0;
	r = fd < 0 ? -errno : fold->target ? fold->target->admit(fold->target->ctx, fill_file_get_bytes(file)) : 0;
	if (r == 0)
		r = fills_fill(fold->fills, file, fd, FILL_AS_COPIED | FILL_FOR_CHANGE);
	fold->keeps_copy |= r == -EUCLEAN;
	fold->is_stale |= r == -ESTALE;
	if ((r == -ESTALE || r == -EUCLEAN) && !fold->target) {
		r = fold_put_lost(fold, path, st);
		return r < 0 ? r : 1;
	}
	if (r == 0 && fstat(fd, st) < 0)
		r = -errno;
	return r;
}

bool fold_is_of_lost(const struct fold *fold, const struct workspace_record *record)
{
	return S_ISREG(record->kept.mode) && copies_find(&fold->lost, record->kept.inode);
}

static int fold_compare_names(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

int fold_write_lost(struct fold *fold, int layer_fd)
{
	_cleanup_close_ int fd = -1;
	struct name_list *lost = &fold->lost_path;
	int r = unlinkat(layer_fd, WORKSPACE_LOST_NAME, 0) < 0 && errno != ENOENT ? -errno
										  : 0; /* of one that was killed */

	for (size_t i = 0; r == 0 && lost->count > 0 && i < fold->records.count; i++)
		if (fold_is_of_lost(fold, &fold->records.item[i]))
			r = name_list_add(lost, fold->records.item[i].path);
	if (r < 0 || lost->count == 0)
		return r;
	qsort(lost->name, lost->count, sizeof(*lost->name), fold_compare_names);
	fd = openat(layer_fd, WORKSPACE_LOST_NAME, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	for (size_t i = 0; r == 0 && i < lost->count; i++)
		if (i == 0 || strcmp(lost->name[i - 1], lost->name[i]) != 0)
			r = io_write_all(fd, lost->name[i], strlen(lost->name[i]) + 1);
	return r;
}
