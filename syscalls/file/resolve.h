/* Shared by all file handlers: from a path or descriptor to a judged, pinned object; then record, effect, outcome. */
#ifndef CALLGATE_SYSCALLS_FILE_RESOLVE_H
#define CALLGATE_SYSCALLS_FILE_RESOLVE_H


#include "syscalls/call/call.h"

/*
 * Every function here that returns a descriptor: the caller owns it; -1 means that the outcome is set, to a denial or
 * to the native errno. Errors come in the kernel's order: dirfd, walk, policy.
 */

/*
 * Resolves call->path[i], judges `want` (POLICY_*) and opens the object by view_open_place() with `open_flags`: O_PATH
 * for a pin; never O_CREAT or O_TRUNC. follow: VIEW_FOLLOW_LAST_LINK or 0. Sets call->resolved_place[i] and
 * call->decision. EINTR: open_flags ask for data and the open may block; the caller then pins the object, for
 * OUTCOME_BLOCKING_OPEN.
 */
int file_pin_path(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags);

/*
 * A question about an object, answered by fstatat(2), faccessat(2) and their like. at_flags: AT_SYMLINK_NOFOLLOW, 0, or
 * AT_EMPTY_PATH with the path "". ask() returns 0 or -errno; ELOOP only for a link before the last name.
 */
struct file_query {
	int (*ask)(void *ctx, int dirfd, const char *path, int at_flags);
	void *ctx;
};

/*
 * Resolves and judges path[i] like file_pin_path_at(), and then asks the question about the object: by name where
 * view_get_nosymfollow_path() permits, else of a descriptor. 0: the question was asked, and the caller sets the
 * outcome; -1: the outcome is set.
 */
int file_judge_and_query_path(struct call *call, unsigned i, unsigned want, unsigned at_flags,
		     const struct file_query *question);

/*
 * Asks about the object of a program's descriptor by its link in /proc, without judging, as fstat(2) does. A duplicate
 * is not used: closing it would flush files of NFS and FUSE. Returns 0 or -1 like file_judge_and_query_path().
 */
int file_query_fd_unjudged(struct call *call, int fd, const struct file_query *question);

/* Whether the kernel refuses to make, remove or change this last name: ".", ".." or too long. */
bool file_name_is_refused(const char *last);

/*
 * For calls that remove or change a name: judges POLICY_WRITE on path[i] and opens its parent (O_PATH). *ret_name: the
 * last component as the program wrote it, with trailing slashes; borrowed from the call. For a name that the kernel
 * refuses (file_name_is_refused), POLICY_READ on the parent is enough, because the call always fails.
 */
int file_pin_parent(struct call *call, unsigned i, const char **ret_name);

/*
 * For calls that make a name (mkdir, mknod, symlink, link): judges POLICY_WRITE on path[i], opens its parent (O_PATH)
 * and sets *ret_name like file_pin_parent(). An existing name is EEXIST, even in a read-only tree and for the root of a
 * mount, as natively; mkdir -p relies on it.
 */
int file_pin_parent_of_new_name(struct call *call, unsigned i, const char **ret_name);

/*
 * For open(O_CREAT): resolves path[i], which need not exist, judges POLICY_WRITE and opens the parent. With
 * VIEW_FOLLOW_LAST_LINK a dangling link as the last name leads to its target. *ret_name borrows from
 * call->resolved_place[i].
 */
int file_pin_parent_for_open_create(struct call *call, unsigned i, unsigned follow, const char **ret_name);

/* Opens the object of a program's descriptor, or its cwd (AT_FDCWD), with O_PATH. Does not judge. */
int file_open_fd_object(struct call *call, int fd);

/*
 * Pins the object of a program's descriptor and judges `want` on its virtual path. An object without a path (a pipe,
 * socket or memfd) is allowed, because the program holds it; a file that lost its path may be written only through a
 * descriptor that was opened for writing.
 */
int file_pin_fd(struct call *call, int fd, unsigned want);

/* Whether the program's descriptor fd refers to the object pinned as `pin`, and was opened for writing. */
bool file_fd_is_open_for_writing(const struct call *call, int fd, int pin);

/*
 * Sets the umask of this thread (which did unshare(CLONE_FS)) to the task's, before a file is made. The mode itself is
 * not changed, because a default ACL replaces the umask. 0, or -1 with the outcome set.
 */
int file_set_umask_of_target(struct call *call);

/*
 * To be called before a pinned object at call->resolved_place[0] is read or entered. Where view_place_is_public_only()
 * is true, everybody must have this access (S_IROTH, S_IXOTH; 0: none is needed). 0, or -1 with the outcome set.
 */
int file_refuse_unless_public(struct call *call, const struct stat *status, mode_t needed);

/* Refuses a mode with set-id bits with EPERM. True: refused. */
bool file_refuse_setid(struct call *call, mode_t mode);

/* ---- helpers for AT_* flags, metadata and links ---- */

