/*
 * Makes a layer of a workspace by copying (view/copy/copy.h): what is in it as in the upper layer of an overlay,
 * besides opaque directories, which it does not need. Files are hard links of those of the copy. Those that the program
 * has moved with their directory, or linked, without opening them get their content now (view/copy/fill.h). If the
 * directory has not the file that was copied, the layer has only its path, in the list WORKSPACE_LOST_NAME: it can be
 * told, but not applied. Names and files of the copy stay as they are until the layer is complete, so that this
 * may be interrupted at any moment, and begins anew then.
 */
#ifndef CALLGATE_WORKSPACE_FOLD_H
#define CALLGATE_WORKSPACE_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* True when directory `at` of the workspace, an open directory, was copied. */
bool workspace_is_copy(int workspace_fd, size_t at);

/*
 * Makes layer `at` unless it is there, and removes the copy. dir: the directory. Only with an exclusive lock of the
 * workspace. If the directory has not all files that are needed, the copy stays. The next call makes the layer again,
 * if it may, and some of them are there: the directory may have been another one, or not mounted. 0, also for one by an
 * overlay, and if dir cannot be opened, when no layer is made; -EACCES: a directory of the copy cannot be read; or
 * -errno.
 */
int workspace_fold(int workspace_fd, size_t at, const char *dir, bool may_do_again);

/* Whether workspace_fold() would do something. A shared lock is enough. */
bool workspace_needs_fold(int workspace_fd, size_t at, const char *dir, bool may_do_again);

/* Where the changes of a copy go that programs go on to write to. */
struct fold_target {
	int dir_fd;        /* an empty directory */
	char *failed_path; /* PATH_MAX bytes: of the entry that an error is about */
	/* puts an entry, which is no directory, at its path below dir_fd. 0 or -errno */
	int (*put)(void *ctx, int copy_dir_fd, const char *name, const char *path, const struct stat *st);
	/* before a file of the copy is filled, which takes so many bytes. 0 or -errno */
	int (*admit)(void *ctx, uint64_t bytes);
	void *ctx;
};

/*
 * Makes a layer of a copy that stays as it is. layer_fd: the directory of the layer (workspace_open_layer_dir()). dir:
 * the directory. 0; -EACCES: a directory of the copy cannot be read; -ESTALE: a file has its content neither in the
 * copy nor in the directory; or -errno.
 */
int workspace_fold_into(int layer_fd, const char *dir, const struct fold_target *target);

/* Whether the program has changed a copy that has no layer yet. Only reads. 1, 0, also without a copy, or -errno. */
int workspace_copy_is_changed(int workspace_fd, size_t at, const char *dir);

#endif
