/*
 * Files of a workspace by copying are placeholders at first: they have size and attributes of the file that they are
 * of, and a hole for its content. A file gets its content when it is first opened; the inode tells which one it is, as
 * names may change. The program reaches neither of the two files of the layer that say which files have theirs:
 *
 *     unfilled  the placeholders as they were made, sorted by inode number (struct copy_placeholder)
 *     fills     what became of them (struct fill_record): written before a file is changed, and again afterwards
 *
 * The supervisor fills what the program opens; callgate ws and checkpoints fill what the program has
 * moved or linked without opening it.
 */
#ifndef CALLGATE_VIEW_COPY_FILL_H
#define CALLGATE_VIEW_COPY_FILL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/io.h"
#include "view/copy/copy.h"

#define FILLS_NAME "fills"
#define FILLS_RECORDS_MAX (4 * COPY_ENTRIES_MAX) /* most records that are read */

enum fill_state {
	FILL_NONE,   /* in memory only: it is a placeholder, and nothing was tried */
	FILL_BEGUN,  /* it may have a part of its content; the program has not got it */
	FILL_DONE,   /* it has its content */
	FILL_UNDONE, /* it is a placeholder again, since filling it has failed */
};

/* What became of a placeholder. Of several for one file the last counts, but FILL_BEGUN before any other. */
struct fill_record {
	uint64_t inode;
	uint32_t state; /* enum fill_state */
	uint32_t mode;  /* mode and times before it was filled, as of one that the program may have changed */
	struct copy_time mtime, atime;
	struct copy_time
		kept; /* time of change at which it is still as it was copied; 0: the program may have changed it */
};

struct fills;
struct fill_file; /* a placeholder of `fills` */

/*
 * Opens what is known of the placeholders of a layer. base_fd: the directory that was copied; duplicated.
 * is_live: the run that has made the copy has not ended, so that the machine was not started since: records are not
 * older or newer than the files, and the numbers of devices still count. 0 with owned *ret_fills; -ENOENT: it has no
 * placeholders, and never had, or a crash of the machine has lost its files (COPY_HAS_PLACEHOLDERS); -EBADMSG: the
 * files are damaged, of another form, or not those that were made; or -errno.
 */
int fills_open(int layer_fd, int base_fd, bool is_live, struct fills **ret_fills);
void fills_free(struct fills *fills);

/*
 * To be called when another process may have filled some. If its records cannot be read, no file is filled any more.
 * Returns the bytes on the disk of the files that were filled.
 */
uint64_t fills_reload(struct fills *fills);

/* Reads all records of a layer, owned by the caller, without the placeholders. 0, also with none, or -errno. */
int fills_read_records(int layer_fd, struct fill_record **ret_records, size_t *ret_count);

/*
 * Finds a file that has not its content. (dir_fd, name) leads to it, "" is dir_fd itself; st is its status. NULL: it
 * has its content, or is another file, which may have the number of a removed one.
 *
 * When the machine was started since, it may have crashed: records and files on the disk may be of different moments. A
 * file without a hole has its content, whatever the records say, unless they say that it was begun and it has other
 * attributes than its placeholder. One with holes is filled again if the program cannot have written to it: it has the
 * attributes of its placeholder and was not filled, or was not changed since it was filled. Any other may have lost
 * what the program wrote: it is found, and cannot be filled (-EUCLEAN).
 */
struct fill_file *fills_find(const struct fills *fills, int dir_fd, const char *name, const struct stat *st);

/* The bytes that the content takes on the disk, if it is as it was copied. */
uint64_t fill_file_get_bytes(const struct fill_file *file);

/* The same by the status of a file; 0: it is no placeholder. A newer one with its number may be taken for it. */
uint64_t fills_get_bytes_by_status(const struct fills *fills, const struct stat *st);

enum fill_flag {
	FILL_FOR_CHANGE = 1 << 0, /* the program gets it for writing: from now on it counts as changed */
	FILL_AS_COPIED = 1 << 1,  /* fail with -ESTALE if the file of the directory is not the one that was copied */
};

/*
 * Opens the file of the directory that has the content, for reading. -ESTALE: it is gone, is no regular file any more
 * or, with FILL_AS_COPIED, was changed. A descriptor owned by the caller, with its status, or -errno.
 */
int fills_open_source(const struct fills *fills, const struct fill_file *file, unsigned flags, struct stat *ret_st);

/*
 * Gives a file its content. fd: it, perhaps with O_PATH. Its mode and times stay, also where it may not be written. If
 * the file of the directory was changed since, the content is that of now, with its size and time. 0, or -errno, and it
 * is a placeholder as before: -ESTALE as fills_open_source(); -ENOSPC; -EUCLEAN: a crash of the machine has left it so
 * that it cannot be told what it has; -EIO: that could not be recorded.
 */
int fills_fill(struct fills *fills, struct fill_file *file, int fd, unsigned flags);

/* Whether fills_fill() may try to. 0, or -EUCLEAN or -EIO as there. */
int fills_check(const struct fills *fills, const struct fill_file *file);

/*
 * The same from an open file of the directory (fills_open_source()), which is borrowed. May be called in any thread, as
 * long as no other one uses `fills`. go_on may be NULL. Also -ECANCELED: it is not to go on.
 */
int fills_fill_from(struct fills *fills, struct fill_file *file, int fd, int source_fd, unsigned flags,
		    const struct io_go_on *go_on);

/*
 * Whether a placeholder needs no content when it is emptied: then fills_note_emptied(). Not where a record may stay by
 * which it would be filled again.
 */
bool fills_may_empty(struct fills *fills, struct fill_file *file);

/*
 * Notes that a placeholder was emptied, as by O_TRUNC: the program may write to it. It has its content from then on,
 * also if that cannot be recorded: a file of another size is no placeholder (fills_find()). fd: what was emptied; if
 * it is another file, which has got the name meanwhile, the placeholder stays one.
 */
void fills_note_emptied(struct fills *fills, struct fill_file *file, int fd);

/*
 * To be called before a file is changed that was filled for reading: waits, most often not at all, until the file
 * system's clock has gone on, so that the change can be told by its time. Takes (dir_fd, name) as fills_find().
 */
void fills_await_change(const struct fills *fills, int dir_fd, const char *name);

#endif
