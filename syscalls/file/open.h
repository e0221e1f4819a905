/* Opening: what open, creat, openat and openat2 share. */
#ifndef CALLGATE_SYSCALLS_FILE_OPEN_H
#define CALLGATE_SYSCALLS_FILE_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "syscalls/call/call.h"

/* struct open_how of linux/openat2.h, after the kernel's checks: see build_open_flags() in fs/open.c. */
struct open_request {
	unsigned flags;
	mode_t mode;
	uint64_t resolve; /* openat2 only */
};

/* Opens path[0] in the view and ends the call. */
void file_open(struct call *call, const struct open_request *request);

/*
 * openat2's resolve flags, relative to the view. file_scope resolves path[0] one component at a time and puts the
 * canonical virtual path in its place; whatever pins it then follows no link. file_unscope gives the program's own text
 * back and takes the pinned descriptor through: -1 with EAGAIN (as openat2(2) says of a race) when the pin is not at the
 * canonical path. Between the two nothing else may use path[0]. file_scope: 0, or -1 with the outcome set.
 */
struct open_scope {
	bool active;
	struct call_path saved;
	size_t canonical_len;
	char canonical[PATH_MAX];
};
int file_scope(struct call *call, const struct open_request *request, struct open_scope *ret_scope);
int file_unscope(struct call *call, const struct open_scope *scope, int fd);

/* What the program reads in the link pinned as fd, which stands at place. Its length, or -errno. */
ssize_t file_link_text(const struct call *call, const struct place *place, int fd, char text[PATH_MAX]);

#endif
