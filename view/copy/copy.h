/*
 * Copies the directory of -w for --cow where no overlay can be mounted. The program gets the copy; workspace/fold.h
 * compares it afterwards with the records that are made here. Runs in the supervisor, before the program starts.
 */
#ifndef CALLGATE_VIEW_COPY_COPY_H
#define CALLGATE_VIEW_COPY_COPY_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/io.h"

#define COPY_MARKER_NAME "copied"   /* empty file: the layer is a copy, begun at its time */
#define COPY_DIR_NAME "copy"        /* directory that has the copy */
#define COPY_RECORDS_NAME "records" /* file of struct copy_record; missing: the copy is not complete */
/* file of struct copy_placeholders_head and struct copy_placeholder, by inode number; missing: there are none */
#define COPY_PLACEHOLDERS_NAME "unfilled"
#define COPY_PLACEHOLDERS_MAGIC "cgfill2" /* a file that begins otherwise is of another form, and is not read */
#define COPY_BOOT_ID_SIZE 40              /* of /proc/sys/kernel/random/boot_id, with NUL */
#define COPY_ROOT_NAME "root"     /* empty file: the layer itself began with all attributes of the directory */
#define COPY_ENTRIES_MAX 1000000u /* most entries that are copied */
#define COPY_RECORDS_BYTES_MAX (1u << 30) /* most bytes of the file of records, which is read as a whole */

/*
 * How an entry of the copy was when the program started. The file has one for each entry, followed by the path and
 * NUL; the last one is that of the directory itself, with the path "".
 */
struct copy_record {
	uint64_t inode;
	int64_t ctime_sec;
	uint32_t ctime_nsec;
	uint32_t mode;
	uint32_t path_len;
	uint32_t flags; /* of the last one: enum copy_record_flag */
};

enum copy_record_flag {
	COPY_MUST_COMPARE_CONTENTS = 1 << 0, /* a shared mapping changes files there without setting their times */
	COPY_HAS_PLACEHOLDERS = 1 << 1,      /* there is COPY_PLACEHOLDERS_NAME: after a crash it may be missing */
	COPY_FINDS_HOLES = 1 << 2,           /* SEEK_HOLE tells where files have holes there */
};

struct copy_time {
	int64_t sec;
	int64_t nsec;
};

/* Begins COPY_PLACEHOLDERS_NAME. */
struct copy_placeholders_head {
	char magic[8]; /* COPY_PLACEHOLDERS_MAGIC */
	uint64_t count;
	/* the file of records, when it was made: in a copy of the layer, as by cp(1), no inode number counts */
	uint64_t records_inode;
	struct copy_time records_born;
	char boot_id[COPY_BOOT_ID_SIZE]; /* of the machine then: later, what was written may be lost; "": not known */
};

/* A file of the copy that gets its content later: fill.h. */
struct copy_placeholder {
	uint64_t inode, device;
	struct copy_time born,
		changed;  /* when it was made, and last changed: both tell the file, as numbers are reused */
	struct copy_time mtime; /* of it as long as it is a placeholder, with `mode`, `size` and `blocks` */
	uint64_t blocks;        /* its st_blocks: those of extended attributes */
	uint64_t path_at; /* where COPY_RECORDS_NAME has its path */
	uint32_t path_len, mode;
	/* the file of the directory that has the content */
	uint64_t source_inode, size, source_bytes; /* source_bytes: on the disk */
	struct copy_time source_mtime, source_ctime;
};

/* What a copy takes, as limits.disk counts it. */
struct copy_size {
	uint64_t names, directories; /* entries; those of them that are directories */
	uint64_t content_bytes;      /* bytes on the disk of its files */
};

uint64_t copy_size_get_bytes(const struct copy_size *size);

/* Reads which start of the machine this is. "": not known. */
void copy_read_boot_id(char ret_id[COPY_BOOT_ID_SIZE]);

/* Why a directory cannot be copied. */
struct copy_failure {
	uint64_t needed_bytes; /* copying takes so many bytes, more than the limit; 0: the rest says why */
	char path[PATH_MAX];   /* below the directory; "" is it itself */
	const char *what;      /* static; "cannot be read" */
	const char *advice;    /* static; what to do, in place of what errno means; NULL: errno tells the reason */
};

/* In place of acls_fd: an ACL with a user or group that has no number here is left out. */
#define COPY_WITHOUT_ACLS (-2)

/* How a directory is copied. */
struct copy_options {
	/* files are made placeholders where possible: the program has to get descriptors from the supervisor */
	bool makes_placeholders;
	uint64_t limit_bytes;         /* most that the copy may take, together with those before it; 0: any */
	const struct io_go_on *go_on; /* asked often: false ends the copying with -ECANCELED. NULL: never */
	int acls_fd;                  /* acls.h; -1: none; or COPY_WITHOUT_ACLS */
};

/*
 * Copies the directory from_fd into dir_fd, with all attributes, holes and hard links among its entries, following no
 * link. Access times of the original stay where the caller may ask for that. *size: of what was copied before. 0, and
 * *size has this, too; or -errno with *ret_failure set. Nothing was copied with -EDQUOT: it is too large; -E2BIG: it
 * has too many entries; -EFBIG: their paths are too long.
 */
int copy_tree(int from_fd, int dir_fd, const struct copy_options *options, struct copy_size *size,
	      struct copy_failure *ret_failure);

/* What entries are copied with. COPY_CONTEXT_NONE, or as in struct copy_options. */
struct copy_context {
	uint64_t unchecked_bytes; /* that were copied since the room on the disk was looked at */
	const struct io_go_on *go_on;
	int acls_fd;
};
#define COPY_CONTEXT_NONE     \
	{                     \
		.acls_fd = -1 \
	}

/*
 * Copies one entry, which is no directory. st: of lstat(2). placeholder: NULL, or a file may be made without its
 * content: then its inode, device, size and source_* are set; else placeholder->inode is 0. 0, also when the entry has
 * become something else meanwhile; or -errno with *ret_what set as copy_failure.what.
 */
int copy_entry(int from_dir_fd, const char *name, const struct stat *st, int to_dir_fd, struct copy_context *context,
	       struct copy_placeholder *placeholder, const char **ret_what);

/*
 * True when this process may read or search what has this status also without capabilities, as far as mode and owner
 * tell: when a file is filled, the supervisor has dropped its own.
 */
bool copy_may_read_later(const struct stat *st);

/*
 * Gives an entry the owner, attributes, mode and times of another one; both O_PATH. acls_fd: as in struct copy_options.
 * Returns as copy_entry().
 */
int copy_attributes(int from_fd, int to_fd, int acls_fd, const char **ret_what);

/*
 * Whether what is open as fd has mode, owner and extended attributes of what is open as other_fd; labels of security
 * modules do not count. No descriptor may be of O_PATH. False also when that cannot be told.
 */
bool copy_has_same_attributes(int fd, int other_fd);

/*
 * Gives the directory of a layer the attributes of the one that it is of, and makes COPY_ROOT_NAME in layer_fd if it
 * has all of them then: what differs later was changed since. No descriptor may be of O_PATH. acls_fd: as in struct
 * copy_options. 0, also when it has not all; -EOPNOTSUPP: some would be the overlay's own; or -errno: the caller copies
 * what is necessary.
 */
int copy_root_attributes(int from_fd, int to_fd, int layer_fd, int acls_fd);

#endif
