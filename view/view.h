/*
 * The view: the tree of names that the program sees. The supervisor creates it once and uses it for every call with a
 * path.
 *
 * It consists of mounts and of a skeleton, a real, read-only tree of the directories above the grants. A path is
 * canonicalised, the mount with the longest path that contains it is found, and one openat2(2) below that opens it
 * without following a symbolic link. If that succeeds, the object is at the path that was judged.
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
	MOUNT_FILTERED = 1 << 2, /* below, only globs grant: names that match none do not exist */
	MOUNT_REDIRECT = 1 << 3,
	MOUNT_PROVIDED = 1 << 4,
	MOUNT_DEVICE = 1 << 5,   /* /dev/null and its like: data may be read and written, metadata not changed */
	MOUNT_PROC = 1 << 6,     /* /proc: processes of the run and allowlisted files */
	MOUNT_TTY = 1 << 7,      /* /dev/tty: opened by view_open_terminal, with the number of the task's terminal */
	MOUNT_PRIVATE = 1 << 8,  /* in the run's scratch directory: changes are not reported */
	MOUNT_RUN_FILE = 1 << 9,      /* from view_options.provide: may be read unless a rule denies it */
	MOUNT_NOLINKS = 1 << 10,   /* view_get_nolinks_path works here */
	MOUNT_SKELETON_FILE = 1 << 11,     /* a file of the skeleton itself: nothing is mounted there */
	MOUNT_PUBLIC = 1 << 14,      /* something below is granted as far as everybody may read it: view_is_public */
	MOUNT_DETACHED = 1 << 12,    /* fd is the detached copy that view_attach_mounts will mount */
	MOUNT_PTS = 1 << 13,     /* /dev/pts and /dev/ptmx: pseudoterminals of the run's own, see terminals.c */
};

struct mount {
	const struct view *view;
	char *virt; /* canonical virtual path */
	size_t virt_len;
	char *host; /* canonical path of the object at virt, in this process's mount namespace */
	size_t host_len;
	char *origin; /* path of the object on the host, for the record */
	char *base; /* the path below fd: "." for a tree */
	int fd;     /* O_PATH directory */
	int copy_fd; /* for a single file, the detached copy that view_attach_mounts will mount; -1: none so far */
	struct held *held; /* shares fd with other files of that directory; NULL: fd is owned */
	unsigned flags;
	const char *rule; /* borrowed from the policy; NULL for the skeleton */
};

/* A resolved path. Owns nothing. */
struct place {
	const struct mount *mount;
	const char *rest; /* the path below mount->fd; points into virt or mount->base */
	size_t virt_len;
	bool magic;       /* an object without a virtual path: rest is its PID/fd/N below /proc */
	char virt[PATH_MAX];
};

/* To be called for a copy made by assignment: a rest that points into from->virt then points into copy->virt. */
void place_fix_copy(struct place *copy, const struct place *from);

enum view_flag {
	VIEW_FOLLOW = 1 << 0, /* follow a symbolic link in the last component */
	VIEW_ABSENT = 1 << 1, /* the last component need not exist; a dangling link there resolves to its target */
};

/* A file that callgate provides, in place of the policy's at that path. */
struct view_provide {
	char *virt; /* canonical virtual path */
	char *text; /* text_len bytes, which may contain NUL */
	size_t text_len;
};

struct view_options {
	int scratch_fd;           /* the run's directory */
	const char *scratch_host; /* canonical host path of the scratch directory */
	const char *scratch_base; /* host directory of all runs: a covered name */
	const char *workdir_host; /* changes are reported even if it lies in the scratch directory */
	const struct view_provide *provide; /* borrowed for the call */
	size_t provides;
	int tmpfs_fd;             /* where the skeleton is made, for view_attach_mounts; borrowed. -1: in scratch_fd */
	int pts_fd;               /* a detached devpts of the run's own; borrowed. -1: without tmpfs_fd the host's */
};

/* ---- creation ---- */

/* Creates skeleton and mounts from the policy. 0 with an owned view, or -errno with a message in ret_error. */
int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error);
void view_free(struct view *view);

/* Gives the view the terminal of --tty, a pseudoterminal's slave (borrowed for the call): /dev/tty, and in /dev/pts. */
int view_set_terminal(struct view *view, int terminal_fd);

