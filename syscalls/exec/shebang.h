/* The "#!" line, read exactly as fs/binfmt_script.c reads it. Text only. */
#ifndef CALLGATE_SYSCALLS_EXEC_SHEBANG_H
#define CALLGATE_SYSCALLS_EXEC_SHEBANG_H

#include <stdbool.h>
#include <stddef.h>

#define SHEBANG_HEAD 256 /* BINPRM_BUF_SIZE: all the kernel looks at */

struct shebang {
	char interp[SHEBANG_HEAD];
	char arg[SHEBANG_HEAD];
	bool has_arg; /* one at most: everything after the first blank, blanks inside kept */
};

/* True when the head begins with "#!". */
bool shebang_is(const char head[SHEBANG_HEAD]);

/*
 * `head` is the start of the file, padded with NULs. 0, or -ENOEXEC when it is no script or its interpreter's name is
 * missing or would be cut off.
 */
int shebang_parse(const char head[SHEBANG_HEAD], struct shebang *ret_shebang);

#endif
