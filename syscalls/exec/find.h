/* Finds and opens one file of an exec: the program, an interpreter or the loader. */
#ifndef CALLGATE_SYSCALLS_EXEC_FIND_H
#define CALLGATE_SYSCALLS_EXEC_FIND_H

#include "syscalls/call/call.h"
#include "syscalls/exec/cache.h"

#ifndef AT_EXECVE_CHECK
#define AT_EXECVE_CHECK 0x10000 /* Linux 6.14: only checks whether the file may be executed */
#endif

#define EXEC_INTERP_PATH_INDEX 1u /* index in call->path and call->resolved_place for interpreters and the loader */

/* A regular file that may be executed by its mode. */
struct exec_file {
	int fd; /* readable, owned; -1 if the file is in the cache (is_from_cache) */
	struct stat st;
	bool is_from_cache;          /* `program` is set; the file was not opened */
	bool is_what_kernel_opens;   /* the path that the program gave leads the kernel to this file */
	struct exec_program program; /* set if is_from_cache */
};

/* Reads the status of a pinned file, which must be regular. 0, or -1 with the outcome set. */
int exec_stat_pinned_file(struct call *call, int pin, struct stat *ret_st);

/* Opens a pinned file for reading; the pin stays the caller's. Returns a descriptor, or -1 with the outcome set. */
int exec_open_pinned(struct call *call, int pin);

/*
 * Checks what the kernel demands of an executable file, and that the file can be read: a program of mode 0111 runs
 * undumpable, and could not be compared with its plan. Takes pin, a descriptor of the file at resolved_place[i]. 0, or
 * -1 with the outcome set.
 */
int exec_open_file(struct call *call, unsigned i, int pin, struct exec_file *file);

/* Resolves and judges path i: the program, or a script's interpreter. 0, or -1 with the outcome set. */
int exec_find_file_by_path(struct call *call, unsigned i, unsigned at_flags, struct exec_file *ret_file);

/* Sets `text`, the path of an interpreter, as the call's second path. 0, or -1 with the outcome set. */
int exec_set_interpreter_path(struct call *call, const char *text);

#endif
