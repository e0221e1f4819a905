/*
 * The file system the program sees: a skeleton (a real, read-only directory tree in the scratch space that holds just
 * the ancestors of grants) with mounts attached. Canonical virtual path -> mount -> one openat2(2) below it that
 * follows no symbolic link: when it succeeds, the text the policy judged is the object that was opened.
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
struct tree;

enum mount_flag {
	MOUNT_SKELETON = 1 << 0, /* a stand-in directory: listed, never written */
	MOUNT_FILE = 1 << 1,     /* a single file: fd is its parent directory, base its name there */
	MOUNT_FILTERED = 1 << 2, /* only globs grant below: what matches none does not exist */
	MOUNT_REDIRECT = 1 << 3,
	MOUNT_PROVIDED = 1 << 4,
	MOUNT_DEVICE = 1 << 5,   /* /dev/null and its like: data in and out, metadata refused */
	MOUNT_PROC = 1 << 6,     /* the run's own /proc: tree pids and allowlisted leaves */
	MOUNT_TTY = 1 << 7,      /* /dev/tty: opening it gives the run's own terminal, or ENXIO when there is none */
	MOUNT_PRIVATE = 1 << 8,  /* in the run's scratch space: its changes are not reported */
	MOUNT_RUN = 1 << 9,      /* of view_options.provide: may be read without a rule that says so, unless one denies it */
	MOUNT_STILL = 1 << 10,   /* view_ask has a name for what is here */
	MOUNT_OWN = 1 << 11,     /* a file of the skeleton itself, with its content: nothing is mounted there */
	MOUNT_COPY = 1 << 12,    /* fd is what will be mounted, attached nowhere yet */
};

struct held; /* view-mount.c */

struct mount {
	const struct view *view;
	char *virt; /* canonical virtual path */
	size_t virt_len;
	char *host; /* canonical path of the object at virt in this process's mount namespace */
	size_t host_len;
	char *origin; /* the host's path of it, for the record */
	char *base; /* name below fd: "." for a tree */
	int fd;     /* O_PATH directory */
	int copy_fd; /* of a file: what will be mounted, attached nowhere yet; -1: not copied (yet) */
	struct held *held; /* what fd is shared by, with other files of that directory; NULL: fd is this mount's */
	unsigned flags;
	const char *rule; /* borrowed from the policy; NULL for the skeleton */
};

/* Where a path leads. Fixed size, no ownership. */
struct place {
	const struct mount *mount;
	const char *rest; /* into virt or mount->base: the text to hand to openat2 with mount->fd */
	size_t virt_len;
	bool magic;       /* /proc/PID/fd/N of something without a name in the view: rest is below the host's /proc */
	char virt[PATH_MAX];
};

/* Of a copy of `from`: its rest, where that lies in the text of `from`, leads into its own. */
void place_rebase(struct place *copy, const struct place *from);

enum view_flag {
	VIEW_FOLLOW = 1 << 0, /* a final symbolic link is followed */
	VIEW_ABSENT = 1 << 1, /* the final name need not exist (a dangling final link gives its target) */
};

/* A file whose content is not the policy's but the run's: replaces what the policy shows under that name. */
struct view_provide {
	char *virt; /* canonical virtual path */
	char *text; /* may hold NUL: text_len counts */
	size_t text_len;
};

struct view_options {
	int scratch_fd;           /* this run's directory */
	const char *scratch_host; /* its canonical host path */
	const char *scratch_base; /* host directory of all runs: never visible, whatever is granted */
	const char *workdir_host; /* reported in changes even when it lies in the scratch space */
	const struct view_provide *provide; /* borrowed for the call */
	size_t provides;
	int tmpfs_fd;             /* see view_attach: the skeleton is made in it; borrowed. -1: in scratch_fd */
};

/* Builds skeleton and mounts from the policy. 0 with an owned view; -errno with a message in ret_error. */
int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error);
void view_free(struct view *view);

/*
 * Gives the view the run's own terminal (a pseudoterminal's slave side, borrowed): /dev/tty leads to it, and it has its
 * name below /dev/pts. Without, /dev/tty is ENXIO. 0 or -errno.
 */
int view_set_terminal(struct view *view, int terminal_fd);

/* What the view is made real with; borrowed. */
struct view_mounts {
	int tmpfs_fd;      /* attached nowhere yet; the skeleton is in it */
	int proc_fd;       /* a detached procfs, or a copy of the mount of /proc */
	int program_proc_fd; /* a procfs that shows processes alone, and of them the program's, for the program; -1: that one */
	int host_root_fd; /* the keeper's "/": tells what exists outside of the view */
};

/*
 * Makes the view what the kernel resolves paths to, in a mount namespace of this process's own: the tmpfs becomes the
 * root of it, everything the view shows is mounted in there, read-only where nothing may be written, the procfs at
 * /proc; the process's root becomes the view's "/" and the old tree is gone. From then on host names are virtual
 * names. Needs CAP_SYS_ADMIN and CAP_SYS_CHROOT. 0, or -errno with *ret_what (static) what it was that failed; the
 * view and the process's mounts are then good for nothing but view_free.
 */
int view_attach(struct view *view, const struct view_mounts *mounts, const char **ret_what);

/*
 * What the host has at this absolute path, whatever the view shows; AT_SYMLINK_NOFOLLOW in flags or 0. For messages and
 * the record. 0 or -errno.
 */
int view_host_stat(const struct view *view, const char *path, int flags, struct stat *ret_stat);

/* True when the host has nothing at this canonical path of the view's, which ended in the skeleton. */
bool view_host_lacks(const struct view *view, const char *virt, size_t len);

/*
 * True for a place in the skeleton where certainly nothing is: ENOENT, whatever is asked. False says nothing.
 */
