/* What all file handlers share: from a path or descriptor to a judged, pinned object; then record, effect, end. */
#ifndef CALLGATE_SYSCALLS_FILE_RESOLVE_H
#define CALLGATE_SYSCALLS_FILE_RESOLVE_H

#include <stdio.h>

#include "syscalls/call/call.h"

/*
 * All functions that return a descriptor: it is owned by the caller; -1 means that the outcome is set, to a denial or
 * to the native errno. Errors come in the kernel's order: dirfd, walk, policy.
 */

/*
 * Resolves call->path[i], judges `want` (POLICY_*) and opens the object by view_open_place with `open_flags`: O_PATH
 * for a pin; never O_CREAT or O_TRUNC. follow: VIEW_FOLLOW or 0. The place is kept in call->place[i], the decision in
 * call->decision. EINTR: open_flags ask for data and the open may block; pin it, for OUTCOME_BLOCKING.
 */
int file_pin_path(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags);

/*
 * A question about an object that need not be held: fstatat(2), faccessat(2) and their like. at_flags:
 * AT_SYMLINK_NOFOLLOW, 0, or AT_EMPTY_PATH with the path "". 0 or -errno; ELOOP only for a link on the way.
 */
struct file_question {
	int (*ask)(void *ctx, int dirfd, const char *path, int at_flags);
	void *ctx;
};

/*
 * As file_pin_at, but asks instead of returning a descriptor, by name where view_get_nolinks_path permits it. Asks only
 * after the decision. 0: answered, the outcome is the caller's to set; -1: it is set.
 */
int file_ask_by_path(struct call *call, unsigned i, unsigned want, unsigned at_flags,
		     const struct file_question *question);

/*
 * Asks about the object of a descriptor of the program without judging, as fstat(2), through its link in /proc: closing
 * a duplicate would flush files of NFS and FUSE. 0 or -1, as file_ask_by_path.
 */
int file_ask_by_fd(struct call *call, int fd, const struct file_question *question);

/* True for ".", ".." and a name that is too long: the kernel refuses to make, remove or change these. */
bool file_name_is_refused(const char *last);

/*
 * For removing or changing a name: judges POLICY_WRITE on path[i] and opens its parent (O_PATH). *ret_name: the last
 * component as the program wrote it, with trailing slashes; borrowed from the call. Of a name that
 * the kernel refuses, the parent is judged for reading.
 */
int file_pin_parent(struct call *call, unsigned i, const char **ret_name);

/*
 * As file_pin_parent, for calls that make a name (mkdir, mknod, symlink, link): a name that exists is EEXIST, also in a
 * read-only tree and for the root of a mount, as natively (mkdir -p relies on it).
 */
int file_pin_new_name(struct call *call, unsigned i, const char **ret_name);

/*
 * For open(O_CREAT): resolves path[i], whether it exists or not (with VIEW_FOLLOW a dangling link in the last place
 * gives its target), judges POLICY_WRITE and opens the parent. *ret_name borrows from call->place[i].
 */
int file_pin_create_target(struct call *call, unsigned i, unsigned follow, const char **ret_name);

/* Opens the object of a descriptor of the program, or its cwd (AT_FDCWD), with O_PATH, without judging. */
int file_open_fd_object(struct call *call, int fd);

/*
 * Pins the object of a descriptor of the program and judges `want` on its virtual name. An object without a name (a
 * pipe, a socket, a memfd) is allowed, because the program holds it; a file that lost its name may be written only
 * through a descriptor that was opened for writing.
 */
int file_pin_fd(struct call *call, int fd, unsigned want);

/* True when the program's descriptor fd is of the object pinned as `pin`, and was opened for writing. */
bool file_is_held_for_writing(const struct call *call, int fd, int pin);

/* "/proc/self/fd/N" of our descriptor: for calls that take a path, on a pinned object (chmod, setxattr, open again). */
struct file_link {
	char path[32];
};
static inline struct file_link file_link(int fd)
{
	struct file_link link;

	(void)snprintf(link.path, sizeof(link.path), "/proc/self/fd/%d", fd);
	return link;
}

/*
 * Sets the umask of this thread (which did unshare(CLONE_FS)) to the task's, before a file is made. Modes are not
 * masked by us, because a default ACL replaces the umask. 0, or -1 with the outcome set.
 */
int file_use_umask(struct call *call);

/*
 * To be called before a pinned object at call->place[0] is read or entered: where view_is_public, everybody must have
 * this access (S_IROTH, S_IXOTH; 0: none is needed). 0, or -1 with the outcome set.
 */
