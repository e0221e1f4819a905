/* What calls do to files and names, for the disk use of the run. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/copying.h"
#include "syscalls/account/limits/disk-private.h"

/*
 * Finds the entry of a file, or adds one. bytes_before_run: the bytes of the file's blocks that the run has not added.
 * NULL: no entry could be added, and the call's outcome is set.
 */
static struct disk_file *disk_find_or_add_file(struct call *call, const struct stat *status, uint64_t bytes_before_run,
					       bool in_memory)
{
	struct disk *disk = call->sandbox->disk;
	struct disk_file *file = disk_files_find(&disk->files, status);
	int r;

	if (file)
		return file;
	if (disk->files.count >= DISK_MEASURED_FILES_MAX) {
		disk->has_too_many_files = true;
		call_refuse(call, -EDQUOT, NULL, "disk_files");
		return NULL;
	}
	r = disk_files_add(&disk->files, status, bytes_before_run, in_memory, &file);
	if (r < 0)
		call_fail(call, r);
	return r < 0 ? NULL : file;
}

/* Whether a place is in a workspace by copying. */
static bool disk_place_is_in_copy(const struct place *place)
{
	return place->mount && !place->is_magic_link && place->mount->flags & MOUNT_WORKSPACE_COPY;
}

/*
 * Finds the entry of a file that the run has not made, or adds one. Of a file of the copy, which has counted since the
 * start, all bytes count in its entry from now on. NULL as disk_find_or_add_file().
 */
static struct disk_file *disk_find_or_add_old_file(struct call *call, const struct stat *status, bool in_memory,
						   bool is_of_copy)
{
	struct disk *disk = call->sandbox->disk;
	const uint64_t bytes = (uint64_t)status->st_blocks * 512;
	const bool is_new = is_of_copy && disk->copied_bytes > 0 && !disk_files_find(&disk->files, status);
	struct disk_file *file = disk_find_or_add_file(call, status, bytes, in_memory);

	if (file && is_new) {
		disk_subtract(&disk->copied_bytes, bytes);
		disk_files_count_whole(&disk->files, file, bytes);
	}
	return file;
}

/* Whether the file of fd counts. Also returns its status, and whether it is on tmpfs or ramfs. */
static bool disk_file_counts_for_limit(const struct disk *disk, int fd, struct stat *ret_status, bool *ret_in_memory)
{
	if (!disk || fstat(fd, ret_status) < 0 || !S_ISREG(ret_status->st_mode))
		return false;
	*ret_in_memory = disk_file_is_in_memory(fd);
	return *ret_in_memory || !disk->counts_only_memory_files;
}

/* Whether the file is one of an overlay of the run. */
static bool disk_place_is_in_overlay(const struct place *place)
{
	return place->mount && !place->is_magic_link && place->mount->flags & MOUNT_OVERLAY;
}

/* Whether a copy of the file of fd counts, and has not yet. Also returns its status, and whether it is in memory. */
static bool disk_copy_is_to_count(const struct call *call, unsigned i, int fd, struct stat *ret_status,
				  bool *ret_in_memory)
{
	const struct disk *disk = call->sandbox->disk;
	const struct disk_file *file;

	if (!disk_place_is_in_overlay(&call->resolved_place[i]) ||
	    !disk_file_counts_for_limit(disk, fd, ret_status, ret_in_memory))
		return false;
	file = disk_files_find(&disk->files, ret_status);
	return !file || file->bytes_before_run > 0; /* else it was copied or made by the run */
}

void disk_count_copied_file(struct disk *disk, int fd)
{
	struct disk_file *file;
	struct stat status;
	bool in_memory;

	if (!disk_file_counts_for_limit(disk, fd, &status, &in_memory))
		return;
	file = disk_files_find(&disk->files, &status);
	if (file && file->bytes_before_run == 0)
		return;
	disk->names_bytes += POLICY_DISK_BYTES_PER_NAME;
	if (file || (disk->files.count < DISK_MEASURED_FILES_MAX &&
		     disk_files_add(&disk->files, &status, 0, in_memory, &file) == 0))
		disk_files_count_whole(&disk->files, file, (uint64_t)status.st_blocks * 512);
	else
		disk->names_bytes += (uint64_t)status.st_blocks * 512;
}

