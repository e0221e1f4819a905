/*
 * The view: the tree of names that the program sees. The supervisor makes it once and asks it in every call with a
 * path.
 *
 * It consists of a skeleton, which is a real, read-only directory tree with just the ancestors of grants, and of
 * mounts. A path is canonicalised, the mount with the longest path is found, and one openat2(2) below that opens it
 * without following a symbolic link. When it succeeds, the object is at the very path that was judged.
 */
#ifndef CALLGATE_VIEW_VIEW_H
#define CALLGATE_VIEW_VIEW_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "policy/policy.h"

struct view;
struct task;
struct held; /* private.h */

enum mount_flag {
	MOUNT_SKELETON = 1 << 0, /* directories of the view itself: listed, never written */
	MOUNT_FILE = 1 << 1,     /* a single file: fd is its parent directory, base its name there */
	MOUNT_FILTERED = 1 << 2, /* only globs grant below: a name that matches none does not exist */
	MOUNT_REDIRECT = 1 << 3,
	MOUNT_PROVIDED = 1 << 4,
	MOUNT_DEVICE = 1 << 5,   /* /dev/null and its like: data may be read and written, metadata not changed */
	MOUNT_PROC = 1 << 6,     /* /proc: processes of the run and allowlisted files */
	MOUNT_TTY = 1 << 7,      /* /dev/tty: opening it gives the terminal of the run, or ENXIO */
	MOUNT_PRIVATE = 1 << 8,  /* in the scratch space of the run: its changes are not reported */
	MOUNT_RUN_FILE = 1 << 9,      /* from view_options.provide: may be read unless a rule denies it */
	MOUNT_NOLINKS = 1 << 10,   /* view_by_name has a path for what is here */
	MOUNT_SKELETON_FILE = 1 << 11,     /* a file of the skeleton itself: nothing is mounted there */
	MOUNT_DETACHED = 1 << 12,    /* fd is the detached copy that view_attach will mount */
};

struct mount {
	const struct view *view;
	char *virt; /* canonical virtual path */
	size_t virt_len;
	char *host; /* canonical path of the object at virt, in this process's mount namespace */
	size_t host_len;
	char *origin; /* its path on the host, for the record */
	char *base; /* the path below fd: "." for a tree */
	int fd;     /* O_PATH directory */
	int copy_fd; /* for a single file, the detached copy that view_attach will mount; -1: none so far */
	struct held *held; /* shares fd with other files of that directory; NULL: fd is owned */
	unsigned flags;
	const char *rule; /* borrowed from the policy; NULL for the skeleton */
};

/* What a path leads to. Owns nothing. */
struct place {
	const struct mount *mount;
	const char *rest; /* the path below mount->fd; points into virt or mount->base */
	size_t virt_len;
	bool magic;       /* an object without a virtual path: rest is its PID/fd/N below /proc */
	char virt[PATH_MAX];
};

/*
 * To be called for a copy of `from` made by assignment: a rest that points into from->virt then points into copy->virt.
 */
void place_copied(struct place *copy, const struct place *from);

enum view_flag {
	VIEW_FOLLOW = 1 << 0, /* a symbolic link in the last place is followed */
	VIEW_ABSENT = 1 << 1, /* the last name need not exist (a dangling link in the last place gives its target) */
};

/* A file of the run: replaces what the policy shows at that path. */
struct view_provide {
	char *virt; /* canonical virtual path */
	char *text; /* may hold NUL: text_len counts */
	size_t text_len;
};

struct view_options {
	int scratch_fd;           /* the run's directory */
	const char *scratch_host; /* its canonical host path */
	const char *scratch_base; /* host directory of all runs: a covered name */
	const char *workdir_host; /* its changes are reported even when it lies in the scratch space */
	const struct view_provide *provide; /* borrowed for the call */
	size_t provides;
	int tmpfs_fd;             /* where the skeleton is made, for view_attach; borrowed. -1: in scratch_fd */
};

/* ---- making ---- */

/* Makes skeleton and mounts from the policy. 0 with an owned view; -errno with a message in ret_error. */
int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error);
void view_free(struct view *view);

/*
 * Gives the view a terminal (the slave side of a pseudoterminal, borrowed): /dev/tty leads to it, and it has its name
 * below /dev/pts. Without one /dev/tty is ENXIO. 0 or -errno.
 */
int view_set_terminal(struct view *view, int terminal_fd);

/* For view_attach; borrowed. */
struct view_mounts {
	int tmpfs_fd;        /* detached; the skeleton is in it */
	int proc_fd;         /* a detached procfs, or a clone of the mount of /proc */
	int program_proc_fd; /* a detached procfs with the program's processes; -1: proc_fd serves both */
	int host_root_fd;    /* the keeper's "/" */
};

/*
 * Makes the view the tree of mounts that the kernel resolves paths in, in a mount namespace of this process: the tmpfs
 * becomes its root, every mount of the view is mounted in it, read-only where nothing may be written, and the process's
 * root becomes the view's "/". From then on virtual paths are paths of the kernel. Needs CAP_SYS_ADMIN and
 * CAP_SYS_CHROOT. 0, or -errno with *ret_what (static): only view_free may be called then.
 */
int view_attach(struct view *view, const struct view_mounts *mounts, const char **ret_what);

/* True after view_attach. */
bool view_is_root(const struct view *view);

/*
 * True when the kernel's own path resolution in that namespace tells of no path more than a judged stat(2) would: the
 * policy takes nothing out of what it grants, every mount is at its virtual path, and the procfs shows only the
 * program's processes. "True" stays true whatever happens outside of the run. Pure. See doc/security.md.
 */
