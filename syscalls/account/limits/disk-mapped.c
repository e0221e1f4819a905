/*
 * Mapped files that leases do not detect. A file system on top of another (overlayfs, FUSE with passthrough) maps the
 * lower file. When the descriptor is closed, the upper file seems unused.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/proc/tree.h"
#include "syscalls/account/limits/disk-private.h"

/* bytes of /proc/PID/maps; a process with longer maps counts as mapping an unlinked file */
#define MAPS_FILE_BYTES_MAX (4u << 20)
/* most time of a search, because limits are not checked meanwhile */
#define MAPPINGS_SEARCH_TIME_MAX_NS UINT64_C(20000000)
#define MAPPINGS_SEARCH_ROUNDS_MAX 4 /* searches for a mapped unlinked file, while new processes appear */

/*
 * Whether a mapping of the file refers to another inode than the descriptor does, as on overlayfs. False for the listed
 * file systems (statfs(2)), whose mappings refer to the opened file.
 */
bool disk_lease_ignores_mappings(int fd)
{
	static const uint32_t open_ones[] = {
		0xef53 /* ext2 to ext4 */, 0x58465342 /* xfs */,  0x9123683e /* btrfs */, 0x01021994 /* tmpfs */,
		0x858458f6 /* ramfs */,    0xf2f52010 /* f2fs */, 0x2fc12fc1 /* zfs */,   0xca451a4e /* bcachefs */,
		0x3153464a /* jfs */,      0x4d44 /* vfat */,     0x2011bab0 /* exfat */, 0x6969 /* nfs */,
	};
	struct statfs status;

	if (fstatfs(fd, &status) < 0)
		return true;
	for (size_t i = 0; i < sizeof(open_ones) / sizeof(open_ones[0]); i++)
		if ((uint32_t)status.f_type == open_ones[i])
			return false;
	return true;
}

bool disk_file_is_in_memory(int fd)
{
	struct statfs status;

	return fstatfs(fd, &status) == 0 && (status.f_type == 0x01021994 || (uint32_t)status.f_type == 0x858458f6);
}

/*
 * Whether the process has threads besides its first one. After the first thread has ended, /proc/PID/maps is empty,
 * although the other threads still have mappings.
 */
static bool disk_process_has_other_threads(pid_t pid)
{
	char path[48];
	struct stat status;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid); /* always fits, because the pid is an int */
	/* links: ".", the name in the parent, and the first thread */
	return stat(path, &status) == 0 && status.st_nlink > 3;
}

/*
 * Whether the process maps an unlinked file, or may map one: no permission, process gone, or MAPS_FILE_BYTES_MAX
 * exceeded.
 */
static bool disk_process_maps_unlinked_file(pid_t pid)
{
	_cleanup_free_ char *text = NULL;
	char path[48];
	size_t len;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	if (io_read_file(AT_FDCWD, path, MAPS_FILE_BYTES_MAX, &text, &len) < 0)
		return true;
	return len == 0 ? disk_process_has_other_threads(pid) : strstr(text, " (deleted)\n") != NULL;
}

/*
 * Searches the processes that are not in `known` yet. 1: a process maps an unlinked file, or may map one; 0: no process
 * does; -EAGAIN: the search has to be repeated.
 */
static int disk_search_new_processes(int machine_proc_fd, struct proctree *known, uint64_t end_ns)
{
	struct proctree tree;
	int found = proctree_read_exactly(machine_proc_fd, &tree) < 0 ? 1 : 0;
	bool fresh;

	proctree_mark_descendants(&tree, getpid());
	fresh = proctree_may_miss_descendants(known, &tree);
	for (size_t i = 0; found == 0 && i < tree.entry_count; i++) {
		const struct proctree_entry *entry = &tree.entry[i], *before = proctree_find_entry(known, entry->pid);

		if (entry->place != PROCTREE_DESCENDANT || (before && before->place == PROCTREE_DESCENDANT))
			continue;
		fresh = true;
		found = io_read_clock_ns() > end_ns || disk_process_maps_unlinked_file(entry->pid);
	}
	proctree_release(known);
	*known = tree;
	return found == 0 && fresh ? -EAGAIN : found;
}

/* Repeats the search for new processes, because a fork during a search passes mappings on. */
bool disk_any_process_maps_unlinked_file(int machine_proc_fd)
{
	uint64_t end_ns = io_read_clock_ns() + MAPPINGS_SEARCH_TIME_MAX_NS;
	struct proctree known = {0};
	int found = -EAGAIN;

	for (int i = 0; found == -EAGAIN && i < MAPPINGS_SEARCH_ROUNDS_MAX; i++)
		found = disk_search_new_processes(machine_proc_fd, &known, end_ns);
	proctree_release(&known);
	return found != 0;
}
