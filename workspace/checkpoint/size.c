/* What a checkpoint takes, as limits.disk counts it, and what its removal frees: files that no other one has. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/path.h"
#include "policy/policy.h"
#include "workspace/checkpoint/checkpoint.h"
#include "workspace/dirs.h"

/* A name of a file that has several. */
struct size_link {
	uint64_t ino;
	uint64_t names, bytes; /* of the file */
};

struct size_walk {
	struct dir_list dirs;
	struct size_link *link; /* owned */
	size_t links, room;
	uint64_t bytes;
};

uint64_t checkpoint_get_entry_bytes(const struct stat *st)
{
	const uint64_t blocks = (uint64_t)st->st_blocks * 512;

	if (S_ISREG(st->st_mode))
		return POLICY_DISK_BYTES_PER_NAME + blocks;
	if (!S_ISDIR(st->st_mode))
		return POLICY_DISK_BYTES_PER_NAME + (S_ISLNK(st->st_mode) ? (uint64_t)st->st_size : 0);
	/* The names of a large directory take more, also if they are links of one file. */
	return POLICY_DISK_BYTES_PER_NAME +
	       (blocks > POLICY_DISK_BYTES_PER_DIRECTORY ? blocks : POLICY_DISK_BYTES_PER_DIRECTORY);
}

static int size_add_link(struct size_walk *walk, const struct stat *st)
{
	if (!array_reserve(&walk->link, walk->links, &walk->room))
		return -ENOMEM;
	walk->link[walk->links++] = (struct size_link){st->st_ino, st->st_nlink, checkpoint_get_entry_bytes(st)};
	return 0;
}

static int size_add_name(struct size_walk *walk, int dir_fd, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	int r = 0;

	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	if (S_ISREG(st.st_mode) && st.st_nlink > 1)
		return size_add_link(walk, &st);
	walk->bytes += checkpoint_get_entry_bytes(&st);
	if (S_ISDIR(st.st_mode))
		r = path_append_name(dir, name, path);
	return r == 0 && S_ISDIR(st.st_mode) ? dir_list_add(&walk->dirs, path, false, false) : r;
}

static int size_add_dir(struct size_walk *walk, int root_fd, const char *path)
{
	_cleanup_close_ int fd = dirs_open(root_fd, path);
	_cleanup_name_list_ struct name_list names = {0};
	int r = fd < 0 ? fd : name_list_read(&names, fd);

	for (size_t i = 0; r == 0 && i < names.count; i++)
		r = size_add_name(walk, fd, path, names.name[i]);
	return r;
}

static int size_compare_links(const void *left, const void *right)
{
	const struct size_link *a = left, *b = right;

	return (a->ino > b->ino) - (a->ino < b->ino);
}

/* Adds the files of which all names were found. */
static void size_add_whole_files(struct size_walk *walk)
{
	size_t first = 0;

	if (walk->links > 0)
		qsort(walk->link, walk->links, sizeof(*walk->link), size_compare_links);
	for (size_t i = 0; i < walk->links; i++) {
		if (walk->link[i].ino != walk->link[first].ino)
			first = i;
		if (i - first + 1 == walk->link[i].names)
			walk->bytes += walk->link[i].bytes;
	}
}

uint64_t checkpoint_measure_removal(int checkpoint_fd)
{
	struct size_walk walk = {0};
	int r = dir_list_add(&walk.dirs, "", false, false);

	for (size_t i = 0; r == 0 && i < walk.dirs.count; i++) {
		_cleanup_free_ char *path = strdup(walk.dirs.item[i].path); /* the list may move */

		r = path ? size_add_dir(&walk, checkpoint_fd, path) : -ENOMEM;
	}
	size_add_whole_files(&walk);
	dir_list_release(&walk.dirs);
	free(walk.link);
	return walk.bytes;
}
