/* The records of a workspace by copying: which entries the directory had when it was copied (view/copy/copy.h). */
#ifndef CALLGATE_WORKSPACE_RECORDS_H
#define CALLGATE_WORKSPACE_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "view/copy/copy.h"

struct workspace_record {
	const char *path; /* in workspace_records.text */
	struct copy_record kept;
	bool is_there;     /* set by fold.c: the copy has an entry of this path */
	bool is_directory; /* set by fold.c: it is a directory now */
};

struct workspace_records {
	char *text;
	struct workspace_record *item; /* sorted by path; not of the directory itself */
	uint64_t *inode;               /* of all of them, sorted */
	size_t count, room;
	struct timespec last_ctime; /* the latest of all: the program began later */
	bool must_compare_contents; /* COPY_MUST_COMPARE_CONTENTS */
	bool has_placeholders;      /* COPY_HAS_PLACEHOLDERS */
};

/*
 * Reads the records of a layer, the open directory "0". Zero-initialise; workspace_records_release() frees. 0; -ENOENT:
 * there are none, as the copy was not completed; -EBADMSG: they are damaged; or -errno.
 */
int workspace_records_load(int layer_fd, struct workspace_records *records);
void workspace_records_release(struct workspace_records *records);
#define _cleanup_workspace_records_ __attribute__((cleanup(workspace_records_release)))

/* The record of a path; NULL: it was not copied. */
struct workspace_record *workspace_records_find(const struct workspace_records *records, const char *path);

/* True when an entry was copied that had this inode number. */
bool workspace_records_have_inode(const struct workspace_records *records, uint64_t inode);

/*
 * True when this file of the copy, which is open, was copied, perhaps under another name. The inode number alone does
 * not tell: that of a removed file may be given to a new one, which was made after the copy. True also where the file
 * system does not tell when a file was made. False for directories, which are not those of the copy.
 */
bool workspace_records_have_file(const struct workspace_records *records, int fd);

/* True when an entry of the copy is as it was recorded: nothing has changed it since. */
bool workspace_record_is_kept(const struct workspace_record *record, const struct stat *st);

#endif
