/* What the path handlers share above file.h: *at flags, metadata rules, the order record -> effect -> answer. */
#ifndef CALLGATE_SYSCALLS_FILE_ACT_H
#define CALLGATE_SYSCALLS_FILE_ACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/*
 * Pins what path[i] and AT_SYMLINK_NOFOLLOW, AT_EMPTY_PATH in at_flags name, judged for `want`. An empty path with
 * AT_EMPTY_PATH is the descriptor in path[i].dirfd, or the cwd. Returns an O_PATH descriptor owned by the caller or -1
 * with the outcome set. Other flags are not looked at.
 */
int file_pin_at(struct call *call, unsigned i, unsigned want, unsigned at_flags);

/* The same for a change of metadata: POLICY_WRITE, and devices (EPERM) and files from outside keep what they have. */
int file_pin_meta(struct call *call, unsigned at_flags);

/*
 * Takes an object pinned for POLICY_WRITE and gives it back, or refuses: a device, or a file without a name in the view
 * that somebody outside opened and handed down.
 */
int file_refuse_foreign(struct call *call, int fd);

/*
 * For the calls on a descriptor (fchmod, fsetxattr, utimensat without a path): as file_pin_meta; one opened with O_PATH
 * is EBADF, as the kernel's fdget() says.
 */
int file_pin_meta_fd(struct call *call, int fd);

/* Whether the program's descriptor was opened with O_PATH (or cannot be asked: then its call fails as well). */
bool file_fd_is_path(const struct call *call, int fd);

/*
 * True when a mount of the view stands at the place or below it, or shows what is there (a redirect's target): it
 * cannot be renamed, replaced or removed then (EBUSY), for the name the mount's grant speaks of would lead elsewhere.
 */
bool file_holds_mount(const struct call *call, const struct place *place);

/*
 * Before a symbolic link gets the name of the place: other programs would follow it. EACCES when it would lead what
 * they take for a denied name elsewhere (policy_link_allowed), EBUSY on the way to a mount of the view, which shows
 * something else there. The text is given, or read from the link `name` of dirfd ("": dirfd is the link). 0, or -1 with
 * the outcome set.
 */
int file_check_link_text(struct call *call, const struct place *place, const char *text);
int file_check_link(struct call *call, const struct place *place, int dirfd, const char *name);

/*
 * Right before the first effect on place[i]: its state is remembered for the result's `changes`, the decision is put on
 * record. 0, or -1 with the outcome set.
 */
int file_begin(struct call *call, unsigned i);

/* Ends the call with what a system call of ours returned: the value, or -errno for -1. */
void file_end(struct call *call, long result);

/* Ends the call with `value` after `len` bytes were written to the program at `addr`; EFAULT when they could not be. */
void file_end_output(struct call *call, uint64_t addr, const void *from, size_t len, int64_t value);

/* Makes a failed attempt undone, so that another one may be made: only before call_commit. */
void file_forget(struct call *call);

/* The errno (negative) an attempt ended with; 0 when it ended in another way. */
int file_error(const struct call *call);

#endif