/*
 * What /proc/PID/net shows: `count` files, whose virt is the path below /proc/PID ("net/dev"), borrowed for as long as
 * the view exists; with count 0 the kernel's, in the run's own network and pid namespace. Before this is called there
 * is no such directory.
 */
void view_set_network(struct view *view, const struct view_provide *file, size_t count);

/*
 * Opens the run's terminal with this number (minor device number of the slave), as /dev/tty does. A descriptor owned by
 * the caller, or -errno; -ENXIO: the run has no terminal of that number.
 */
int view_open_terminal(const struct view *view, unsigned number, int flags);

/* True for a slave that the program has made. *ret_shared: processes outside can open it, by its name on the host. */
bool view_made_terminal(const struct place *place, bool *ret_shared);

/* True when the run can have a terminal: /dev/ptmx, or that of --tty. */
bool view_has_terminals(const struct view *view);

/* Descriptors for view_attach_mounts; borrowed. */
struct view_mounts {
	int tmpfs_fd;        /* detached; the skeleton is in it */
	int proc_fd;         /* a detached procfs, or a clone of the mount of /proc */
	int program_proc_fd; /* a detached procfs with the program's processes; -1: proc_fd serves both */
	int host_root_fd;    /* the keeper's "/" */
};

/*
 * Builds the view as a tree of kernel mounts, in this process's own mount namespace: the tmpfs becomes its root, every
 * mount of the view is mounted in it, read-only where nothing may be written, and the process's root becomes the view's
 * "/". From then on the kernel resolves virtual paths. Needs CAP_SYS_ADMIN and CAP_SYS_CHROOT. 0, or -errno with
 * *ret_what (static), after which only view_free may be called.
 */
int view_attach_mounts(struct view *view, const struct view_mounts *mounts, const char **ret_what);

/* True after view_attach_mounts. */
bool view_is_root(const struct view *view);

/*
 * True when an unjudged stat(2) in that namespace reveals no more about any path than a judged one: the policy denies
 * nothing within its grants, every mount is at its virtual path, and procfs shows only the program's processes. No
 * process outside of the run can make that wrong later. See doc/security.md.
 */
bool view_matches_kernel(const struct view *view);

/*
 * Calls take with a borrowed O_PATH descriptor of each file that the policy allows to be executed, or of a directory
 * above such files, and of the system's loaders that may be read. Of existing files this may be more than the policy
 * allows (deny rules, globs on directories that the program can write), never less. 0, -errno, or take's result < 0.
 */
int view_visit_execs(const struct view *view, int (*take)(void *ctx, int fd), void *ctx);

/* root: the supervisor, whose descendants are the processes that /proc shows; 0: the program does not run. */
void view_set_run_root(struct view *view, pid_t root);

/* ---- resolving paths ---- */

/*
 * The canonical virtual path of the directory a relative path starts from: the cwd of the task (fd == AT_FDCWD), or its
 * descriptor. The length; -EBADF, -ENOTDIR, -ENOENT (deleted or outside of the view). *ret_held: the task is alive.
 * Otherwise its tid may have been reused, and the caller must check that the notification is still valid.
 */
int view_get_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held);

/*
 * For a directory that view_get_start_dir says -ENOENT for: the path of the directory that it was in when it was
 * removed, where its ".." leads. -ENOENT: the directory was not removed, or its parent has no name in the view.
 */
int view_start_deleted(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held);

/* To be called before a name in the view changes: view_get_start_dir then checks the paths that it has cached. */
void view_note_name_change(const struct view *view);

/*
 * Resolves `path` against the canonical virtual directory `base` (ignored for an absolute path) without system calls,
 * through the links of the view (/lib, /proc/self, /dev/fd …). 0; -EAGAIN if view_walk_path is needed (".." after a
 * name); -ENAMETOOLONG. The place is right only if view_open_place succeeds on it. Without a task /proc/self is not a
 * link.
 */
int view_locate_path(const struct view *view, const struct task *task, const char *base, const char *path,
		     unsigned flags, struct place *ret_place);

/*
 * Resolves the path one component after another, through at most 40 symbolic links. 0, or the -errno of native
 * resolution. The place is to be opened by view_open_place; -ELOOP means that it has changed meanwhile: walk again.
 */
int view_walk_path(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place);

/* Judges `want` (POLICY_* bits) on a place. The only system call is to find out whether a process is in the run. */
struct policy_decision view_judge_place(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want);