/*
 * Resolves path[i], judges `want` and pins the object. at_flags: AT_SYMLINK_NOFOLLOW and AT_EMPTY_PATH; others are
 * ignored. An empty path with AT_EMPTY_PATH means the descriptor path[i].dirfd, or the cwd. Returns an O_PATH
 * descriptor.
 */
int file_pin_path_at(struct call *call, unsigned i, unsigned want, unsigned at_flags);

/*
 * Resolves path[0], judges POLICY_WRITE for a change of metadata, and pins the object, unless
 * file_refuse_foreign_object() refuses it. at_flags: as for file_pin_path_at().
 */
int file_pin_for_metadata_change(struct call *call, unsigned at_flags);

/*
 * Pins the object of the program's descriptor fd for a change of metadata (fchmod, fsetxattr, utimensat without a
 * path): judges POLICY_WRITE, and calls file_refuse_foreign_object(). An O_PATH descriptor is EBADF.
 */
int file_pin_fd_for_metadata_change(struct call *call, int fd);

/*
 * Takes an object that was pinned for POLICY_WRITE, and returns it. -1: refused, because it is a device, or a file of
 * the host without a virtual path, which a process outside the run opened and passed to the program.
 */
int file_refuse_foreign_object(struct call *call, int fd);

/* Whether the program's descriptor was opened with O_PATH, or does not exist. */
bool file_fd_is_opath(const struct call *call, int fd);

/*
 * Whether a mount of the view is at the place or below it, or shows the place elsewhere (as a redirect's target). Then
 * it must not be renamed, replaced or removed (EBUSY): the grant's path would lead to another object.
 */
bool file_place_has_mount_below(const struct call *call, const struct place *place);

/*
 * To be called before a symbolic link is made at the place or moved there: programs outside the run would follow it.
 * EACCES if it leads from a denied name to elsewhere (policy_link_is_allowed); EBUSY at an ancestor of a mount of the
 * view. file_refuse_moved_link_to_denied() reads the target of `name` in dirfd ("": dirfd is the link). 0, or -1 with
 * the outcome set.
 */
int file_refuse_link_to_denied_name(struct call *call, const struct place *place, const char *text);
int file_refuse_moved_link_to_denied(struct call *call, const struct place *place, int dirfd, const char *name);

/* ---- writing the record, and setting the outcome ---- */

/*
 * To be called right before the first effect on resolved_place[i]: notes the state there for `changes` in the result,
 * and commits the record. 0, or -1 with the outcome set.
 */
int file_record_before_change(struct call *call, unsigned i);

/* Ends the call with the result of a system call that the supervisor made; if that is -1, with errno. */
void file_end_call(struct call *call, long result);

/*
 * Ends the call with `value`, the result of a system call that the supervisor made, after writing `len` bytes to target
 * memory at addr. If that fails: with EFAULT; value -1: with errno.
 */
void file_end_call_with_output(struct call *call, uint64_t addr, const void *from, size_t len, int64_t value);

/* Resets outcome and decision for another attempt; only before call_commit_record. */
void file_reset_outcome(struct call *call);

/* The outcome's -errno; 0: the outcome is not an error. */
int file_get_outcome_error(const struct call *call);

/* ---- opening ---- */

/* struct open_how of linux/openat2.h, checked as build_open_flags() in fs/open.c does. */
struct open_request {
	unsigned flags; /* O_* flags */
	mode_t mode;
	uint64_t resolve; /* RESOLVE_* flags of an openat2 */
};

/*
 * openat2's resolve flags, relative to the view. file_resolve_openat2_path() resolves path[0] one component at a time,
 * and replaces it by the canonical virtual path, which the caller pins. 0, or -1 with the outcome set.
 * file_restore_path_after_openat2() restores path[0] and returns the pinned fd (taken); -1: EAGAIN, openat2(2)'s errno
 * for a race: fd is not at that path.
 */
struct openat2_resolved_path {
	bool path_was_replaced;      /* call->path[0] is now canonical_path */
	struct call_path saved_path; /* path[0] as the program gave it */
	size_t canonical_len;        /* length of canonical_path */
	char canonical_path[PATH_MAX];
};
int file_resolve_openat2_path(struct call *call, const struct open_request *request,
			      struct openat2_resolved_path *ret_resolved);
int file_restore_path_after_openat2(struct call *call, const struct openat2_resolved_path *resolved, int fd);

/* The target that the program reads in the link that is pinned as fd, at `place`. Its length, or -errno. */
ssize_t file_read_link_text(const struct call *call, const struct place *place, int fd, char text[PATH_MAX]);

/*
 * Whether the program's descriptor table is full. Natively an open then fails with EMFILE first, so this matters to a
 * call that is refused for another reason, or that makes or truncates a file. True: the outcome is EMFILE. False also
 * if unknown.
 */
bool fd_table_is_full(struct call *call);

/* To be called for a continued call that sets RLIMIT_NOFILE of a process of the run. */
void fd_table_note_limit_change(struct call *call);

#endif
