/*
 * Makes a view, and the tree of kernel mounts that a run has of it. Called by the supervisor's process before the
 * program starts. view.h has what calls use.
 */
#ifndef CALLGATE_VIEW_PREPARE_H
#define CALLGATE_VIEW_PREPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/io.h"
#include "policy/parse/errors.h"
#include "policy/policy.h"

struct view;

/* A file that callgate provides. It replaces what the policy provides at that path. */
struct view_provided_file {
	char *virt; /* canonical virtual path */
	char *text; /* the content: text_len bytes, which may contain NUL */
	size_t text_len;
};

/* Which grants get overlays: their writes go to the scratch directory, and the files of the host stay as they are. */
enum view_overlay {
	VIEW_OVERLAY_NONE,            /* writes go to the host, as the policy grants them */
	VIEW_OVERLAY_OUTSIDE_WORKDIR, /* all grants outside of the workdir: --mode observe */
	VIEW_OVERLAY_ALL,             /* all grants: --dry-run */
	/* directories that stay as they are, with layers that outlive the run, or copies instead: --cow */
	VIEW_OVERLAY_WORKSPACE,
};

/* What a view is built with besides the policy. */
struct view_options {
	int scratch_fd;           /* the scratch directory of the run */
	const char *scratch_host; /* canonical host path of the scratch directory */
	const char *scratch_base; /* host path of the scratch directories of all runs, which becomes a covered name */
	const char *workdir_host; /* workdir on the host: its changes are reported, even in the scratch directory */
	const char *home_host;    /* the user's home directory; NULL: unknown */
	const struct view_provided_file *provided_file; /* borrowed for the call */
	size_t provided_file_count;                     /* entries of provided_file[] */
	enum view_overlay overlay;
	/* with VIEW_OVERLAY_WORKSPACE: */
	const char *workspace_host;        /* canonical host path of the directory for the layers, or the copies */
	const char *const *workspace_dirs; /* canonical host paths of the directories, NULL-ended */
	/*
	 * bits of those whose owner or group is not the user's own: in a user namespace that has no number for it, it
	 * may look so (user 65534)
	 */
	uint64_t foreign_workspace_dirs;
	bool copies_workspace;          /* by copies, also where overlays can be mounted */
	bool fills_copies_later;        /* files of copies get their content when they are opened: fill.h */
	bool second_view_shares_layers; /* view_share_layers_of_first_view() will be called */
	uint64_t copy_limit_bytes;      /* most that the copies may take; 0: any */
	/* asked while directories are copied: false ends view_create() with -ECANCELED. NULL: never */
	const struct io_go_on *copy_go_on;
	int acls_fd;  /* for ACLs of copies (view/copy/acls.h); borrowed; -1: none */
	int root_fd;  /* "/" below which host paths are opened; borrowed. -1: the root of this process */
	int tmpfs_fd; /* a tmpfs for the skeleton and view_attach_mounts; borrowed. -1: scratch_fd serves */
	int pts_fd;   /* a detached devpts for the run; borrowed. -1: the host's, if tmpfs_fd is -1, too */
};

/* ---- creation ---- */

/* Creates the skeleton and the mounts of a policy. 0 with an owned view, or -errno with a message in ret_error. */
int view_create(const struct policy *policy, const struct view_options *options, struct view **ret_view,
		struct policy_error *ret_error);
void view_free(struct view *view);

/* Judges by another policy (borrowed) from now on, which differs from that of the view in what may be executed only. */
void view_set_policy(struct view *view, const struct policy *policy);

/* Adds the terminal of --tty, the slave of a pseudoterminal (borrowed for the call), as /dev/tty and in /dev/pts. */
int view_add_tty_terminal(struct view *view, int terminal_fd);

/*
 * Sets what /proc/PID/net shows. With files (`count`), only these: their virt is the path below /proc/PID ("net/dev"),
 * and they are borrowed while the view exists. With count 0, the files of the kernel: for a run with a network and pid
 * namespace of its own. Before this call there is no such directory.
 */
void view_set_network_files(struct view *view, const struct view_provided_file *file, size_t count);

/* True when the run can have a terminal: by /dev/ptmx or by --tty. */
bool view_has_terminals(const struct view *view);

