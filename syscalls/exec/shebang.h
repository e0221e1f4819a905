/* "#!" scripts, as in fs/binfmt_script.c: parses the line, and makes the arguments that the kernel makes. */
#ifndef CALLGATE_SYSCALLS_EXEC_SHEBANG_H
#define CALLGATE_SYSCALLS_EXEC_SHEBANG_H

#include <stdbool.h>
#include <stddef.h>

#define SHEBANG_HEAD_BYTES 256 /* BINPRM_BUF_SIZE: the kernel reads no more of the line */

/* The first line of a script: "#!interp arg". */
struct shebang {
	char interp[SHEBANG_HEAD_BYTES]; /* path of the interpreter */
	char arg[SHEBANG_HEAD_BYTES];
	bool has_arg; /* one argument at most: everything after the first blank */
};

/* Whether the file begins with "#!". */
bool shebang_has_mark(const char head[SHEBANG_HEAD_BYTES]);

/* head: the file's first bytes, padded with NULs. 0; -ENOEXEC: no script, or its interpreter is missing or cut off. */
int shebang_parse(const char head[SHEBANG_HEAD_BYTES], struct shebang *ret_shebang);

#define SHEBANG_CHAIN_ARGS_MAX 16 /* five scripts with interpreter and argument each, and the first script's name */

/* The texts that replace argv[0] of a script. They are found from the last to the first. Initialised with zeros. */
struct exec_args {
	char *text[SHEBANG_CHAIN_ARGS_MAX]; /* owned; filled from the end */
	size_t count;                       /* arguments in the list */
};

/*
 * Adds a script of the chain: the arguments become "INTERP [ARG] SCRIPT rest". name: SCRIPT, used by the first call
 * only, because each later script is the INTERP of the one before. 0, -ENOMEM or -ELOOP.
 */
int exec_args_add_script(struct exec_args *args, const struct shebang *line, const char *name);

/* Returns the texts as an owned, NULL-terminated array of owned texts. 0 or -ENOMEM. */
int exec_args_move_to_array(struct exec_args *args, char ***ret_texts);

void exec_args_release(struct exec_args *args);

#endif
