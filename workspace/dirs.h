/* Lists of directories and of names, for walks of layers that a hostile program may have nested deeply. */
#ifndef CALLGATE_WORKSPACE_DIRS_H
#define CALLGATE_WORKSPACE_DIRS_H

#include <stdbool.h>
#include <stddef.h>

struct dir_item {
	char *path; /* owned */
	/*
	 * checkpoint/restore.c: whether names of the directory below are seen through the layer of now, and of the
	 * checkpoint
	 */
	bool shows_base_now, shows_base_then;
};

struct dir_list {
	struct dir_item *item;
	size_t count, room;
};

/* Adds a directory. 0 or -ENOMEM. */
int dir_list_add(struct dir_list *list, const char *path, bool shows_base_now, bool shows_base_then);
void dir_list_release(struct dir_list *list);
#define _cleanup_dir_list_ __attribute__((cleanup(dir_list_release)))

/* Names, or paths. */
struct name_list {
	char **name; /* owned, and each of them */
	size_t count, room;
};

/* 0 or -ENOMEM. */
int name_list_add(struct name_list *list, const char *name);

/* Adds the names in a directory, which is open for reading, except "." and "..". 0 or -errno. */
int name_list_read(struct name_list *list, int dir_fd);
void name_list_release(struct name_list *list);
#define _cleanup_name_list_ __attribute__((cleanup(name_list_release)))

/* Opens a directory below root_fd for reading. -ENOTDIR: it is none. A descriptor owned by the caller, or -errno. */
int dirs_open(int root_fd, const char *path);

#endif
