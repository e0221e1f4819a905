/* The disk use of the run (disk.c), the files that count (disk-files.c), and which are mapped (disk-mapped.c). */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_LIMITS_DISK_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_LIMITS_DISK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "syscalls/account/limits/disk.h"

/* A file that the run may have made larger. */
struct disk_file {
	dev_t dev;
	ino_t ino;
	uint64_t bytes_before_run; /* bytes before the run opened the file; not counted */
	uint64_t measured_bytes;   /* bytes when the file was last measured */
	int fd; /* O_PATH; open while the file can grow, or is unlinked while a process has it open; -1: closed */
	size_t index_in_held_files;  /* index of the file in `held`, unless fd is -1 */
	uint64_t next_lease_ns;      /* earliest time of the next attempt to get a lease */
	uint64_t lease_pause_ns;     /* pause before next_lease_ns, longer after each failure */
	bool is_in_memory;           /* on tmpfs: disk_file_is_in_memory() */
	bool lease_ignores_mappings; /* leases do not detect the file's mappings: disk_lease_ignores_mappings() */
	bool is_pinned; /* the target has had an O_PATH descriptor, so an unlinked file may exist as long as the run */
	bool is_unused; /* unlinked and not open, but it may be mapped */
};

/* The files that the run may have made larger. */
struct disk_files {
	void *tree;              /* tree of struct disk_file, owned: tsearch(3) */
	size_t count;            /* files in `tree` */
	struct disk_file **held; /* files with a descriptor; owned */
	size_t held_count, held_room, held_max;
	uint64_t total_bytes;             /* sum of the growth of all files */
	uint64_t memory_bytes;            /* growth of files on tmpfs and ramfs */
	uint64_t next_mappings_search_ns; /* earliest time of the next search of mappings */
	int machine_proc_fd;              /* borrowed: see proctree_read_exactly() */
};

void disk_files_release(struct disk_files *files);

/* The entry of the file with this device and inode, or NULL. */
struct disk_file *disk_files_find(const struct disk_files *files, const struct stat *status);

/* From now on all bytes of the file count, which are `bytes` now. */
void disk_files_count_whole(struct disk_files *files, struct disk_file *file, uint64_t bytes);

/*
 * Adds a file. bytes_before_run: those of its bytes on disk that the run has not added. in_memory: it is on tmpfs or
 * ramfs. 0 or -ENOMEM.
 */
int disk_files_add(struct disk_files *files, const struct stat *status, uint64_t bytes_before_run, bool in_memory,
		   struct disk_file **ret_file);

/*
 * Opens an O_PATH descriptor of the file of fd, and keeps it in the entry. 0, -ENFILE (too many files can grow) or
 * -errno.
 */
int disk_files_keep_descriptor(struct disk_files *files, struct disk_file *file, int fd, uint64_t now_ns);

/*
 * Measures a held file. True: the file has grown. The function may release or remove the entry, and another file then
 * takes its index in held[].
 */
bool disk_files_measure_growing_file(struct disk_files *files, struct disk_file *file, uint64_t now_ns);

/* To be called after all files were measured: removes unlinked files that no process has open or mapped. */
void disk_files_forget_unused_if_due(struct disk_files *files, uint64_t now_ns);

/* Tries a lease on every held file now, regardless of its next_lease_ns. */
void disk_files_release_closed(struct disk_files *files);

/* ---- disk-mapped.c ---- */

/* Whether the kernel grants a lease on the file although it is mapped. */
bool disk_lease_ignores_mappings(int fd);
/* Whether the file is on tmpfs or ramfs. */
bool disk_file_is_in_memory(int fd);
/*
 * Whether a descendant of this process maps an unlinked file, or may. Reads /proc/PID/maps: a process that moves its
 * mappings meanwhile can be missed. machine_proc_fd: see proctree_read_exactly().
 */
bool disk_any_process_maps_unlinked_file(int machine_proc_fd);

/* Measures the file with this status (dev, inode), if disk_files_add() has added it. */
void disk_files_measure_by_status(struct disk_files *files, const struct stat *status);

/* ---- disk.c ---- */

#define DISK_MEASURE_PAUSE_MIN_NS UINT64_C(1000000) /* shortest time between two measurements of disk use */

/* The disk use of the run. */
struct disk {
	struct disk_files files;
	uint64_t limit_bytes; /* the policy's limit of disk use */
	const volatile uint64_t *spilled_bytes;
	/* the disk is not limited: only files on tmpfs and ramfs are counted, for the limit of memory */
	bool counts_only_memory_files;
	uint64_t names_bytes; /* bytes counted for names that were made, less those for removed names */
	/* bytes of files of a workspace by copying that have no entry in `files`, as the run has not opened them yet */
	uint64_t copied_bytes;
	uint64_t checkpoints_bytes; /* bytes that checkpoints of the session have taken */
	uint64_t xattrs_bytes;      /* bytes counted for extended attributes */
	uint64_t kept_bytes;        /* bytes of disk_take_bytes(), at most 1/DISK_KEPT_PART of limit_bytes */
	uint64_t peak_bytes;        /* highest disk use so far */
	uint64_t next_measure_ns;   /* when files are measured next, if one can grow */
	uint64_t last_growth_ns;    /* when a file was last found to have grown */
	bool has_too_many_files;    /* more than DISK_MEASURED_FILES_MAX files */
	bool limit_was_exceeded;    /* the run is to end */
};

/* Takes bytes off a count, which is never below 0. */
void disk_subtract(uint64_t *count, uint64_t bytes);

/* Compares the sum with the limit. If it is exceeded, files that were just closed are settled first. */
void disk_compare_with_limit(struct disk *disk);

#endif