bool view_matches_kernel(const struct view *view);

/*
 * Calls take with an O_PATH descriptor, borrowed, of each file that the policy lets be executed, or of a directory with
 * such files below it, and of the system's loaders that may be read. It may allow more than the policy (deny rules,
 * globs over what the program can change), never less, as far as files exist now. 0, -errno, or what take returned < 0.
 */
int view_each_exec(const struct view *view, int (*take)(void *ctx, int fd), void *ctx);

/* root: the supervisor, whose descendants are the processes that /proc shows; 0: the program does not run. */
void view_set_run(struct view *view, pid_t root);

/* ---- from a path to a place ---- */

/*
 * The canonical virtual path of the directory a relative path starts from: the cwd of the task (fd == AT_FDCWD) or its
 * descriptor. Returns the length; -EBADF, -ENOTDIR, -ENOENT (deleted or outside of the view). *ret_held: the task was
 * certainly alive; otherwise its tid may have been reused, and the caller must check that the notification is still
 * valid.
 */
int view_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held);

/* To be called before a name in the view changes: view_start_dir then confirms the names that it keeps. */
void view_names_change(const struct view *view);

/*
 * Resolves `path` against the canonical virtual directory `base` (ignored for an absolute path) by text alone, through
 * the links of the view (/lib, /proc/self, /dev/fd …). 0; -EAGAIN when only view_walk can tell (".." after a name);
 * -ENAMETOOLONG. The place holds only if view_open succeeds on it. task may be NULL: /proc/self is no link then.
 */
int view_locate(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
		struct place *ret_place);

/*
 * Resolves the path by looking at each component, at most 40 symbolic links. 0, or the errno of native resolution. Open
 * the place with view_open; on -ELOOP it has changed since: walk again.
 */
int view_walk(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place);

/*
 * Judges `want` (POLICY_* bits) on a place: by the policy; by fixed rules for the skeleton, /proc and /dev. Makes no
 * system call, except to find out whether a process of /proc is in the run.
 */
struct policy_decision view_judge(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want);

/* ---- what is at a place ---- */

/* openat2(2) that follows no link. A descriptor owned by the caller, or -errno: ELOOP, EXDEV, EAGAIN mean "walk". */
int view_open(const struct place *place, int flags, mode_t mode);

/*
 * Where an object can be asked about by name, without opening it: (*ret_dirfd, *ret_path) for fstatat(2) and its like.
 * The path lies in a copy of the program's root that is mounted with nosymfollow: a link on the way is ELOOP ("walk"),
 * so the answer is about the name that was judged. Both are borrowed from the place. False: open it.
 */
bool view_by_name(const struct place *place, int *ret_dirfd, const char **ret_path);

/* The directory that view_by_name gives; -1: it gives none. */
int view_nolinks_fd(const struct view *view);

/*
 * The mounts of that copy have mount ids of their own (statx(2), stx_mnt_id). Returns the id of the same mount in the
 * program's namespace, as noted by view_set_mount_id; 0: it was not noted.
 */
uint64_t view_mount_id(const struct view *view, uint64_t still);
void view_set_mount_id(struct view *view, uint64_t still, uint64_t number);

/*
 * Opens the directory of a place (O_PATH) and points *ret_name at the last component. -EBUSY for the root of a mount,
 * which cannot be renamed, removed or replaced.
 */
int view_open_parent(const struct place *place, const char **ret_name);

/*
 * True for a directory whose listing must differ from the host's: /proc, and directories in which only globs grant.
 * Opening it for reading gives a stand-in directory, made up to date each time.
 */
bool view_has_standin(const struct place *place);

/* True for a place of the skeleton at which certainly nothing exists: ENOENT to any call. False says nothing. */
bool view_is_absent(const struct place *place);

/* True when a mount, a link or a covered name of the view is at this canonical path or below: it must not be moved. */
bool view_has_node_below(const struct view *view, const char *virt);

/* True when no path of the program's root leads the kernel there: the task needs a descriptor of the object. */
bool view_is_nameless(const struct place *place);

/* ---- names of the host ---- */

/*
 * The virtual path of a host path, by the longest mount. Returns its length, or -ENOENT outside of the view. The
 * kernel's name of an object proves nothing by itself: see view_confirm.
 */
int view_name(const struct view *view, const char *host, size_t host_len, char *out, size_t cap);

/* True when the canonical virtual path leads to this very object: its device and inode number are compared. */
bool view_confirm(const struct view *view, const char *virt, const struct stat *expected);

/* The path by which the kernel reaches a place from this process's root. Returns its length or -ENAMETOOLONG. */
int view_kernel_path(const struct place *place, char *out, size_t cap);

/* The path on the host of a place that has a mount. 0 or -ENAMETOOLONG. */
int view_host_path(const struct place *place, char out[PATH_MAX]);

/*
 * The object of a descriptor of a place (parent: of the directory of the place) in the host's own mounts, where
 * rename(2) and link(2) work between two mounts of the view. An O_PATH descriptor owned by the caller, or -EXDEV.
 */
int view_host_object(const struct place *place, int fd, bool parent);

/* fstatat(2) of an absolute host path, for messages and the record. flags: AT_SYMLINK_NOFOLLOW or 0. 0 or -errno. */
int view_host_stat(const struct view *view, const char *path, int flags, struct stat *ret_stat);

/* True when the host has nothing at this canonical virtual path, which ends in the skeleton. Up to 10 ms old. */
bool view_is_absent_on_host(const struct view *view, const char *virt, size_t len);

#endif
