/* The files that disk.c counts. Private to disk*.c. */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_DISK_PRIVATE_H
#define CALLGATE_SYSCALLS_ACCOUNT_DISK_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct disk_file {
	struct disk_file *next; /* in its bucket */
	dev_t dev;
	ino_t ino;
	uint64_t base_bytes; /* on the disk when first seen: not the run's */
	uint64_t bytes;      /* at the last look */
	int fd;              /* O_PATH, while it can grow or has lost its last name; -1: it is what it is */
	size_t held_at;      /* its index in held, when fd is there */
	uint64_t ask_ns;     /* not to be asked about before */
	uint64_t patience_ns;
	bool in_memory; /* on a tmpfs: disk_is_memory */
	bool hides;  /* its file system hides who has it mapped: disk_hides_mappings */
	bool pinned; /* the program was given an O_PATH descriptor: what has no name may be there as long as the run */
	bool unused; /* without a name and not open; it may be mapped */
};

struct disk_files {
	struct disk_file **bucket;
	size_t buckets; /* a power of two, or 0 */
	size_t count;
	struct disk_file **held; /* those with a descriptor */
	size_t held_count, held_room, held_max;
	uint64_t bytes; /* all of them together have grown by this */
	uint64_t memory_bytes; /* of it, those on a tmpfs */
	uint64_t search_ns; /* no search through the mappings before */
};

void disk_files_done(struct disk_files *files);

struct disk_file *disk_files_find(const struct disk_files *files, const struct stat *status);

/* The file's entry, made when it is new. base_bytes: what of it is not the run's. 0 or -ENOMEM. */
int disk_files_add(struct disk_files *files, const struct stat *status, uint64_t base_bytes, bool in_memory,
		   struct disk_file **ret_file);

/* Keeps a descriptor of its own for the file that `fd` stands for. 0, -ENFILE (too many can grow at once) or -errno. */
int disk_files_hold(struct disk_files *files, struct disk_file *file, int fd, uint64_t now_ns);

/*
 * Looks at one file that is held. It may be released by that, or forgotten with what it had grown by: then
 * held[held_at] is another. True when it had grown.
 */
bool disk_files_look(struct disk_files *files, struct disk_file *file, uint64_t now_ns);

/* To be called after all were looked at: forgets those that nobody has open, when nobody has them mapped either. */
void disk_files_sweep(struct disk_files *files, uint64_t now_ns);

/* Asks about all that are held, however short ago somebody had them open. */
void disk_files_settle(struct disk_files *files);

/* ---- disk-mapped.c ---- */

/* Whether a lease on a file of this file system may be granted while it is mapped. */
bool disk_hides_mappings(int fd);
/* Whether it is on a file system that has nothing but memory. */
bool disk_is_memory(int fd);
/*
 * Whether a process below the calling one has a file mapped that has no name any more, or it cannot be told. By text in
 * /proc: one that moves its mappings about just while they are read can be missed.
 */
bool disk_deleted_is_mapped(void);

/* A file of this status, if it is one of them, has these blocks now. */
void disk_files_changed(struct disk_files *files, const struct stat *status);

#endif