/* ---- objects at a place ---- */

/*
 * openat2(2) that follows no link. A descriptor owned by the caller, or -errno: ELOOP, EXDEV, EAGAIN mean "walk". Where
 * view_is_public, EACCES for what not everybody on the host may reach (S_IXOTH of each directory below the grant) or,
 * without O_PATH, read (S_IROTH).
 */
int view_open_place(const struct place *place, int flags, mode_t mode);

/*
 * True where view_open_place gives only what everybody on the host may reach and read: POLICY_PUBLIC. Through an O_PATH
 * descriptor of such a place the caller must not read before it has seen S_IROTH in the object's mode.
 */
bool view_is_public(const struct place *place);

/* Where view_is_public: false for a private directory with a grant below, of which the names are not shown. */
bool view_may_read_public(const struct place *place);

/* True when view_open_place refused the place (EACCES) because it is not public, and the kernel would not have. */
bool view_is_withheld(const struct place *place);

/*
 * A way to use an object by name, without opening it: (*ret_dirfd, *ret_path) for fstatat(2) and similar calls. The
 * path is in a copy of the program's root, mounted with nosymfollow: a symbolic link on the way is ELOOP ("walk"), so
 * the result is that of the judged path. Both are borrowed from the place. False: it must be opened.
 */
bool view_get_nolinks_path(const struct place *place, int *ret_dirfd, const char **ret_path);

/* The dirfd that view_get_nolinks_path returns; -1: it always returns false. */
int view_get_nolinks_fd(const struct view *view);

/*
 * The mounts of that copy have other mount ids (statx(2), stx_mnt_id) than the program's. Returns the program's id of
 * the mount with id copy_id, as set by view_set_mount_id; 0: not set.
 */
uint64_t view_mount_id(const struct view *view, uint64_t copy_id);
void view_set_mount_id(struct view *view, uint64_t copy_id, uint64_t id);

/* Opens a place's directory (O_PATH). *ret_name: the last component. -EBUSY for a mount's root, which cannot move. */
int view_open_parent(const struct place *place, const char **ret_name);

/*
 * True for a directory whose listing must differ from the host's: /proc, and directories in which only globs grant.
 * Opening it for reading gives a stand-in directory, made up to date each time.
 */
bool view_has_standin(const struct place *place);

/* True when nothing exists at a place of the skeleton, so that any call fails with ENOENT. False: unknown. */
bool view_is_absent(const struct place *place);

/* True when a mount, a link or a covered name of the view is at this canonical path or below: it must not be moved. */
bool view_has_node_below(const struct view *view, const char *virt);

/* True when the kernel cannot reach the object by a path in the program's root: the task needs a descriptor of it. */
bool view_is_nameless(const struct place *place);

/* ---- names of the host ---- */

/*
 * The virtual path of a host path, by the mount with the longest path. Returns its length, or -ENOENT outside of the
 * view. A path from the kernel, such as a /proc link, may be outdated or ambiguous: see view_confirm_name.
 */
int view_name_host_path(const struct view *view, const char *host, size_t host_len, char *out, size_t cap);

/* True when the object at the canonical virtual path has the device and inode number of `expected`. */
bool view_confirm_name(const struct view *view, const char *virt, const struct stat *expected);

/* The path by which the kernel reaches a place from this process's root. Returns its length or -ENAMETOOLONG. */
int view_get_kernel_path(const struct place *place, char *out, size_t cap);

/* The path on the host of a place that has a mount. 0 or -ENAMETOOLONG. */
int view_get_host_path(const struct place *place, char out[PATH_MAX]);

/*
 * The object of a descriptor of a place (parent: of the directory of the place) in the host's own mounts, where
 * rename(2) and link(2) work between two mounts of the view. An O_PATH descriptor owned by the caller, or -EXDEV.
 */
int view_open_host_object(const struct place *place, int fd, bool parent);

/* fstatat(2) of an absolute host path, for messages and the record. flags: AT_SYMLINK_NOFOLLOW or 0. 0 or -errno. */
int view_stat_host_path(const struct view *view, const char *path, int flags, struct stat *ret_stat);

/* True when the host has nothing at this canonical virtual path, which ends in the skeleton. Up to 10 ms old. */
bool view_is_absent_on_host(const struct view *view, const char *virt, size_t len);

#endif
