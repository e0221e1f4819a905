/*
 * The view: the tree of names that the program sees. The supervisor creates the view once, and uses it for each call
 * with a path. A view has mounts and a skeleton: a real, read-only tree of the directories above the grants. To open a
 * path, it is made canonical, and the mount with the longest path that contains it is found. One openat2(2) below that
 * mount, which follows no symbolic link, opens the object. When it succeeds, the object is at the path that was judged.
 */
#ifndef CALLGATE_VIEW_VIEW_H
#define CALLGATE_VIEW_VIEW_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/io.h"
#include "policy/policy.h"
#include "view/copy/copy.h"

struct fill_file; /* fill.h */
struct fills;
struct view;
struct task;
struct held_dir; /* a directory through which files are opened: private.h */

enum mount_flag {
	MOUNT_SKELETON = 1 << 0,       /* the skeleton: its directories are listed, but never written */
	MOUNT_OF_SINGLE_FILE = 1 << 1, /* a single file: fd is its parent directory, path_below_fd its name there */
	MOUNT_BY_GLOBS_ONLY = 1 << 2,  /* only globs grant names below: other names do not exist */
	MOUNT_REDIRECT = 1 << 3,       /* a redirect rule shows another host path here */
	MOUNT_PROVIDED = 1 << 4,       /* a provide rule or callgate itself shows a file here */
	MOUNT_DEVICE = 1 << 5,  /* a device such as /dev/null: data may be read and written, metadata not changed */
	MOUNT_PROC = 1 << 6,    /* /proc: processes of the run, and files on an allowlist */
	MOUNT_TTY = 1 << 7,     /* /dev/tty: view_open_terminal opens the controlling terminal of the task */
	MOUNT_PRIVATE = 1 << 8, /* in the scratch directory of the run: changes are not reported */
	MOUNT_CALLGATE_FILE = 1 << 9,         /* from view_options.provide: may be read unless a rule denies that */
	MOUNT_HAS_NOSYMFOLLOW_COPY = 1 << 10, /* view_get_nosymfollow_path() works for this mount */
	MOUNT_SKELETON_FILE = 1 << 11,        /* a file of the skeleton itself, which needs no mount */
	/* something below is granted by RULE_PUBLIC: view_place_is_public_only() */
	MOUNT_HAS_PUBLIC_GRANT = 1 << 14,
	MOUNT_DETACHED = 1 << 12,            /* fd is a detached copy, which view_attach_mounts will mount */
	MOUNT_DEV_PTS = 1 << 13,             /* /dev/pts and /dev/ptmx: the pseudoterminals of the run, terminals.c */
	MOUNT_OVERLAY = 1 << 15,             /* an overlay: writes go to the scratch directory of the run: overlay.h */
	MOUNT_BY_INTERPRETER_ONLY = 1 << 17, /* granted by @interpreter alone: installed programs */
	MOUNT_MAY_HIDE_NAMES = 1 << 18,      /* "libraries" hides names, perhaps here: policy_hides_names_in() */
	MOUNT_LACKS_OVERLAY = 1 << 16,       /* an overlay was needed, but not possible: writing is refused */
	/* the copy of a workspace: as an overlay, it shares no file with another mount */
	MOUNT_WORKSPACE_COPY = 1 << 19,
};

/* mounts in which a directory may have a stand-in: view_has_standin() */
#define MOUNT_HAS_STANDINS (MOUNT_PROC | MOUNT_DEV_PTS | MOUNT_BY_GLOBS_ONLY | MOUNT_MAY_HIDE_NAMES)

/*
 * Directory of a workspace with the inputs of the run: its entries, whose names are free in the first directory, become
 * entries of that one's layer.
 */
#define VIEW_INPUTS_DIR_NAME "inputs"

/* With --cow: where what a run writes to a mount is kept, open for as long as the view. */
struct view_layer {
	int dir_fd;   /* the directory of the layer in the workspace */
	int lower_fd; /* of an overlay: the directory below the layer, O_PATH; -1: the mount is a copy */
	int bases_fd; /* the file of syscalls/account/workspace/bases.h; -1: not made yet */
	int reads_fd; /* that of syscalls/account/workspace/reads.h */
	struct fills *fills; /* of a copy: its files without content; owned; NULL: all have theirs */
};

