/* The files that the run has opened for writing, by (dev, inode), and a list of those that can still grow. */
#include "syscalls/account/limits/disk-private.h"

#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <unistd.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/file/resolve.h"

#define STAT_BLOCK_BYTES 512 /* unit of st_blocks, for every file system: inode(7) */

/* Pause before the next lease, after a lease was refused because the file is open. Each refusal doubles it. */
#define LEASE_RETRY_PAUSE_FIRST_NS UINT64_C(10000000)
#define LEASE_RETRY_PAUSE_MAX_NS UINT64_C(1000000000) /* longest pause between attempts to get a lease on a file */

/* Pause between two searches of all mappings. */
#define MAPPINGS_SEARCH_PAUSE_NS UINT64_C(10000000)
#define MAPPINGS_PAUSE_PER_SEARCH_TIME 20 /* a search takes at most 1/20 of the time */

/* What the file takes on disk: its blocks. */
static uint64_t disk_get_allocated_bytes(const struct stat *status)
{
	return (uint64_t)status->st_blocks * STAT_BLOCK_BYTES;
}

/* By how many bytes the file is larger than before the run. */
static uint64_t disk_file_get_growth(const struct disk_file *file)
{
	return file->measured_bytes > file->bytes_before_run ? file->measured_bytes - file->bytes_before_run : 0;
}

/* Sets a file's measured size, and corrects the sums. */
static void disk_files_set_file_bytes(struct disk_files *files, struct disk_file *file, uint64_t bytes)
{
	uint64_t before = disk_file_get_growth(file);

	file->measured_bytes = bytes;
	files->total_bytes +=
		disk_file_get_growth(file) - before; /* unsigned arithmetic: correct even if the file shrinks */
	if (file->is_in_memory)
		files->memory_bytes += disk_file_get_growth(file) - before;
}

void disk_files_count_whole(struct disk_files *files, struct disk_file *file, uint64_t bytes)
{
	disk_files_set_file_bytes(files, file, 0); /* takes what has counted so far out of the sums */
	file->bytes_before_run = 0;
	disk_files_set_file_bytes(files, file, bytes);
}

/* Compares for tsearch(3). */
static int disk_files_compare(const void *a, const void *b)
{
	const struct disk_file *one = a, *other = b;

	if (one->dev != other->dev)
		return one->dev < other->dev ? -1 : 1;
	return one->ino < other->ino ? -1 : one->ino > other->ino;
}

struct disk_file *disk_files_find(const struct disk_files *files, const struct stat *status)
{
	const struct disk_file key = {.dev = status->st_dev, .ino = status->st_ino};
	struct disk_file *const *found = tfind(&key, &files->tree, disk_files_compare);

	return found ? *found : NULL;
}

int disk_files_add(struct disk_files *files, const struct stat *status, uint64_t bytes_before_run, bool in_memory,
		   struct disk_file **ret_file)
{
	struct disk_file *file = malloc(sizeof(*file));

	if (!file)
		return -ENOMEM;
	*file = (struct disk_file){.dev = status->st_dev,
				   .ino = status->st_ino,
				   .bytes_before_run = bytes_before_run,
				   .is_in_memory = in_memory,
				   .fd = -1};
	if (!tsearch(file, &files->tree, disk_files_compare)) {
		free(file);
		return -ENOMEM;
	}
	files->count++;
	disk_files_set_file_bytes(files, file, disk_get_allocated_bytes(status));
	*ret_file = file;
	return 0;
}

void disk_files_measure_by_status(struct disk_files *files, const struct stat *status)
{
	struct disk_file *file = disk_files_find(files, status);

	if (file)
		disk_files_set_file_bytes(files, file, disk_get_allocated_bytes(status));
}

/* Closes a file's descriptor; the file stays counted. */
static void disk_files_release_file(struct disk_files *files, struct disk_file *file)
{
	struct disk_file *last = files->held[--files->held_count];

	files->held[file->index_in_held_files] = last;
	last->index_in_held_files = file->index_in_held_files;
	(void)close(file->fd);
	file->fd = -1;
}

/* Removes a file from the list. Its blocks are freed at the latest when our descriptor is closed. */
static void disk_files_forget_file(struct disk_files *files, struct disk_file *file)
{
	disk_files_set_file_bytes(files, file, 0);
	disk_files_release_file(files, file);
	(void)tdelete(file, &files->tree, disk_files_compare);
	files->count--;
	free(file);
}

/*
 * Opens the file of an O_PATH descriptor for reading. Returns a descriptor or -1. An unlinked unreadable file is made
 * readable for a moment: no other process can open it then.
 */
