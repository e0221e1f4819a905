#include "workspace/copies.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "workspace/layer.h"

struct link_entry {
	uint64_t ino;
	char path[];
};

static int copies_compare(const void *left, const void *right)
{
	const struct link_entry *a = left, *b = right;

	return (a->ino > b->ino) - (a->ino < b->ino);
}

int copies_add(struct copies *copies, uint64_t ino, const char *path)
{
	const size_t bytes = strlen(path) + 1;
	struct link_entry *entry = malloc(sizeof(*entry) + bytes), **found;

	if (!entry)
		return -ENOMEM;
	entry->ino = ino;
	memcpy(entry->path, path, bytes);
	found = tsearch(entry, &copies->root, copies_compare);
	if (!found || *found != entry)
		free(entry);
	return found ? 0 : -ENOMEM;
}

const char *copies_find(const struct copies *copies, uint64_t ino)
{
	const struct link_entry key = {.ino = ino};
	struct link_entry *const *found = tfind(&key, &copies->root, copies_compare);

	return found ? (*found)->path : NULL;
}

int copies_make(int root_fd, const char *path, int dir_fd, const char *name)
{
	_cleanup_close_ int fd = workspace_open_entry(root_fd, path);

	if (fd < 0)
		return fd;
	return linkat(AT_FDCWD, io_proc_fd_path(fd).path, dir_fd, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

void copies_release(struct copies *copies)
{
	tdestroy(copies->root, free);
	copies->root = NULL;
}
