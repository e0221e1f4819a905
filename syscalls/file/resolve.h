/* What all file handlers share: from a decoded path to a judged, pinned object. */
#ifndef CALLGATE_SYSCALLS_FILE_RESOLVE_H
#define CALLGATE_SYSCALLS_FILE_RESOLVE_H

#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "syscalls/call/call.h"

/*
 * Resolves call->path[i], judges `want`, opens the object by view_open with `open_flags` (O_PATH for a pin; never
 * O_CREAT/O_TRUNC). follow: VIEW_FOLLOW or 0. The place is kept in call->place[i], the decision in call->decision.
 * Returns a descriptor owned by the caller, or -1 with the outcome set (denied, or the native errno of the walk; EINTR
 * when open_flags ask for data and that might have to wait: pin it and let OUTCOME_BLOCKING open it).
 * Errors come in the kernel's order: dirfd, walk, policy.
 */
int file_pin(struct call *call, unsigned i, unsigned want, unsigned follow, int open_flags);

/*
 * What is to be known of an object that need not be held: fstatat(2), faccessat(2) and their like. at_flags is
 * AT_SYMLINK_NOFOLLOW, 0, or AT_EMPTY_PATH with path "": dirfd is the object then. 0 or -errno; ELOOP alone means that a
 * link was met.
 */
struct file_question {
	int (*ask)(void *ctx, int dirfd, const char *path, int at_flags);
	void *ctx;
};

/*
 * As file_pin_at, but asks instead of returning a descriptor: where it can, in one call by name. Never asks before the
 * decision is made. 0 answered, the outcome is the caller's; -1 with the outcome set.
 */
int file_ask(struct call *call, unsigned i, unsigned want, unsigned at_flags, const struct file_question *question);

/*
 * Asks about the object behind a descriptor of the program without judging, as fstat(2): by following its link in /proc. A
 * descriptor of ours would do as well, but closing it flushes files of NFS and FUSE. 0 answered, -1: outcome set.
 */
int file_ask_fd(struct call *call, int fd, const struct file_question *question);

/*
 * For calls that make or remove a name: resolves the parent of path[i], judges WRITE on parent/name, opens the parent
 * with O_PATH. *ret_name is the last component as the program wrote it, trailing slashes included ("." and ".." too: the
 * kernel refuses those itself), borrowed from the call. Returns the parent's descriptor owned by the caller, or -1
 * with the outcome set.
 */
int file_pin_parent(struct call *call, unsigned i, const char **ret_name);

/*
 * The same for calls that make a name (mkdir, mknod, symlink, link, rename's new end is not one): where the name is there
 * already the answer is EEXIST, also in a read-only tree and on a mount's root, as native (mkdir -p relies on it).
 */
int file_pin_new(struct call *call, unsigned i, const char **ret_name);

/*
 * For open(O_CREAT): the canonical place path[i] leads to, present or not (a dangling final link gives its target when
 * follow says VIEW_FOLLOW), judged for WRITE. Opens its parent; *ret_name borrows from call->place[i]. Returns the parent's
 * descriptor or -1 with the outcome set.
 */
int file_pin_target(struct call *call, unsigned i, unsigned follow, const char **ret_name);

/* Opens /proc/TID/fd/N (or cwd) itself with O_PATH, without judging: for calls that only look (fstat). -1: outcome set. */
int file_open_fd(struct call *call, int fd);

/*
 * The object behind a descriptor of the program, pinned for a metadata change or an AT_EMPTY_PATH call: opens
 * /proc/TID/fd/N with O_PATH, finds its virtual name, judges `want` on it. Objects without a name in the view (pipes,
 * memfds, sockets) are the program's own and are allowed. Returns a descriptor or -1 with the outcome set (EBADF …).
 */
int file_pin_fd(struct call *call, int fd, unsigned want);

/*
 * The name in the view of the object our descriptor fd holds, which must lead to this very object. Its length, or -ENOENT
 * when it has none: unlinked, outside, a pipe, a memfd.
 */
int file_name(const struct call *call, int fd, const struct stat *object, char virt[PATH_MAX]);

/*
 * "/proc/self/fd/N" of a descriptor of ours: lets path-taking calls act on a pinned object (chmod, setxattr,
 * truncate, reopen): see proc(5).
 */
struct file_link {
	char path[32];
};
struct file_link file_link(int fd);

/*
 * Runs with the umask of the calling task for calls that create: umask(2) of this thread (which did
 * unshare(CLONE_FS)), read from /proc/TID/status. Modes are never pre-masked: a default ACL replaces the umask.
 */
int file_use_umask(struct call *call);

/* True, and the call refused with EPERM, when a mode asks for set-id bits. */
bool file_refuse_setid(struct call *call, mode_t mode);

#endif