static int disk_file_open_for_lease(int fd)
{
	const struct io_proc_fd_path link = io_proc_fd_path(fd);
	int probe = open(link.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat status;

	if (probe >= 0 || errno != EACCES || fstat(fd, &status) < 0 || status.st_nlink > 0 ||
	    (status.st_mode & (S_ISUID | S_ISGID)) || chmod(link.path, S_IRUSR) < 0)
		return probe;
	probe = open(link.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	(void)chmod(link.path, status.st_mode & 07777); /* fails only if the first chmod failed */
	return probe;
}

/*
 * Whether another process has the file open in any mode (F_WRLCK) or for writing (F_RDLCK): by a descriptor, a mapping
 * or a message. If so, the kernel refuses a lease (check_conflicting_open() in fs/locks.c). O_PATH descriptors do not
 * count: see disk_file.is_pinned. The lease is released at once, because an open(2) of the file waits as long as the
 * lease exists, and sends the supervisor a SIGIO. If the lease fails for another reason (foreign or unreadable file, no
 * leases), the file counts as open: it stays counted.
 */
static bool disk_file_is_open_elsewhere(int fd, int lease)
{
	_cleanup_close_ int probe = disk_file_open_for_lease(fd);

	if (probe < 0 || fcntl(probe, F_SETLEASE, lease) < 0)
		return true;
	(void)fcntl(probe, F_SETLEASE, F_UNLCK);
	return false;
}

/*
 * Releases a file that no process can write any more, and forgets an unlinked file that no process has open. An
 * unlinked file is kept if leases do not detect its mappings (`lease_ignores_mappings`), because a process may still
 * have it mapped. Writing through a mapping can fill the file's holes, but cannot make it longer.
 */
static void disk_files_release_if_closed(struct disk_files *files, struct disk_file *file, nlink_t names)
{
	struct stat status;

	file->is_unused = false;
	if (names == 0 && !file->is_pinned) {
		file->is_unused = !disk_file_is_open_elsewhere(file->fd, F_WRLCK);
		if (file->is_unused && !file->lease_ignores_mappings)
			disk_files_forget_file(files, file);
	} else if (!disk_file_is_open_elsewhere(file->fd, F_RDLCK)) {
		/* The file may have been written and closed since it was measured. */
		if (fstat(file->fd, &status) < 0)
			return;
		disk_files_set_file_bytes(files, file, disk_get_allocated_bytes(&status));
		if (!file->lease_ignores_mappings || file->measured_bytes >= (uint64_t)status.st_size)
			disk_files_release_file(files, file);
	}
}

/*
 * Checks again whether the unused files are unused: a process may have opened one through an O_PATH descriptor. True:
 * there still are unused files.
 */
static bool disk_files_recheck_unused(struct disk_files *files)
{
	bool any = false;

	for (size_t i = 0; i < files->held_count; i++) {
		struct disk_file *file = files->held[i];

		if (file->is_unused)
			file->is_unused = !file->is_pinned && !disk_file_is_open_elsewhere(file->fd, F_WRLCK);
		any = any || file->is_unused;
	}
	return any;
}

/* Forgets unlinked files that no process has open or mapped. */
static void disk_files_forget_unused(struct disk_files *files)
{
	uint64_t start_ns = io_read_clock_ns();

	if (!disk_files_recheck_unused(files))
		return;
	if (!disk_any_process_maps_unlinked_file(files->machine_proc_fd))
		for (size_t i = files->held_count; i > 0; i--)
			if (files->held[i - 1]->is_unused)
				disk_files_forget_file(files, files->held[i - 1]);
	files->next_mappings_search_ns =
		start_ns + MAPPINGS_SEARCH_PAUSE_NS + (io_read_clock_ns() - start_ns) * MAPPINGS_PAUSE_PER_SEARCH_TIME;
}

void disk_files_forget_unused_if_due(struct disk_files *files, uint64_t now_ns)
{
	if (now_ns >= files->next_mappings_search_ns)
		disk_files_forget_unused(files);
}

bool disk_files_measure_growing_file(struct disk_files *files, struct disk_file *file, uint64_t now_ns)
{
	uint64_t before = file->measured_bytes;
	struct stat status;
	bool grown;

	if (fstat(file->fd, &status) < 0)
		return false; /* a network file system may fail temporarily: the file is measured again next time */
	disk_files_set_file_bytes(files, file, disk_get_allocated_bytes(&status));
	grown = file->measured_bytes > before;
	if ((status.st_nlink > 0 && grown) || now_ns < file->next_lease_ns)
		return grown;
	file->next_lease_ns = now_ns + file->lease_pause_ns;
	if (file->lease_pause_ns < LEASE_RETRY_PAUSE_MAX_NS)
		file->lease_pause_ns *= 2;
	disk_files_release_if_closed(files, file, status.st_nlink);
	return grown;
}

void disk_files_release_closed(struct disk_files *files)
{
	struct stat status;

	for (size_t i = files->held_count; i > 0; i--)
		if (fstat(files->held[i - 1]->fd, &status) == 0)
			disk_files_release_if_closed(files, files->held[i - 1], status.st_nlink);
	disk_files_forget_unused(files);
}

/* Makes room for one more file with a descriptor. -ENFILE: too many. */
static int disk_files_make_room(struct disk_files *files)
{
	if (files->held_count >= files->held_max)
		disk_files_release_closed(files);
	if (files->held_count >= files->held_max)
		return -ENFILE;
	return array_reserve(&files->held, files->held_count, &files->held_room) ? 0 : -ENOMEM;
}

int disk_files_keep_descriptor(struct disk_files *files, struct disk_file *file, int fd, uint64_t now_ns)
{
	int r = file->fd < 0 ? disk_files_make_room(files) : 0;

	file->lease_pause_ns = LEASE_RETRY_PAUSE_FIRST_NS;
	file->next_lease_ns = now_ns;
	if (file->fd >= 0 || r < 0)
		return r;
	/* O_PATH: a descriptor for writing would make execve of the file fail with ETXTBSY. */
	file->fd = open(io_proc_fd_path(fd).path, O_PATH | O_CLOEXEC);
	if (file->fd < 0)
		return -errno;
	file->lease_ignores_mappings = disk_lease_ignores_mappings(file->fd);
	file->index_in_held_files = files->held_count;
	files->held[files->held_count++] = file;
	return 0;
}

void disk_files_release(struct disk_files *files)
{
	for (size_t i = 0; i < files->held_count; i++)
		(void)close(files->held[i]->fd);
	tdestroy(files->tree, free);
	free(files->held);
	*files = (struct disk_files){0};
}
