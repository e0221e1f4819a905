/*
 * The bases of workspaces (--cow): files of the directory as they were before the program changed them. "callgate ws
 * apply" shows the base of a conflict. Called by handlers, in the supervisor thread.
 *
 * They are records in one file of the layer, "bases": a file of its own for each would take a hundred times as long to
 * make on a disk. If a record could not be written, or there were too many, the file has the sticky bit.
 */
#ifndef CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_BASES_H
#define CALLGATE_SYSCALLS_ACCOUNT_WORKSPACE_BASES_H

#include <stdint.h>

#include "base/sha256.h"
#include "syscalls/call/call.h"

#define BASES_NAME "bases"
#define BASES_CLONE_FORMAT "base-%llu"        /* name of a clone, with its inode number in the directory */
#define BASES_FILE_BYTES_MAX (1u << 20)       /* a larger file is kept only where the file system can clone it */
#define BASES_CONTENTS_BYTES_MAX (256u << 20) /* no content is kept once the records of a run have so many bytes */
#define BASES_BYTES_MAX (272u << 20)          /* most bytes of the records of a run, as limits.disk counts them */

enum base_kind {
	BASE_CONTENT, /* the content follows */
	BASE_CLONE,   /* the name of a clone in the directory of the layer follows */
	BASE_NONE,    /* why the file could not be kept follows: "it was no regular file" */
	BASE_LINK,    /* the target of a symbolic link follows */
};

/*
 * A base. After it come path, struct base_attributes where it has them, and content. Of several for one file, the first
 * counts: by their path, or in the layer of a copy, where directories can be renamed, by their inode number.
 */
struct base_record {
	uint64_t inode;
	uint32_t kind; /* enum base_kind */
	uint32_t path_len, content_len;
	uint32_t attributes_len; /* of struct base_attributes; 0: not known */
};

/* What the file was besides its content. Numbers of users and groups are those of the supervisor's user namespace. */
struct base_attributes {
	int64_t mtime_s, ctime_s;
	uint64_t size;
	uint32_t mtime_ns, ctime_ns, mode, uid, gid;
	char xattrs[SHA256_HEX_SIZE]; /* of copy_hash_attributes() */
	char unused[3];               /* 0 */
};

/*
 * To be called before the first effect on call->resolved_place[i], which is not yet in call->sandbox->changes. Keeps
 * the file there if a workspace has it, and notes the directories that it is in (dirs.h). That cannot fail: the call
 * goes on without a base.
 */
void bases_keep(struct call *call, unsigned i);

#endif
