/* What the files kernel-reads*.c share. They make the kernel let a program read what a judged run would: view.h. */
#ifndef CALLGATE_VIEW_KERNEL_READS_H
#define CALLGATE_VIEW_KERNEL_READS_H

#include "view/private.h"

/* How a covered name answers. */
enum cover {
	COVER_ABSENT,     /* ENOENT: private names, and names of /proc that the view does not have */
	COVER_DENIED,     /* EACCES: what a deny rule names */
	COVER_UNREADABLE, /* stat(2) works, opening is EACCES: what is not public */
	COVER_MAX,
};

/* A name that gets a cover. The object is looked at again when the cover is mounted. */
struct cover_point {
	char *virt;  /* owned */
	enum cover cover;
	dev_t device;
	ino_t ino;
};

/* The covering of all that is denied, so that the kernel can judge reads by the mounts alone. */
struct kernel_reads {
	struct view *view;
	int root_fd;           /* the program's root, O_PATH */
	/*
	 * a directory in the tmpfs, outside of the program's root, with the objects of nondir_cover_fd and dir_cover_fd
	 */
	int objects_dir_fd;
	/* for each kind of cover: root of the mount that covers anything but directories, O_PATH; -1: not made yet */
	int nondir_cover_fd[COVER_MAX];
	/* for each kind of cover: the root of the mount that covers directories, O_PATH; -1: not made yet */
	int dir_cover_fd[COVER_MAX];
	struct cover_point *point; /* names to be covered; owned */
	size_t points, room;
	uid_t uid;             /* the user of the run */
	const char *current_step; /* what is being done, for the message when it fails: "make covers" */
};

/* ---- kernel-reads-cover.c: each returns 0, 1 after reads_set_reason_to_judge_all, or -errno ---- */

/* Stores one sentence, without a full stop, that names why the run judges everything. Returns 1. */
__attribute__((format(printf, 2, 3))) int reads_set_reason_to_judge_all(struct kernel_reads *reads, const char *format,
								       ...);

/*
 * To be called for a name that cannot be reached, or a directory that cannot be read, because of a directory's mode. If
 * the run's user owns that directory, gives up: the program could change the mode. 0; 1 after
 * reads_set_reason_to_judge_all(); or -errno.
 */
int reads_check_owner_of_unreadable_dir(struct kernel_reads *reads, const char *virt);

/* Makes the empty objects that covers mount over names. */
int covers_make_objects(struct kernel_reads *reads);
/* Notes that this name gets a cover, unless nothing is there. virt: canonical. */
int covers_add(struct kernel_reads *reads, const char *virt, enum cover cover);
/* True when one of the first `count` covers that were added is for this name. */
bool covers_has_cover_at(const struct kernel_reads *reads, const char *virt, size_t count);
/* Mounts all covers that were added, those of inner names first. Changes the order of reads->point. */
int covers_mount_all(struct kernel_reads *reads);
/* Mounts one cover over a name in a directory, not through a link, or over the object dirfd itself if `name` is "". */
int covers_mount(struct kernel_reads *reads, int dirfd, const char *name, bool directory, enum cover cover);

/* ---- kernel-reads-walk.c ---- */

/*
 * Adds covers for names that match a glob of a deny or private rule, and for what is not public. 0; 1 after
 * reads_set_reason_to_judge_all(); or -errno.
 */
int reads_walk_mounts(struct kernel_reads *reads);

/* ---- kernel-reads-proc.c ---- */

/* Makes the program's procfs show what a judged /proc does. 0; 1 after reads_set_reason_to_judge_all(); or -errno. */
int reads_prepare_proc(struct kernel_reads *reads);

#endif
