/* "#!" scripts, as in fs/binfmt_script.c: the line, and the argument vector that the kernel makes for a chain. */
#ifndef CALLGATE_SYSCALLS_EXEC_SHEBANG_H
#define CALLGATE_SYSCALLS_EXEC_SHEBANG_H

#include <stdbool.h>
#include <stddef.h>

#define SHEBANG_HEAD 256 /* BINPRM_BUF_SIZE: all that the kernel reads of the line */

struct shebang {
	char interp[SHEBANG_HEAD];
	char arg[SHEBANG_HEAD];
	bool has_arg; /* at most one: all after the first blank, with its blanks */
};

/* True when the head begins with "#!". */
bool shebang_has_mark(const char head[SHEBANG_HEAD]);

/* head: the start of the file, padded with NULs. -ENOEXEC: no script, or its interpreter is missing or cut off. */
int shebang_parse(const char head[SHEBANG_HEAD], struct shebang *ret_shebang);

#define EXEC_ARGS_MAX 16 /* five scripts: interpreter and argument each, and the script's own name */

/* The texts that replace argv[0]. Found last to first. Zero-initialise to begin. */
struct exec_args {
	char *text[EXEC_ARGS_MAX]; /* owned, filled from the end */
	size_t count;
};

/*
 * Adds a script of the chain: "INTERP [ARG] SCRIPT rest". `name`, the first script's, is used by the first call only:
 * the line of a script names the next one. 0, -ENOMEM, -ELOOP.
 */
int exec_args_add_script(struct exec_args *args, const struct shebang *line, const char *name);

/* Hands the texts over as an owned, NULL-ended array of owned texts. 0 or -ENOMEM. */
int exec_args_take_texts(struct exec_args *args, char ***ret_texts);

void exec_args_release(struct exec_args *args);

#endif
