/* The two steps of sys_execve and sys_execveat behind the pin. */
#ifndef CALLGATE_SYSCALLS_EXEC_JUDGE_H
#define CALLGATE_SYSCALLS_EXEC_JUDGE_H

#include <sys/stat.h>

#include "syscalls/call/call.h"
#include "syscalls/exec/cache.h"

/* A regular file that the kernel would execute, as far as its status goes. */
struct exec_file {
	int fd; /* readable, owned; -1 when what it would be read for is known */
	struct stat st;
	bool known;
	bool reached; /* the kernel gets to this file by the text the program gave */
	struct exec_program program; /* when known */
};

/*
 * Of what path i leads to, the status and what is remembered of that, without opening it. 1: *ret_file has all; 0: not
 * remembered, so it has to be pinned and exec_open'ed; -1 with the outcome set.
 */
int exec_ask(struct call *call, unsigned i, unsigned at_flags, struct exec_file *ret_file);

/*
 * What the kernel demands of every file it executes, and one thing more: that we can read it. A 0111 binary would run
 * unseen and undumpable, so that nothing about it could be verified afterwards. Takes pin, of what place i leads to; 0, or
 * -1 with the outcome set.
 */
int exec_open(struct call *call, unsigned i, int pin, struct exec_file *ret_file);

/*
 * Judges everything the kernel will load for the program at place 0 and sets the outcome: OUTCOME_EXEC with a plan, or the
 * error. Takes the file's descriptor; flags are execveat's.
 */
void exec_judge(struct call *call, const struct exec_file *file, unsigned flags);

#endif
