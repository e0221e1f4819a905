#include "syscalls/account/limits/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "syscalls/account/limits/disk-private.h"

/* More than the page cache takes in a millisecond (9 GB/s were measured). */
#define WRITE_BYTES_PER_MS_MAX (UINT64_C(16) << 20)
#define DISK_MEASURE_PAUSE_MAX_NS UINT64_C(100000000) /* longest time between two measurements of disk use */
/* Files that have not grown for this time are measured less often. */
#define DISK_FILES_COUNT_AS_IDLE_AFTER_NS UINT64_C(1000000000)
#define DISK_MEASURE_PAUSE_IDLE_NS UINT64_C(5000000) /* shortest time between measurements while no file grows */
#define DISK_PAUSE_PER_MEASURING_TIME 20             /* measuring takes at most 1/20 of the time */

#define DISK_GROWING_FILES_MAX 65536 /* most files that can grow at a time; each costs a descriptor */

int disk_create(uint64_t limit_bytes, const volatile uint64_t *spilled_bytes, int machine_proc_fd,
		struct disk **ret_disk)
{
	struct disk *disk = calloc(1, sizeof(*disk));
	struct rlimit descriptors = {.rlim_cur = 1024};

	if (!disk)
		return -ENOMEM;
	(void)getrlimit(RLIMIT_NOFILE, &descriptors);
	disk->limit_bytes = limit_bytes ? limit_bytes : UINT64_MAX;
	disk->counts_only_memory_files = !limit_bytes;
	disk->spilled_bytes = spilled_bytes;
	disk->files.machine_proc_fd = machine_proc_fd;
	disk->files.held_max =
		descriptors.rlim_cur / 2 < DISK_GROWING_FILES_MAX ? descriptors.rlim_cur / 2 : DISK_GROWING_FILES_MAX;
	*ret_disk = disk;
	return 0;
}

void disk_free(struct disk *disk)
{
	if (!disk)
		return;
	disk_files_release(&disk->files);
	free(disk);
}

uint64_t disk_get_bytes_without_spilled_output(const struct disk *disk)
{
	return disk->files.total_bytes + disk->names_bytes + disk->copied_bytes + disk->checkpoints_bytes +
	       disk->xattrs_bytes + disk->kept_bytes;
}

uint64_t disk_measure_memory_bytes(struct disk *disk)
{
	struct stat status;

	for (size_t i = 0; i < disk->files.held_count; i++)
		if (disk->files.held[i]->is_in_memory && fstat(disk->files.held[i]->fd, &status) == 0)
			disk_files_measure_by_status(&disk->files, &status);
	return disk->files.memory_bytes;
}

uint64_t disk_get_used_bytes(const struct disk *disk)
{
	return disk_get_bytes_without_spilled_output(disk) + (disk->spilled_bytes ? *disk->spilled_bytes : 0);
}

uint64_t disk_get_peak_bytes(const struct disk *disk)
{
	return disk->peak_bytes;
}

const char *disk_get_end_reason(const struct disk *disk)
{
	return disk->has_too_many_files ? "disk_files" : disk->limit_was_exceeded ? "disk_limit" : NULL;
}

void disk_subtract(uint64_t *count, uint64_t bytes)
{
	*count -= bytes < *count ? bytes : *count;
}

uint64_t disk_get_left_bytes(const struct disk *disk, uint64_t *ret_limit)
{
	const uint64_t used = disk_get_used_bytes(disk);

	*ret_limit = disk->limit_bytes;
	if (disk->counts_only_memory_files)
		return UINT64_MAX;
	return used < disk->limit_bytes ? disk->limit_bytes - used : 0;
}

void disk_add_copy(struct disk *disk, const struct copy_size *size)
{
	if (disk->counts_only_memory_files)
		return;
	disk->names_bytes += copy_size_get_bytes(size) - size->content_bytes;
	disk->copied_bytes += size->content_bytes;
}

void disk_add_filled_bytes(struct disk *disk, uint64_t bytes)
{
	if (!disk->counts_only_memory_files)
		disk->copied_bytes += bytes;
}