/* A virtual path and the host directory or file that is shown there. */
struct mount {
	const struct view *view;
	char *virt; /* canonical virtual path */
	size_t virt_len; /* length of virt */
	char *host_path; /* canonical path of the shown object in the mount namespace of this process */
	size_t host_path_len;     /* length of host_path */
	int workspace_dir;        /* with --cow: the number of the directory that it shows; else 0 */
	char *recorded_host_path; /* path of the shown object on the host, for records */
	char *path_below_fd; /* path of the object below fd: "." for a tree */
	int fd;     /* O_PATH directory */
	int copy_fd; /* of a single file: the detached copy that view_attach_mounts will mount; -1: none */
	/* a detached copy without the covers of view_prepare_kernel_reads(), for view_open_uncovered(); -1: none */
	int uncovered_fd;
	struct held_dir *held_dir; /* the held directory that fd belongs to; NULL: the mount owns fd */
	struct view_layer *layer;  /* owned unless borrows_layer; NULL: it has none that outlives the run */
	bool borrows_layer;        /* the layer is that of a mount of another view: view_share_layers_of_first_view() */
	unsigned flags;            /* enum mount_flag */
	const char *rule; /* the rule that made the mount, borrowed from the policy; NULL for the skeleton */
};

/* A path that was resolved in the view. Owns nothing. */
struct place {
	const struct mount *mount;       /* the mount with the longest path that contains the place */
	const char *path_below_mount_fd; /* relative to mount->fd; points into virt or mount->path_below_fd */
	size_t virt_len;                 /* length of virt */
	bool is_magic_link; /* the object has no virtual path; path_below_mount_fd is its PID/fd/N below /proc */
	char virt[PATH_MAX]; /* canonical virtual path */
};

/* The offset of path_below_mount_fd in virt; -1: it does not point there. */
static inline ptrdiff_t place_get_offset_below(const struct place *place)
{
	const char *below = place->path_below_mount_fd;

	return place->mount && below >= place->virt && below < place->virt + sizeof(place->virt) ? below - place->virt
												 : -1;
}

/* To be called after `*copy = *from`: a path_below_mount_fd that points into from->virt then points into copy->virt. */
static inline void place_fix_path_after_assignment(struct place *copy, const struct place *from)
{
	const ptrdiff_t offset = place_get_offset_below(from);

	if (offset >= 0)
		copy->path_below_mount_fd = copy->virt + offset;
}

/* Copies a place: path_below_mount_fd may point into it. */
static inline void place_copy(struct place *to, const struct place *from)
{
	*to = *from;
	place_fix_path_after_assignment(to, from);
}

/* True when an entry cannot move from one mount to the other as one of them is the copy of a workspace. */
static inline bool view_is_between_workspaces(const struct mount *from, const struct mount *to)
{
	return from != to && ((from->flags | to->flags) & MOUNT_WORKSPACE_COPY);
}

enum view_flag {
	VIEW_FOLLOW_LAST_LINK = 1 << 0, /* follow a symbolic link in the last component */
	/* the last component need not exist; a dangling link there resolves to its target */
	VIEW_LAST_MAY_BE_ABSENT = 1 << 1,
};

/* True after view_attach_mounts. */
bool view_is_attached(const struct view *view);

/* True after view_prepare_kernel_reads has returned NULL. */
bool view_kernel_judges_reads(const struct view *view);

/* ---- terminals ---- */

/*
 * Opens the terminal of the run with this number (minor device number of the slave), as /dev/tty does. A descriptor
 * owned by the caller, or -errno; -ENXIO: the run has no terminal of that number.
 */
int view_open_terminal(const struct view *view, unsigned number, int flags);

/*
 * Makes a pair in the /dev/pts of the run, as a program does by /dev/ptmx. Both descriptors are CLOEXEC and owned by
 * the caller; the master is O_NONBLOCK. 0 or -errno: -ENOTTY: the run has no /dev/pts; -ENOSPC: it has too many pairs.
 */
int view_make_terminal(struct view *view, int *ret_master_fd, int *ret_slave_fd);

/* True for a slave that the program has made. *ret_shared: processes outside the run can open it, by its host path. */
bool view_terminal_is_from_program(const struct place *place, bool *ret_shared);

/* ---- hidden processes ---- */

/*
 * Hides a process of the run, which has one thread: /proc does not show it, and calls that name it answer as if it did
 * not exist (tree.h). 0 or -ENOMEM. To be undone when the process was reaped.
 */
