/* The file of a workspace's layer that says which directories those of its directory were when the run began. */
#ifndef CALLGATE_VIEW_COPY_DIRS_H
#define CALLGATE_VIEW_COPY_DIRS_H

#include <stdint.h>

/*
 * File of struct view_dir_record, each followed by its path below the directory, without NUL; of several for one path,
 * the first counts. A copy has all directories; an overlay those in which the program has changed something.
 */
#define VIEW_DIRS_NAME "dirs"

/* How a directory was when it was copied, or when the program first changed something in it. */
struct view_dir_record {
	uint64_t inode;
	int64_t ctime_s;
	uint32_t ctime_ns;
	uint32_t path_len;
};

#endif