void disk_add_checkpoint_bytes(struct disk *disk, int64_t bytes)
{
	const uint64_t freed = bytes < 0 ? -(uint64_t)bytes : 0;

	if (disk->counts_only_memory_files)
		return;
	if (bytes < 0)
		disk_subtract(&disk->checkpoints_bytes, freed);
	else if ((uint64_t)bytes <= UINT64_MAX / 4 - disk->checkpoints_bytes)
		disk->checkpoints_bytes += (uint64_t)bytes;
}

void disk_compare_with_limit(struct disk *disk)
{
	uint64_t used = disk_get_used_bytes(disk);

	if (used > disk->limit_bytes && !disk->limit_was_exceeded) {
		disk_files_release_closed(&disk->files);
		used = disk_get_used_bytes(disk);
	}
	if (used > disk->peak_bytes)
		disk->peak_bytes = used;
	if (used > disk->limit_bytes)
		disk->limit_was_exceeded = true;
}

/* The pause until files are measured again: so short that the run cannot pass the limit meanwhile. */
static uint64_t disk_get_measure_pause_ns(const struct disk *disk, uint64_t now_ns, uint64_t took_ns)
{
	uint64_t used = disk_get_used_bytes(disk), left = used < disk->limit_bytes ? disk->limit_bytes - used : 0;
	bool quiet = now_ns - disk->last_growth_ns > DISK_FILES_COUNT_AS_IDLE_AFTER_NS;
	uint64_t wait = left / WRITE_BYTES_PER_MS_MAX * 1000000,
		 least = quiet ? DISK_MEASURE_PAUSE_IDLE_NS : DISK_MEASURE_PAUSE_MIN_NS;

	if (least < took_ns * DISK_PAUSE_PER_MEASURING_TIME)
		least = took_ns * DISK_PAUSE_PER_MEASURING_TIME;
	if (wait > DISK_MEASURE_PAUSE_MAX_NS)
		wait = DISK_MEASURE_PAUSE_MAX_NS;
	return wait > least ? wait : least;
}

/* Measures the files that may have grown, and plans the next time. */
static void disk_measure_growing_files(struct disk *disk, uint64_t now_ns)
{
	struct disk_files *files = &disk->files;
	uint64_t start_ns = io_read_clock_ns();

	/* From the end, because the last file takes the place of a released file, and was measured already. */
	for (size_t i = files->held_count; i > 0; i--)
		if (disk_files_measure_growing_file(files, files->held[i - 1], now_ns))
			disk->last_growth_ns = start_ns;
	disk->next_measure_ns = start_ns + disk_get_measure_pause_ns(disk, start_ns, io_read_clock_ns() - start_ns);
	disk_files_forget_unused_if_due(files, now_ns);
}

bool disk_measure_due_files(struct disk *disk, uint64_t now_ns)
{
	if (disk->files.held_count > 0 && now_ns >= disk->next_measure_ns)
		disk_measure_growing_files(disk, now_ns);
	disk_compare_with_limit(disk);
	return disk->limit_was_exceeded || disk->has_too_many_files;
}

int disk_get_next_measure_ms(const struct disk *disk, uint64_t now_ns)
{
	if (disk->files.held_count == 0)
		return -1;
	return disk->next_measure_ns <= now_ns ? 0 : (int)((disk->next_measure_ns - now_ns + 999999) / 1000000);
}

int disk_admit_bytes(struct call *call, uint64_t bytes)
{
	struct disk *disk = call->sandbox->disk;
	uint64_t used;

	if (!disk)
		return 0;
	used = disk_get_used_bytes(disk);
	if (used <= disk->limit_bytes && bytes <= disk->limit_bytes - used)
		return 0;
	disk->limit_was_exceeded = true;
	return call_refuse(call, -EDQUOT, NULL, "disk_limit");
}

bool disk_take_bytes(const struct call *call, uint64_t bytes)
{
	struct disk *disk = call->sandbox->disk;
	uint64_t used = disk ? disk_get_used_bytes(disk) : 0;

	if (!disk)
		return true;
	if (used > disk->limit_bytes || bytes > disk->limit_bytes - used ||
	    bytes > disk->limit_bytes / DISK_KEPT_PART - disk->kept_bytes)
		return false;
	disk->kept_bytes += bytes;
	return true;
}

void disk_give_back_bytes(const struct call *call, uint64_t bytes)
{
	struct disk *disk = call->sandbox->disk;

	if (disk)
		disk->kept_bytes -= bytes;
}
