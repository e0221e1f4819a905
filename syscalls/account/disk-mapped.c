/*
 * Files that are mapped, where no lease tells. A file system on top of another (overlayfs, FUSE with passthrough) maps
 * the lower file in place of the one that was opened: once the descriptor is closed, the upper one looks unused.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proctree.h"
#include "syscalls/account/disk-private.h"

#include "base/banned.h"

#define MAPS_MAX (4u << 20)               /* of one process; beyond it, it cannot be told */
#define SEARCH_MOST_NS UINT64_C(20000000) /* nobody looks at the limits meanwhile */
#define ROUNDS 4

/*
 * Magic numbers of file systems that keep their pages themselves, and so map what was opened: linux/magic.h, statfs(2).
 */
bool disk_hides_mappings(int fd)
{
	static const uint32_t open_ones[] = {
		0xef53 /* ext2 to ext4 */, 0x58465342 /* xfs */,  0x9123683e /* btrfs */,  0x01021994 /* tmpfs */,
		0x858458f6 /* ramfs */,    0xf2f52010 /* f2fs */, 0x2fc12fc1 /* zfs */,    0xca451a4e /* bcachefs */,
		0x3153464a /* jfs */,      0x4d44 /* vfat */,     0x2011bab0 /* exfat */,  0x6969 /* nfs */,
	};
	struct statfs status;

	if (fstatfs(fd, &status) < 0)
		return true;
	for (size_t i = 0; i < sizeof(open_ones) / sizeof(open_ones[0]); i++)
		if ((uint32_t)status.f_type == open_ones[i])
			return false;
	return true;
}

bool disk_is_memory(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && (status.f_type == 0x01021994 || (uint32_t)status.f_type == 0x858458f6);
}

/* A process whose first thread has ended shows no mappings, while the other threads have them. */
static bool has_threads(pid_t pid)
{
	char path[48];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid); /* bounded by an int */
	return stat(path, &status) == 0 && status.st_nlink > 3; /* ".", its name in the parent, the first thread */
}

/* True as well when it cannot be told: not ours to look into, gone meanwhile, too much to read. */
static bool maps_deleted(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[48];
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (io_read_file(AT_FDCWD, path, MAPS_MAX, &text, &len) < 0)
		return true;
	return len == 0 ? has_threads(pid) : strstr(text, " (deleted)\n") != NULL;
}

static bool was_there(const struct proctree *tree, const struct proctree_entry *entry)
{
	for (size_t low = 0, high = tree->count; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (tree->entry[middle].pid == entry->pid)
			return tree->entry[middle].place == PROCTREE_BELOW;
		if (tree->entry[middle].pid < entry->pid)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

/* 0: nobody; 1: somebody, or it cannot be told; -EAGAIN: nobody so far, but there are new processes. */
static int search(struct proctree *known, uint64_t end_ns)
{
	struct proctree tree;
	bool fresh = false;
	int found = proctree_read(&tree) < 0 ? 1 : 0;

	proctree_mark(&tree, getpid());
	for (size_t i = 0; found == 0 && i < tree.count; i++) {
		const struct proctree_entry *entry = &tree.entry[i];

		if (entry->place != PROCTREE_BELOW || was_there(known, entry))
			continue;
		fresh = true;
		found = io_now_ns() > end_ns || maps_deleted(entry->pid);
	}
	proctree_done(known);
	*known = tree;
	return found == 0 && fresh ? -EAGAIN : found;
}

/* A child that was made behind our back has what its parent had: so again until there are no new ones. */
bool disk_deleted_is_mapped(void)
{
	uint64_t end_ns = io_now_ns() + SEARCH_MOST_NS;
	struct proctree known = {0};
	int found = -EAGAIN;

	for (int i = 0; found == -EAGAIN && i < ROUNDS; i++)
		found = search(&known, end_ns);
	proctree_done(&known);
	return found != 0;
}