int file_refuse_unpublic(struct call *call, const struct stat *status, mode_t needed);

/* True when the mode has set-id bits: the call is refused with EPERM. */
bool file_refuse_setid(struct call *call, mode_t mode);

/* ---- *at flags, metadata, links ---- */

/*
 * file_pin_path with *at flags: AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH; others are ignored. An empty path with
 * AT_EMPTY_PATH is the descriptor path[i].dirfd, or the cwd. Returns an O_PATH descriptor.
 */
int file_pin_at(struct call *call, unsigned i, unsigned want, unsigned at_flags);

/* As file_pin_at, for a change of metadata: POLICY_WRITE, then file_refuse_foreign_object. */
int file_pin_metadata(struct call *call, unsigned at_flags);

/* As file_pin_metadata, for a call on a descriptor (fchmod, fsetxattr, utimensat without a path). O_PATH is EBADF. */
int file_pin_metadata_fd(struct call *call, int fd);

/*
 * Takes an object pinned for POLICY_WRITE and returns it. -1: it is refused, as a device, or as a file of the host
 * without a virtual name, which a process outside of the run opened and handed down.
 */
int file_refuse_foreign_object(struct call *call, int fd);

/* True when the program's descriptor was opened with O_PATH, or does not exist. */
bool file_fd_is_opath(const struct call *call, int fd);

/*
 * True when a mount of the view is at the place or below it, or shows it elsewhere (a redirect's target). It must not
 * be renamed, replaced or removed (EBUSY), because the grant's path would then lead to another object.
 */
bool file_holds_mount(const struct call *call, const struct place *place);

/*
 * To be called before a symbolic link is made at the place or moved there: programs outside of the run would follow it.
 * EACCES when it leads from a denied name to elsewhere (policy_link_is_allowed); EBUSY for an ancestor of a mount of
 * the view. file_check_link reads the target of `name` in dirfd ("": dirfd is the link). 0, or -1 with the outcome set.
 */
int file_check_link_text(struct call *call, const struct place *place, const char *text);
int file_check_link(struct call *call, const struct place *place, int dirfd, const char *name);

/* ---- record, effect, end ---- */

/*
 * To be called right before the first effect on place[i]: notes its state for `changes` in the result and puts the
 * decision on record. 0, or -1 with the outcome set.
 */
int file_commit_change(struct call *call, unsigned i);

/* Ends the call with the result of a system call of ours; -1: errno is the result. */
void file_end_call(struct call *call, long result);

/*
 * Ends the call with `value`, the result of a system call of ours, after it wrote `len` bytes to the program's memory
 * at addr, or with EFAULT; -1: with errno.
 */
void file_end_call_with_output(struct call *call, uint64_t addr, const void *from, size_t len, int64_t value);

/* Resets outcome and decision for another attempt; only before call_commit_record. */
void file_reset_outcome(struct call *call);

/* The outcome's -errno; 0: the outcome is no error. */
int file_get_outcome_error(const struct call *call);

/* ---- opening ---- */

/* struct open_how of linux/openat2.h, after the kernel's checks: see build_open_flags() in fs/open.c. */
struct open_request {
	unsigned flags;
	mode_t mode;
	uint64_t resolve; /* openat2 only */
};

/*
 * openat2's resolve flags, relative to the view. file_enter_scope resolves path[0] one component at a time. It replaces
 * path[0] by the canonical virtual path, to be pinned then. 0, or -1 with the outcome set. file_leave_scope restores it
 * and returns the pinned fd (taken); -1 with EAGAIN, openat2(2)'s errno for a race: fd is not at the canonical path.
 */
struct open_scope {
	bool active;
	struct call_path saved;
	size_t canonical_len;
	char canonical[PATH_MAX];
};
int file_enter_scope(struct call *call, const struct open_request *request, struct open_scope *ret_scope);
int file_leave_scope(struct call *call, const struct open_scope *scope, int fd);

/* The target that the program reads in a link, pinned as fd, at the place. Its length, or -errno. */
ssize_t file_read_link_text(const struct call *call, const struct place *place, int fd, char text[PATH_MAX]);

/*
 * Whether the program's descriptor table is full. An open then natively fails with EMFILE before anything else, so a
 * call that is refused for another reason, or makes or truncates a file, has to know.
 */
/* True with the outcome EMFILE when it is full. False when that is unknown: the injection fails with EMFILE then. */
bool fd_table_is_full(struct call *call);

/* To be called for a continued call that sets RLIMIT_NOFILE of any process of the run. */
void fd_table_note_limit_change(struct call *call);

#endif
