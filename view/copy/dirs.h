/* The file of a workspace's layer that says which directories those of its directory were when the run began. */
#ifndef CALLGATE_VIEW_COPY_DIRS_H
#define CALLGATE_VIEW_COPY_DIRS_H

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

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
	uint32_t mode, uid, gid; /* by the numbers of the user namespace of who noted it */
	uint32_t path_len;
};

static inline struct view_dir_record view_make_dir_record(const struct stat *st, const char *path)
{
	return (struct view_dir_record){.inode = st->st_ino,
					.ctime_s = st->st_ctim.tv_sec,
					.ctime_ns = (uint32_t)st->st_ctim.tv_nsec,
					.mode = st->st_mode,
					.uid = st->st_uid,
					.gid = st->st_gid,
					.path_len = (uint32_t)strlen(path)};
}

#endif