int disk_count_copy(struct call *call, unsigned i, int fd, enum disk_copying how)
{
	struct disk *disk = call->sandbox->disk;
	struct disk_file *file;
	struct stat status;
	uint64_t bytes = 0;
	bool in_memory, counts;

	if (call_is_only_judged(call))
		return 0;
	if (copying_await(call, fd, "") < 0)
		return -1;
	counts = disk_copy_is_to_count(call, i, fd, &status, &in_memory);
	if (counts && (how == DISK_OPENS || how == DISK_EMPTIES) && !copying_may_write(fd))
		return 0; /* the call fails */
	/* A file of several names is copied now: its number is then its own, and not that of the other names. */
	if (counts && (how != DISK_EMPTIES || status.st_nlink > 1))
		bytes = (uint64_t)status.st_blocks * 512;
	if (counts && disk_admit_bytes(call, POLICY_DISK_BYTES_PER_NAME + bytes) < 0)
		return -1;
	if ((how != DISK_EMPTIES || (counts && status.st_nlink > 1)) &&
	    copying_begin(call, fd, how, counts ? disk_count_copied_file : NULL) < 0)
		return -1;
	if (!counts)
		return 0;
	disk->names_bytes += POLICY_DISK_BYTES_PER_NAME;
	if (status.st_nlink > 1 && copying_copy_now(&call->sandbox->copied_files, fd, how == DISK_MOVES, &status) < 0) {
		disk->names_bytes += bytes; /* no entry: another name of the file would count as copied by it */
		return 0;
	}
	file = disk_find_or_add_file(call, &status, 0, in_memory);
	if (!file)
		return -1;
	disk_files_count_whole(&disk->files, file, bytes);
	return 0;
}

int disk_watch_file(struct call *call, int fd, bool made)
{
	struct disk *disk = call->sandbox->disk;
	struct disk_file *file;
	struct stat status;
	uint64_t now_ns;
	bool in_memory;
	int r;

	if (!disk_file_counts_for_limit(disk, fd, &status, &in_memory))
		return 0;
	file = made ? disk_find_or_add_file(call, &status, 0, in_memory)
		    : disk_find_or_add_old_file(call, &status, in_memory,
						disk_place_is_in_copy(&call->resolved_place[0]));
	if (!file)
		return -1;
	if (made)
		file->bytes_before_run = 0; /* the entry is of an older file with the same inode number */
	now_ns = io_read_clock_ns();
	r = disk_files_keep_descriptor(&disk->files, file, fd, now_ns);
	if (r < 0)
		return call_fail(call, r);
	if (disk->next_measure_ns > now_ns + DISK_MEASURE_PAUSE_MIN_NS)
		disk->next_measure_ns = now_ns + DISK_MEASURE_PAUSE_MIN_NS;
	return 0;
}

void disk_count_filled_file(struct disk *disk, int fd)
{
	struct stat status;
	bool in_memory;

	if (!disk_file_counts_for_limit(disk, fd, &status, &in_memory))
		return;
	if (disk_files_find(&disk->files, &status))
		disk_files_measure_by_status(&disk->files, &status);
	else if (!disk->counts_only_memory_files)
		disk->copied_bytes += (uint64_t)status.st_blocks * 512;
}

int disk_pin_file_of_opath_fd(struct call *call, int fd)
{
	struct disk_file *file;
	struct stat status;
	bool in_memory;

	if (!disk_file_counts_for_limit(call->sandbox->disk, fd, &status, &in_memory))
		return 0;
	/* A file of several names is copied first, because its entry would be that of all of them. */
	if (status.st_nlink > 1 && (disk_count_copy(call, 0, fd, DISK_COPIES) < 0 || fstat(fd, &status) < 0))
		return -1;
	file = disk_find_or_add_old_file(call, &status, in_memory, disk_place_is_in_copy(&call->resolved_place[0]));
	if (!file)
		return -1;
	file->is_pinned = true;
	return 0;
}

bool disk_file_is_watched(const struct call *call, const struct stat *status)
{
	const struct disk *disk = call->sandbox->disk;

	return disk && disk_files_find(&disk->files, status);
}