bool view_lacks(const struct place *place);

/* The host's own path of a place that has a mount, wherever that is mounted by now. 0 or -ENAMETOOLONG. */
int view_origin(const struct place *place, char out[PATH_MAX]);

/*
 * Of a descriptor of a place (with parent: of the directory the place is in) the same object in the host's own
 * mounts, where rename(2) and link(2) lead from one mount of the view to another. O_PATH, owned by the caller; or
 * -EXDEV when there is none, or the name leads to something else there.
 */
int view_host_twin(const struct place *place, int fd, bool parent);

/* True when that was done: virtual names are the kernel's. */
bool view_is_root(const struct view *view);

/*
 * True when the kernel, left to itself in that namespace, tells of no path more than a judged stat would: there is nothing
 * that the policy takes out of what it grants, nothing that the view replaces without the kernel, and no procfs but one
 * that shows the program's own processes. Pure. What it rests on is in doc/security.md.
 */
bool view_is_kernels(const struct view *view);

/*
 * Text only, no kernel call: `path` against the canonical virtual directory `base` (ignored when path is absolute),
 * through the view's own links (/lib, /proc/self, /dev/fd …). 0; -EAGAIN when only a walk can tell (".." after a name);
 * -ENAMETOOLONG. The place is a candidate: it holds once view_open succeeded on it.
 */
int view_locate(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
		struct place *ret_place);

/*
 * Canonicalises by O_PATH steps, symbolic links re-entered from the view's root, 40 at most. 0 with a place that held a
 * moment ago (open it with view_open, and walk again on -ELOOP), or the errno native resolution gives.
 */
int view_walk(const struct view *view, const struct task *task, const char *base, const char *path, unsigned flags,
	      struct place *ret_place);

/*
 * openat2(mount, rest, flags, RESOLVE_BENEATH|NO_SYMLINKS|NO_MAGICLINKS). Returns a CLOEXEC descriptor owned by the
 * caller or -errno; -ELOOP, -EXDEV, -EAGAIN mean "walk".
 */
int view_open(const struct place *place, int flags, mode_t mode);

/*
 * What is at a place can often be asked without opening it: of (*ret_dirfd, *ret_path), by fstatat(2) and its like, in one
 * call that follows no link but says ELOOP ("walk"), so that the answer is about the very name that was judged. False
 * when the place has to be opened. The texts are borrowed from the place.
 */
bool view_ask(const struct place *place, int *ret_dirfd, const char **ret_path);

/* The directory that view_ask gives; -1: it gives none. */
int view_still_fd(const struct view *view);

/*
 * view_ask's mounts have numbers of their own (statx(2), stx_mnt_id). Which number in the program's mount namespace
 * `still` stands for, 0 when nobody has noted it; and noting it.
 */
uint64_t view_mount_number(const struct view *view, uint64_t still);
void view_note_mount(struct view *view, uint64_t still, uint64_t number);

/*
 * Opens the directory that holds the place (O_PATH) and points *ret_name at its last component. -EBUSY when the place
 * is a mount's own root, which cannot be renamed, removed or replaced.
 */
int view_open_parent(const struct place *place, const char **ret_name);

/*
 * True for a directory whose listing must differ from the host's: /proc and directories where only globs grant. Such a
 * directory *is* a stand-in in the skeleton, made up to date whenever it is opened for reading.
 */
bool view_own_listing(const struct place *place);

/*
 * Judges `want` (POLICY_* bits) on a place: the policy for mounts, fixed rules for the skeleton, /proc and /dev. Pure
 * but for the question whether a pid of /proc is in the run.
 */
struct policy_decision view_judge(const struct view *view, const struct task *task, const struct place *place,
				  unsigned want);

/*
 * True when a mount, a link or a hole of the view has this canonical virtual path or lies below: it must not be
 * moved.
 */
bool view_holds_node(const struct view *view, const char *virt);

/* Tells the view which pids exist: tree is asked for paths below /proc. Borrows. */
void view_set_tree(struct view *view, struct tree *tree);

/*
 * The virtual name of a host path, longest mount first. Returns its length, or -ENOENT when it is outside the view. A
 * name alone proves nothing: see view_confirm.
 */
int view_name(const struct view *view, const char *host, size_t host_len, char *out, size_t cap);

/* True when the canonical virtual path leads to this very object: (dev, ino) compared after view_open. */
bool view_confirm(const struct view *view, const char *virt, const struct stat *expected);

/* The host path of a place, for exec and chdir detours and for the record. Returns its length or -ENAMETOOLONG. */
int view_host(const struct place *place, char *out, size_t cap);

/* True when no name of the program's root leads the kernel there: a task goes to such a place by a descriptor alone. */
bool view_is_nameless(const struct place *place);

/*
 * Calls take with an O_PATH descriptor, borrowed, of each file the policy lets be executed, or of a directory with such
 * files below it; of the system's loaders too when they may be read. Coarser than the policy (deny rules, globs over
 * what the program can change) but never narrower, as far as things exist by now. 0, -errno, or what take returned < 0.
 */
int view_each_exec(const struct view *view, int (*take)(void *ctx, int fd), void *ctx);

/*
 * The canonical virtual directory a relative path starts from: the task's cwd (fd == AT_FDCWD) or the directory behind
 * its descriptor. Returns the length; -EBADF, -ENOTDIR, -ENOENT (deleted or outside). *ret_held: what was found is certainly
 * the task's; else its number may have been used again, and whoever sent the notification has to be asked for.
 */
int view_base(const struct view *view, const struct task *task, int fd, char *out, size_t cap, bool *ret_held);

/* To be called before names in the view change: view_base then looks again. */
void view_changed(const struct view *view);

#endif