/* ---- mounts of the kernel ---- */

/* The descriptors that view_attach_mounts uses. Borrowed. */
struct view_attach_fds {
	int tmpfs_fd;          /* a detached tmpfs that has the skeleton */
	int proc_fd;           /* a detached procfs, or a clone of the mount at /proc */
	int program_proc_fd;   /* a detached procfs that only shows the program's processes; -1: use proc_fd */
	int host_root_fd;      /* "/" of the keeper */
	bool for_kernel_reads; /* the kernel is to find every mount at its path: attach/names.h */
};

/*
 * Makes the view a tree of kernel mounts, in the mount namespace of this process. The tmpfs becomes its root. Each
 * mount of the view is mounted there, read-only where nothing may be written. Then "/" of this process is "/" of the
 * view, and the kernel resolves virtual paths. Needs CAP_SYS_ADMIN and CAP_SYS_CHROOT. 0, or -errno with *ret_what
 * (static), after which only view_free may be called.
 */
int view_attach_mounts(struct view *view, const struct view_attach_fds *mounts, const char **ret_what);

/*
 * True when an unjudged stat(2) reveals no more about any path than a judged one would. Then view_attach_mounts is
 * done, the policy denies nothing within its grants, each mount is at its virtual path, and procfs shows only the
 * program's processes. No process outside the run can change that later. See doc/security.md.
 */
bool view_native_stat_is_safe(const struct view *view);

/*
 * "judge": "changes": prepares the attached view for a run in which the kernel decides about calls that only read.
 * Called once, after view_attach_mounts and with its capabilities, when the policy asks for it and
 * policy_find_kernel_reads_obstacle() finds nothing. Returns NULL: the kernel's answers are those of the view.
 * Otherwise they are not, and some covers may be mounted: the rest of the sentence "every call is judged: ...", which
 * names the rule, the path or the step that failed, and is valid as long as the view.
 */
const char *view_prepare_kernel_reads(struct view *view);

/*
 * True if, when the kernel judges reads, the program can read names in trees of installed programs that a glob denies
 * in every directory, because such trees were not searched for them.
 */
bool view_skips_walk_of_installed_files(const struct view *view);

/*
 * Calls visit with an O_PATH descriptor (borrowed) of each file that the policy lets be executed, or of a directory
 * above such files, and of the system's loaders that may be read. All existing files that may be executed are covered;
 * some more may be, because of deny rules, or of globs on directories that the program can write. 0, -errno, or the
 * result of visit when that is < 0.
 */
int view_visit_executable_files(const struct view *view, int (*visit)(void *ctx, int fd), void *ctx);

enum view_readable {
	VIEW_PERMITS_READING_FILES = 1 << 0,
	VIEW_PERMITS_READING_DIRECTORIES = 1 << 1,
	VIEW_PERMITS_READING_DEVICES = 1 << 2, /* a device, or a directory of devices, with their ioctls */
};

/*
 * For view_visit_readable(): gets an O_PATH descriptor (borrowed) of an object in and below which the program may open
 * what `what` (enum view_readable bits) says. 0, or a value that ends the visits.
 */
typedef int (*view_visit_readable_object)(void *ctx, int fd, unsigned what);
/*
 * While the kernel judges reading: calls visit for each object in and below which the program may open something. Else
 * calls nothing. 0, -errno, or the result of visit when that is not 0.
 */
int view_visit_readable(const struct view *view, view_visit_readable_object visit, void *ctx);

/*
 * Lets a second view of the same run, which is not attached, find the processes and the directories of the program as
 * the first one does. After view_attach_mounts(first). Borrows `first`. 0 or -errno.
 */
int view_share_proc_of_first_view(struct view *view, const struct view *first);

/*
 * Makes a second view of the same run write to the directories of --cow as the first one does: to their layers. After
 * view_attach_mounts(first). Borrows the layers of `first`. 0 or -errno; -EXDEV: the second view shows one of them also
 * at *ret_name (borrowed from it), by which the directory itself would be written.
 */
int view_share_layers_of_first_view(struct view *view, const struct view *first, const char **ret_name);

/* Sets the pid of the supervisor: /proc shows its descendants. 0: the program does not run. */
void view_set_supervisor_pid(struct view *view, pid_t root);

#endif
