/* The files that disk.c counts: disk-files.c; and which of them are mapped: disk-mapped.c. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_DISK_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_DISK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct disk_file {
	dev_t dev;
	ino_t ino;
	uint64_t base_bytes; /* before the run opened it: not counted */
	uint64_t bytes;      /* when last measured */
	int fd;              /* O_PATH, while the file can grow or is unlinked but open; -1: released */
	size_t held_at;      /* index of the file in `held`, if fd is not -1 */
	uint64_t ask_ns;     /* no lease is tried before this time */
	uint64_t patience_ns;
	bool in_memory; /* on tmpfs: disk_is_in_memory() */
	bool hides;  /* leases do not detect the file's mappings: disk_hides_mappings() */
	bool pinned; /* the target has had an O_PATH descriptor: if unlinked, it may exist as long as the run */
	bool unused; /* unlinked and not open, but maybe mapped */
};

struct disk_files {
	void *tree; /* of struct disk_file, owned: tsearch(3) */
	size_t count;
	struct disk_file **held; /* files with a descriptor */
	size_t held_count, held_room, held_max;
	uint64_t bytes; /* sum of the growth of all files */
	uint64_t memory_bytes; /* growth of the files on tmpfs */
	uint64_t search_ns; /* mappings are not searched before this time */
};

void disk_files_release(struct disk_files *files);

struct disk_file *disk_files_find(const struct disk_files *files, const struct stat *status);

/* Adds a file. base_bytes: its blocks that are not the run's. 0 or -ENOMEM. */
int disk_files_add(struct disk_files *files, const struct stat *status, uint64_t base_bytes, bool in_memory,
		   struct disk_file **ret_file);

/* Keeps an own descriptor of the file, made from fd. 0, -ENFILE (too many files can grow) or -errno. */
int disk_files_hold(struct disk_files *files, struct disk_file *file, int fd, uint64_t now_ns);

/* Measures a held file. True: it has grown. It may be released or removed: then held[held_at] is another file. */
bool disk_files_measure_held(struct disk_files *files, struct disk_file *file, uint64_t now_ns);

/* To be called after all were measured: removes unlinked files that no process has open or mapped. */
void disk_files_sweep(struct disk_files *files, uint64_t now_ns);

/* Tries a lease on every held file, whatever its ask_ns. */
void disk_files_settle_all(struct disk_files *files);

/* ---- disk-mapped.c ---- */

/* Whether a lease on the file may be granted while it is mapped. */
bool disk_hides_mappings(int fd);
/* Whether the file is on tmpfs or ramfs. */
bool disk_is_in_memory(int fd);
/*
 * Whether a descendant of this process has an unlinked file mapped, or that is unknown. Read from /proc/PID/maps: a
 * process that moves its mappings during the read can be missed.
 */
bool disk_has_unlinked_mapping(void);

/* Stores the present blocks of the file with this status, if it is kept. */
void disk_files_note_change(struct disk_files *files, const struct stat *status);

#endif
