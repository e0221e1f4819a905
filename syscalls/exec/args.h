/* The argument vector the kernel makes for a chain of "#!" scripts. */
#ifndef CALLGATE_SYSCALLS_EXEC_ARGS_H
#define CALLGATE_SYSCALLS_EXEC_ARGS_H

#include <stddef.h>

#include "syscalls/exec/shebang.h"

#define EXEC_ARGS_MAX 16 /* five scripts: interpreter and argument each, and the script's own name */

/* Texts in the order they are to have, which is the reverse of how they are found. Zero-initialise to begin. */
struct exec_args {
	char *text[EXEC_ARGS_MAX]; /* owned, filled from the end */
	size_t count;
};

/*
 * A further script of the chain: "INTERP [ARG] SCRIPT rest" replaces argv[0]. `name` is the first script's name and is
 * used for the first call only; later scripts go by the name their predecessor's line gave them. 0, -ENOMEM, -ELOOP.
 */
int exec_args_script(struct exec_args *args, const struct shebang *line, const char *name);

/* Hands the texts over as an owned, NULL-ended array of owned texts. 0 or -ENOMEM. */
int exec_args_take(struct exec_args *args, char ***ret_texts);

void exec_args_done(struct exec_args *args);

#endif