void disk_measure_changed_file(struct call *call, int fd)
{
	struct disk *disk = call->sandbox->disk;
	struct stat status;

	if (!disk || fstat(fd, &status) < 0)
		return;
	disk_files_measure_by_status(&disk->files, &status);
	disk_compare_with_limit(disk);
}

void disk_set_xattr_bytes(struct call *call, uint64_t bytes)
{
	struct disk *disk = call->sandbox->disk;

	if (!disk)
		return;
	disk->xattrs_bytes = bytes;
	disk_compare_with_limit(disk);
}

/* What a name is counted with, besides its file's content. */
static uint64_t disk_estimate_bytes_of_name(bool directory)
{
	return POLICY_DISK_BYTES_PER_NAME + (directory ? POLICY_DISK_BYTES_PER_DIRECTORY : 0);
}

static bool disk_call_has_succeeded(const struct call *call)
{
	const struct outcome *outcome = &call->outcome;

	return outcome->kind == OUTCOME_FD || (outcome->kind == OUTCOME_VALUE && outcome->value >= 0);
}

void disk_count_new_name(struct call *call, mode_t type)
{
	if (call->sandbox->disk && disk_call_has_succeeded(call))
		call->sandbox->disk->names_bytes +=
			disk_estimate_bytes_of_name(S_ISDIR(type)) + (S_ISLNK(type) ? call->text_arg_len : 0);
}

/* Holds the object of a name that a call is about to remove, to count what becomes free. */
struct disk_removal disk_begin_removal(const struct call *call, unsigned i, int dirfd, const char *name)
{
	struct disk_removal removal = {.fd = -1};
	struct stat status;

	if (call->sandbox->disk)
		removal.fd = openat(dirfd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (removal.fd >= 0 && fstat(removal.fd, &status) == 0) {
		removal.is_directory = S_ISDIR(status.st_mode);
		removal.link_bytes = S_ISLNK(status.st_mode) ? (uint64_t)status.st_size : 0;
		removal.is_of_copy = disk_place_is_in_copy(&call->resolved_place[i]);
		removal.names = status.st_nlink;
	}
	return removal;
}

/* Holds an unlinked file, so that it is measured: the file keeps its blocks until the last process has closed it. */
static void disk_hold_unlinked_file(struct disk *disk, int fd, const struct stat *status)
{
	struct disk_file *file = status->st_nlink == 0 ? disk_files_find(&disk->files, status) : NULL;

	/* A file that cannot be held counts until the run ends. */
	if (file && disk_files_keep_descriptor(&disk->files, file, fd, 0) == 0)
		(void)disk_files_measure_growing_file(&disk->files, file, io_read_clock_ns());
}

/*
 * Gives a removed file of the copy its entry, so that it counts as long as a process has it open. A file that gets none
 * counts until the run ends.
 */
static void disk_take_file_of_copy(struct disk *disk, int fd, const struct stat *status)
{
	const uint64_t bytes = (uint64_t)status->st_blocks * 512;
	struct disk_file *file;

	if (disk->files.count >= DISK_MEASURED_FILES_MAX || disk_files_find(&disk->files, status) ||
	    disk_files_add(&disk->files, status, 0, disk_file_is_in_memory(fd), &file) < 0)
		return;
	disk_subtract(&disk->copied_bytes, bytes);
}

/* Takes the removed name and its file off the disk use, if the call has succeeded. */
void disk_end_removal(struct call *call, struct disk_removal *removal)
{
	struct disk *disk = call->sandbox->disk;
	_cleanup_close_ int fd = removal->fd;
	uint64_t bytes = disk_estimate_bytes_of_name(removal->is_directory) + removal->link_bytes;
	struct stat status;

	removal->fd = -1;
	if (fd < 0 || !disk_call_has_succeeded(call) || fstat(fd, &status) < 0)
		return;
	/*
	 * rename(2) from one name of a file to another name of the same file removes neither. Directories are not
	 * compared, because some file systems keep a directory's st_nlink at 1.
	 */
	if (!removal->is_directory && status.st_nlink >= removal->names)
		return;
	disk_subtract(&disk->names_bytes, bytes);
	if (removal->is_of_copy && disk->copied_bytes > 0 && S_ISREG(status.st_mode) && status.st_nlink == 0)
		disk_take_file_of_copy(disk, fd, &status);
	disk_hold_unlinked_file(disk, fd, &status);
}