int view_hide_process(struct view *view, pid_t pid);
void view_unhide_process(struct view *view, pid_t pid);
bool view_hides_process(const struct view *view, pid_t pid);
/* Removes hidden processes from a list of `count` pids. Returns how many are left. */
size_t view_drop_hidden_processes(const struct view *view, pid_t *pid, size_t count);

/* ---- resolving paths ---- */

/*
 * Gets the canonical virtual path of the directory that a relative path starts from: the cwd of the task (AT_FDCWD), or
 * a directory descriptor. Returns the length; -EBADF, -ENOTDIR, or -ENOENT (removed, or outside of the view).
 * *ret_held: the task is alive. If false, its tid may have been reused, and the caller must check that the notification
 * is still valid.
 */
int view_get_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held);

/*
 * For a directory that was removed, for which view_get_start_dir returns -ENOENT: gets the path of its former parent,
 * where its ".." leads. -ENOENT: the directory was not removed, or its parent is not in the view.
 */
int view_get_deleted_start_dir(const struct view *view, const struct task *task, int fd, char *out, size_t cap,
			       bool *ret_held);

/* Call this before a name in the view changes: view_get_start_dir then checks the paths that it has cached. */
void view_note_name_change(const struct view *view);

/*
 * Resolves `path` from the canonical virtual directory `base` (ignored for an absolute path) without system calls,
 * through the links of the view (/lib, /proc/self, /dev/fd …). 0; -EAGAIN when view_walk_path is needed (".." after a
 * name); -ENAMETOOLONG. The place is right only if view_open_place succeeds for it. Without a task, /proc/self is not a
 * link.
 */
int view_locate_path(const struct view *view, const struct task *task, const char *base, const char *path,
		     unsigned flags, struct place *ret_place);

/*
 * Resolves `path` one component after another, through at most 40 symbolic links. 0, or the -errno that the kernel
 * would return. Open the place by view_open_place. If that returns -ELOOP, the path has changed meanwhile: walk again.
 */
int view_walk_path(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place);

/*
 * Judges `want` (enum policy_right bits) for a place. Makes no system call, except to find out whether a process of
 * /proc is in the run.
 */
struct policy_decision view_judge_place(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want);

/* ---- objects at a place ---- */

/*
 * Opens the object at a place by openat2(2), following no link. A descriptor owned by the caller, or -errno. ELOOP,
 * EXDEV and EAGAIN mean: use view_walk_path. Where view_place_is_public_only, EACCES for what not everybody on the host
 * may reach (S_IXOTH of each directory below the grant) or, without O_PATH, read (S_IROTH).
 */
int view_open_place(const struct place *place, int flags, mode_t mode);

/*
 * Opens the object at a place, following no link, even if a cover hides it from the program (below a directory that was
 * renamed). Only for the supervisor's own use: the program must not get the descriptor. flags: must not create or
 * truncate. A descriptor owned by the caller, or -errno as from view_open_place().
 */
int view_open_uncovered(const struct place *place, int flags);

/*
 * True for a place that is granted only by RULE_PUBLIC: view_open_place opens what everybody on the host may reach and
 * read. A caller with an O_PATH descriptor of such a place must see S_IROTH in the object's mode before it reads.
 */
bool view_place_is_public_only(const struct place *place);

/*
 * To be asked for a place of view_place_is_public_only() before it is read. False: a private directory that is in the
 * view only because of a grant below it, and whose names are not shown.
 */
bool view_public_place_may_be_read(const struct place *place);

/* True when view_open_place failed with EACCES only because the object is not public: the kernel would open it. */
bool view_place_is_refused_as_not_public(const struct place *place);

/*
 * Gives a name for an object, for fstatat(2) and similar calls, so that it need not be opened. (*ret_dirfd, *ret_path),
 * borrowed from the place, leads through a copy of the program's root that is mounted with nosymfollow. A symbolic link
 * on the way fails with ELOOP (use view_walk_path), so the object is that of the judged path. False: open the place
 * instead.
 */
bool view_get_nosymfollow_path(const struct place *place, int *ret_dirfd, const char **ret_path);

/* Returns the dirfd of view_get_nosymfollow_path(); -1: that function always returns false. */
int view_get_nosymfollow_root_fd(const struct view *view);

/*
 * The copy for view_get_nosymfollow_path has other mount ids (statx(2), stx_mnt_id) than the program's mounts. Returns
 * the program's id for the mount id copy_id, as set by view_set_mount_id_for_copy; 0: not set.
 */
