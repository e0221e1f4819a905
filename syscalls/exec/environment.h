/* The environment of an exec that an approver is asked about. For asked.c. */
#ifndef CALLGATE_SYSCALLS_EXEC_ENVIRONMENT_H
#define CALLGATE_SYSCALLS_EXEC_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"

struct call;

#define EXEC_ENVIRONMENT_BYTES_MAX (256u * 1024) /* a longer environment is not asked about */
#define EXEC_DECIDING_BYTES_MAX 16384u           /* likewise, one with more bytes of deciding variables */
#define EXEC_DECIDING_VARIABLES_MAX 512u         /* and one with more of them: a question shows all */

struct exec_environment {
	char sha256[SHA256_HEX_SIZE]; /* of all strings, each with its NUL, in their order */
	uint64_t bytes;               /* of all strings with their NULs */
	unsigned variable_count, deciding_count;
	/* the variables of policy/variables.h, which may change which code runs: "NAME=VALUE", each with its NUL */
	char deciding[EXEC_DECIDING_BYTES_MAX];
	size_t deciding_len;
};

/* Copies the environment at envp, in target memory. 0, or -E2BIG, -EFAULT, -ENOMEM and the like. */
int exec_environment_read(const struct call *call, uint64_t envp, struct exec_environment *ret_environment);

/* Whether a process that is stopped at its exec, before the new image has run, has this environment. */
bool exec_environment_is_of_process(const struct exec_environment *environment, pid_t pid);

#endif
