#include "workspace/unlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "workspace/journal.h"
#include "workspace/layer.h"

/* The mode of a directory while its entries are changed. */
static mode_t unlock_get_open_mode(mode_t mode)
{
	return (mode & 07777) | S_IRWXU;
}

/* Opens a directory with O_PATH, and reads its status. A descriptor; -ENOTDIR: it is none; or -errno. */
static int unlock_open(const struct unlock *unlock, const char *path, struct stat *ret_status)
{
	_cleanup_close_ int fd = workspace_open_entry(unlock->base_fd, path);

	if (fd < 0)
		return fd;
	if (fstat(fd, ret_status) < 0)
		return -errno;
	return S_ISDIR(ret_status->st_mode) ? steal_fd(&fd) : -ENOTDIR;
}

/* Changes the mode of a directory that is open with O_PATH. 0 or -errno. */
static int unlock_set_mode(int fd, mode_t mode)
{
	return chmod(io_proc_fd_path(fd).path, mode & 07777) < 0 ? -errno : 0;
}

static int unlock_append(struct unlock *unlock, const char *path, ino_t inode, mode_t mode)
{
	char *copy = array_reserve(&unlock->item, unlock->count, &unlock->room) ? strdup(path) : NULL;

	if (!copy)
		return -ENOMEM;
	unlock->item[unlock->count++] = (struct unlocked_dir){copy, inode, mode & 07777};
	return 0;
}

static int unlock_compare(const void *left, const void *right)
{
	return strcmp(((const struct unlocked_dir *)left)->path, ((const struct unlocked_dir *)right)->path);
}

/* True for a directory that was made writable, or could not be. */
static bool unlock_has(const struct unlock *unlock, const char *path)
{
	const struct unlocked_dir key = {.path = (char *)(uintptr_t)path};

	return unlock->made > 0 && bsearch(&key, unlock->item, unlock->made, sizeof(key), unlock_compare);
}

int unlock_add(struct unlock *unlock, const char *path, int needs)
{
	struct stat st;
	_cleanup_close_ int fd = unlock_open(unlock, path, &st);

	if (fd < 0 || faccessat(AT_FDCWD, io_proc_fd_path(fd).path, needs, AT_EACCESS) == 0 || errno != EACCES)
		return 0;
	if (unlock_has(unlock, path) || st.st_uid != geteuid() || (st.st_mode & S_IRWXU) == S_IRWXU)
		return 0;
	if (st.st_mode & S_ISGID && !workspace_is_own_group(st.st_gid)) /* chmod(2) would take the bit for good */
		return 0;
	return unlock_append(unlock, path, st.st_ino, st.st_mode);
}

/* Sorts the list from index `from`, and removes what is in it twice. */
static void unlock_sort(struct unlock *unlock, size_t from)
{
	size_t end = from;

	if (unlock->count > from)
		qsort(unlock->item + from, unlock->count - from, sizeof(*unlock->item), unlock_compare);
	for (size_t i = from; i < unlock->count; i++) {
		if (end > from && strcmp(unlock->item[end - 1].path, unlock->item[i].path) == 0)
			free(unlock->item[i].path);
		else
			unlock->item[end++] = unlock->item[i];
	}
	unlock->count = end;
}

int unlock_make(struct unlock *unlock, int journal_fd)
{
	const size_t from = unlock->made;
	int r = 0;

	unlock_sort(unlock, from);
	for (size_t i = from; r == 0 && i < unlock->count; i++)
		r = journal_note_dir(journal_fd, unlock->item[i].path, unlock->item[i].inode, unlock->item[i].mode);
	if (r == 0 && unlock->count > from && fdatasync(journal_fd) < 0)
		r = -errno;
	if (r < 0 || unlock->count == from)
		return r;
	for (size_t i = from; i < unlock->count; i++) {
		struct stat st;
		_cleanup_close_ int fd = unlock_open(unlock, unlock->item[i].path, &st);

		if (fd >= 0 && st.st_ino == unlock->item[i].inode)
			(void)unlock_set_mode(fd, unlock_get_open_mode(st.st_mode)); /* the change in it tells */
	}
	unlock->made = unlock->count;
	unlock_sort(unlock, 0);
	return 1;
}

/* Gives one directory its mode back. 0 or -errno. */
static int unlock_restore_dir(const struct unlock *unlock, const struct unlocked_dir *dir)
{
	struct stat st;
	_cleanup_close_ int fd = unlock_open(unlock, dir->path, &st);

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	if (st.st_ino != dir->inode || (st.st_mode & 07777) != unlock_get_open_mode(dir->mode))
		return 0;
	return unlock_set_mode(fd, dir->mode);
}

void unlock_forget_last(struct unlock *unlock)
{
	free(unlock->item[--unlock->count].path);
	unlock->made = unlock->made < unlock->count ? unlock->made : unlock->count;
}

bool unlock_is_last(const struct unlock *unlock, const char *path, mode_t *ret_mode)
{
	const struct unlocked_dir *last = unlock->count > 0 ? &unlock->item[unlock->count - 1] : NULL;

	if (!last || unlock->made < unlock->count || strcmp(last->path, path) != 0)
		return false;
	*ret_mode = unlock_get_open_mode(last->mode);
	return true;
}

int unlock_restore(struct unlock *unlock, const char *path, bool also)
{
	int first = 0;

	while (unlock->count > 0) {
		const struct unlocked_dir *last = &unlock->item[unlock->count - 1];
		const int order = strcmp(last->path, path);
		int r;

		if (order < 0 || (order == 0 && !also))
			break;
		r = unlock->count <= unlock->made ? unlock_restore_dir(unlock, last) : 0;
		first = first < 0 ? first : r;
		unlock_forget_last(unlock);
	}
	return first;
}

/* Adds a directory of the journal, and makes it writable. 0 or -errno. */
static int unlock_again(void *ctx, const char *path, uint64_t inode, mode_t mode)
{
	struct unlock *unlock = ctx;
	struct stat st;
	_cleanup_close_ int fd = unlock_open(unlock, path, &st);
	int r;

	if (fd < 0)
		return fd == -ENOENT || fd == -ENOTDIR || fd == -ELOOP ? 0 : fd;
	if (st.st_ino != inode)
		return 0;
	/* Another mode than that of an apply which goes on is the old or the new one, and stays. */
	r = unlock_append(unlock, path, st.st_ino,
			  (st.st_mode & 07777) == unlock_get_open_mode(mode) ? mode : st.st_mode);
	return r < 0 ? r : unlock_set_mode(fd, unlock_get_open_mode(st.st_mode));
}

int unlock_read(struct unlock *unlock, int journal_dir_fd)
{
	const int r = journal_visit_dirs(journal_dir_fd, unlock_again, unlock);

	unlock_sort(unlock, 0);
	unlock->made = unlock->count;
	return r;
}

void unlock_release(struct unlock *unlock)
{
	for (size_t i = 0; i < unlock->count; i++)
		free(unlock->item[i].path);
	free(unlock->item);
	*unlock = (struct unlock){.base_fd = -1};
}