uint64_t view_get_mount_id_for_copy(const struct view *view, uint64_t copy_id);
void view_set_mount_id_for_copy(struct view *view, uint64_t copy_id, uint64_t id);

/* Opens the parent directory of a place (O_PATH). *ret_name: the last component. -EBUSY for the root of a mount. */
int view_open_parent(const struct place *place, const char **ret_name);

/*
 * True for a directory whose listing must differ from the host's: /proc, and directories in which only globs grant.
 * Opening it for reading opens its stand-in directory, which is brought up to date each time.
 */
bool view_has_standin(const struct place *place);

/* True when nothing exists at a place of the skeleton: every call fails with ENOENT. False: unknown. */
bool view_skeleton_place_is_absent(const struct place *place);

/* True when a mount, link or covered name is at this canonical path or below it: then it must not be moved. */
bool view_has_node_below(const struct view *view, const char *virt);

/* True when no path in the program's root leads to the object: the task needs a descriptor of it. */
bool view_object_has_no_path(const struct place *place);

/* ---- names of the host ---- */

/*
 * Gets the virtual path of a host path, by the mount with the longest path. Returns the length, or -ENOENT when the
 * view does not show it. Paths that the kernel reports, as the links of /proc, may be outdated: see
 * view_path_leads_to_object.
 */
int view_find_virtual_path(const struct view *view, const char *host, size_t host_len, char *out, size_t cap);

/* True when the object at the canonical virtual path has the device and inode number of `expected`. */
bool view_path_leads_to_object(const struct view *view, const char *virt, const struct stat *expected);

/* Gets the path by which the kernel reaches a place from the root of this process. The length or -ENAMETOOLONG. */
int view_get_supervisor_path(const struct place *place, char *out, size_t cap);

/* Gets the host path of a place that has a mount. 0 or -ENAMETOOLONG. */
int view_get_host_path(const struct place *place, char out[PATH_MAX]);

/*
 * Opens directory `at` of those whose writes go to a workspace, as the program sees it, for reading. A descriptor owned
 * by the caller, which leads to it in any mount namespace; -ENOENT with *ret_path NULL: there is none; or -errno with
 * its virtual path, borrowed.
 */
int view_open_workspace(const struct view *view, int at, const char **ret_path);

/* Finds a placeholder of a copy of the view: fills_find(). Borrowed. NULL: it is none. */
struct fill_file *view_find_placeholder(const struct view *view, int dir_fd, const char *name, const struct stat *st,
					struct fills **ret_fills);

/* A placeholder that is to get its content. */
struct view_fill {
	struct fills *fills;
	struct fill_file *file;
	unsigned flags; /* enum fill_flag */
	int source_fd;  /* the file of the directory that has the content; owned */
	uint64_t bytes; /* that it takes on the disk */
};

/*
 * Finds out whether a regular file is a placeholder, which has to get its content before anything reads it. fd: the
 * file, perhaps with O_PATH. 1: *ret_fill is for view_fill_file(), and its source_fd to be closed; 0: it is no
 * placeholder; or -errno as fills_fill().
 */
int view_begin_fill(const struct view *view, int fd, unsigned flags, struct view_fill *ret_fill);

/* Gives it its content: fills_fill_from(). */
int view_fill_file(const struct view_fill *fill, int fd, const struct io_go_on *go_on);

/*
 * To be called when another process, such as that of a checkpoint, may have filled files of a copy: fills_reload().
 * Returns their bytes on the disk.
 */
uint64_t view_reload_fills(const struct view *view);

/* What the copy of a workspace has, before the program starts; all 0 without one. Borrowed. */
const struct copy_size *view_get_copy_size(const struct view *view);

/*
 * Opens the object of descriptor fd of a place (parent: of its parent directory) in the mounts of the host. There
 * rename(2) and link(2) work between two mounts of the view. An O_PATH descriptor owned by the caller, or -EXDEV, also
 * where the kernel judges reading and has covers that globs have made.
 */
int view_open_host_object(const struct place *place, int fd, bool parent);

/* Calls fstatat(2) for an absolute host path, for messages and records. flags: AT_SYMLINK_NOFOLLOW. 0 or -errno. */
int view_stat_host_path(const struct view *view, const char *path, int flags, struct stat *ret_stat);

/* True when the host has nothing at this canonical virtual path, which lies in the skeleton. Up to 10 ms old. */
bool view_is_absent_on_host(const struct view *view, const char *virt, size_t len);

#endif
