/*
 * Of which files of the upper layer the latest checkpoint has copies: a file with the same inode number, size and
 * change time still has the content of the copy, and is not copied again. Kept in a file beside the checkpoints.
 */
#ifndef CALLGATE_WORKSPACE_CHECKPOINT_KNOWN_H
#define CALLGATE_WORKSPACE_CHECKPOINT_KNOWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#define KNOWN_CHECKPOINT_SIZE 64 /* name of a checkpoint, with its NUL */

struct known_file {
	char *path; /* below the layer; owned */
	uint64_t ino, size;
	int64_t ctime_s, ctime_ns;
};

struct known_files {
	char checkpoint[KNOWN_CHECKPOINT_SIZE]; /* name of the checkpoint with the copies; "": there are none */
	/*
	 * The change times do not tell all: a program that lived then can have a file mapped, and can write to it
	 * without a change of its time. So contents are compared.
	 */
	bool compares_contents;
	struct known_file *item; /* sorted by path after known_files_read() and known_files_write() */
	size_t count, room;
};

/* Notes that the copy at `path` is of the file with this status. 0 or -ENOMEM. */
int known_files_add(struct known_files *known, const char *path, const struct stat *st);

/* Changes the status of a file. */
void known_file_set_status(struct known_file *file, const struct stat *st);

/* True when the copy at `path` was made of a file that has not changed since, as far as its status tells. */
bool known_files_has(const struct known_files *known, const char *path, const struct stat *st);

/* Replaces the file in dir_fd in one step. 0 or -errno. */
int known_files_write(struct known_files *known, int dir_fd);

/* Reads the file in dir_fd. Without one, or when it cannot be read, nothing is known. */
void known_files_read(struct known_files *ret_known, int dir_fd);

/* Removes the file in dir_fd: the next checkpoint copies all files. 0 or -errno. */
int known_files_remove(int dir_fd);

void known_files_release(struct known_files *known);
#define _cleanup_known_files_ __attribute__((cleanup(known_files_release)))

#endif
